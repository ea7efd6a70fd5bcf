"""Comparison of two models of the same annotations."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.plausibility import Space, space
from dissensus.dims import ITEM, RELIABILITY, SCOPE, SYSTEM, other
from dissensus.kernels.types import Floats
from dissensus.plots._source import THESE, sides
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts
from dissensus.reports.opening import uncertain_items
from dissensus.wording import counted, metric_title, share

MODEL: Final = "model"
SURE: Final = 0.8
"""Minimum probability of an order for which a model counts as sure of it."""
_NAMED: Final = 3
_ROUNDING: Final = 1e-9
_FURTHEST: Final = 6


class Swap(NamedTuple):
    """Two systems that the models order differently."""

    first: Any
    """The better one under the first model."""
    second: Any
    """The better one under the second model."""
    sure: bool
    """Whether each model gives its own order of the systems a probability of at least `SURE`."""


def both(evaluation: xr.DataTree) -> list[xr.Dataset]:
    """Return the `evidence.numbers` of each model; an empty list without predictions."""
    if not evidence.has(evaluation, "metrics"):
        return []
    return [evidence.numbers(side) for side in sides(evaluation)]


def pair(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> xr.Dataset:
    """Return the numbers of both models at their references, for the items at hand.

    Intervals for new items would be wider, but the sampling of items is the same for both models.
    A system is ``apart`` if its mean under each model is outside its interval under the other.
    """
    each = []
    for side, values in zip(sides(evaluation), numbers, strict=True):
        here = {RELIABILITY: side.attrs["reference_reliability"], SCOPE: THESE}
        each.append(values.sel(here).drop_vars([RELIABILITY, SCOPE]))
    index = xr.IndexVariable(MODEL, [str(side.attrs["model"]) for side in sides(evaluation)])
    out = xr.concat(each, dim=index, combine_attrs="override")
    outside = [
        (out["mean"].isel({MODEL: a}) < out["lower"].isel({MODEL: b}))
        | (out["mean"].isel({MODEL: a}) > out["upper"].isel({MODEL: b}))
        for a, b in ((0, 1), (1, 0))
    ]
    return out.assign(apart=(outside[0] & outside[1]).drop_vars(MODEL, errors="ignore"))


def swaps(evaluation: xr.DataTree, metric: str) -> list[Swap]:
    """Return the pairs of systems that the models order differently, the surest first."""
    better = []
    for side in sides(evaluation):
        if not evidence.has(side, "comparison"):
            return []
        at = {"metric": metric, SCOPE: THESE, RELIABILITY: side.attrs["reference_reliability"]}
        pairs = side["comparison"].to_dataset().sel(at)
        # A draw with equal values counts as half.
        ahead = pairs["probability_better"] + pairs["probability_equal"] / 2
        better.append(ahead.transpose(SYSTEM, other(SYSTEM)).to_numpy())
    first, second = better
    swapped = (first > 0.5) & (second < 0.5) & ~np.eye(len(first), dtype=bool)
    sure = np.minimum(first, 1 - second)
    names = evaluation["metrics"][SYSTEM].to_numpy().tolist()
    places = sorted(np.argwhere(swapped).tolist(), key=lambda ij: -sure[ij[0], ij[1]])
    return [Swap(names[i], names[j], bool(sure[i, j] >= SURE)) for i, j in places]


# Items.


def items(evaluation: xr.DataTree) -> xr.Dataset:
    """Compare the plausibilities of each item under both models.

    Returns
    -------
    xarray.Dataset
        Over (item): ``differs``, whether the leading labels differ on average over the draws, and
        ``distance``, half the sum of absolute differences of the mean plausibilities.
    """
    first, second = (evidence.mean_plausibility(side) for side in sides(evaluation))
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


def furthest(apart: xr.Dataset) -> list[int]:
    """Return the places of items to show: first those whose leading labels differ."""
    distance = apart["distance"].to_numpy()
    order = np.lexsort((-distance, ~apart["differs"].to_numpy()))
    return [int(k) for k in order[:_FURTHEST] if distance[k] > _ROUNDING]


def second_model_means(evaluation: xr.DataTree) -> Floats | None:
    """Return the second model's mean plausibilities in the columns of the first model, or None."""
    models = sides(evaluation)
    if len(models) < 2:
        return None
    where = space(evidence.draws_or_mean(evaluation))
    return onto(evidence.mean_plausibility(models[1]), where)


def onto(mean: xr.DataArray, where: Space) -> Floats:
    """Return a mean plausibility in the columns of another plausibility of the same items."""
    values, own = mean.to_numpy(), space(mean)
    if own.dense == where.dense and (own.dense or np.array_equal(own.codes, where.codes)):
        return values
    if not own.dense:
        # On average over the draws, the labels of a remainder have equal parts of its mass.
        each = values[:, -1] / np.maximum(own.sizes[:, -1], 1)
        item, column = np.nonzero(own.codes >= 0)
        named_values = values[item, column]
        values = np.repeat(each[:, None], len(where.labels), axis=1)
        values[item, own.codes[item, column]] = named_values
    if where.dense:
        return values
    is_named = where.codes >= 0
    out = np.take_along_axis(values, np.maximum(where.codes, 0), axis=1) * is_named
    out[:, -1] += np.where(is_named[:, -1], 0.0, np.maximum(1.0 - out.sum(axis=1), 0.0))
    return out


