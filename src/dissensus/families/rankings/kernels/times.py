r"""Arrival times of all labels of one item, and strengths given these times, in logarithms.

For an annotator of sharpness g, a label of strength lambda arrives at rate lambda^g. The strengths
are then drawn given each unit's exposure: the total waiting time for the unit, over all rankings
and over the repeats of a ranking that a power represents. All values are logarithms in true units,
except for sums of rates, which are relative to the largest rate as long as they do not underflow.

The prior is Gamma(shape, 1). If a label is listed n times and has the total waiting time E, for
annotators of sharpness g, its strength :math:`\lambda = e^u` has the log density

.. math:: f(u) = A u - e^u - \sum_r E_r e^{g_r u}, \qquad A = \mathrm{shape} + \sum g n,

which is a Gamma density if all g are 1. Otherwise f is concave, and u is drawn by rejection from
tangents. One of the tangents is the line A u, which f approaches as u falls: if A is small, most of
the mass is there, hundreds of units below the mode.

Items with a short memory of sweeps, see `memory`, are sampled by arrival times alone.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.families.rankings.kernels.layout import (
    BEGIN,
    LAST,
    POSTERIOR,
    RANK,
    STOP,
    UNIT,
    RankedItem,
    RankedItems,
    ranked_item,
    take_prior,
)
from dissensus.families.rankings.kernels.plain_times import (
    SHARE,
    plain_room,
    plain_sweep,
    take_shapes,
)
from dissensus.families.rankings.kernels.tied_times import draw_block, log_exponential
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import (
    AREA,
    EDGE,
    HEIGHT,
    SLOPE,
    TOUCH,
    draw,
    draw_from,
    join,
    tangents,
)
from dissensus.kernels.special import log_plus, log_total
from dissensus.kernels.types import Codes, Floats, Keys
from dissensus.kernels.variates import log_gamma_variate

LOG_EXPOSURE, SHARPNESS = range(2)
"""The rows of an array of terms."""

_AWAY = 1.3
"""The outer tangents touch f where its slope is that of a normal curve `_AWAY` standard deviations
from its mode."""

_AT_LEAST = 0.5
"""Added to `_fall` at the right tangent, which would be too near to the mode if A is small."""

_SMALL = 0.5
"""Below this A, the line A u replaces the left tangent."""


@inner
def draw_log_strength(state: State, a: float, terms: Floats, n_terms: int, lines: Floats) -> float:
    """Draw u, given A and the first `n_terms` columns of `terms` (`LOG_EXPOSURE` ..., term).

    Each sharpness has one or more terms. `lines` is work space for `dissensus.kernels.slices`.
    """
    if n_terms == 0:
        return log_gamma_variate(state, a)
    if n_terms == 1 and terms[SHARPNESS, 0] == 1.0:
        return log_gamma_variate(state, a) - log_plus(0.0, terms[LOG_EXPOSURE, 0])
    peak = _touch(a, terms, n_terms, lines)
    return _by_rejection(state, a, terms, n_terms, lines, peak)


@inner
def draw_tail(
    state: State, a: float, terms: Floats, n_terms: int, lines: Floats, depth: float, out: Floats
) -> int:
    """Fill `out` with draws of u for the tail's cells, not in random order; return their number.

    If A is small, nearly all draws are far below the mode, in descending order. Draws `depth` below
    the largest, which would not change a sum of strengths, are left out.
    """
    peak = _touch(a, terms, n_terms, lines)
    if a >= _SMALL:
        for k in range(len(out)):
            out[k] = _by_rejection(state, a, terms, n_terms, lines, peak)
        return len(out)
    n, missing, top = 0, len(out), -np.inf
    while missing > 0:  # propose as many draws, then again as many as are rejected
        high = _count_high(state, missing, lines)
        low, missing = missing - high, 0
        for _ in range(high):
            i = 1 if uniform(state) * (lines[AREA, 1] + lines[AREA, 2]) < lines[AREA, 1] else 2
            u, above = draw_from(state, lines, i)
            if math.log(uniform(state)) <= log_density(u, a, terms, n_terms) - peak - above:
                out[n], top, n = u, max(top, u), n + 1
            else:
                missing += 1
        u = lines[EDGE, 1]
        for left in range(low, 0, -1):
            u += math.log(uniform(state)) / (a * left)  # the largest of `left` draws
            if u < top - depth:  # all later draws are smaller: left out
                break
            if uniform(state) < math.exp(-_waited(u, terms, n_terms)):
                out[n], top, n = u, max(top, u), n + 1
            else:
                missing += 1
    return n


@inner
def _count_high(state: State, n: int, lines: Floats) -> int:
    """Draw how many of n draws come from the two right pieces.

    These draws are few, so that the gaps between them are drawn.
    """
    right = lines[AREA, 1] + lines[AREA, 2]
    log_left = math.log1p(-right / (lines[AREA, 0] + right))
    count, at = 0, math.log(uniform(state)) / log_left
    while at < n:
        count += 1
        at = math.floor(at) + 1.0 + math.log(uniform(state)) / log_left
    return count


@inner
def _by_rejection(
    state: State, a: float, terms: Floats, n_terms: int, lines: Floats, peak: float
) -> float:
    while True:
        u, above = draw(state, lines)
        value = log_density(u, a, terms, n_terms)
        if math.log(uniform(state)) <= value - peak - above:
            return u


@inner
def log_density(u: float, a: float, terms: Floats, n_terms: int) -> float:
    """Return f(u)."""
    return a * u - _waited(u, terms, n_terms)


@inner
def _waited(u: float, terms: Floats, n_terms: int) -> float:
    total = math.exp(u)
    for k in range(n_terms):
        total += math.exp(terms[LOG_EXPOSURE, k] + terms[SHARPNESS, k] * u)
    return total


@inner
def _fall(u: float, terms: Floats, n_terms: int) -> tuple[float, float]:
    """Return A minus the slope of f, and minus the second derivative of f."""
    total = bend = math.exp(u)
    for k in range(n_terms):
        slope = terms[SHARPNESS, k] * math.exp(terms[LOG_EXPOSURE, k] + terms[SHARPNESS, k] * u)
        total += slope
        bend += terms[SHARPNESS, k] * slope
    return total, bend


@inner
def _reach(total: float, terms: Floats, n_terms: int) -> float:
    """Return the smallest u at which a single term of `_fall` reaches `total`."""
    u = math.log(total)
    for k in range(n_terms):
        g = terms[SHARPNESS, k]
        u = min(u, (math.log(total / g) - terms[LOG_EXPOSURE, k]) / g)
    return u


@inner
def _mode(a: float, terms: Floats, n_terms: int) -> tuple[float, float]:
    """Return the approximate mode of f, and minus its second derivative there.

    The logarithm of `_fall` is convex and increasing, and is log A at the mode. Newton's method
    approaches the mode from the right, from the point where the first single term reaches A.
    """
    u, bend = _reach(a, terms, n_terms), a
    for _ in range(50):
        total, bend = _fall(u, terms, n_terms)
        step = math.log(a / total) * total / bend
        u += step
        if step * step * bend < 0.01:  # a tenth of a standard deviation
            break
    return u, bend


@inner
def _touch(a: float, terms: Floats, n_terms: int, lines: Floats) -> float:
    """Write the tangents to f, with heights relative to f at the mode; return f at the mode."""
    mode, bend = _mode(a, terms, n_terms)
    flat = a / bend  # increase of u for which log `_fall` grows by 1, to first order
    most = a + _AWAY * math.sqrt(a) + _AT_LEAST
    lines[TOUCH, 0] = mode + flat * math.log1p(-_AWAY / math.sqrt(a + _AWAY * _AWAY))
    lines[TOUCH, 1] = mode
    lines[TOUCH, 2] = min(mode + flat * math.log(most / a), _reach(most, terms, n_terms))
    peak = log_density(mode, a, terms, n_terms)
    for i in range(3):
        total, _ = _fall(lines[TOUCH, i], terms, n_terms)
        lines[SLOPE, i] = a - total
        lines[HEIGHT, i] = log_density(lines[TOUCH, i], a, terms, n_terms) - peak
    if a < _SMALL or lines[SLOPE, 0] <= 0.0:
        lines[TOUCH, 0], lines[HEIGHT, 0], lines[SLOPE, 0] = mode, a * mode - peak, a
    join(lines)
    return peak


LOG_RATE, RATE, REST, RATIO, ONCE, SUMMED, SHARED = range(7)
"""The rows of a work array: the rates of units; for places of one ranking, the sum of rates from
there on, and a tied block's ratios and times; from `SHARED` on, log exposures of units, first in
the shared first choices, then in one ranking after another. It is one array, because compiled code
takes longer to pass on several."""

_TINY = 1e-250
"""A sum of relative rates below this is computed again, in logarithms."""


@inner
def room_for_times(item: RankedItem) -> Floats:
    """Allocate the work array for one item's times."""
    out = np.empty((SHARED + 1 + len(item.spans), len(item.shapes) + 1))
    for row in range(out.shape[0]):
        for unit in range(out.shape[1]):
            out[row, unit] = -np.inf
    return out


