"""Draws of how often the sure and the unsure are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse

from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.weighted import more_sure
from dissensus.statistics._confidence_levels import Levels
from dissensus.statistics._confidence_totals import Cells
from dissensus.statistics._doubts import Doubts

Sides = tuple[Floats, Floats]
"""Right and wrong labels (draw, ...)."""

OF_ALL: Final = ("error_rate", "level_share", "wrong_share", "discrimination")
OF_EACH: Final = ("annotator_error_rate", "annotator_discrimination")
_NONE_WRONG: Final = "no label is wrong"
_NO_PAIR: Final = "there is no right label, or no wrong one"


class Wanted(NamedTuple):
    """What to compute, and with which prior."""

    levels: Levels
    prior: tuple[float, float]
    """Wrong and right labels in advance."""
    annotators: int
    """How many; 0 if nothing is wanted of each."""


def draws_of(
    blocks: Iterator[Sides], cells: Cells, wanted: Wanted, rng: np.random.Generator
) -> tuple[dict[str, Floats], dict[str, Doubts]]:
    """Return all draws by name (draw, ...), and what is undefined among them."""
    doubts = {name: Doubts() for name in (*OF_ALL, *OF_EACH)}
    levels, each = wanted.levels, wanted.annotators
    by_value = _gather(cells.value, len(levels.value))
    by_level = _gather(levels.level, levels.n)
    by_both = _gather(cells.annotator * levels.n + levels.level[cells.value], each * levels.n)
    found: list[dict[str, Floats]] = []
    for right, wrong in blocks:
        pooled = right @ by_value, wrong @ by_value
        one = _of_levels(pooled[0] @ by_level, pooled[1] @ by_level, wanted.prior, rng, doubts)
        start = np.zeros(1, dtype=np.int64)
        one[OF_ALL[3]] = _discrimination(*pooled, start, doubts[OF_ALL[3]])[:, 0]
        if each:
            shape = (len(right), each, levels.n)
            sides = ((side @ by_both).reshape(shape) for side in (right, wrong))
            one[OF_EACH[0]] = _error_rate(next(sides), next(sides), wanted.prior, rng)
            one[OF_EACH[1]] = _of_each(right, wrong, cells, each, doubts[OF_EACH[1]])
        found.append(one)
    return {name: np.concatenate([one[name] for one in found]) for name in found[0]}, doubts


def _gather(place: Ints, n: int) -> sparse.csr_array:
    """Return what adds columns up (column, sum); those past the last sum are left out."""
    kept = place < n
    where = np.flatnonzero(kept), place[kept]
    return sparse.csr_array((np.ones(len(where[0])), where), shape=(len(place), n))


def _of_levels(
    right: Floats, wrong: Floats, prior: tuple[float, float], rng: np.random.Generator,
    doubts: dict[str, Doubts],
) -> dict[str, Floats]:  # fmt: skip
    """Return error rates and shares (draw, level)."""
    labels = right + wrong
    errors = wrong.sum(axis=1, keepdims=True)
    return {
        OF_ALL[0]: _error_rate(right, wrong, prior, rng),
        OF_ALL[1]: labels / labels.sum(axis=1, keepdims=True),
        OF_ALL[2]: doubts[OF_ALL[2]].divided(wrong, errors, _NONE_WRONG),
    }


def _error_rate(
    right: Floats, wrong: Floats, prior: tuple[float, float], rng: np.random.Generator
) -> Floats:
    """Return the share of wrong labels, those in advance among them."""
    wrong, right = (
        side + rng.standard_gamma(count, side.shape)
        for side, count in zip((wrong, right), prior, strict=True)
    )
    return np.asarray(wrong / (wrong + right))


def _discrimination(right: Floats, wrong: Floats, start: Ints, doubts: Doubts) -> Floats:
    """Return how often the right one of a right and a wrong label has more confidence."""
    pairs, all_right, all_wrong = more_sure(right, wrong, start)
    return doubts.divided(pairs, all_right * all_wrong, _NO_PAIR)


def _of_each(right: Floats, wrong: Floats, cells: Cells, n: int, doubts: Doubts) -> Floats:
    """Return the same by annotator (draw, annotator); who has no labels has none."""
    start = np.flatnonzero(np.diff(cells.annotator, prepend=-1))
    out = np.full((len(right), n), np.nan)
    out[:, cells.annotator[start]] = _discrimination(right, wrong, start, doubts)
    return out
