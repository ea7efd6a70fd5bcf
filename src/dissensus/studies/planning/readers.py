"""Plans of reader studies: numbers of readers and of cases, from a pilot study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import chdtri, ndtr, ndtri

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ITEM, MODALITY, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.statistics._reader_spread import half_normal
from dissensus.statistics._reader_study import SPREAD, spread_at
from dissensus.statistics._reader_words import checked_study
from dissensus.studies.planning.studies import counts, share
from dissensus.wording import counted, percent
from dissensus.wording import share as spoken

_STUDIES: Final = 1000
_FEWEST: Final = 100
"""Minimum number of simulated studies."""
_CROSSED: Final = 0.9
"""Minimum share of all scores (reader, case, modality): plans are for crossed designs."""
_NONE: Final = 1e-9
_POWER: Final = 0.8
"""Required power; .8 is usual."""
_HALVINGS: Final = 30
_NOT_INFERIOR: Final = "non_inferiority"
_LEAST: Final = 1e-9
"""Minimum variance of readers' values around their mean, as a share of one reader's variance."""


class Quantity(NamedTuple):
    """A mean over readers, such as the difference between two modalities.

    With J readers and the pilot's cases its variance is (between + own) / J + common (1 - 1 / J).
    """

    is_difference: bool
    is_assumed: bool
    """Whether ``difference=`` is the assumed value of this quantity."""
    centre: Floats
    """(draw,): the quantity in the populations of readers and cases."""
    between: Floats
    """(draw,): the variance between readers."""
    own: float
    """The part of the variance of a reader's value that comes from the cases."""
    common: float
    """The covariance of two readers' values, which also comes from the cases."""
    scale: float
    """Scale of the half-normal prior of the standard deviation between readers."""


def plan_readers(
    pilot: xr.Dataset,
    readers: Sequence[int],
    cases: Sequence[int],
    *,
    difference: float | None = None,
    margin: float | None = None,
    prob: float = 0.95,
    draws: int = _STUDIES,
    random_seed: Any = None,
) -> xr.Dataset:
    """Return the plan of `dissensus.plan` for a pilot from `dissensus.reader_study`."""
    sizes = {ANNOTATOR: counts("annotators", readers), ITEM: counts("items", cases)}
    prob, n = share("prob", prob), arguments.whole("draws", draws, least=_FEWEST)
    pilot = checked_study(pilot, "pilot")
    rng = generator(random_seed, "plan of readers")
    given: dict[str, float] = {}
    if difference is not None:
        given["difference"] = _of_areas(difference)
    if margin is not None:
        given["margin"] = share("margin", margin)
    quantities = _quantities(pilot, given)
    chosen = rng.integers(pilot["average_auc"].isel({MODALITY: 0}).size, size=n)
    how = (chosen, sizes, pilot.attrs["n_cases"], prob, given, rng)
    out = xr.Dataset(coords=sizes)
    for prefix, parts in quantities.items():
        dims = [MODALITY, SYSTEM] if prefix else []
        planned = [_planned(quantity, *how) for quantity in parts]
        for name in planned[0]:
            values = np.stack([result[name] for result in planned])
            of = dims
            if name == _NOT_INFERIOR and not prefix:  # of the first modality, and of the second
                values, of = values[0], [MODALITY]
            elif name == _NOT_INFERIOR:
                values = values[:, 0]
            values = values.reshape(*(pilot.sizes[dim] for dim in of), *values.shape[-2:])
            out[f"{prefix}{name}"] = (*of, ANNOTATOR, ITEM), values
    used = [dim for dim in (MODALITY, SYSTEM) if dim in out.dims]
    out = out.assign_coords({dim: pilot[dim].to_numpy() for dim in used})
    out = out.assign_attrs(probability=prob, **given)
    return out.assign_attrs(in_words=_in_words(out))


def _of_areas(difference: Any) -> float:
    """Return a difference of areas, or raise."""
    number = arguments.finite("difference", difference)
    if abs(number) >= 1:
        raise ArgumentError(
            "difference", expected="a difference of areas, between -1 and 1",
            found=brief(difference),
        )  # fmt: skip
    return number


