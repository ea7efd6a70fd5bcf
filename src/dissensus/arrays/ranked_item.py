"""What the rankings of one item say, in the form in which the Gibbs sampler needs it.

The sampler's *units* are the item's cells, but for the last ones if nobody listed them and they
all have the same shape. These are the *tail*: one unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.rankings import Rankings

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


UNIT, RANK = range(2)
"""The rows of `RankedItem.listed`."""

BEGIN, STOP, LAST = range(3)
"""The columns of `RankedItem.spans`."""

PRIOR, POSTERIOR, SINGLE, SHARED_OWN = range(4)
"""The rows of `RankedItem.shapes`."""


class ItemNumbers(NamedTuple):
    """What stays the same throughout a chain and is one number."""

    common: float
    """The sharpness of all rankings, 0 if they differ."""
    total_shape: float
    """Of all strengths together."""
    n_tail: int
    """How many cells the last unit stands for, each with the unit's shape; 1 also where cells
    are lumped, with the sum of their shapes; 0 if there is no tail."""
    shared: float
    """Power x the number of open rankings that start with a single label: all choose from all
    that is there, and what one chooses from is looked at once for all."""
    power: float
    exact: bool
    """Whether there are ties, and the power is not whole: arrival times do not repeat in part."""


class RankedItem(NamedTuple):
    """What stays the same throughout a chain.

    Rankings that say nothing, and those of which `ItemNumbers.shared` says all, are left out.
    """

    numbers: ItemNumbers
    listed: Codes
    """(`UNIT` ..., place): of one ranking after another, the units in the order listed, and then,
    if it is not closed, those not listed; and the numbers of their blocks, 0 of the latter."""
    spans: Codes
    """(ranking, `BEGIN` ...): the first place whose block is still to be looked at; the first place
    of a last block with nothing after it, or of what is not listed; the end."""
    sharpness: Floats
    """(ranking)"""
    shapes: Floats
    """(`PRIOR` ..., unit): of the prior; the same plus power x sharpness for each ranking that
    lists the unit; for each that does so in a block of one; and, without the shape, for each of
    those shared that the unit is first in."""


@njit(cache=True)
def ranked_item(
    rankings: Rankings, item: int, shape: Floats, sharpness: Floats, power: float, named: int
) -> RankedItem:
    """Read one item's rankings.

    Parameters
    ----------
    rankings : Rankings
        Of all items.
    item : int
        Which.
    shape : array (cell)
        Of this item's cells.
    sharpness : array (ranking)
        Of all items' rankings.
    power : float
        Of the likelihood.
    named : int
        How many leading cells have to be units of their own.
    """
    low, high = rankings.item_start[item], rankings.item_start[item + 1]
    mine = sharpness[low:high]
    common = 1.0
    if high > low:
        common = mine[0] if (mine == mine[0]).all() else 0.0
    first = _tail_start(rankings, low, high, shape, named)
    n_tail, units = len(shape) - first, shape[: first + 1].copy()
    if n_tail > 1 and common == 1.0:
        units[first] *= n_tail
        n_tail = 1
    exact = power != np.floor(power) and _any_tied(rankings, low, high, len(shape))
    if n_tail > 1 and exact:  # each needs its own look at the ties
        units, n_tail = shape.copy(), 1
    rows, kept, shared = _rows(rankings, low, high, len(shape), common > 0.0)
    shapes = np.zeros((4, len(units)))
    shapes[:SHARED_OWN] = units
    for ranking in range(low, high):
        begin, step = rankings.ranking_start[ranking], power * sharpness[ranking]
        for row in range(begin, _stop(rankings, ranking, len(shape))):
            unit = rankings.place[row]
            shapes[POSTERIOR, unit] += step
            if not _tied(rankings, ranking, row):
                shapes[SINGLE, unit] += step
                if row == begin and common > 0.0 and not rankings.closed[ranking]:
                    shapes[SHARED_OWN, unit] += step
    listed, spans = _spread(rankings, rows, kept, len(units))
    numbers = ItemNumbers(common, shape.sum(), n_tail, power * shared, power, exact)
    return RankedItem(numbers, listed, spans, sharpness[kept], shapes)


@njit(cache=True)
def _tail_start(rankings: Rankings, low: int, high: int, shape: Floats, named: int) -> int:
    """Return the first of the last cells that nobody listed and that have one shape.

    It is the number of cells if there are none.
    """
    first = named
    for row in range(rankings.ranking_start[low], rankings.ranking_start[high]):
        first = max(first, rankings.place[row] + 1)
    start = len(shape)
    while start > first and shape[start - 1] == shape[-1]:
        start -= 1
    return start


@njit(cache=True)
def _stop(rankings: Rankings, ranking: int, n_cells: int) -> int:
    """Return the first row of a last block that nothing comes after, else the end.

    Such a block comes before the rest with probability 1, and says nothing.
    """
    low, stop = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
    if stop > low and (rankings.closed[ranking] or stop - low == n_cells):
        last = rankings.rank[stop - 1]
        while stop > low and rankings.rank[stop - 1] == last:
            stop -= 1
    return stop


@njit(cache=True)
def _tied(rankings: Rankings, ranking: int, row: int) -> bool:
    """Return whether a row shares its block with another."""
    rank, low = rankings.rank, rankings.ranking_start[ranking]
    before = row > low and rank[row - 1] == rank[row]
    after = row + 1 < rankings.ranking_start[ranking + 1] and rank[row + 1] == rank[row]
    return before or after


@njit(cache=True)
def _any_tied(rankings: Rankings, low: int, high: int, n_cells: int) -> bool:
    for ranking in range(low, high):
        for row in range(rankings.ranking_start[ranking], _stop(rankings, ranking, n_cells)):
            if _tied(rankings, ranking, row):
                return True
    return False


@njit(cache=True)
def _rows(
    rankings: Rankings, low: int, high: int, n_cells: int, share: bool
) -> tuple[Codes, Codes, float]:
    """Return the rows of the rankings kept, which these are, and how many share a choice."""
    rows, kept = np.empty((high - low, 3), dtype=np.int64), np.empty(high - low, dtype=np.int64)
    n_kept, shared = 0, 0.0
    for ranking in range(low, high):
        begin, end = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
        stop = _stop(rankings, ranking, n_cells)
        if begin == stop:
            continue
        if share and not rankings.closed[ranking] and not _tied(rankings, ranking, begin):
            shared += 1.0
            begin += 1
        if begin < stop:
            rows[n_kept] = begin, stop, end
            kept[n_kept] = ranking
            n_kept += 1
    return rows[:n_kept].copy(), kept[:n_kept].copy(), shared


@njit(cache=True)
def _spread(rankings: Rankings, rows: Codes, kept: Codes, n_units: int) -> tuple[Codes, Codes]:
    """Write the units of the rankings one after another, and where each has its own."""
    spans = np.empty((len(kept), 3), dtype=np.int64)
    listed = np.zeros((2, len(kept) * n_units), dtype=np.int64)
    there = np.empty(n_units, dtype=np.bool_)
    n = 0
    for i, ranking in enumerate(kept):
        begin, stop, end = rows[i]
        there[:] = not rankings.closed[ranking]
        for row in range(rankings.ranking_start[ranking], end):
            there[rankings.place[row]] = False
        spans[i, BEGIN], spans[i, STOP] = n, n + stop - begin
        for row in range(begin, end):
            listed[UNIT, n], listed[RANK, n] = rankings.place[row], rankings.rank[row]
            n += 1
        for unit in range(n_units):
            if there[unit]:
                listed[UNIT, n] = unit
                n += 1
        spans[i, LAST] = n
    return listed[:, :n].copy(), spans
