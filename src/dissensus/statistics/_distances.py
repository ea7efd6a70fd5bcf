"""Sums of distances between labels over all pairs of annotators, without listing the pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.dims import ITEM
from dissensus.errors import AnnotationError, ArgumentError, brief, shown
from dissensus.kernels.distances import far_pairs
from dissensus.kernels.grouped import (
    Grouped,
    LabelShares,
    around,
    centre_of,
    label_shares,
    moments,
    squared_pairs,
)
from dissensus.kernels.labels import label_pairs
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.statistics._read import labels_of, numbers_of, plain_labels
from dissensus.statistics._sums import Matrix, compact

Distance = str | Callable[[Any, Any], float]

NAMED: Final = ("nominal", "squared", "absolute")
SYNONYMS: Final = {"interval": "squared"}

ROUNDING: Final = 1e-11
"""A sum of squared distances below this share of the sum of squares is set to 0.

Such a sum may be a rounding error: without the limit, equal numbers far from the centre would have
a positive distance. A value just above the limit is accurate to four digits.
"""

LARGEST: Final = 1e280
"""Distances from 1 / LARGEST to LARGEST can be added, and multiplied by counts, without overflow or
underflow."""

TABLE: Final = 3000
"""Maximum number of distinct labels for a table of all distances."""


class CallableDistance:
    """Distances of labels, by code, from a callable; each pair is computed once.

    Raises an `ArgumentError` for a value that is not a distance: negative, not finite, not
    symmetric, or not 0 from a label to itself.
    """

    def __init__(self, distance: Callable[[Any, Any], float], labels: list[Any]) -> None:
        self._distance, self._labels = distance, labels
        self._known: dict[int, float] = {}

    def __call__(self, left: Ints, right: Ints) -> Floats:
        """Return the distance of each pair of codes."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        key, place = np.unique(low * len(self._labels) + high, return_inverse=True)
        values = [self._of(pair) for pair in key.tolist()]
        return np.array(values, dtype=np.float64)[place]

    def _of(self, pair: int) -> float:
        if pair not in self._known:
            low, high = divmod(pair, len(self._labels))
            self._known[pair] = self._measured(self._labels[low], self._labels[high])
        return self._known[pair]

    def _measured(self, left: Any, right: Any) -> float:
        try:
            value = float(self._distance(left, right)), float(self._distance(right, left))
        except Exception as problem:
            raise _failed(problem, f"between {left!r} and {right!r}") from problem
        fits = np.isfinite(value[0]) and value[0] >= 0 and (value[0] == 0 or left != right)
        if not (fits and np.isclose(*value, rtol=1e-12, atol=0.0)):
            raise _no_distance(left, right, *value)
        return value[0]


def _failed(problem: Exception, where: str = "") -> ArgumentError:
    return ArgumentError(
        "distance",
        where=where,
        expected="a callable that takes two labels and returns a number",
        found=f"{type(problem).__name__}: {problem}",
    )


def _no_distance(left: Any, right: Any, value: float, reverse: float) -> ArgumentError:
    return ArgumentError(
        "distance",
        where=f"between {left!r} and {right!r}",
        expected="a finite number, 0 or more; the same in both directions; 0 from a label to "
        "itself",
        found=f"{value!r} (and {reverse!r} in the other direction)",
    )


def distance_name(distance: Distance, known: tuple[str, ...] = NAMED) -> str:
    """Return the name of a distance: "squared" for "interval", "callable" for a callable."""
    if callable(distance):
        return "callable"  # the callable's name could be that of a known distance
    name = SYNONYMS.get(distance, distance) if isinstance(distance, str) else ""
    if name not in known:
        listed = ", ".join(map(repr, (*known, *SYNONYMS)))
        raise ArgumentError(
            "distance", expected=f"one of {listed}, or a callable", found=brief(distance)
        )
    return name


