"""Sampling one item by arrival times alone.

That is for items whose sweeps forget soon enough, see `dissensus.arrays.time_memory`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dissensus.arrays.arrival_times import room_for_times
from dissensus.arrays.compiled import inner
from dissensus.arrays.log_sums import log_total
from dissensus.arrays.plain_times import SHARE, plain_room, plain_sweep
from dissensus.arrays.ranked_item import POSTERIOR, RankedItem
from dissensus.arrays.stream import State
from dissensus.arrays.tangents import tangents
from dissensus.arrays.timed_sweep import timed_sweep

Floats = npt.NDArray[np.float64]


@inner
def sample_by_times(state: State, item: RankedItem, named: int, tune: int, out: Floats) -> None:
    """Go through `tune` sweeps of one item, and as many more as there is room for in `out`.

    Sweeps are in plain numbers, but in logarithms where a share is too small for these.

    Parameters
    ----------
    state : array (1)
        The random stream.
    item : RankedItem
        One that `dissensus.arrays.plain_times.is_plain`.
    named : int
        How many of its units have a column of their own.
    tune : int
        Sweeps before the first draw.
    out : array (draw, candidate)
        Written: what all other units come to is last.
    """
    numbers, listed, spans, _, shapes = item
    n, plain, lines, terms = shapes.shape[1], plain_room(item), tangents(), np.empty((2, 1))
    work, logs = room_for_times(item), np.empty(n)
    summed = 0.0
    for unit in range(n):
        summed += shapes[POSTERIOR, unit]
    for unit in range(n):
        plain[SHARE, unit] = shapes[POSTERIOR, unit] / summed
    for sweep in range(tune + len(out)):
        if not plain_sweep(state, numbers, listed, spans, plain, lines):
            for unit in range(n):
                logs[unit] = math.log(plain[SHARE, unit])
            timed_sweep(state, item, logs, n, np.inf, work, terms, lines)
            whole = log_total(logs)
            for unit in range(n):
                plain[SHARE, unit] = math.exp(logs[unit] - whole)
        if sweep >= tune:
            rest = 0.0
            for unit in range(n):
                if unit < named:
                    out[sweep - tune, unit] = plain[SHARE, unit]
                else:
                    rest += plain[SHARE, unit]
            if n > named:
                out[sweep - tune, -1] = rest
