"""Distances between what two annotators said, summed over all pairs without listing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
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
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._read import labels_of, numbers_of
from dissensus.statistics._sums import Matrix, compact

# Distances from a callable, asked once for each distinct pair.


class Asked:
    """A callable's distances between things, by their codes.

    Parameters
    ----------
    distance : callable
        Takes two of the things and returns how far apart they are.
    things : list
        What codes stand for.

    Raises
    ------
    ArgumentError
        When called, if a distance is none: negative, not finite, another one in the other
        direction, or not 0 from a thing to itself.

    Examples
    --------
    >>> asked = Asked(lambda a, b: abs(a - b), [1, 4, 6])
    >>> asked(np.array([0, 1, 0]), np.array([1, 0, 2]))
    array([3., 3., 5.])
    """

    def __init__(self, distance: Callable[[Any, Any], float], things: list[Any]) -> None:
        self._distance, self._things = distance, things
        self._known: dict[int, float] = {}

    def __call__(self, left: Ints, right: Ints) -> Floats:
        """Return the distance of each pair of codes."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        key, place = np.unique(low * len(self._things) + high, return_inverse=True)
        found = [self._of(pair) for pair in key.tolist()]
        return np.array(found, dtype=np.float64)[place]

    def _of(self, pair: int) -> float:
        if pair not in self._known:
            low, high = divmod(pair, len(self._things))
            self._known[pair] = self._measured(self._things[low], self._things[high])
        return self._known[pair]

    def _measured(self, one: Any, two: Any) -> float:
        try:
            there, back = float(self._distance(one, two)), float(self._distance(two, one))
        except Exception as problem:
            raise no_callable(problem, f"between {one!r} and {two!r}") from problem
        fits = np.isfinite(there) and there >= 0 and (there == 0 or one != two)
        if not (fits and np.isclose(there, back, rtol=1e-12, atol=0.0)):
            raise no_distance(one, two, there, back)
        return there


def no_callable(problem: Exception, where: str = "") -> ArgumentError:
    """Say that a callable cannot be asked for distances."""
    return ArgumentError(
        "distance",
        where=where,
        expected="a callable that takes two labels and returns a number",
        found=f"{type(problem).__name__}: {problem}",
    )


def no_distance(one: Any, two: Any, there: float, back: float) -> ArgumentError:
    """Say that what a callable returned for two things, in both directions, is no distance."""
    return ArgumentError(
        "distance",
        where=f"between {one!r} and {two!r}",
        expected="a finite number, 0 or more; the same in both directions; 0 from a label to "
        "itself",
        found=f"{there!r} (and {back!r} in the other direction)",
    )


Distance = str | Callable[[Any, Any], float]

NAMED: Final = ("nominal", "squared", "absolute")
SYNONYMS: Final = {"interval": "squared"}

ROUNDING: Final = 1e-11
"""Squared distances smaller than this share of the squares they come from are 0, rounded.

Without it, equal numbers far from the centre would have some spread left, to divide by. What is
just above it is right to four digits.
"""

LARGEST: Final = 1e280
"""Distances up to this, and down to one over it, leave room for adding and multiplying counts."""

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
    rounded: bool = False
    """Whether `cross` takes for 0 what is no more than rounding beside labels far away."""


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
    return known[called(distance)](annotations, rows)


def called(distance: Distance, known: tuple[str, ...] = NAMED) -> str:
    """Return what a distance is called, "squared" for "interval", or raise if it is not known.

    Examples
    --------
    >>> called("interval"), called(lambda one, two: float(one != two))
    ('squared', 'callable')
    """
    if callable(distance):
        return "callable"  # not its own name, which might be that of a distance here
    name = SYNONYMS.get(distance, distance) if isinstance(distance, str) else ""
    if name not in known:
        listed = ", ".join(repr(one) for one in (*known, *SYNONYMS))
        raise ArgumentError(
            "distance", expected=f"one of {listed}, or a callable", found=brief(distance)
        )
    return name


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
    check_range(values, power=2)
    found = moments(rows, values)
    # Below 0 is rounding.
    within = np.maximum(squared_pairs(found, rows.voices), 0.0)
    own = np.maximum(2.0 * (found.squares - found.squared_means), 0.0)
    sums = around(found, rows.voices, centre_of_pairs(rows, values))
    margin = np.stack([rows.voices.astype(np.float64), *sums], axis=1)

    def cross(left: Floats, right: Floats) -> Floats:
        (n, total, squares), (m, other, others) = (np.moveaxis(x, -1, 0) for x in (left, right))
        whole = n * others + m * squares
        apart = whole - 2.0 * total * other
        return np.where(apart > ROUNDING * whole, apart, 0.0)

    return Disagreement(within, own, margin, cross, rounded=True)