@dataclass(frozen=True)
class Disagreement:
    r"""Distances of annotators from each other, as sums over items.

    The distance between two annotators is the mean over pairs of their labels,
    :math:`\psi(Y, Y')` (Lovchinsky et al. 2020, Eq. 1).
    """

    within: Floats
    r"""(item): :math:`\sum_{r \neq s} \psi(Y_r, Y_s)` over ordered pairs."""
    own: Floats
    r"""(item): :math:`\sum_r \psi(Y_r, Y_r)`: 0 without repeated labels."""
    margin: Matrix
    """(item, sum): the sums on which distances *across* items depend."""
    cross: Callable[[Floats, Floats], Floats]
    """Returns the sum of distances over all pairs, from two totals (..., sum) of ``margin``."""
    rounded: bool = False
    """Whether `cross` sets small values to 0, since they may be rounding errors."""


def disagreement(annotations: xr.Dataset, rows: Grouped, distance: Distance) -> Disagreement:
    """Return a `Disagreement` by a distance: a name in `NAMED`, "interval", or a callable."""
    if callable(distance):
        codes, labels = labels_of(annotations)
        return from_table(rows, codes, table_of(labels, distance))
    known = {"nominal": _nominal, "squared": _squared, "absolute": _absolute}
    return known[distance_name(distance)](annotations, rows)


def shares_matrix(shares: LabelShares, n_labels: int) -> Matrix:
    """Return `LabelShares.amount` as a matrix (item, label)."""
    shape = (len(shares.start) - 1, n_labels)
    return compact(sparse.csr_array((shares.amount, shares.label, shares.start), shape=shape))


def pairs_of(n_annotators: Ints) -> Floats:
    """Count ordered pairs of different annotators by item."""
    return n_annotators * (n_annotators - 1.0)


