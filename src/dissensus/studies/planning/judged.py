"""Plans of what people still have to say where judges or systems have answered everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import ArgumentError
from dissensus.kernels.types import Floats
from dissensus.studies.planning.studies import counts, level
from dissensus.wording import counted, percent
from dissensus.wording import share as spoken

STUDIES: Final = 5
"""Simulated studies of each size."""
_STUDENT: Final = 2.776
"""Of a t distribution with four degrees of freedom, the quantile .975."""
_FEWEST: Final = 100
"""Minimum number of draws."""
_TENTHS: Final = 1, 3, 6
"""Of all units, the tenths that are tried by default."""


class Words(NamedTuple):
    """How a plan speaks of what people and judges judge, and of what it estimates."""

    given: str
    """What one person gives: "vote"."""
    to: str
    """Preposition between what is given and a unit."""
    units: str
    """All that judges have judged: "judged pairs"."""
    unit: str
    quantity: str
    judges: str
    """What judges have given."""
    alone: str
    """How intervals are made otherwise."""
    whole: bool
    """Whether nothing is left open where all units are judged."""


class Sizes(NamedTuple):
    """The sizes of studies that are tried, and how intervals are computed."""

    annotators: list[int]
    items: list[int]
    n_units: int
    prob: float
    draws: int


def sizes(
    annotators: Any, items: Sequence[int] | None, n_units: int, prob: Any, draws: Any, words: Words
) -> Sizes:
    """Check the sizes of a plan; by default some tenths of the units are tried."""
    tenths = tuple(sorted({max(n_units * k // 10, 1) for k in _TENTHS}))
    some = counts("items", tenths if items is None else items)
    if some[-1] > n_units:
        raise ArgumentError(
            "items", expected=f"at most {n_units:,}, the number of {words.units}",
            found=f"{some[-1]:,}", hint=f"Type items={tenths}",
        )  # fmt: skip
    draws = arguments.whole("draws", draws, least=_FEWEST)
    return Sizes(counts("annotators", annotators), some, n_units, level(prob), draws)


def half_width(draws: Floats, prob: float) -> float:
    """Return half the length of intervals of draws (draw, system), the mean over systems."""
    low, high = np.quantile(draws, [(1.0 - prob) / 2, (1.0 + prob) / 2], axis=0)
    return float((high - low).mean() / 2)


def planned(
    told: Floats, alone: Floats, needed: Floats, tried: Sizes, words: Words, *, notable: float = 1.0
) -> xr.Dataset:
    """Return the plan: half-widths (study, annotator, item), and the items needed without judges.

    Judges save something if, without them, the largest studies would need more than ``notable``
    times as many items, and if the difference in length exceeds the error of the simulation.
    """
    dims = ANNOTATOR, ITEM
    out = xr.Dataset(
        {
            "half_width": (dims, told.mean(axis=0)),
            "half_width_alone": (dims, alone.mean(axis=0)),
            "items_alone": (dims, needed),
        },
        coords={ANNOTATOR: tried.annotators, ITEM: tried.items},
        attrs={"probability": tried.prob, words.units.replace(" ", "_"): tried.n_units},
    )
    gap = (alone - told)[:, -1, -1]
    error = _STUDENT * gap.std(ddof=1) / np.sqrt(STUDIES)
    saves = needed[-1, -1] > notable * tried.items[-1] and gap.mean() > error
    costs = gap.mean() < -error
    return out.assign_attrs(in_words=_in_words(out, tried, words, saves=saves, costs=costs))


def _in_words(plan: xr.Dataset, tried: Sizes, words: Words, *, saves: bool, costs: bool) -> str:
    """Say what the largest study gives, and what the judges save."""
    last = plan.isel({ANNOTATOR: -1, ITEM: -1})
    n, alone = tried.items[-1], round(float(last["items_alone"]))
    told, without = (spoken(float(last[name]), 3) for name in ("half_width", "half_width_alone"))
    for_all = f"{words.given}s {words.to} all {words.units}"
    text = (
        f"With {counted(tried.annotators[-1], words.given)} {words.to} each of {n:,} of "
        f"{tried.n_units:,} {words.units}, {percent(tried.prob)} intervals of {words.quantity} are "
        f"on average ±{told}, and ±{without} {words.alone}. "
    )
    if words.whole and n == tried.n_units:
        return text + f"With {for_all}, {words.judges} have nothing to add."
    if costs:
        return text + f"Here {words.judges} make intervals longer: they say too little."
    if not saves:
        return text + (
            f"From these simulated studies it is not certain that {words.judges} save "
            f"{words.given}s."
        )
    alone_first = words.alone[0].upper() + words.alone[1:]
    beyond = ", more than there are" if alone > tried.n_units else ""
    return text + (
        f"{alone_first}, ±{told} needs {words.given}s {words.to} about {alone:,} {words.unit}s"
        f"{beyond}."
    )
