"""Arrival times of all labels of one item, given the strengths and what the annotators said.

An annotator of sharpness g sees a label of strength lambda arrive at rate lambda^g. What the
strengths are drawn from next is each unit's exposure: how long it was waited for, in sum over
the repeats that a power stands for. Everything is in logarithms of true units, but for sums of
rates, which are taken relative to the largest rate as long as that leaves them a number.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.log_strengths import LOG_EXPOSURE, SHARPNESS
from dissensus.arrays.ranked_item import BEGIN, LAST, RANK, STOP, UNIT, RankedItem
from dissensus.arrays.tied_arrivals import draw_block, log_exponential
from dissensus.kernels.compiled import inner
from dissensus.kernels.random import State
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Floats
from dissensus.kernels.variates import log_gamma_variate

LOG_RATE, RATE, REST, RATIO, ONCE, SUMMED, SHARED = range(7)
"""The rows of an array that holds, for units, the rates; for places of one ranking, the rates from
there on, and a block's ratios and times; and from `SHARED` on log exposures of units: first to all
rankings that start alike, then to one ranking after another. One array, since compiled code takes
its time over handing on many."""

_TINY = 1e-250
"""A sum of relative rates below this is taken again, in logarithms."""


@inner
def room_for_times(item: RankedItem) -> Floats:
    """Make room for one item's times."""
    out = np.empty((SHARED + 1 + len(item.spans), len(item.shapes) + 1))
    for row in range(out.shape[0]):
        for unit in range(out.shape[1]):
            out[row, unit] = -np.inf
    return out


@inner
def draw_times(
    state: State, item: RankedItem, log_strength: Floats, used: int, work: Floats, lines: Floats
) -> None:
    """Draw all exposures.

    Parameters
    ----------
    state : array (1)
        The random stream.
    item : RankedItem
        What the annotators said.
    log_strength : array (unit, then the tail's further cells)
        The state.
    used : int
        How many of them count.
    work : array
        Written, see `LOG_RATE`.
    lines : array
        Room for `dissensus.kernels.slices`.
    """
    numbers, listed, spans, n_units = item.numbers, item.listed, item.spans, len(item.shapes)
    top = 0.0
    if numbers.common > 0.0 and (numbers.shared > 0.0 or len(spans) > 0):
        top = rates(log_strength, n_units, used, numbers.common, work)
    if numbers.shared > 0.0:
        summed = 0.0
        for unit in range(n_units):
            summed += work[RATE, unit]
        now = log_gamma_variate(state, numbers.shared) - top - math.log(summed)
        for unit in range(n_units):
            work[SHARED, unit] = now
    repeats = int(numbers.power)  # of ties; whole, if there are any
    for ranking in range(len(spans)):
        if numbers.common == 0.0:
            top = rates(log_strength, n_units, used, item.sharpness[ranking], work)
        _one_ranking(state, listed, spans, ranking, numbers.power, repeats, top, work, lines)


@inner
def rates(log_strength: Floats, n_units: int, used: int, g: float, work: Floats) -> float:
    """Write the rates of all units and return the logarithm of the largest."""
    top = -np.inf
    for unit in range(n_units):
        work[LOG_RATE, unit] = g * log_strength[unit]
        top = max(top, work[LOG_RATE, unit])
    if used > n_units:
        largest, summed = log_strength[n_units - 1], 0.0
        for cell in range(n_units, used):
            largest = max(largest, log_strength[cell])
        for cell in range(n_units - 1, used):
            summed += math.exp(g * (log_strength[cell] - largest))
        work[LOG_RATE, n_units - 1] = g * largest + math.log(summed)
        top = max(top, work[LOG_RATE, n_units - 1])
    for unit in range(n_units):
        work[RATE, unit] = math.exp(work[LOG_RATE, unit] - top)
    return top


@inner
def _one_ranking(
    state: State, listed: Codes, spans: Codes, ranking: int, power: float,
    repeats: int, top: float, work: Floats, lines: Floats,
) -> None:  # fmt: skip
    """Draw one annotator's times, block after block."""
    begin, stop, last = spans[ranking, BEGIN], spans[ranking, STOP], spans[ranking, LAST]
    total, mine = 0.0, SHARED + 1 + ranking
    for place in range(last - 1, begin - 1, -1):
        # Summed from the end: what is left after strong labels is no difference of large sums.
        total += work[RATE, listed[UNIT, place]]
        work[REST, place - begin] = total
    now, low = -np.inf, begin
    while low < stop:
        high = low + 1
        while high < stop and listed[RANK, high] == listed[RANK, low]:
            high += 1
        alone = high == low + 1
        after = low if alone else high  # one label is among those it is chosen from
        log_rest = top + math.log(work[REST, after - begin])
        if work[REST, after - begin] < _TINY:
            log_rest = _log_rest(listed, after, last, work)
        if alone:
            waited = log_exponential(state) if power == 1.0 else log_gamma_variate(state, power)
            now = log_plus(now, waited - log_rest)
            work[mine, listed[UNIT, low]] = now
        else:
            now = _tied_block(state, listed, low, high, repeats, now, log_rest, mine, work, lines)
        low = high
    for place in range(stop, last):
        work[mine, listed[UNIT, place]] = now


@inner
def _log_rest(listed: Codes, place: int, last: int, work: Floats) -> float:
    """Return the logarithm of all rates from a place on, where they are too far down."""
    total = -np.inf
    for later in range(place, last):
        total = log_plus(total, work[LOG_RATE, listed[UNIT, later]])
    return total


@inner
def _tied_block(
    state: State, listed: Codes, low: int, high: int, repeats: int, now: float, log_rest: float,
    mine: int, work: Floats, lines: Floats,
) -> float:  # fmt: skip
    """Draw the times of a tied block, repeat after repeat, and return its end."""
    n, waited = high - low, -np.inf
    ratio, once = work[RATIO, :n], work[ONCE, :n]
    for k in range(n):
        ratio[k] = work[LOG_RATE, listed[UNIT, low + k]] - log_rest
        work[SUMMED, k] = -np.inf
    for _ in range(repeats):
        waited = log_plus(waited, draw_block(state, ratio, once, lines))
        for k in range(n):
            work[SUMMED, k] = log_plus(work[SUMMED, k], once[k])
    for k in range(n):
        work[mine, listed[UNIT, low + k]] = log_plus(now, work[SUMMED, k] - log_rest)
    return log_plus(now, waited - log_rest)


@inner
def exposures(common: float, sharpness: Floats, unit: int, work: Floats, terms: Floats) -> int:
    """Write a unit's exposures, one for each sharpness or more, and return how many."""
    if common > 0.0:
        top, summed = work[SHARED, unit], 0.0
        for row in range(SHARED + 1, len(work)):
            top = max(top, work[row, unit])
        if top == -np.inf:
            return 0
        for row in range(SHARED, len(work)):
            summed += math.exp(work[row, unit] - top)
        terms[LOG_EXPOSURE, 0], terms[SHARPNESS, 0] = top + math.log(summed), common
        return 1
    n = 0
    for ranking in range(len(sharpness)):
        if work[SHARED + 1 + ranking, unit] > -np.inf:
            terms[LOG_EXPOSURE, n] = work[SHARED + 1 + ranking, unit]
            terms[SHARPNESS, n] = sharpness[ranking]
            n += 1
    return n
