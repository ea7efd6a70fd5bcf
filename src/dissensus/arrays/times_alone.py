"""Sampling items by arrival times alone.

That is for items whose sweeps forget soon enough, see `time_memory`.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.arrival_times import room_for_times
from dissensus.arrays.plain_times import SHARE, plain_room, plain_sweep, take_shapes
from dissensus.arrays.ranked_item import POSTERIOR, RankedItems, ranked_item, take_prior
from dissensus.arrays.timed_sweep import timed_sweep
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.slices import tangents
from dissensus.kernels.special import log_total
from dissensus.kernels.types import Codes, Floats, Keys


def sample_by_times(
    items: RankedItems, which: Codes, states: Keys, named: Codes, tune: int, prior: Floats,
    cell_start: Codes, out: Floats,
) -> None:  # fmt: skip
    """Go through `tune` sweeps of some items, and as many more as there is room for in `out`.

    Sweeps are in plain numbers, but in logarithms where a share is too small for these.

    Parameters
    ----------
    items : RankedItems
        What the annotators said.
    which : array (k)
        Items that `plain_times.is_plain`.
    states : array (item)
        Each item's random stream; written.
    named : array (item)
        How many units have a column of their own.
    tune : int
        Sweeps before the first draw.
    prior : array (draw or 1, cell)
        Shapes of all items' cells, of every draw if they are not the same.
    cell_start : array (item + 1)
        Where each item's begin.
    out : array (draw, item, candidate)
        Written: what all other units come to is last.
    """
    done, share = np.zeros(len(named), dtype=np.int64), np.empty(len(items.shapes))
    while len(which):
        _in_plain_numbers(items, which, states, named, tune, prior, cell_start, done, share, out)
        which = which[done[which] < tune + len(out)]
        if len(which):
            _in_logs(items, which, states, named, tune, prior, cell_start, done, share, out)


@kernel
def _in_plain_numbers(
    items: RankedItems, which: Codes, states: Keys, named: Codes, tune: int,
    prior: Floats, cell_start: Codes, done: Codes, share: Floats, out: Floats,
) -> None:  # fmt: skip
    """Go on with each item from where it is, to the end, or until a share is too small."""
    lines = tangents()
    for k in range(len(which)):
        item = which[k]
        numbers, listed, spans, _, shapes = ranked_item(items, item)
        state, n, start = states[item : item + 1], len(shapes), items.unit_start[item]
        plain = plain_room(shapes)
        summed = 0.0
        for unit in range(n):
            summed += shapes[unit, POSTERIOR]
        for unit in range(n):
            first = shapes[unit, POSTERIOR] / summed
            plain[SHARE, unit] = share[start + unit] if done[item] > 0 else first
        while done[item] < tune + len(out):
            if len(prior) > 1:
                row = (done[item] - tune) % len(prior)
                take_prior(items, item, prior[row, cell_start[item] : cell_start[item + 1]])
                numbers = ranked_item(items, item).numbers
                take_shapes(shapes, plain)
            if not plain_sweep(state, numbers, listed, spans, plain, lines):
                break
            _write(plain[SHARE], named[item], item, done[item] - tune, out)
            done[item] += 1
        for unit in range(n):
            share[start + unit] = plain[SHARE, unit]


@kernel
def _in_logs(
    items: RankedItems, which: Codes, states: Keys, named: Codes, tune: int,
    prior: Floats, cell_start: Codes, done: Codes, share: Floats, out: Floats,
) -> None:  # fmt: skip
    """Go through one sweep of each item."""
    lines, terms = tangents(), np.empty((2, 1))
    for k in range(len(which)):
        number = which[k]
        if len(prior) > 1:
            row = (done[number] - tune) % len(prior)
            take_prior(items, number, prior[row, cell_start[number] : cell_start[number + 1]])
        item = ranked_item(items, number)
        n, start = len(item.shapes), items.unit_start[number]
        logs, mine = np.empty(n), share[start : start + n]
        for unit in range(n):
            logs[unit] = math.log(mine[unit])
        state, work = states[number : number + 1], room_for_times(item)
        timed_sweep(state, item, logs, n, np.inf, work, terms, lines)
        whole = log_total(logs)
        for unit in range(n):
            mine[unit] = math.exp(logs[unit] - whole)
        _write(mine, named[number], number, done[number] - tune, out)
        done[number] += 1


@inner
def _write(share: Floats, named: int, item: int, draw: int, out: Floats) -> None:
    """Write the shares of named units, and last, if there is more, of all others."""
    if draw < 0:
        return
    rest = 0.0
    for unit in range(len(share)):
        if unit < named:
            out[draw, item, unit] = share[unit]
        else:
            rest += share[unit]
    if len(share) > named:
        out[draw, item, out.shape[2] - 1] = rest
