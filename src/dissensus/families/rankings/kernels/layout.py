"""The rankings of items, in the form that the Gibbs sampler needs.

The sampler's *units* are the item's cells. The last cells are one unit, the *tail*, if no ranking
lists them and their prior shapes are equal.

Under a learned prior, `together` merges unlisted cells into one while an item is sampled, and
`share_out` then splits its mass. Rankings do not distinguish unlisted cells, so that given their
total mass, their parts have a Dirichlet distribution with the shapes of the prior.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_total
from dissensus.kernels.types import Codes, Flags, Floats, Ints, Keys
from dissensus.kernels.variates import LEAST, log_gamma_variate

UNIT, RANK = range(2)
"""The rows of `RankedItem.listed`."""

BEGIN, STOP, LAST = range(3)
"""The columns of `RankedItem.spans`."""

PRIOR, POSTERIOR, SINGLE, SHARED_OWN = range(4)
"""The columns of `RankedItem.shapes`."""

COMMON, TOTAL_SHAPE, N_TAIL, SHARED, POWER, EXACT, N_PLACES = range(7)
"""The columns of `RankedItems.numbers`: the fields of `ItemNumbers`, in their order."""


class ItemNumbers(NamedTuple):
    """Numbers of an item, constant in a chain: only a learned prior changes ``total_shape``."""

    common: float
    """The sharpness of all rankings, 0 if they differ."""
    total_shape: float
    """Sum of the prior shapes of all strengths."""
    n_tail: int
    """Number of cells of the tail, each with the unit's shape; 0 without a tail. If the cells are
    lumped, it is 1, and the unit's shape is the sum of their shapes."""
    shared: float
    """Power x the number of open rankings that start with a single label. All these first choices
    are from the set of all cells, which is evaluated once for all of them."""
    power: float
    exact: bool
    """Whether there are ties and the power is not a whole number, so that times cannot be drawn."""
    n_places: int
    """Number of places of `RankedItem.listed` of this item."""


class RankedItem(NamedTuple):
    """Data of an item, constant in a chain: only a learned prior changes the shapes.

    Rankings without information are left out, and so are the first choices that
    `ItemNumbers.shared` counts.
    """

    numbers: ItemNumbers
    listed: Codes
    """(`UNIT` ..., place): one array for all items. The row `UNIT` has the listed units of each
    ranking in order and then, if the ranking is open, its unlisted units. The row `RANK` has the
    number of each unit's block, 0 if the unit is not listed."""
    spans: Codes
    """(ranking, `BEGIN` ...): the first informative place; the first place of a last block with
    nothing after it, or of the unlisted units; the end."""
    sharpness: Floats
    """(ranking)"""
    shapes: Floats
    """(unit, `PRIOR` ...): the prior shape; the prior shape plus power x sharpness for each ranking
    that lists the unit; this sum over only those rankings that list it without ties; and power x
    sharpness for each shared first choice of the unit."""


class RankedItems(NamedTuple):
    """The data of many items, one after another."""

    numbers: Floats
    """(item, `COMMON` ...)"""
    listed: Codes
    spans: Codes
    sharpness: Floats
    shapes: Floats
    span_start: Codes
    """(item + 1): where each item's rankings start in `spans` and `sharpness`."""
    unit_start: Codes
    """(item + 1): where each item's units start in `shapes`."""

    @property
    def n_units(self) -> Codes:
        """Number of units of each item."""
        return np.diff(self.unit_start)

    def shape_of(self, row: int) -> Floats:
        """Return one column of `shapes`, for all units."""
        return self.shapes[: self.unit_start[-1], row]


def ranked_items(
    rankings: Rankings, shape: Floats, sharpness: Floats, power: float, named: Codes
) -> RankedItems:
    """Read the rankings of all items, for a power of the likelihood.

    `shape` (cell) are prior shapes, `sharpness` (ranking) powers of the strengths. The first
    `named` (item) cells of each item are units of their own.
    """
    n_rankings, n_cells = np.diff(rankings.item_start), rankings.n_cells
    start = np.zeros(len(named) + 1, dtype=np.int64)
    out = RankedItems(
        numbers=np.zeros((len(named), N_PLACES + 1)),
        listed=np.empty((2, int(n_rankings @ n_cells)), dtype=np.int64),
        spans=np.empty((len(sharpness), 3), dtype=np.int64),
        sharpness=np.empty(len(sharpness)),
        shapes=np.zeros((len(shape), SHARED_OWN + 1)),
        span_start=start,
        unit_start=start.copy(),
    )
    unlisted = np.empty(n_cells.max(initial=0), dtype=np.bool_)
    _read(rankings, shape, sharpness, power, named, unlisted, out)
    return out


