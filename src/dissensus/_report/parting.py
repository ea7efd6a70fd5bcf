"""Where two models of the same annotations part: the numbers, not yet the words."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._report import numbers as facts
from dissensus._wording import number
from dissensus.data.plausibility import Space, space
from dissensus.dims import ITEM, RELIABILITY, SCOPE, SYSTEM, other
from dissensus.kernels.types import Floats
from dissensus.plots import _pieces as pieces

MODEL: Final = "model"
SURE: Final = 0.8
"""A model counts as sure of an order that it gives this probability."""


class Swap(NamedTuple):
    """Two systems that the models put in opposite orders."""

    first: Any
    second: Any
    """The first is ahead in the main model, the second in its companion."""
    sure: bool
    """Whether both models are sure of their order."""


def named(side: xr.DataTree) -> str:
    """Name a model, with the reliability it is shown at."""
    return f"{side.attrs['model']} at {number(side.attrs['reference_reliability'])}"


def both(evaluation: xr.DataTree) -> list[xr.Dataset]:
    """Return the `numbers` of both models."""
    return [facts.numbers(side) for side in pieces.sides(evaluation)]


def pair(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> xr.Dataset:
    """Return `numbers` of both models at their reference reliabilities, for the items at hand.

    That only so many items were seen makes both models' intervals wider alike: it is no reason
    for them to differ, and is left out.
    """
    each = []
    for side, values in zip(pieces.sides(evaluation), numbers, strict=True):
        here = {RELIABILITY: side.attrs["reference_reliability"], SCOPE: pieces.THESE}
        each.append(values.sel(here).drop_vars([RELIABILITY, SCOPE]))
    index = xr.IndexVariable(MODEL, [str(side.attrs["model"]) for side in pieces.sides(evaluation)])
    out = xr.concat(each, dim=index, combine_attrs="override")
    return out.assign(apart=out["lower"].max(MODEL) > out["upper"].min(MODEL))


def reach(numbers: list[xr.Dataset], metric: str) -> xr.Dataset:
    """Return the lowest and the highest mean along each model's reliabilities (model, system)."""
    each = []
    for values in numbers:
        mean = values["mean"].sel(metric=metric).sel({SCOPE: pieces.THESE}, drop=True)
        ends = {"low": mean.min(RELIABILITY), "high": mean.max(RELIABILITY)}
        each.append(xr.Dataset(ends))
    return xr.concat(each, dim=xr.IndexVariable(MODEL, ["main", "companion"]))


def swaps(evaluation: xr.DataTree, metric: str) -> list[Swap]:
    """Return the pairs of systems that one model orders otherwise than the other, surest first."""
    better = []
    for side in pieces.sides(evaluation):
        if not facts.has(side, "comparison"):
            return []
        pairs = (
            side["comparison"]
            .to_dataset()
            .sel(
                {
                    "metric": metric,
                    SCOPE: pieces.THESE,
                    RELIABILITY: side.attrs["reference_reliability"],
                }
            )
        )
        ahead = pairs["probability_better"] + pairs["probability_equal"] / 2
        better.append(ahead.transpose(SYSTEM, other(SYSTEM)).to_numpy())
    first, second = better
    # A draw of equal scores is half a win for each: .5 is no order.
    found = (first > 0.5) & (second < 0.5) & ~np.eye(len(first), dtype=bool)
    sure = np.minimum(first, 1 - second)
    names = evaluation["metrics"][SYSTEM].to_numpy().tolist()
    places = sorted(np.argwhere(found).tolist(), key=lambda ij: -sure[ij[0], ij[1]])
    return [Swap(names[i], names[j], bool(sure[i, j] >= SURE)) for i, j in places]


def items(evaluation: xr.DataTree) -> xr.Dataset:
    """Return, item by item, what leads in each model and how far the models are apart.

    Returns
    -------
    xarray.Dataset
        Over (item): ``differs``, whether different labels lead on average over the draws, and
        ``distance``, the share of the plausibility that lies on other labels (half the sum of
        absolute differences).
    """
    first, second = (facts.mean_plausibility(side) for side in pieces.sides(evaluation))
    where = space(first)
    masses = (first.to_numpy(), onto(second, where))
    leading = [_leading(mass, where) for mass in masses]
    return xr.Dataset(
        {
            "differs": (ITEM, leading[0] != leading[1]),
            "distance": (ITEM, np.abs(masses[0] - masses[1]).sum(axis=1) / 2),
        },
        coords={ITEM: first[ITEM].to_numpy()},
    )


def beside(evaluation: xr.DataTree) -> Floats | None:
    """Return the companion's mean plausibilities on the main model's columns, if there is one."""
    both_sides = pieces.sides(evaluation)
    if len(both_sides) < 2:
        return None
    return onto(facts.mean_plausibility(both_sides[1]), space(facts.draws_or_mean(evaluation)))


def onto(mean: xr.DataArray, where: Space) -> Floats:
    """Write a mean plausibility on the columns of another of the same items and labels."""
    values, own = mean.to_numpy(), space(mean)
    if own.dense == where.dense and (own.dense or np.array_equal(own.codes, where.codes)):
        return values
    if not own.dense:
        # On average over the draws the labels of a remainder have even parts of its mass.
        each = values[:, -1] / np.maximum(own.sizes[:, -1], 1)
        item, column = np.nonzero(own.codes >= 0)
        named = values[item, column]
        values = np.repeat(each[:, None], len(where.labels), axis=1)
        values[item, own.codes[item, column]] = named
    if where.dense:
        return values
    is_named = where.codes >= 0
    out = np.take_along_axis(values, np.maximum(where.codes, 0), axis=1) * is_named
    out[:, -1] += np.where(is_named[:, -1], 0.0, np.maximum(1.0 - out.sum(axis=1), 0.0))
    return out


def _leading(mass: Floats, where: Space) -> npt.NDArray[np.int64]:
    """Return the column that leads, a remainder going by the mass of each of its labels."""
    sizes = np.broadcast_to(where.sizes, mass.shape)
    return np.argmax(np.where(sizes > 0, mass / np.maximum(sizes, 1), -1.0), axis=1)