def _nominal(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    codes, labels = labels_of(annotations)
    shares = label_shares(rows, codes, len(labels))

    def cross(left: Floats, right: Floats) -> Floats:
        # This is exactly 0 if all labels are the same: a sum of one term and zeros is exact.
        return left.sum(axis=-1) * right.sum(axis=-1) - (left * right).sum(axis=-1)

    within = pairs_of(rows.n_annotators) - shares.agreement
    margin = shares_matrix(shares, len(labels))
    return Disagreement(within, rows.n_annotators - shares.own, margin, cross)


def _squared(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    values = numbers_of(annotations)
    check_range(values, power=2)
    sums = moments(rows, values)
    # Negative values are rounding errors.
    within = np.maximum(squared_pairs(sums, rows.n_annotators), 0.0)
    own = np.maximum(2.0 * (sums.squares - sums.squared_means), 0.0)
    centred = around(sums, rows.n_annotators, centre_of_pairs(rows, values))
    margin = np.stack([rows.n_annotators.astype(np.float64), *centred], axis=1)

    def cross(left: Floats, right: Floats) -> Floats:
        left_n, left_total, left_squares = np.moveaxis(left, -1, 0)
        right_n, right_total, right_squares = np.moveaxis(right, -1, 0)
        squares = left_n * right_squares + right_n * left_squares
        distance = squares - 2.0 * left_total * right_total
        return np.where(distance > ROUNDING * squares, distance, 0.0)

    return Disagreement(within, own, margin, cross, rounded=True)


def check_range(values: Floats, power: int, subject: str = "annotations") -> None:
    """Raise if powers of differences would overflow, or underflow to 0."""
    if len(values) == 0:
        return
    with np.errstate(over="ignore"):
        spread = float(values.max() - values.min())
    largest = LARGEST ** (1 / power)
    if spread == 0 or 1 / largest <= spread <= largest:
        return
    differences = "squared differences" if power == 2 else "differences"
    raise AnnotationError(
        subject,
        expected=f"numbers whose {differences} neither overflow nor underflow: the largest and the "
        f"smallest must be equal, or {1 / largest:.0e} to {largest:.0e} apart",
        found=f"{spread:.2g}",
        hint="Multiply all numbers by the same factor: ratios of distances do not change",
    )


def centre_of_pairs(rows: Grouped, values: Floats) -> float:
    """Return the centre of numbers on items with two or more annotators; others may be far off."""
    paired = np.repeat(rows.n_annotators >= 2, np.diff(rows.start))
    return centre_of(values[rows.order[paired]] if 0 < paired.sum() < len(paired) else values)


def _absolute(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    numbers = numbers_of(annotations)
    check_range(numbers, power=1)
    values, codes = np.unique(numbers, return_inverse=True)
    shares = label_shares(rows, codes, len(values))
    within, own = far_pairs(rows, numbers)
    step = np.diff(values)

    def cross(left: Floats, right: Floats) -> Floats:
        # |v - v'| is the sum of the steps between v and v'. So each step is multiplied by the
        # number of pairs with one value below it and one above it.
        left_below, right_below = (np.cumsum(x, axis=-1)[..., :-1] for x in (left, right))
        left_above = left.sum(axis=-1)[..., None] - left_below
        right_above = right.sum(axis=-1)[..., None] - right_below
        return (left_below * right_above + left_above * right_below) @ step

    return Disagreement(within, own, shares_matrix(shares, len(values)), cross)


def from_table(rows: Grouped, codes: Ints, table: Floats) -> Disagreement:
    """Return a `Disagreement` by any distance, from its table (label, label) for all pairs."""
    shares = label_shares(rows, codes, len(table))
    pairs = label_pairs(rows, shares, codes, len(table), np.ones(len(rows.n_annotators)))
    amount = pairs.amount * table.ravel()[pairs.cell]
    n_items = len(rows.n_annotators)
    item = np.repeat(np.arange(n_items), np.diff(pairs.start))
    within = np.bincount(item, amount, n_items)
    own = np.bincount(item, np.maximum(-amount, 0.0), n_items)

    def cross(left: Floats, right: Floats) -> Floats:
        return np.asarray(((left @ table) * right).sum(axis=-1))

    return Disagreement(within, own, shares_matrix(shares, len(table)), cross)


def table_of(labels: Names, distance: Callable[[Any, Any], float]) -> Floats:
    """Return a callable's distances of all pairs of labels, or raise for invalid distances."""
    if len(labels) > TABLE:
        raise ArgumentError(
            "distance",
            expected=f"the name of a distance, with more than {TABLE:,} distinct labels",
            found=f"a callable, with {len(labels):,} labels: {len(labels) ** 2:,} pairs",
        )
    plain = np.fromiter(plain_labels(labels), dtype=object, count=len(labels))
    try:
        table = np.frompyfunc(distance, 2, 1)(plain[:, None], plain[None, :]).astype(np.float64)
    except Exception as problem:
        raise _failed(problem) from problem
    bad = ~np.isfinite(table) | (table < 0) | (np.eye(len(table), dtype=bool) & (table != 0))
    bad |= ~np.isclose(table, table.T, rtol=1e-12, atol=0.0)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        values = float(table[row, column]), float(table[column, row])
        raise _no_distance(plain[row], plain[column], *values)
    return table


def ratio_disagreement(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    r"""Return a `Disagreement` by :math:`((a - b) / (a + b))^2`, which is 0 between two zeros."""
    numbers = numbers_of(annotations)
    negative = np.flatnonzero(numbers < 0)
    if len(negative):
        row = int(negative[0])
        item = annotations[ITEM].to_numpy()[annotations["item_code"].to_numpy()[row]]
        raise AnnotationError(
            "annotations",
            where=f"row {row} (item {shown([item])})",
            expected='numbers of 0 or more, with level="ratio"',
            found=f"{numbers[row]}",
            hint='For numbers around 0 use level="interval"',
        )
    values, codes = np.unique(numbers, return_inverse=True)
    if len(values) > TABLE:
        raise AnnotationError(
            "annotations",
            expected=f'up to {TABLE:,} distinct numbers, with level="ratio"',
            found=f"{len(values):,}: their distances are a table of all pairs",
            hint='Round the numbers, or use level="interval", which needs no table',
        )
    return from_table(rows, codes, ratio_table(values))


def ratio_table(values: Floats) -> Floats:
    """Return the distances on a ratio scale of all pairs of numbers."""
    values = values / 2.0 if values.max(initial=0.0) > 1e300 else values  # sums could overflow
    total = values[:, None] + values[None, :]
    return ((values[:, None] - values[None, :]) / np.where(total > 0, total, 1.0)) ** 2
