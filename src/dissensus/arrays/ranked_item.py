"""What the rankings of one item say, in the form in which the Gibbs sampler needs it.

The sampler's *units* are the item's cells, but for the last ones if nobody listed them and they
all have the same shape. These are the *tail*: one unit.
"""

from __future__ import annotations

from typing import NamedTuple

import math

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner
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


@inner
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
    common = sharpness[low] if high > low else 1.0
    for ranking in range(low, high):
        if sharpness[ranking] != sharpness[low]:
            common = 0.0
    first, n_cells = _tail_start(rankings, low, high, shape, named), len(shape)
    n_tail, n_units, whole, last = n_cells - first, min(first + 1, n_cells), 0.0, 1.0
    if n_tail > 1 and common == 1.0:
        last, n_tail = float(n_tail), 1
    exact = power != math.floor(power) and _any_tied(rankings, low, high, n_cells)
    if n_tail > 1 and exact:  # each needs its own look at the ties
        n_units, n_tail = n_cells, 1
    rows, kept, each, shared = _rows(rankings, low, high, n_cells, common > 0.0, sharpness)
    shapes = np.zeros((4, n_units))
    for cell in range(n_cells):
        whole += shape[cell]
    for row in range(SHARED_OWN):
        for unit in range(n_units):
            shapes[row, unit] = shape[unit] * (last if unit == first else 1.0)
    for ranking in range(low, high):
        begin, step = rankings.ranking_start[ranking], power * sharpness[ranking]
        for row in range(begin, _stop(rankings, ranking, len(shape))):
            unit = rankings.place[row]
            shapes[POSTERIOR, unit] += step
            if not _tied(rankings, ranking, row):
                shapes[SINGLE, unit] += step
                if row == begin and common > 0.0 and not rankings.closed[ranking]:
                    shapes[SHARED_OWN, unit] += step
    listed, spans = _spread(rankings, rows, kept, n_units)
    numbers = ItemNumbers(common, whole, n_tail, power * shared, power, exact)
    return RankedItem(numbers, listed, spans, each, shapes)


@inner
def _tail_start(rankings: Rankings, low: int, high: int, shape: Floats, named: int) -> int:
    """Return the first of the last cells that nobody listed and that have one shape.

    It is the number of cells if there are none.
    """
    first = named
    for row in range(rankings.ranking_start[low], rankings.ranking_start[high]):
        first = max(first, rankings.place[row] + 1)
    start = len(shape)
    while start > first and shape[start - 1] == shape[len(shape) - 1]:
        start -= 1
    return start


@inner
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


@inner
def _tied(rankings: Rankings, ranking: int, row: int) -> bool:
    """Return whether a row shares its block with another."""
    rank, low = rankings.rank, rankings.ranking_start[ranking]
    before = row > low and rank[row - 1] == rank[row]
    after = row + 1 < rankings.ranking_start[ranking + 1] and rank[row + 1] == rank[row]
    return before or after


@inner
def _any_tied(rankings: Rankings, low: int, high: int, n_cells: int) -> bool:
    for ranking in range(low, high):
        for row in range(rankings.ranking_start[ranking], _stop(rankings, ranking, n_cells)):
            if _tied(rankings, ranking, row):
                return True
    return False


@inner
def _rows(
    rankings: Rankings, low: int, high: int, n_cells: int, share: bool, sharpness: Floats
) -> tuple[Codes, Codes, Floats, float]:
    """Return the rows of the rankings kept, which these are, and how many share a choice."""
    rows, kept = np.empty((high - low, 3), dtype=np.int64), np.empty(high - low, dtype=np.int64)
    each, n_kept, shared = np.empty(high - low), 0, 0.0
    for ranking in range(low, high):
        begin, end = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
        stop = _stop(rankings, ranking, n_cells)
        if begin == stop:
            continue
        if share and not rankings.closed[ranking] and not _tied(rankings, ranking, begin):
            shared += 1.0
            begin += 1
        if begin < stop:
            rows[n_kept, BEGIN], rows[n_kept, STOP], rows[n_kept, LAST] = begin, stop, end
            kept[n_kept], each[n_kept] = ranking, sharpness[ranking]
            n_kept += 1
    return rows, kept[:n_kept], each[:n_kept], shared


@inner
def _spread(rankings: Rankings, rows: Codes, kept: Codes, n_units: int) -> tuple[Codes, Codes]:
    """Write the units of the rankings one after another, and where each has its own."""
    spans = np.empty((len(kept), 3), dtype=np.int64)
    there, n = np.empty(n_units, dtype=np.bool_), 0
    for i in range(len(kept)):
        start, end = rankings.ranking_start[kept[i]], rows[i, LAST]
        n += start - rows[i, BEGIN] + (end - start if rankings.closed[kept[i]] else n_units)
    listed, n = np.zeros((2, n), dtype=np.int64), 0
    for i in range(len(kept)):
        ranking = kept[i]
        begin, stop, end = rows[i, BEGIN], rows[i, STOP], rows[i, LAST]
        for unit in range(n_units):
            there[unit] = not rankings.closed[ranking]
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
    return listed, spans
