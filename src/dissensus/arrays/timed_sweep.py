"""One Gibbs sweep by arrival times: times given strengths, strengths given times."""

from __future__ import annotations

from dissensus.arrays.arrival_times import draw_times, exposures
from dissensus.arrays.log_strengths import draw_log_strength, draw_tail
from dissensus.arrays.ranked_item import POSTERIOR, RankedItem
from dissensus.kernels.compiled import inner
from dissensus.kernels.random import State
from dissensus.kernels.types import Floats
from dissensus.kernels.variates import log_gamma_variate


@inner
def timed_sweep(
    state: State, item: RankedItem, log_strength: Floats, used: int, depth: float, work: Floats,
    terms: Floats, lines: Floats,
) -> int:  # fmt: skip
    """Draw arrival times given strengths, and then strengths given arrival times.

    Returns how many cells are in use then.

    Parameters
    ----------
    state : array (1)
        The random stream.
    item : RankedItem
        What the annotators said. Of ties, the power has to be whole.
    log_strength : array (unit, then the tail's further cells)
        Log shares, that is, without the sum of the strengths, which is drawn here; written, with a
        sum.
    used : int
        How many of them count.
    depth : float
        See `log_strengths.draw_tail`.
    work, terms, lines : array
        Room for `arrival_times`, for one unit's exposures, and for
        `dissensus.kernels.slices`.
    """
    shapes = item.shapes
    common, sharpness, n_tail = item.numbers.common, item.sharpness, item.numbers.n_tail
    log_sum = log_gamma_variate(state, item.numbers.total_shape)
    for cell in range(used):
        log_strength[cell] += log_sum
    draw_times(state, item, log_strength, used, work, lines)
    used = len(shapes) - 1 if n_tail > 1 else len(shapes)
    for unit in range(used):
        n = exposures(common, sharpness, unit, work, terms)
        log_strength[unit] = draw_log_strength(state, shapes[unit, POSTERIOR], terms, n, lines)
    if n_tail > 1:
        n = exposures(common, sharpness, used, work, terms)
        tail = log_strength[used : used + n_tail]
        used += draw_tail(state, shapes[used, POSTERIOR], terms, n, lines, depth, tail)
    return used
