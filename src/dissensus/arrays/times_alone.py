"""Sampling one item by arrival times alone.

That is for items whose sweeps forget soon enough, see `dissensus.arrays.time_memory`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.arrival_times import room_for_times
from dissensus.arrays.log_sums import log_total
from dissensus.arrays.plain_times import SHARE, plain_room, plain_sweep
from dissensus.arrays.ranked_item import POSTERIOR, RankedItem
from dissensus.arrays.stream import State
from dissensus.arrays.tangents import tangents
from dissensus.arrays.timed_sweep import timed_sweep

Floats = npt.NDArray[np.float64]


@njit(cache=True)
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
    work = room_for_times(item)
    plain[SHARE] = shapes[POSTERIOR] / shapes[POSTERIOR].sum()
    for sweep in range(tune + len(out)):
        if not plain_sweep(state, numbers, listed, spans, plain, lines):
            logs = np.log(plain[SHARE])
            timed_sweep(state, item, logs, n, np.inf, work, terms, lines)
            plain[SHARE] = np.exp(logs - log_total(logs))
        if sweep >= tune:
            out[sweep - tune, :named] = plain[SHARE, :named]
            if n > named:
                out[sweep - tune, -1] = plain[SHARE, named:].sum()