@inner
def draw_times(
    state: State, item: RankedItem, log_strength: Floats, used: int, work: Floats, lines: Floats
) -> None:
    """Draw all exposures into `work`, given the first `used` log strengths."""
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
    repeats = int(numbers.power)  # of tied blocks; with ties, the power is whole
    for ranking in range(len(spans)):
        if numbers.common == 0.0:
            top = rates(log_strength, n_units, used, item.sharpness[ranking], work)
        _times_of_ranking(state, listed, spans, ranking, numbers.power, repeats, top, work, lines)


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
def _times_of_ranking(
    state: State, listed: Codes, spans: Codes, ranking: int, power: float,
    repeats: int, top: float, work: Floats, lines: Floats,
) -> None:  # fmt: skip
    """Draw one annotator's times, block after block."""
    begin, stop, last = spans[ranking, BEGIN], spans[ranking, STOP], spans[ranking, LAST]
    total, mine = 0.0, SHARED + 1 + ranking
    for place in range(last - 1, begin - 1, -1):
        # Summed from the end: the sum after strong labels is not a difference of large sums.
        total += work[RATE, listed[UNIT, place]]
        work[REST, place - begin] = total
    now, low = -np.inf, begin
    while low < stop:
        high = low + 1
        while high < stop and listed[RANK, high] == listed[RANK, low]:
            high += 1
        alone = high == low + 1
        after = low if alone else high  # a single label is in its own choice set
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
    """Return the logarithm of the sum of rates from a place on, where the sum could underflow."""
    total = -np.inf
    for later in range(place, last):
        total = log_plus(total, work[LOG_RATE, listed[UNIT, later]])
    return total