def _leading(mass: Floats, where: Space) -> npt.NDArray[np.int64]:
    """Return the leading column (item); a remainder counts with the mean mass of its labels."""
    sizes = np.broadcast_to(where.sizes, mass.shape)
    return np.argmax(np.where(sizes > 0, mass / np.maximum(sizes, 1), -1.0), axis=1)


# Facts.


class Compared(NamedTuple):
    """The comparison of two models; both fields are empty if there is one model."""

    facts: Facts
    items: xr.Dataset


def compared(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> Compared:
    """Compare the models of an evaluation; ``numbers`` are those of `both`."""
    if len(sides(evaluation)) < 2:
        return Compared({}, xr.Dataset())
    apart = items(evaluation)
    return Compared(facts(evaluation, numbers, apart), apart)


def facts(evaluation: xr.DataTree, numbers: list[xr.Dataset], apart: xr.Dataset) -> Facts:
    """Return where the models differ: systems, their order, items.

    ``numbers`` are those of `both`, ``apart`` those of `items`.
    """
    models = sides(evaluation)
    distance = apart["distance"].to_numpy()
    n_items, differs = len(distance), int(apart["differs"].sum())
    far = [k for k in np.argsort(-distance, kind="stable")[:_NAMED] if distance[k] > _ROUNDING]
    out: Facts = {
        "a": str(models[0].attrs["model"]), "b": str(models[1].attrs["model"]),
        "settings": [evidence.named(side) for side in models], "metric": "",
        "n_items": n_items, "differs": differs, "differing": _of(differs, n_items, "item"),
        "far": apart[ITEM].to_numpy()[far].tolist(), "distance": float(distance.mean()),
        "far_values": ", ".join(share(float(distance[k])) for k in far),
        "uncertain": [uncertain_items(side) for side in models],
        "agree": differs == 0, "same_order": False, "subject": "Conclusions about leading labels",
    }  # fmt: skip
    return out | (_of_systems(evaluation, numbers) if numbers else {})


def _of(count: int, total: int, noun: str) -> str:
    if count == total:
        return f"all {counted(total, noun)}" if total > 1 else f"the {noun}"
    return f"{count:,} of {counted(total, noun)}"


def _of_systems(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> Facts:
    values = pair(evaluation, numbers)
    metric = str(values["metric"].to_numpy()[0])
    here = values.sel(metric=metric)
    d, n_systems = evidence.digits(here), here.sizes[SYSTEM]
    mean = here["mean"].transpose(MODEL, SYSTEM).to_numpy()
    gap = np.abs(mean[0] - mean[1])
    order = np.argsort(-gap, kind="stable")
    names = here[SYSTEM].to_numpy().tolist()
    apart = [int(k) for k in order if bool(here["apart"][k])]
    swapped = swaps(evaluation, metric)
    title = metric_title(metric)
    rest = values["apart"].isel(metric=slice(1, None)).sum(SYSTEM)
    others = [
        f"{metric_title(str(name))} ({int(count)})"
        for name, count in zip(rest["metric"].to_numpy(), rest.to_numpy(), strict=True)
        if count
    ]
    return {
        "metric": title, "agree": not apart and not any(swap.sure for swap in swapped),
        "apart": [{"name": names[k], "means": [share(float(m), d) for m in mean[:, k]]}
                  for k in apart],
        "n_apart": _of(len(apart), n_systems, "system"), "n_systems": n_systems,
        "gap": share(float(gap[order[0]]), d), "gap_name": names[order[0]],
        "swaps": swapped, "n_swaps": _of(len(swapped), n_systems * (n_systems - 1) // 2, "pair"),
        "other_sure": sum(swap.sure for swap in swapped[1:]),
        "other_metrics": others if rest.sizes["metric"] else None,
        "same_order": n_systems > 1 and not swapped,
        "subject": f"Conclusions about the systems' {title}",
        **(_ranges(numbers, metric, apart[0]) if apart else {}),
    }  # fmt: skip


def _ranges(numbers: list[xr.Dataset], metric: str, place: int) -> Facts:
    """Return the range of a system's means over all reliabilities, under each model."""
    d = evidence.digits(numbers[0].sel(metric=metric))
    means = [values["mean"].sel({"metric": metric, SCOPE: THESE}).isel({SYSTEM: place})
             for values in numbers]  # fmt: skip
    ends = [(float(mean.min()), float(mean.max())) for mean in means]
    return {
        "reach": [f"{share(low, d)} to {share(high, d)}" for low, high in ends],
        "meet": max(low for low, _ in ends) <= min(high for _, high in ends),
    }