@inner
def ranked_item(items: RankedItems, item: int) -> RankedItem:
    """Return the data of one item."""
    low, high = items.span_start[item], items.span_start[item + 1]
    shapes = items.shapes[items.unit_start[item] : items.unit_start[item + 1]]
    n = items.numbers
    numbers = ItemNumbers(
        n[item, COMMON], n[item, TOTAL_SHAPE], int(n[item, N_TAIL]), n[item, SHARED],
        n[item, POWER], n[item, EXACT] > 0.0, int(n[item, N_PLACES]),
    )  # fmt: skip
    return RankedItem(
        numbers, items.listed, items.spans[low:high], items.sharpness[low:high], shapes
    )


@inner
def take_prior(items: RankedItems, item: int, prior: Floats) -> None:
    """Replace the prior shapes (cell) of an item's strengths."""
    low, last = items.unit_start[item], items.unit_start[item + 1] - 1
    n_units, numbers = last + 1 - low, items.numbers[item]
    lumped = numbers[COMMON] == 1.0 and numbers[N_TAIL] == 1.0
    numbers[TOTAL_SHAPE] = 0.0
    for cell in range(len(prior)):
        numbers[TOTAL_SHAPE] += prior[cell]
    for unit in range(n_units):
        more = prior[unit] - items.shapes[low + unit, PRIOR]
        if lumped and unit == n_units - 1:
            for cell in range(n_units, len(prior)):
                more += prior[cell]
        for column in range(PRIOR, SINGLE + 1):
            items.shapes[low + unit, column] += more


@kernel
def _read(
    rankings: Rankings, shape: Floats, sharpness: Floats, power: float, named: Codes,
    unlisted: Flags, items: RankedItems,
) -> None:  # fmt: skip
    place = span = unit = 0
    for item in range(len(named)):
        low, high = rankings.cell_start[item], rankings.cell_start[item + 1]
        if low < high:
            mine, numbers = shape[low:high], items.numbers[item]
            n_units = _write_numbers(rankings, item, mine, sharpness, power, named[item], numbers)
            numbers[N_PLACES] = -place
            shapes, shared = items.shapes[unit : unit + n_units], 0.0
            _write_prior(mine, numbers, shapes)
            for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
                begin, g = rankings.ranking_start[ranking], sharpness[ranking]
                stop = _stop(rankings, ranking, high - low)
                if _write_counts(rankings, ranking, stop, power * g, numbers[COMMON], shapes):
                    begin += 1
                    shared += 1.0
                if begin < stop:
                    items.spans[span, BEGIN], items.sharpness[span] = place, g
                    items.spans[span, STOP] = place + stop - begin
                    place = _spread(
                        rankings, ranking, begin, n_units, unlisted, place, items.listed
                    )
                    items.spans[span, LAST] = place
                    span += 1
            numbers[SHARED] = power * shared
            numbers[N_PLACES] += place
            unit += n_units
        items.span_start[item + 1], items.unit_start[item + 1] = span, unit


@inner
def _write_numbers(
    rankings: Rankings, item: int, shape: Floats, sharpness: Floats, power: float, named: int,
    numbers: Floats,
) -> int:  # fmt: skip
    """Write all numbers of an item but `SHARED` and `N_PLACES`; return its number of units."""
    low, high = rankings.item_start[item], rankings.item_start[item + 1]
    common = sharpness[low] if high > low else 1.0
    for ranking in range(low, high):
        if sharpness[ranking] != sharpness[low]:
            common = 0.0
    first = _tail_start(rankings, low, high, shape, named)
    n_tail, n_units = len(shape) - first, min(first + 1, len(shape))
    if n_tail > 1 and common == 1.0:
        n_tail = 1
    exact = power != math.floor(power) and _any_tied(rankings, low, high, len(shape))
    if n_tail > 1 and exact:  # times are not drawn, and each cell of the tail moves alone
        n_units, n_tail = len(shape), 1
    for cell in range(len(shape)):
        numbers[TOTAL_SHAPE] += shape[cell]
    numbers[COMMON], numbers[N_TAIL], numbers[POWER] = common, n_tail, power
    numbers[EXACT] = 1.0 if exact else 0.0
    return n_units


