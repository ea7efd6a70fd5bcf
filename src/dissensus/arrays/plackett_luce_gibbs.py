"""Gibbs sampling of plausibilities from partial rankings under Plackett-Luce, exact.

Strengths are independent Gamma(shape, 1), and a label's plausibility is its share of their sum.
A sweep of an item has two parts, each of which leaves the posterior as it is:

- All annotators' arrival times are drawn given the strengths, and all strengths given the times
  (`dissensus.arrays.timed_sweep`). It costs as much as reading the rankings does, and mixes the
  worse the more is known; ties need a whole power. It is left out where the other part can do
  without: in small items, but for many labels that nobody listed where these cannot be lumped.
- One strength after another is moved by the exact likelihood (`dissensus.arrays.exact_moves`), and
  every third time all on the weak side of a cut together (`dissensus.arrays.group_moves`). It mixes
  well at any power, and costs the square of the number of labels.

Where arrival times alone forget soon enough, which is known beforehand
(`dissensus.arrays.time_memory`), an item is sampled by them alone, in plain numbers
(`dissensus.arrays.times_alone`), at a fraction of the cost.

The likelihood does not see the sum of the strengths, which is Gamma(total shape, 1) whatever the
rankings say: it is drawn anew after each sweep. All strengths are held in logarithms, since a
sparse prior makes them smaller than any floating-point number.
`docs/derivations/plackett-luce-gibbs.md` has the mathematics.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.arrays.arrival_times import room_for_times
from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.exact_moves import move_units
from dissensus.arrays.gamma import log_gamma_variate
from dissensus.arrays.group_moves import move_group
from dissensus.arrays.log_sums import log_total
from dissensus.arrays.plain_times import is_plain
from dissensus.arrays.ranked_item import POSTERIOR, RankedItem, ranked_item
from dissensus.arrays.rankings import Rankings
from dissensus.arrays.stream import State, started, uniform
from dissensus.arrays.tangents import tangents
from dissensus.arrays.time_memory import memory
from dissensus.arrays.timed_sweep import timed_sweep
from dissensus.arrays.times_alone import sample_by_times
from dissensus.arrays.unit_order import positions
from dissensus.arrays.unit_view import MoveRoom, room_for_moves

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

_DEPTH = 45.0
"""Rates of the tail that are e^-45 of the largest do not change any sum."""

_GROUP_EVERY = 3
"""In one sweep of so many a group moves too: it costs about as much as a third of the units."""

_ONE_IN = 3
"""In a chain of one item, one in so many units is moved by each sweep, in turn."""

_FORGETFUL = 0.4
"""Where a sweep by arrival times alone keeps no more than this, it is worth two fifths of an
independent draw or more. Exact moves of a third of the units are worth as much, and take several
times as long."""

_EFFORT = 4000
"""Places to look at for the exact moves of one sweep: with more, only some of the units move."""


class _Room(NamedTuple):
    """All that a sweep of one item writes to."""

    work: Floats
    """See `dissensus.arrays.arrival_times`."""
    terms: Floats
    """(2, term): of one unit, see `dissensus.arrays.log_strengths`."""
    lines: Floats
    """See `dissensus.arrays.tangents`."""
    moves: MoveRoom


class _Plan(NamedTuple):
    """What a sweep of one item consists of."""

    timed: bool
    """Whether arrival times are drawn."""
    n_moves: int
    """How many units are moved exactly."""
    depth: float
    """How far below the largest a cell of the tail still matters."""
    position: Codes
    """Each unit's in the order that groups are cut from."""