@inner
def _tied_block(
    state: State, listed: Codes, low: int, high: int, repeats: int, now: float, log_rest: float,
    mine: int, work: Floats, lines: Floats,
) -> float:  # fmt: skip
    """Draw the times of a tied block, `repeats` times; return when the last repeat ends."""
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
    """Write the exposures of a unit, and return their number.

    There is one exposure for each ranking, or a single one if the sharpness is common.
    """
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


# One Gibbs sweep by arrival times: times given strengths, strengths given times.


@inner
def timed_sweep(
    state: State, item: RankedItem, log_strength: Floats, used: int, depth: float, work: Floats,
    terms: Floats, lines: Floats,
) -> int:  # fmt: skip
    """Draw arrival times given strengths, and then strengths given arrival times.

    Returns the number of cells in use after the sweep.

    `log_strength` (unit, then the tail's further cells) holds `used` log shares, and log strengths
    after the sweep: the sum of the strengths is drawn first. If rankings have ties, the power of
    the likelihood must be a whole number. See `draw_tail` for the depth. `work`, `terms` and
    `lines` are work space for `draw_times`, for the exposures of a unit, and for
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


def sample_by_times(
    items: RankedItems, which: Codes, states: Keys, named: Codes, tune: int, prior: Floats,
    cell_start: Codes, out: Floats, thin: int = 1,
) -> None:  # fmt: skip
    """Go through `tune` sweeps of some items, and `thin` more for each draw in `out`.

    Items must satisfy `plain_times.is_plain`. Sweeps are in plain numbers, or in logarithms where a
    share is too small for that. Other arguments are those of `sweep.sample_exactly`.
    """
    done, share = np.zeros(len(named), dtype=np.int64), np.empty(len(items.shapes))
    while len(which):
        chain = items, which, states, named, tune, prior, cell_start, done, share, out, thin
        _in_plain_numbers(*chain)
        which = which[done[which] < tune + thin * len(out)]
        if len(which):
            _in_logs(items, which, *chain[2:])


@kernel
def _in_plain_numbers(
    items: RankedItems, which: Codes, states: Keys, named: Codes, tune: int,
    prior: Floats, cell_start: Codes, done: Codes, share: Floats, out: Floats, thin: int,
) -> None:  # fmt: skip
    """Continue the chain of each item, to its end or until a share is too small."""
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
        while done[item] < tune + thin * len(out):
            if len(prior) > 1:
                row = (done[item] - tune) // thin % len(prior)
                take_prior(items, item, prior[row, cell_start[item] : cell_start[item + 1]])
                numbers = ranked_item(items, item).numbers
                take_shapes(shapes, plain)
            if not plain_sweep(state, numbers, listed, spans, plain, lines):
                break
            _write(plain[SHARE], named[item], item, draw_of(done[item] - tune, thin), out)
            done[item] += 1
        for unit in range(n):
            share[start + unit] = plain[SHARE, unit]


@kernel
def _in_logs(
    items: RankedItems, which: Codes, states: Keys, named: Codes, tune: int,
    prior: Floats, cell_start: Codes, done: Codes, share: Floats, out: Floats, thin: int,
) -> None:  # fmt: skip
    """Go through one sweep of each item, in logarithms."""
    lines, terms = tangents(), np.empty((2, 1))
    for k in range(len(which)):
        number = which[k]
        if len(prior) > 1:
            row = (done[number] - tune) // thin % len(prior)
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
        _write(mine, named[number], number, draw_of(done[number] - tune, thin), out)
        done[number] += 1


@inner
def draw_of(sweep: int, thin: int) -> int:
    """Return the index of the draw that a sweep completes; -1 if it completes none."""
    return (sweep + 1) // thin - 1 if sweep >= 0 and (sweep + 1) % thin == 0 else -1


@inner
def _write(share: Floats, named: int, item: int, draw: int, out: Floats) -> None:
    """Write the shares of named units and, in the last column, the sum of all other shares."""
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