@inner
def _tail_start(rankings: Rankings, low: int, high: int, shape: Floats, named: int) -> int:
    """Return the first cell of the tail: the last cells, if unlisted and of the same shape.

    It is the number of cells if there is no tail.
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
    """Return the first row of a last block with nothing after it, or the end if there is none.

    Such a block has probability 1, and is not informative.
    """
    low, stop = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
    if stop > low and (rankings.closed[ranking] or stop - low == n_cells):
        last = rankings.rank[stop - 1]
        while stop > low and rankings.rank[stop - 1] == last:
            stop -= 1
    return stop


@inner
def _tied(rankings: Rankings, ranking: int, row: int) -> bool:
    """Return whether a row shares its block with another row."""
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
def _write_prior(shape: Floats, numbers: Floats, shapes: Floats) -> None:
    """Write the prior shapes of units; the shape of lumped cells is the sum of their shapes."""
    last = len(shapes) - 1
    lumped = len(shape) - last if numbers[COMMON] == 1.0 and numbers[N_TAIL] == 1.0 else 1
    for unit in range(len(shapes)):
        prior = shape[unit] * lumped if unit == last else shape[unit]
        shapes[unit, PRIOR] = shapes[unit, POSTERIOR] = shapes[unit, SINGLE] = prior


@inner
def _write_counts(
    rankings: Rankings, ranking: int, stop: int, step: float, common: float, shapes: Floats
) -> bool:
    """Add a ranking to the shapes; return whether `SHARED` counts its first choice."""
    begin, share = rankings.ranking_start[ranking], False
    for row in range(begin, stop):
        unit = rankings.place[row]
        shapes[unit, POSTERIOR] += step
        if not _tied(rankings, ranking, row):
            shapes[unit, SINGLE] += step
            if row == begin and common > 0.0 and not rankings.closed[ranking]:
                shapes[unit, SHARED_OWN] += step
                share = True
    return share


@inner
def _spread(
    rankings: Rankings, ranking: int, begin: int, n_units: int, unlisted: Flags, place: int,
    listed: Codes,
) -> int:  # fmt: skip
    """Write the units of a ranking from row `begin` on, and return the place after them."""
    end = rankings.ranking_start[ranking + 1]
    for unit in range(n_units):
        unlisted[unit] = not rankings.closed[ranking]
    for row in range(rankings.ranking_start[ranking], end):
        unlisted[rankings.place[row]] = False
    for row in range(begin, end):
        listed[UNIT, place], listed[RANK, place] = rankings.place[row], rankings.rank[row]
        place += 1
    for unit in range(n_units):
        if unlisted[unit]:
            listed[UNIT, place], listed[RANK, place] = unit, 0
            place += 1
    return place


def together(rankings: Rankings, shape: Floats) -> tuple[Rankings, Floats, Flags]:
    """Merge all cells of an item that no ranking lists into one cell, the item's last.

    Returns rankings of fewer cells, their prior shapes (draw, cell), and which of the old cells are
    listed.

    Examples
    --------
    One ranking, which lists x of the cells w, x and y:

    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [1], [1], [0, 3], [False])))
    >>> merged, shape, listed = together(one, np.array([[1.0, 2.0, 4.0]]))
    >>> merged.place.tolist(), merged.cell_start.tolist(), shape.tolist()
    ([0], [0, 2], [[2.0, 5.0]])
    """
    start, n_items = rankings.cell_start, len(rankings.n_cells)
    owner = np.repeat(np.arange(n_items), rankings.n_cells)
    item = np.repeat(np.arange(n_items), np.diff(rankings.item_start))
    row = start[np.repeat(item, np.diff(rankings.ranking_start))] + rankings.place
    listed = np.zeros(len(owner), dtype=np.bool_)
    listed[row] = True
    n_listed = np.bincount(owner, listed, n_items).astype(np.int64)
    n_cells = n_listed + (n_listed < rankings.n_cells)
    cell_start = np.concatenate([[0], np.cumsum(n_cells)])
    before = np.cumsum(listed) - listed
    within = np.where(listed, before - before[start[:-1]][owner], n_listed[owner])
    merged_shape = np.zeros((len(shape), cell_start[-1]))
    target = cell_start[owner] + within
    merged_shape[:, target[listed]] = shape[:, listed]
    for cell in np.flatnonzero(~listed):
        merged_shape[:, target[cell]] += shape[:, cell]
    merged = rankings._replace(place=within[row], cell_start=cell_start)
    return merged, merged_shape, listed


@kernel
def share_out(
    keys: Keys, theta: Floats, shape: Floats, cell_start: Ints, listed: Flags, column: Ints,
    out: Floats,
) -> None:  # fmt: skip
    """Add the masses of all cells to `out` (draw, item, column), which must be 0 at first.

    `theta` (draw, item, column) has the masses of listed cells and, last, the mass of all others;
    `shape` (draw, cell) has prior shapes, and `column` (cell) is the column of a cell's mass. Each
    item's stream in `keys` is advanced.
    """
    parts = np.empty(shape.shape[1])
    for draw in range(len(out)):
        for item in range(len(keys)):
            low, high, place = cell_start[item], cell_start[item + 1], 0
            n = 0
            for cell in range(low, high):
                if listed[cell]:
                    out[draw, item, column[cell]] += theta[draw, item, place]
                    place += 1
                else:
                    cell_shape = max(shape[draw, cell], LEAST)
                    parts[n] = log_gamma_variate(keys[item : item + 1], cell_shape)
                    n += 1
            if n > 0:
                whole, rest, k = log_total(parts[:n]), theta[draw, item, -1], 0
                for cell in range(low, high):
                    if not listed[cell]:
                        out[draw, item, column[cell]] += rest * np.exp(parts[k] - whole)
                        k += 1
