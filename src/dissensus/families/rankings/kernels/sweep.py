"""Exact Gibbs sampling of plausibilities from partial rankings under Plackett-Luce.

Strengths are independent Gamma(shape, 1), and a label's plausibility is its share of their sum.
A sweep of an item has two parts. The posterior is invariant under both:

- All annotators' arrival times are drawn given the strengths, and all strengths given the times
  (`times`). The cost of this part is that of reading the rankings. It mixes worse with more data,
  and with ties the power must be a whole number. It is left out if the other part suffices: for
  small items, unless many unlisted labels cannot be lumped.
- One strength after another is moved by the exact likelihood (`moves`), and in every third sweep
  all strengths on the weak side of a cut together. This part mixes well at any power. Its cost
  grows with the square of the number of labels.

The memory of sweeps by arrival times is known before sampling (`memory`). If it is short, an item
is sampled by arrival times alone, in plain numbers (`plain_times`), at a fraction of the cost.

The likelihood does not depend on the sum of the strengths, which is Gamma(total shape, 1) whatever
the rankings: it is drawn again after each sweep. All strengths are stored as logarithms, because a
sparse prior makes them smaller than any floating-point number.
`docs/derivations/plackett-luce-gibbs.md` has the mathematics.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from dissensus.families.rankings.kernels.layout import (
    COMMON,
    EXACT,
    N_PLACES,
    N_TAIL,
    POSTERIOR,
    RankedItems,
    ranked_item,
    ranked_items,
    take_prior,
)
from dissensus.families.rankings.kernels.memory import memories
from dissensus.families.rankings.kernels.moves import move_group, move_units, positions
from dissensus.families.rankings.kernels.plain_times import is_plain
from dissensus.families.rankings.kernels.times import (
    draw_of,
    room_for_times,
    sample_by_times,
    timed_sweep,
)
from dissensus.families.rankings.kernels.views import room_for_moves
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, started, uniform
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.slices import tangents
from dissensus.kernels.special import log_total
from dissensus.kernels.types import Codes, Flags, Floats, Keys
from dissensus.kernels.variates import log_gamma_variate

_DEPTH = 45.0
"""Rates of the tail below e^-45 times the largest rate do not change any sum."""

_GROUP_EVERY = 3
"""Number of sweeps per move of a group, whose cost is about that of moving a third of the units."""

_ONE_IN = 3
"""In a chain, each sweep moves one in this number of units; units take turns."""

_EFFORT = 4000
"""Maximum number of places that the exact moves of a sweep read; it limits the units that move."""


class Plan(NamedTuple):
    """Settings of the sweep of each item."""

    timed: Flags
    """(item): whether arrival times are drawn."""
    n_moves: Codes
    """(item): number of units that are moved exactly."""
    depth: Floats
    """(item): cells of the tail this far below the largest log strength do not matter."""
    n_cells: Codes
    """(item): number of units, counting each cell of a tail that is not lumped."""


def plan_of(items: RankedItems) -> Plan:
    """Choose the parts of sweeps."""
    numbers, n_units = items.numbers, items.n_units
    n_tail, common = numbers[:, N_TAIL].astype(np.int64), numbers[:, COMMON]
    few = np.maximum(1, _EFFORT // np.maximum(numbers[:, N_PLACES].astype(np.int64), 1))
    n_moves = np.where(numbers[:, EXACT] > 0.0, n_units, np.minimum(n_units, few))
    least = np.where(common > 0.0, np.minimum(common, 1.0), 1.0)
    owner = np.repeat(np.arange(len(least)), np.diff(items.span_start))
    np.minimum.at(least, owner, items.sharpness[: len(owner)])
    n_cells = np.where(n_units > 0, n_units - 1 + np.maximum(n_tail, 1), 0)
    return Plan((n_tail > 1) | (n_moves < n_units), n_moves, _DEPTH / least, n_cells)


def sample_exactly(
    items: RankedItems, which: Codes, states: Keys, named: Codes, tune: int, prior: Floats,
    cell_start: Codes, out: Floats, thin: int,
) -> None:  # fmt: skip
    """Go through `tune` sweeps of some items, and `thin` more for each draw in `out`.

    Parameters
    ----------
    which : array (k)
        Items that have cells.
    states : array (item)
        Each item's random stream; written.
    named : array (item)
        Number of units with their own column.
    prior : array (draw or 1, cell)
        Prior shapes of all items' cells, for each draw if they differ between draws.
    cell_start : array (item + 1)
        Where each item's cells begin.
    out : array (draw, item, candidate)
        Written; the last column is the sum of all other units.
    """
    plan, position = plan_of(items), positions(items, which)
    start = np.cumsum([0, *plan.n_cells])
    log_strength, used = np.empty(start[-1]), plan.n_cells
    _begin(items, which, start, log_strength)
    n_moves = np.maximum(1, (plan.n_moves + 1) // _ONE_IN)
    for timed in (False, True):
        chosen = which[plan.timed[which] == timed]
        if len(chosen):
            _mover(timed)(
                items, chosen, states, n_moves, plan.depth, position, start, used, log_strength,
                named, tune, prior, cell_start, out, thin,
            )  # fmt: skip


@kernel
def _begin(items: RankedItems, which: Codes, start: Codes, log_strength: Floats) -> None:
    """Write the starting values of chains."""
    for k in range(len(which)):
        first, after = items.unit_start[which[k]], items.unit_start[which[k] + 1]
        now = log_strength[start[which[k]] : start[which[k] + 1]]
        for cell in range(len(now)):
            now[cell] = math.log(items.shapes[min(first + cell, after - 1), POSTERIOR])
        normalise(now, len(now))


@functools.cache
def _mover(timed: bool) -> Any:
    """Compile sweeps with or without arrival times; few items need the times."""

    @kernel
    def move(
        items: RankedItems, which: Codes, states: Keys, n_moves: Codes, depth: Floats,
        positions: Codes, start: Codes, used: Codes, log_strength: Floats, named: Codes, tune: int,
        prior: Floats, cell_start: Codes, out: Floats, thin: int,
    ) -> None:  # fmt: skip
        for k in range(len(which)):
            i = which[k]
            item, state, now = ranked_item(items, i), states[i : i + 1], log_strength[start[i] :]
            position = positions[items.unit_start[i] : items.unit_start[i + 1]]
            numbers, listed, spans, sharpness, shapes = item
            log_rate, rate, choices, ties, table = room_for_moves(item)
            if timed:
                work, lines = room_for_times(item), tangents()
                terms = np.empty((2, len(spans) + 1))
            n, first = used[i], 0
            for sweep in range(tune + thin * len(out)):
                if len(prior) > 1:
                    row = (sweep - tune) // thin % len(prior)
                    take_prior(items, i, prior[row, cell_start[i] : cell_start[i + 1]])
                    item = ranked_item(items, i)
                    numbers = item.numbers
                if timed:
                    n = timed_sweep(state, item, now, n, depth[i], work, terms, lines)
                move_units(
                    state, numbers, listed, spans, sharpness, shapes, now, n, first, n_moves[i],
                    log_rate, rate, choices, ties, table,
                )  # fmt: skip
                if sweep % _GROUP_EVERY == 0:
                    move_group(
                        state, numbers, listed, spans, sharpness, shapes, now, n, position,
                        sweep // _GROUP_EVERY, log_rate, rate, choices, ties, table,
                    )  # fmt: skip
                first = (first + n_moves[i]) % len(shapes)
                normalise(now, n)
                draw = draw_of(sweep - tune, thin)
                if draw >= 0:
                    _write(now, n, named[i], i, draw, out)

    return move


@inner
def normalise(log_strength: Floats, used: int) -> None:
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
def _write(log_share: Floats, used: int, named: int, item: int, draw: int, out: Floats) -> None:
    """Write the shares of named cells and, in the last column, the sum of all other shares."""
    rest = 0.0
    for cell in range(named):
        out[draw, item, cell] = math.exp(log_share[cell])
    for cell in range(named, used):
        rest += math.exp(log_share[cell])
    if used > named:
        out[draw, item, out.shape[2] - 1] = rest


_FORGETFUL = 0.4
"""Maximum memory of items that are sampled by arrival times alone: a sweep is then worth at least
two fifths of an independent draw. A sweep with exact moves of a third of the units is worth the
same, and takes several times as long."""


def sample(
    rankings: Rankings, shape: Floats, keys: Keys, *, named: Codes, n_columns: int | None = None,
    power: float = 1.0, sharpness: Floats | None = None, tune: int = 500, draws: int = 1000,
    thin: int = 1,
) -> Floats:  # fmt: skip
    """Draw plausibilities of all items (draw, item, candidate), one chain.

    Candidates are the item's named cells, padding, and last the sum of all other cells.

    Parameters
    ----------
    shape : array (cell) or (draw, cell)
        Prior shape of each cell's strength; for a lumped remainder, the sum of its labels' shapes.
        With a learned prior, there is a row for each draw.
    keys : array (item)
        Start of each item's own random stream: results do not depend on how items are split.
    named : array (item)
        Number of the item's leading cells that have a column of their own.
    n_columns : int, optional
        Number of columns of the result. Default: the maximum of `named`, plus 1.
    power : float
        Power of the likelihood: the weight of each ranking, which need not be a whole number.
    sharpness : array (ranking), optional
        Power of the strengths in each ranking. Default: 1.
    thin : int
        Sweeps for each draw.

    Examples
    --------
    x before y and z, which are unnamed and share a cell:

    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [0], [1], [0, 2], [False])))
    >>> shape, keys, named = np.array([1.0, 2.0]), np.array([1], dtype=np.uint64), np.array([1])
    >>> theta = sample(one, shape, keys, named=named, draws=4000)
    >>> theta.mean(axis=0).round(1)  # Dirichlet(2, 1, 1): .5 and .25 + .25
    array([[0.5, 0.5]])
    """
    columns = int(named.max(initial=0)) + 1 if n_columns is None else n_columns
    out, states = np.zeros((draws, len(keys), columns)), np.array(keys, dtype=np.uint64)
    prior = np.atleast_2d(shape)
    # Minimum over draws: plain numbers are used only if variates of no draw could underflow.
    items = ranked_items(
        rankings, prior.min(axis=0), _each(rankings, sharpness), float(power), named
    )
    plain = np.flatnonzero(is_plain(items))
    item_memory = np.empty(len(plain))
    if len(plain):
        memories(rankings, plain, prior.mean(axis=0), float(power), item_memory)
    forgetful = np.zeros(len(keys), dtype=np.bool_)
    forgetful[plain] = item_memory <= _FORGETFUL
    cells = rankings.cell_start
    if forgetful.any():
        which = np.flatnonzero(forgetful)
        sample_by_times(items, which, states, named, tune, prior, cells, out, thin)
    others = np.flatnonzero(~forgetful & (items.n_units > 0))
    if len(others):
        sample_exactly(items, others, states, named, tune, prior, cells, out, thin)
    return out


def sweep(
    rankings: Rankings, shape: Floats, log_strength: Floats, key: int, *,
    power: float = 1.0, sharpness: Floats | None = None,
) -> Floats:  # fmt: skip
    """Return all log strengths (cell) after one Gibbs sweep; `key` starts its random stream.

    The sum of each item's strengths is drawn anew. Other arguments are those of `sample`.
    """
    out = np.array(log_strength, dtype=np.float64)
    none = np.zeros(len(rankings.n_cells), dtype=np.int64)
    items = ranked_items(rankings, shape, _each(rankings, sharpness), float(power), none)
    plan, position = plan_of(items), positions(items, np.flatnonzero(items.n_units))
    _sweep(
        items, plan.timed, plan.n_moves, position, shape, rankings.cell_start, np.uint64(key), out
    )
    return out


@kernel
def _sweep(
    items: RankedItems, timed: Flags, n_moves: Codes, order: Codes, shape: Floats,
    start: Codes, key: int, log_strength: Floats,
) -> None:  # fmt: skip
    """Go through one sweep of all items; the cells of a lumped tail then share its mass."""
    state, lines = started(key), tangents()
    for i in range(len(timed)):
        if start[i] == start[i + 1]:
            continue
        item, now = ranked_item(items, i), log_strength[start[i] : start[i + 1]]
        numbers, listed, spans, sharpness, shapes = item
        log_rate, rate, choices, ties, table = room_for_moves(item)
        position, last = order[items.unit_start[i] : items.unit_start[i + 1]], len(shapes) - 1
        used = last + max(numbers.n_tail, 1)
        if used < len(now):
            now[last] = log_total(now[last:])
        first = int(uniform(state) * len(shapes))
        normalise(now, used)
        if timed[i]:
            work, terms = room_for_times(item), np.empty((2, len(spans) + 1))
            used = timed_sweep(state, item, now, used, np.inf, work, terms, lines)
        move_units(
            state, numbers, listed, spans, sharpness, shapes, now, used, first, n_moves[i],
            log_rate, rate, choices, ties, table,
        )  # fmt: skip
        move_group(
            state, numbers, listed, spans, sharpness, shapes, now, used, position, first, log_rate,
            rate, choices, ties, table,
        )  # fmt: skip
        normalise(now, used)
        _share_out(state, now, last, used, numbers.n_tail, shape[start[i + 1] - 1])
        more = log_gamma_variate(state, numbers.total_shape)
        for cell in range(len(now)):
            now[cell] += more


@inner
def _share_out(state: State, now: Floats, last: int, used: int, n_tail: int, shape: float) -> None:
    """Give each cell of a tail a strength of its own, in random order."""
    n_cells = len(now)
    if used < n_cells:
        tail, whole = now[last:], now[last]
        for cell in range(len(tail)):
            tail[cell] = log_gamma_variate(state, shape)
        more = whole - log_total(tail)
        for cell in range(len(tail)):
            tail[cell] += more
    elif n_tail > 1:  # shuffle the strengths, which were drawn in descending order
        for cell in range(n_cells - 1, last, -1):
            other = last + int(uniform(state) * (cell + 1 - last))
            now[cell], now[other] = now[other], now[cell]


def _each(rankings: Rankings, sharpness: Floats | None) -> Floats:
    return np.ones(len(rankings.ranking_start) - 1) if sharpness is None else sharpness
