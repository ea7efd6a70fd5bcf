"""Stated confidences against what came true, as sums over items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.dims import LEVEL, SAMPLE
from dissensus.errors import AnnotationError, ArgumentError, brief
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.weighted import more_sure
from dissensus.statistics._read import real
from dissensus.statistics._resampling import Units
from dissensus.statistics._sums import Doubts
from dissensus.statistics._truth import TrueLabels
from dissensus.wording import share

# What is counted in advance where shares have a Beta distribution.


def prior_counts(prior: Any) -> tuple[float, float]:
    """Return two positive numbers, or raise.

    Examples
    --------
    >>> prior_counts((1, 0.5))
    (1.0, 0.5)
    """
    pair = list(prior) if isinstance(prior, list | tuple | np.ndarray) else []
    numbers = [real(value) for value in pair]
    if len(numbers) != 2 or not all(0 < value < np.inf for value in numbers):
        raise ArgumentError(
            "prior", expected="two positive numbers, such as (1, 1)", found=brief(prior)
        )
    return numbers[0], numbers[1]


# Levels of confidence: those there are, or bins of many.


class Levels(NamedTuple):
    """How sure annotators said they were."""

    value: Floats
    """(value): the different confidences, ascending."""
    code: Ints
    """(row): place in ``value``."""
    level: Ints
    """(value): number of its level."""
    words: str
    """"levels", or how many bins there are."""

    @property
    def n(self) -> int:
        """How many levels there are."""
        return int(self.level[-1]) + 1

    def named(self) -> tuple[Floats, dict[str, Any]]:
        """Return the mean confidence of each level, and what else there is to say of levels."""
        total = np.bincount(self.code, minlength=len(self.value)).astype(np.float64)
        n = np.bincount(self.level, total)
        first = np.searchsorted(self.level, np.arange(self.n))
        last = np.append(first[1:], len(self.level)) - 1
        mean = np.bincount(self.level, total * self.value) / n
        single = first == last
        return np.where(single, self.value[first], mean), {
            "levels": self.words,
            "lowest": self.value[first],
            "highest": self.value[last],
            "n_labels": n.astype(np.int64),
        }


def given_confidence(annotations: xr.Dataset) -> Floats:
    """Return the confidence of each row, or raise if none was asked for."""
    if "confidence" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="confidence: how sure annotators were of their labels",
            found="none",
            hint="Name the column when they are read: dissensus.annotations(..., confidence=)",
        )
    return annotations["confidence"].to_numpy().astype(np.float64)


def levels_of(confidence: Floats, bins: int) -> Levels:
    """Return the levels there are, or, of more than ``bins``, bins with about as many rows each.

    A value is in one bin as a whole. So a frequent one may be a bin by itself, and there may
    be fewer bins than asked for.

    Raises
    ------
    AnnotationError
        If all are equally sure.

    Examples
    --------
    >>> levels_of(np.array([0.1, 0.2, 0.3, 0.3]), 2).level
    array([0, 0, 1])
    """
    value, code, count = np.unique(confidence, return_inverse=True, return_counts=True)
    if len(value) < 2:
        raise AnnotationError(
            "confidence", expected="two levels at least", found=f"{value[0]:g} in every row"
        )
    if len(value) <= bins:
        return Levels(value, code, np.arange(len(value)), "levels")
    middle = np.cumsum(count) - count / 2.0
    place = np.minimum((middle * bins / len(confidence)).astype(np.int64), bins - 1)
    level = np.unique(place, return_inverse=True)[1]
    return Levels(value, code, level, f"{level[-1] + 1} bins of {len(value):,} values")


# Right and wrong labels by annotator and confidence, under drawn weights and drawn truths.


_CELLS = 400_000
"""Weights and totals held at a time."""


class Cells(NamedTuple):
    """Labels counted by what a draw does not part: item and label, annotator and confidence."""

    item: Ints
    """(answer): an answer is an item with a label."""
    label: Ints
    tally: sparse.csr_array
    """(answer, column): a column is an annotator with a confidence."""
    annotator: Ints
    """(column): ascending."""
    value: Ints
    """(column): ascending for each annotator."""


def cells_of(annotations: xr.Dataset, levels: Levels) -> Cells:
    """Count the labels."""
    item, label, annotator = (
        annotations[f"{name}_code"].to_numpy().astype(np.int64)
        for name in ("item", "label", "annotator")
    )
    answer, row = _numbered(item, label)
    column, place = _numbered(annotator, levels.code)
    tally = sparse.csr_array(
        (np.ones(len(row)), (row, place)), shape=(len(answer[0]), len(column[0]))
    )
    return Cells(*answer, tally, *column)


def _numbered(first: Ints, second: Ints) -> tuple[tuple[Ints, Ints], Ints]:
    """Return the different pairs, ascending, and the number of each row's."""
    width = int(second.max(initial=0)) + 1
    pair, number = np.unique(first * width + second, return_inverse=True)
    return (pair // width, pair % width), number


def totals(
    cells: Cells, truth: TrueLabels, units: Units, rng: np.random.Generator, draws: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield right and wrong labels (draw, column) for blocks of draws.

    Each draw gives all labels of a unit one exponential weight, as the Bayesian bootstrap does, and
    takes one draw of the truth.
    """
    block = max(1, _CELLS // max(units.n, *cells.tally.shape))
    by_column = cells.tally.T.tocsr()
    for first in range(0, draws, block):
        size = min(block, draws - first)
        weight = rng.standard_exponential((size, units.n))[:, units.of_item[cells.item]]
        code = truth.code[first : first + size] if truth.drawn else truth.code
        is_right = code[:, cells.item] == cells.label
        right, wrong = ((by_column @ (weight * side).T).T for side in (is_right, ~is_right))
        yield right, wrong


# Draws of how often the sure and the unsure are wrong.


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


# What a check of confidence found, in sentences.


def sentences(found: xr.Dataset) -> list[str]:
    """Say how sure annotators were of wrong labels, and what being sure tells.

    Intervals are central ones of 90 %.
    """
    top, low = found.isel({LEVEL: -1}), found.isel({LEVEL: 0})
    wrong = found["wrong_share"].mean(list(SAMPLE)).to_numpy()
    out = ["No label is wrong."]
    if np.isfinite(wrong).all():
        out = [
            f"{_percent(wrong[-1])} of wrong labels were given with the highest confidence "
            f"({_level(found, -1)})" + (
                f", {_percent(wrong[-2:].sum())} with the two highest." if len(wrong) > 2 else "."
            )
        ]  # fmt: skip
    out.append(
        f"A label given with the highest confidence is wrong with probability "
        f"{_with_interval(top['error_rate'])}, one with the lowest ({_level(found, 0)}) with "
        f"{_with_interval(low['error_rate'])}."
    )
    told = found["discrimination"]
    if bool(told.notnull().any()):
        out.append(
            "Of a right and a wrong label, the right one was given with more confidence with "
            f"probability {_with_interval(told)}, ties in halves; by chance .50."
        )
    return [*out, "Intervals: 90 %."]


def _level(found: xr.Dataset, place: int) -> str:
    low, high = (float(found.attrs[name][place]) for name in ("lowest", "highest"))
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _with_interval(draws: xr.DataArray) -> str:
    low, high = draws.quantile([0.05, 0.95], skipna=True).to_numpy()
    return f"{share(float(draws.mean()))} [{share(low)}, {share(high)}]"
