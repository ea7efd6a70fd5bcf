"""Distances between what two annotators said, summed over all pairs without listing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import sparse

from dissensus.arrays.far_pairs import far_pairs
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.item_moments import centre_of, moments, squared_pairs
from dissensus.arrays.label_pairs import label_pairs
from dissensus.arrays.label_shares import LabelShares, label_shares
from dissensus.errors import ArgumentError
from dissensus.statistics._statements import labels_of, numbers_of
from dissensus.statistics._sums import Matrix, compact

Floats = npt.NDArray[np.float64]
Distance = str | Callable[[Any, Any], float]

SYNONYMS: Final = {"interval": "squared"}

ROUNDING: Final = 1e-13
"""Squared distances smaller than this share of the squares they come from are 0, rounded.

Without it, equal numbers far from the centre would have some spread left, to divide by.
"""

TABLE: Final = 3000
"""Up to so many distinct labels, a distance without a shortcut is kept as a table."""


@dataclass(frozen=True)
class Disagreement:
    r"""How far annotators are from each other, in sums over items.

    The distance of two annotators is the mean over pairs of their labels,
    :math:`\psi(Y, Y')` (Lovchinsky et al. 2020, Eq. 1).
    """

    within: Floats
    r"""(item): :math:`\sum_{r \neq s} \psi(Y_r, Y_s)` over ordered pairs."""
    own: Floats
    r"""(item): :math:`\sum_r \psi(Y_r, Y_r)`: 0, if nobody repeats."""
    margin: Matrix
    """(item, sum): what the disagreement of annotators *across* items depends on."""
    cross: Callable[[Floats, Floats], Floats]
    """From two totals (..., sum) of ``margin`` to the sum of distances over all pairs."""


def disagreement(annotations: xr.Dataset, rows: Grouped, distance: Distance) -> Disagreement:
    """Prepare a distance for annotations.

    Parameters
    ----------
    annotations : Dataset
        Annotations, not rankings.
    rows : Grouped
        Their rows.
    distance : {"nominal", "squared" or "interval", "absolute"} or callable
        A callable takes two labels and returns how far they are apart, once for each distinct pair.

    Raises
    ------
    ArgumentError
        If there is no such distance, or a callable returns nonsense.
    """
    if callable(distance):
        return _tabled(annotations, rows, distance)
    known = {"nominal": _nominal, "squared": _squared, "absolute": _absolute}
    name = SYNONYMS.get(distance, distance)
    if name not in known:
        listed = ", ".join(repr(one) for one in (*known, *SYNONYMS))
        raise ArgumentError(
            "distance", expected=f"one of {listed}, or a callable", found=repr(distance)
        )
    return known[name](annotations, rows)


def shares_matrix(shares: LabelShares, n_labels: int) -> Matrix:
    """Return label amounts as a matrix (item, label)."""
    shape = (len(shares.start) - 1, n_labels)
    return compact(sparse.csr_array((shares.amount, shares.label, shares.start), shape=shape))


def pairs_of(voices: npt.NDArray[np.int64]) -> Floats:
    """Count ordered pairs of different annotators by item."""
    return voices * (voices - 1.0)


def _nominal(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    codes, labels = labels_of(annotations)
    shares = label_shares(rows, codes, len(labels))

    def cross(left: Floats, right: Floats) -> Floats:
        # Exactly 0 if one label is used by all: a sum of one term and zeros is exact.
        return left.sum(axis=-1) * right.sum(axis=-1) - (left * right).sum(axis=-1)

    within = pairs_of(rows.voices) - shares.agreement
    return Disagreement(within, rows.voices - shares.own, shares_matrix(shares, len(labels)), cross)


def _squared(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    values = numbers_of(annotations)
    found = moments(rows, values, _centre(rows, values))
    # Below 0 is rounding.
    within = np.maximum(squared_pairs(found, rows.voices), 0.0)
    own = np.maximum(2.0 * (found.squares - found.squared_means), 0.0)
    margin = np.stack([rows.voices.astype(np.float64), found.total, found.squares], axis=1)

    def cross(left: Floats, right: Floats) -> Floats:
        (n, total, squares), (m, other, others) = (np.moveaxis(x, -1, 0) for x in (left, right))
        whole = n * others + m * squares
        apart = whole - 2.0 * total * other
        return np.where(apart > ROUNDING * whole, apart, 0.0)

    return Disagreement(within, own, margin, cross)


def _centre(rows: Grouped, values: Floats) -> float:
    """Return the centre of the numbers on items with pairs: another's may be far from them."""
    paired = np.repeat(rows.voices >= 2, np.diff(rows.start))
    return centre_of(values[rows.order[paired]] if 0 < paired.sum() < len(paired) else values)