def _quantities(pilot: xr.Dataset, given: Mapping[str, float]) -> dict[str, list[Quantity]]:
    """Return the planned quantities, by the prefix of their names."""
    if not (pilot.attrs.get("new_readers") and pilot.attrs.get("new_cases")):
        raise ArgumentError(
            "pilot", expected="a reader study for new readers and new cases",
            found=f"new_readers={bool(pilot.attrs.get('new_readers'))}, "
            f"new_cases={bool(pilot.attrs.get('new_cases'))}",
        )  # fmt: skip
    if pilot.attrs["share_scored"] < _CROSSED:
        raise ArgumentError(
            "pilot", expected="at least 90 % of all scores (each reader, case and modality)",
            found=percent(pilot.attrs["share_scored"]),
            hint="Run reader_study again, with only the cases that all readers scored",
        )  # fmt: skip
    if pilot.attrs.get("areas") == "latent":
        raise ArgumentError(
            "pilot", expected="a reader study with areas='empirical'", found="areas='latent'",
            hint="Plans simulate empirical areas: run reader_study again with areas='empirical'",
        )  # fmt: skip
    modalities = pilot.sizes[MODALITY]
    if modalities > 2:
        raise ArgumentError(
            "pilot", expected="a reader study of one or two modalities", found=str(modalities),
            hint="Pass the rows of two modalities to reader_study",
        )  # fmt: skip
    if given and modalities == 1 and "system_auc" not in pilot:
        name = next(iter(given))
        raise ArgumentError(
            name, expected="None, as the pilot has one modality and no system",
            found=brief(given[name]),
        )  # fmt: skip
    flat = pilot.stack(draws=SAMPLE).transpose("draws", ...)
    areas = flat["auc"].to_numpy()
    between = flat["reader_sd"].to_numpy() ** 2
    scale = np.sqrt(2.0) * spread_at(pilot["observed_auc"].to_numpy(), SPREAD["auc"])
    if modalities == 2:
        within = flat["interaction_sd"].to_numpy() ** 2
        noise = _noise(areas[:, 0] - areas[:, 1], "scored cases with both modalities")
        first = Quantity(True, True, flat["difference"].to_numpy(), 2 * within, *noise, scale)
        between = between + within
    else:
        noise = _noise(areas[:, 0], "scored cases")
        first = Quantity(False, False, flat["average_auc"].to_numpy()[:, 0], between, *noise, scale)
    out = {"": [first]}
    if "system_auc" in pilot:
        system, less = (flat[f"system_{name}"].to_numpy() for name in ("auc", "difference"))
        out["system_"] = [
            Quantity(
                True, modalities == 1, less[:, m, s], between,
                *_noise(system[:, s, None] - areas[:, m], "scored cases"), scale,
            )
            for m, s in product(range(modalities), range(pilot.sizes[SYSTEM]))
        ]  # fmt: skip
    return out


def _noise(values: Floats, condition: str) -> tuple[float, float]:
    """Return the variance of a reader's value and the covariance of two readers' values over draws.

    ``values`` are (draw, reader). The results are means over readers and over pairs of readers.
    """
    values = values[:, ~np.isnan(values).any(axis=0)]
    n = values.shape[1]
    if n < 2:
        raise ArgumentError(
            "pilot", expected=f"two or more readers who {condition}", found=counted(n, "reader")
        )
    covariance = np.cov(values, rowvar=False)
    own = float(np.trace(covariance)) / n
    if own < _NONE:
        raise ArgumentError(
            "pilot", expected="areas that vary with the cases",
            found="no variance: readers without errors, or modalities with the same scores",
        )  # fmt: skip
    return own, float(covariance.sum() - n * own) / (n * (n - 1))