def check_range(values: Floats, power: int, subject: str = "annotations") -> None:
    """Raise if powers of differences would be taken for 0, or for infinite.

    Raises
    ------
    AnnotationError
        If the largest difference is not between one over the largest number allowed, and that.
    """
    if len(values) == 0:
        return
    with np.errstate(over="ignore"):
        spread = float(values.max() - values.min())
    most = LARGEST ** (1 / power)
    if spread == 0 or 1 / most <= spread <= most:
        return
    what = "squared differences" if power == 2 else "differences"
    raise AnnotationError(
        subject,
        expected=f"numbers whose {what} can be computed with: the largest and the smallest are "
        f"{1 / most:.0e} to {most:.0e} apart, or equal",
        found=f"{spread:.2g}",
        hint="Multiply all numbers by the same one: ratios of distances stay what they are",
    )


def centre_of_pairs(rows: Grouped, values: Floats) -> float:
    """Return the centre of the numbers on items with pairs: another's may be far from them."""
    paired = np.repeat(rows.voices >= 2, np.diff(rows.start))
    return centre_of(values[rows.order[paired]] if 0 < paired.sum() < len(paired) else values)


def _absolute(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    given = numbers_of(annotations)
    check_range(given, power=1)
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
    pairs = label_pairs(rows, shares, codes, len(apart), np.ones(len(rows.voices)))
    amount = pairs.amount * apart.ravel()[pairs.cell]
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
        raise no_callable(problem) from problem
    _check_table(apart, plain)
    return apart


def _check_table(apart: Floats, labels: npt.NDArray[np.object_]) -> None:
    bad = ~np.isfinite(apart) | (apart < 0) | (np.eye(len(apart), dtype=bool) & (apart != 0))
    bad |= ~np.isclose(apart, apart.T, rtol=1e-12, atol=0.0)
    if bad.any():
        one, two = np.argwhere(bad)[0]
        there, back = float(apart[one, two]), float(apart[two, one])
        raise no_distance(labels[one], labels[two], there, back)


# The distances of numbers on a ratio scale.


def ratio_disagreement(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    r"""Prepare :math:`((a - b) / (a + b))^2`, which is 0 between two zeros.

    Raises
    ------
    AnnotationError
        If a number is below 0, or more than 3,000 of them are distinct.
    """
    given = numbers_of(annotations)
    below = np.flatnonzero(given < 0)
    if len(below):
        row = int(below[0])
        item = annotations[ITEM].to_numpy()[annotations["item_code"].to_numpy()[row]]
        raise AnnotationError(
            "annotations",
            where=f"row {row} (item {shown([item])})",
            expected='numbers of 0 or more, with level="ratio"',
            found=f"{given[row]}",
            hint='For numbers around 0, level="interval"',
        )
    values, codes = np.unique(given, return_inverse=True)
    if len(values) > TABLE:
        raise AnnotationError(
            "annotations",
            expected=f'up to {TABLE:,} distinct numbers, with level="ratio"',
            found=f"{len(values):,}: their distances are a table of all pairs",
            hint='Round the numbers, or take level="interval", which needs no table',
        )
    return from_table(rows, codes, apart(values))


def apart(values: Floats) -> Floats:
    """Return the distances of all pairs.

    Examples
    --------
    >>> apart(np.array([0.0, 1.0, 3.0]))
    array([[0.  , 1.  , 1.  ],
           [1.  , 0.  , 0.25],
           [1.  , 0.25, 0.  ]])
    """
    values = values / 2.0 if values.max(initial=0.0) > 1e300 else values  # else no float holds sums
    total = values[:, None] + values[None, :]
    return ((values[:, None] - values[None, :]) / np.where(total > 0, total, 1.0)) ** 2