@inner
def _prepared(item: RankedItem) -> tuple[_Room, _Plan]:
    """Make room for one item's sweeps, and decide what they consist of."""
    numbers, n_units, n_places = item.numbers, item.shapes.shape[1], max(item.listed.shape[1], 1)
    n_moves = n_units if numbers.exact else min(n_units, max(1, _EFFORT // n_places))
    timed = numbers.n_tail > 1 or n_moves < n_units
    least = 1.0 if numbers.common == 0.0 else min(1.0, numbers.common)
    for ranking in range(len(item.sharpness)):
        least = min(least, item.sharpness[ranking])
    terms = np.empty((2, len(item.spans) + 1))
    room = _Room(room_for_times(item), terms, tangents(), room_for_moves(item))
    return room, _Plan(timed, n_moves, _DEPTH / least, positions(item))


@inner
def _sweeps(
    state: State, item: RankedItem, log_strength: Floats, used: int, first: int, plan: _Plan,
    room: _Room, named: int, tune: int, out: Floats,
) -> None:  # fmt: skip
    """Go through `tune` sweeps of one item, and as many more as there is room for in `out`.

    `used` is how many cells are: the units, and, in place of a tail not lumped, those of its cells
    that `draw_tail` finds large enough.
    """
    numbers, listed, spans, sharpness, shapes = item
    log_rate, rate, choices, ties, table = room.moves
    n_units, start = shapes.shape[1], first
    for sweep in range(tune + len(out)):
        if plan.timed:
            used = timed_sweep(
                state, item, log_strength, used, plan.depth, room.work, room.terms, room.lines
            )
        move_units(
            state, numbers, listed, spans, sharpness, shapes, log_strength, used, first,
            plan.n_moves, log_rate, rate, choices, ties, table,
        )  # fmt: skip
        if sweep % _GROUP_EVERY == 0:
            move_group(
                state, numbers, listed, spans, sharpness, shapes, log_strength, used,
                plan.position, start + sweep // _GROUP_EVERY, log_rate, rate, choices, ties, table,
            )  # fmt: skip
        first = (first + plan.n_moves) % n_units
        _normalise(log_strength, used)
        if sweep >= tune:
            _write(log_strength, used, named, sweep - tune, out)


@inner
def _normalise(log_strength: Floats, used: int) -> None:
    """Turn log strengths into log shares."""
    top, summed = log_strength[0], 0.0
    for cell in range(1, used):
        top = max(top, log_strength[cell])
    for cell in range(used):
        summed += math.exp(log_strength[cell] - top)
    shift = top + math.log(summed)
    for cell in range(used):
        log_strength[cell] -= shift


@inner
def _write(log_share: Floats, used: int, named: int, draw: int, out: Floats) -> None:
    """Write the shares of named cells, and last, if there is more, of all others."""
    rest = 0.0
    for cell in range(named):
        out[draw, cell] = math.exp(log_share[cell])
    for cell in range(named, used):
        rest += math.exp(log_share[cell])
    if used > named:
        out[draw, -1] = rest


@inner
def _sample_item(state: State, item: RankedItem, named: int, tune: int, out: Floats) -> None:
    """Sample one item; write (draw, candidate), with all that has no column of its own last."""
    room, plan = _prepared(item)
    plan = _Plan(plan.timed, max(1, (plan.n_moves + 1) // _ONE_IN), plan.depth, plan.position)
    n_units = item.shapes.shape[1]
    log_strength = np.empty(n_units - 1 + max(item.numbers.n_tail, 1))
    used = len(log_strength)
    for cell in range(used):
        log_strength[cell] = math.log(item.shapes[POSTERIOR, min(cell, n_units - 1)])
    _normalise(log_strength, used)
    _sweeps(state, item, log_strength, used, 0, plan, room, named, tune, out)


@kernel
def _sample(
    rankings: Rankings, shape: Floats, sharpness: Floats, power: float, named: Codes, tune: int,
    keys: Keys, out: Floats,
) -> None:  # fmt: skip
    for i in range(len(keys)):
        low, high = rankings.cell_start[i], rankings.cell_start[i + 1]
        if low == high:
            continue
        item = ranked_item(rankings, i, shape[low:high], sharpness, power, named[i])
        state, mine = started(keys[i]), shape[low:high]
        if is_plain(item) and memory(rankings, i, mine, power) <= _FORGETFUL:
            sample_by_times(state, item, named[i], tune, out[:, i])
        else:
            _sample_item(state, item, named[i], tune, out[:, i])


@kernel
def _sweep(
    rankings: Rankings, shape: Floats, sharpness: Floats, power: float, log_strength: Floats,
    key: int,
) -> None:  # fmt: skip
    state = started(key)
    for i in range(len(rankings.cell_start) - 1):
        low, high = rankings.cell_start[i], rankings.cell_start[i + 1]
        if low == high:
            continue
        item = ranked_item(rankings, i, shape[low:high], sharpness, power, 0)
        _sweep_cells(state, item, shape[low:high], log_strength[low:high])


@inner
def _sweep_cells(state: State, item: RankedItem, shape: Floats, log_strength: Floats) -> None:
    """Move all cells of one item; those of a lumped tail share out what it has."""
    n_units, n_tail, n_cells = item.shapes.shape[1], item.numbers.n_tail, len(shape)
    last, used = n_units - 1, n_units - 1 + max(n_tail, 1)
    if used < n_cells:
        log_strength[last] = log_total(log_strength[last:])
    room, plan = _prepared(item)
    plan = _Plan(plan.timed, plan.n_moves, np.inf, plan.position)
    first, none = int(uniform(state) * n_units), np.empty((0, 0))
    _normalise(log_strength, used)
    _sweeps(state, item, log_strength, used, first, plan, room, 0, 1, none)
    if used < n_cells:
        tail, whole = log_strength[last:], log_strength[last]
        for cell in range(len(tail)):
            tail[cell] = log_gamma_variate(state, shape[n_cells - 1])
        more = whole - log_total(tail)
        for cell in range(len(tail)):
            tail[cell] += more
    elif n_tail > 1:  # drawn in descending order
        for cell in range(n_cells - 1, last, -1):
            other = last + int(uniform(state) * (cell + 1 - last))
            log_strength[cell], log_strength[other] = log_strength[other], log_strength[cell]
    more = log_gamma_variate(state, item.numbers.total_shape)
    for cell in range(n_cells):
        log_strength[cell] += more


def sample(
    rankings: Rankings, shape: Floats, keys: Keys, *, named: Codes, n_columns: int | None = None,
    power: float = 1.0, sharpness: Floats | None = None, tune: int = 500, draws: int = 1000,
) -> Floats:  # fmt: skip
    """Draw plausibilities of all items, one chain.

    Parameters
    ----------
    rankings : Rankings
        What the annotators said.
    shape : array (cell)
        Prior shape of each cell's strength: of a lumped remainder, the sum of its labels'.
    keys : array (item)
        Starts each item's own random stream, so that items may be split in any way.
    named : array (item)
        How many of its leading cells have a column of their own.
    n_columns : int, optional
        Of the result. Default: one more than `named` is at most.
    power : float
        Of the likelihood: how many times each ranking counts. It need not be whole.
    sharpness : array (ranking), optional
        To which power each annotator sees the strengths. Default: 1.
    tune, draws : int
        Sweeps before the first draw, and draws.

    Returns
    -------
    array (draw, item, candidate)
        Candidates are the item's named cells, padding, and last the sum of all other cells.

    Examples
    --------
    x before y and z, which nobody names and which share a cell:

    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [0], [1], [0, 2], [False])))
    >>> shape, keys, named = np.array([1.0, 2.0]), np.array([1], dtype=np.uint64), np.array([1])
    >>> theta = sample(one, shape, keys, named=named, draws=4000)
    >>> theta.mean(axis=0).round(1)  # Dirichlet(2, 1, 1): .5 and .25 + .25
    array([[0.5, 0.5]])
    """
    columns = int(named.max(initial=0)) + 1 if n_columns is None else n_columns
    out = np.zeros((draws, len(keys), columns))
    _sample(rankings, shape, _each(rankings, sharpness), float(power), named, tune, keys, out)
    return out


def sweep(
    rankings: Rankings, shape: Floats, log_strength: Floats, key: int, *,
    power: float = 1.0, sharpness: Floats | None = None,
) -> Floats:  # fmt: skip
    """Move all log strengths by one Gibbs sweep.

    Parameters
    ----------
    rankings, shape, power, sharpness
        As for `sample`.
    log_strength : array (cell)
        Where to start from; finite.
    key : int
        Starts the random stream.

    Returns
    -------
    array (cell)
        Log strengths, of which each item's sum is a fresh Gamma variate.

    Examples
    --------
    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [0], [1], [0, 2], [False])))
    >>> sweep(one, np.array([1.0, 2.0]), np.zeros(2), 7).shape
    (2,)
    """
    out = np.array(log_strength, dtype=np.float64)
    _sweep(rankings, shape, _each(rankings, sharpness), float(power), out, np.uint64(key))
    return out


def _each(rankings: Rankings, sharpness: Floats | None) -> Floats:
    return np.ones(len(rankings.ranking_start) - 1) if sharpness is None else sharpness