def _planned(
    quantity: Quantity,
    chosen: Any,
    sizes: Mapping[str, list[int]],
    pilot_cases: int,
    prob: float,
    given: Mapping[str, float],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Return half-widths of intervals and probabilities (reader, case), as means over new studies.

    Non-inferiority is (2, reader, case): for the first and the second term of the difference.
    """
    shape = tuple(len(numbers) for numbers in sizes.values())
    names = ["half_width"]
    if quantity.is_difference:
        names += ["power"] + [_NOT_INFERIOR] * ("margin" in given)
    out = {name: np.empty((2, *shape) if name == _NOT_INFERIOR else shape) for name in names}
    between, centre = quantity.between[chosen], quantity.centre[chosen]
    if quantity.is_assumed and "difference" in given:
        centre = np.full_like(between, given["difference"])
    chance, spread = rng.standard_normal(len(centre)), rng.random(len(centre))
    for place, (n, k) in zip(np.ndindex(shape), product(*sizes.values()), strict=True):
        fewer = pilot_cases / k
        rest = fewer * max(quantity.own - quantity.common, _LEAST * quantity.own)
        common = fewer * max(quantity.common, 0.0)
        # The sum of squares of readers' values around their mean, and this mean.
        squares = (between + rest) * chdtri(max(n - 1, 1), spread) * (n > 1)
        mean = centre + chance * np.sqrt((between + rest) / n + common)
        half = _half_widths(n, squares, rest, common, quantity.scale, prob)
        values = {"half_width": half, "power": np.abs(mean) > half}
        for name in names:
            if name == _NOT_INFERIOR:  # of the first term of the difference, and of the second
                worse = np.stack([-mean, mean]) + half
                out[name][:, *place] = (worse < given["margin"]).mean(axis=1)
            else:
                out[name][place] = values[name].mean()
    return out


def _half_widths(
    n: int, squares: Floats, rest: float, common: float, scale: float, prob: float
) -> Floats:
    """Return half the length of each study's interval, as `dissensus.reader_study` gives it.

    The mean over readers is normal given their standard deviation, which has a posterior on a grid.
    """
    total = half_normal(scale) ** 2 + rest
    log = -0.5 * (n - 1) * np.log(total) - 0.5 * squares[:, None] / total
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    sd = np.sqrt(total / n + common)
    low, high = np.zeros(len(squares)), np.full(len(squares), -ndtri((1 - prob) / 2) * sd.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = (weight * (2 * ndtr(middle[:, None] / sd) - 1)).sum(axis=1)
        low, high = np.where(inside < prob, middle, low), np.where(inside < prob, high, middle)
    return (low + high) / 2


def _in_words(plan: xr.Dataset) -> str:
    """Describe the smallest study with enough power, or the length of intervals."""
    about = plan.attrs
    interval = f"{percent(about['probability'])} interval"
    power, half = plan.get("power", plan.get("system_power")), plan["half_width"]
    if power is None:
        cell = plan["half_width"].isel({ANNOTATOR: -1, ITEM: -1})
        return (
            f"With {_study(cell)}, the half-width of the {interval} of the average area is "
            f"{spoken(cell.item(), 3)} on average."
        )
    first, of = {dim: 0 for dim in (MODALITY, SYSTEM) if dim in power.dims}, "the difference"
    if first:
        of = f"the area of system {power[SYSTEM][0].item()} minus the readers' average"
        half = plan["system_half_width"]
    flat = xr.Dataset({"power": power.isel(first), "half": half.isel(first)}).stack(
        cell=(ANNOTATOR, ITEM)
    )
    chance, scores = flat["power"].to_numpy(), (flat[ANNOTATOR] * flat[ITEM]).to_numpy()
    enough = chance >= _POWER
    # The study with the fewest scores among studies with enough power; else with the highest power.
    order = np.lexsort((scores, ~enough)) if enough.any() else np.lexsort((scores, -chance))
    best = flat.isel(cell=int(order[0]))
    lead = f"The smallest study with a power of {spoken(_POWER)} or more has {_study(best)}. "
    if not enough.any():
        lead = f"No study tried has a power of {spoken(_POWER)} or more. The study with the "
        lead += f"highest power has {_study(best)}. "
    given = "The difference is drawn from the pilot's posterior."
    if "difference" in about:
        given = f"The difference is assumed to be {spoken(about['difference'], 3)}."
    return (
        f"{lead}The power (probability that the {interval} of {of} excludes 0) is "
        f"{spoken(best['power'].item())}, and the half-width of the interval is "
        f"{spoken(best['half'].item(), 3)} on average. {given}"
    )


def _study(cell: Any) -> str:
    readers, cases = cell[ANNOTATOR].item(), cell[ITEM].item()
    return f"{counted(readers, 'reader')} and {counted(cases, 'case')}"
