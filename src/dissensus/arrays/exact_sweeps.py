"""Sampling items by exact moves, with arrival times before each sweep where these are needed.

Of what a sweep consists, the numbers of units and places decide; see
`plackett_luce_gibbs`. Items with and without arrival times have kernels of their
own, each compiled where an item needs it.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from dissensus.arrays.arrival_times import room_for_times
from dissensus.arrays.exact_moves import move_units
from dissensus.arrays.group_moves import move_group
from dissensus.arrays.ranked_item import (
    COMMON,
    EXACT,
    N_PLACES,
    N_TAIL,
    POSTERIOR,
    RankedItems,
    ranked_item,
    take_prior,
)
from dissensus.arrays.timed_sweep import timed_sweep
from dissensus.arrays.unit_order import positions
from dissensus.arrays.unit_view import room_for_moves
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.slices import tangents
from dissensus.kernels.types import Codes, Flags, Floats, Keys

_DEPTH = 45.0
"""Rates of the tail that are e^-45 of the largest do not change any sum."""

_GROUP_EVERY = 3
"""In one sweep of so many a group moves too: it costs about as much as a third of the units."""

_ONE_IN = 3
"""In a chain, one in so many units is moved by each sweep, in turn."""

_EFFORT = 4000
"""Places to look at for the exact moves of one sweep: with more, only some of the units move."""


class Plan(NamedTuple):
    """What a sweep of each item consists of."""

    timed: Flags
    """(item): whether arrival times are drawn."""
    n_moves: Codes
    """(item): how many units are moved exactly."""
    depth: Floats
    """(item): how far below the largest a cell of the tail still matters."""
    n_cells: Codes
    """(item): the units, and in place of a tail not lumped its cells."""


def plan_of(items: RankedItems) -> Plan:
    """Decide what sweeps consist of."""
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
    cell_start: Codes, out: Floats,
) -> None:  # fmt: skip
    """Go through `tune` sweeps of some items, and as many more as there is room for in `out`.

    Parameters
    ----------
    items : RankedItems
        What the annotators said.
    which : array (k)
        Items that have cells.
    states : array (item)
        Each item's random stream; written.
    named : array (item)
        How many cells have a column of their own.
    tune : int
        Sweeps before the first draw.
    prior : array (draw or 1, cell)
        Shapes of all items' cells, of every draw if they are not the same.
    cell_start : array (item + 1)
        Where each item's begin.
    out : array (draw, item, candidate)
        Written: what all other cells come to is last.
    """
    plan, position = plan_of(items), positions(items, which)
    start = np.cumsum([0, *plan.n_cells])
    log_strength, used = np.empty(start[-1]), plan.n_cells
    _begin(items, which, start, log_strength)
    n_moves = np.maximum(1, (plan.n_moves + 1) // _ONE_IN)
    for timed in (False, True):
        some = which[plan.timed[which] == timed]
        if len(some):
            _mover(timed)(
                items, some, states, n_moves, plan.depth, position, start, used, log_strength,
                named, tune, prior, cell_start, out,
            )  # fmt: skip


@kernel
def _begin(items: RankedItems, which: Codes, start: Codes, log_strength: Floats) -> None:
    """Write where chains start from."""
    for k in range(len(which)):
        first, after = items.unit_start[which[k]], items.unit_start[which[k] + 1]
        now = log_strength[start[which[k]] : start[which[k] + 1]]
        for cell in range(len(now)):
            now[cell] = math.log(items.shapes[min(first + cell, after - 1), POSTERIOR])
        normalise(now, len(now))


@functools.cache
def _mover(timed: bool) -> Any:
    """Compile sweeps with or without arrival times: few items need them."""

    @kernel
    def move(
        items: RankedItems, which: Codes, states: Keys, n_moves: Codes, depth: Floats,
        positions: Codes, start: Codes, used: Codes, log_strength: Floats, named: Codes, tune: int,
        prior: Floats, cell_start: Codes, out: Floats,
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
            for sweep in range(tune + len(out)):
                if len(prior) > 1:
                    row = (sweep - tune) % len(prior)
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
                if sweep >= tune:
                    _write(now, n, named[i], i, sweep - tune, out)

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
    """Write the shares of named cells, and last, if there is more, of all others."""
    rest = 0.0
    for cell in range(named):
        out[draw, item, cell] = math.exp(log_share[cell])
    for cell in range(named, used):
        rest += math.exp(log_share[cell])
    if used > named:
        out[draw, item, out.shape[2] - 1] = rest