def _absolute(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    given = numbers_of(annotations)
    values, codes = np.unique(given, return_inverse=True)
    shares = label_shares(rows, codes, len(values))
    within, own = far_pairs(rows, given, tolerance=0.0)
    step = np.diff(values)

    def cross(left: Floats, right: Floats) -> Floats:
        # |v - v'| is the length of the steps between: count the pairs that each step parts.
        below, under = (np.cumsum(x, axis=-1)[..., :-1] for x in (left, right))
        above, over = left.sum(axis=-1)[..., None] - below, right.sum(axis=-1)[..., None] - under
        return (below * over + above * under) @ step

    return Disagreement(within, own, shares_matrix(shares, len(values)), cross)


def _tabled(
    annotations: xr.Dataset, rows: Grouped, distance: Callable[[Any, Any], float]
) -> Disagreement:
    codes, labels = labels_of(annotations)
    return from_table(rows, codes, table_of(labels, distance))


def from_table(rows: Grouped, codes: npt.NDArray[np.int64], apart: Floats) -> Disagreement:
    """Prepare any distance between labels from the table (label, label) of all pairs."""
    shares = label_shares(rows, codes, len(apart))
    pairs = label_pairs(rows, shares, codes, np.ones(len(rows.voices)))
    amount = pairs.amount * apart[pairs.low, pairs.high]
    n_items = len(rows.voices)
    item = np.repeat(np.arange(n_items), np.diff(pairs.start))
    within = np.bincount(item, amount, n_items)
    own = np.bincount(item, np.maximum(-amount, 0.0), n_items)

    def cross(left: Floats, right: Floats) -> Floats:
        return np.asarray(((left @ apart) * right).sum(axis=-1))

    return Disagreement(within, own, shares_matrix(shares, len(apart)), cross)


def table_of(labels: npt.NDArray[Any], distance: Callable[[Any, Any], float]) -> Floats:
    """Return the distances of all pairs of labels, or raise if they are none.

    Examples
    --------
    >>> table_of(np.array([1, 4]), lambda a, b: abs(a - b))
    array([[0., 3.],
           [3., 0.]])
    """
    if len(labels) > TABLE:
        raise ArgumentError(
            "distance",
            expected=f"a name, with more than {TABLE:,} distinct labels",
            found=f"a callable, and {len(labels):,} labels: {len(labels) ** 2:,} pairs",
        )
    plain = np.array(
        [getattr(label, "item", lambda label=label: label)() for label in labels], dtype=object
    )
    try:
        values = np.frompyfunc(distance, 2, 1)(plain[:, None], plain[None, :])
        apart = values.astype(np.float64)
    except Exception as problem:
        raise ArgumentError(
            "distance",
            expected="a callable that takes two labels and returns a number",
            found=f"{type(problem).__name__}: {problem}",
        ) from problem
    _check_table(apart, plain)
    return apart


def _check_table(apart: Floats, labels: npt.NDArray[np.object_]) -> None:
    bad = ~np.isfinite(apart) | (apart < 0) | (np.eye(len(apart), dtype=bool) & (apart != 0))
    bad |= ~np.isclose(apart, apart.T, rtol=1e-12, atol=0.0)
    if bad.any():
        one, two = np.argwhere(bad)[0]
        raise ArgumentError(
            "distance",
            where=f"between {labels[one]!r} and {labels[two]!r}",
            expected="a finite number, 0 or more; the same in both directions; 0 from a label to "
            "itself",
            found=f"{apart[one, two]!r} (and {apart[two, one]!r} in the other direction)",
        )
