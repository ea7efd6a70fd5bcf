r"""Moving one strength at a time by the exact likelihood, arrival times summed out.

Given the times, strengths can move no further than the times let them: what n annotators waited
for is known to one part in the root of n, so that it takes n sweeps to forget where a strength was
relative to those listed before it. Without the times, unit u has the log density, up to a constant,

.. math::
    f(u) = A u - \sum_S w_S \log\bigl(R_S + e^{g_S u}\bigr)
    + \mathrm{power} \sum_b \log P_b(u),

where A is its shape plus power x sharpness for each ranking that lists it in a block of its own; S
are the sets that single labels were chosen from, with u among them (w = power; R what the others
in S come to); one more of these is all cells, with their summed shapes for w and g = 1, since the
total strength is summed out too; and b are the tied blocks that u is in or behind. f is concave,
falls off on both sides, and is drawn from by slice sampling: step out, shrink (Neal 2003). Any
power will do. The cost of moving all units grows with the square of their number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.log_sums import log_plus
from dissensus.arrays.ranked_item import BEGIN, LAST, STOP, RankedItem
from dissensus.arrays.small_block import RATIO, log_block, table_for
from dissensus.arrays.stream import State, uniform

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

_TINY = 1e-60
"""Relative rates, and sums of them, below this are taken in logarithms."""

_HUGE = 60.0
"""... and those whose logarithm is above this. So no product of a few over- or underflows."""

_FAR = 50.0
"""After a move of so much all rates are taken anew, relative to the largest as it is then."""

_FLAT = 1e-6
"""A slope that is as good as none, where the width of a curve is guessed."""

_WEIGHT, _OTHERS, _LOG_OTHERS, _G, _BASE = range(5)
"""The rows of `MoveRoom.choices`: w; R; log R, where R is tiny; g; the unit's own log rate."""

_N, _SHARPNESS, _OWN, _MINE, _LOG_REST, _REST, _ONE, _TWO, _MEMBERS = range(9)
"""The columns of `MoveRoom.ties`: the number of members; g; the unit's own log rate; which member it
is, -1 if it is behind; the log rate of all behind but the unit, and the rate; the rates of two
members (but the unit), 0 where plain numbers do not do; and from there on the members' log rates."""


class MoveRoom(NamedTuple):
    """What to work in."""

    log_rate: Floats
    """(row, unit): relative to the strongest; the rows are g = 1, then, where it is another, the
    common g or those of all rankings."""
    rate: Floats
    """(row, unit)"""
    choices: Floats
    """(`_WEIGHT` ..., choice)"""
    ties: Floats
    """(tie, `_N` ...)"""
    table: Floats
    """For `dissensus.arrays.small_block`."""


@njit(cache=True)
def room_for_moves(item: RankedItem) -> MoveRoom:
    """Make room for one item's moves."""
    n, n_places = len(item.shape), 0
    n_rows = 1 if item.common == 1.0 else 2 if item.common > 0.0 else 1 + len(item.spans)
    n_ties = 0
    for ranking in range(len(item.spans)):
        begin, stop = item.spans[ranking, BEGIN], item.spans[ranking, STOP]
        n_places += stop - begin
        for place in range(begin + 1, stop):
            n_ties += item.rank[place] == item.rank[place - 1]
    return MoveRoom(
        np.empty((n_rows, n)), np.empty((n_rows, n)), np.empty((5, n_places + 2)),
        np.empty((n_ties, _MEMBERS + n)), table_for(n),
    )  # fmt: skip


@njit(cache=True)
def move_units(
    state: State, item: RankedItem, log_strength: Floats, used: int, first: int, n_moves: int,
    room: MoveRoom,
) -> None:  # fmt: skip
    """Move some units, one after another.

    Parameters
    ----------
    state : array (1)
        The random stream.
    item : RankedItem
        What the annotators said.
    log_strength : array (unit, then the tail's further cells)
        The state; written. Those of a tail move together.
    used : int
        How many of them count.
    first, n_moves : int
        Which unit to start with, and how many to move.
    room : MoveRoom
        To work in.
    """
    n_units, power, common, total = len(item.shape), item.power, item.common, item.total_shape
    units, rank, spans, sharpness = item.units, item.rank, item.spans, item.sharpness
    shape, shared, n_tail = item.single_shape, item.shared, max(item.n_tail, 1)
    prior, shared_own = item.shape, item.shared_own
    log_rate, rate, choices, ties, table = room
    if n_units < 2:
        return
    _take(common, sharpness, log_strength, n_units, used, log_rate, rate)
    for i in range(first, first + n_moves):
        unit = i % n_units
        many = n_tail if unit == n_units - 1 else 1
        slope = shape[unit] + (many - 1) * prior[unit]
        n = _everything(unit, total, shared, common, log_rate, rate, choices)
        n, n_ties, left, right = _collect(
            units, rank, spans, sharpness, common, power, unit, log_rate, rate, choices, ties, n,
            slope, total - many * prior[unit] + shared * common - shared_own[unit],
        )  # fmt: skip
        right = max(right, _FLAT)
        # The step must not depend on the unit: about the width of a beta variate's log odds.
        step = 3.0 * math.sqrt(1.0 / left + 1.0 / right) + 1.0 / left + 1.0 / right
        delta = _sliced(state, step, slope, power, choices, n, ties, n_ties, table)
        log_strength[unit] += delta
        if unit == n_units - 1:
            for cell in range(n_units, used):
                log_strength[cell] += delta
        if abs(delta) > _FAR:
            _take(common, sharpness, log_strength, n_units, used, log_rate, rate)
        else:
            for row in range(len(rate)):
                log_rate[row, unit] += _sharpness(row, common, sharpness) * delta
                rate[row, unit] = math.exp(log_rate[row, unit])


@njit(cache=True)
def _sharpness(row: int, common: float, sharpness: Floats) -> float:
    if row == 0:
        return 1.0
    return common if common > 0.0 else sharpness[row - 1]


@njit(cache=True)
def _take(
    common: float, sharpness: Floats, log_strength: Floats, n_units: int, used: int,
    log_rate: Floats, rate: Floats,
) -> None:  # fmt: skip
    """Take the rates of all units."""
    top = -np.inf
    for cell in range(used):
        top = max(top, log_strength[cell])
    for row in range(len(rate)):
        g = _sharpness(row, common, sharpness)
        for unit in range(n_units):
            log_rate[row, unit] = g * (log_strength[unit] - top)
        for cell in range(n_units, used):
            more = g * (log_strength[cell] - top)
            log_rate[row, n_units - 1] = log_plus(log_rate[row, n_units - 1], more)
        for unit in range(n_units):
            rate[row, unit] = math.exp(log_rate[row, unit])


@njit(cache=True)
def _everything(
    unit: int, total: float, shared: float, common: float, log_rate: Floats, rate: Floats,
    choices: Floats,
) -> int:  # fmt: skip
    """Write the choices from all cells, and return how many these are."""
    n = 1 if shared == 0.0 or common == 1.0 else 2
    for k in range(n):
        summed, log_summed = 0.0, -np.inf
        for other in range(rate.shape[1]):
            if other != unit:
                summed += rate[k, other]
        if summed < _TINY:
            for other in range(rate.shape[1]):
                if other != unit:
                    log_summed = log_plus(log_summed, log_rate[k, other])
        choices[_OTHERS, k], choices[_LOG_OTHERS, k] = summed, log_summed
        choices[_BASE, k], choices[_G, k] = log_rate[k, unit], 1.0 if k == 0 else common
        choices[_WEIGHT, k] = total if k == 0 else shared
    if n == 1:
        choices[_WEIGHT, 0] += shared
    return n


@njit(cache=True)
def _collect(
    units: Codes, rank: Codes, spans: Codes, sharpness: Floats, common: float, power: float,
    unit: int, log_rate: Floats, rate: Floats, choices: Floats, ties: Floats, n: int, left: float,
    right: float,
) -> tuple[int, int, float, float]:  # fmt: skip
    """Write the choices and ties that a unit is in or behind.

    Returns how many of either, and how steep f is on both sides, about.
    """
    n_ties = 0
    for ranking in range(len(spans)):
        row = 0 if common == 1.0 else 1 if common > 0.0 else 1 + ranking
        begin, high, last = spans[ranking, BEGIN], spans[ranking, STOP], spans[ranking, LAST]
        step, base, summed, there = power * sharpness[ranking], log_rate[row, unit], 0.0, False
        for place in range(high, last):
            there = there or units[place] == unit
            summed += 0.0 if units[place] == unit else rate[row, units[place]]
        while high > begin:  # from the end: what is left is a sum, not a difference
            low, mine, rest = high - 1, -1, summed
            while low > begin and rank[low - 1] == rank[low]:
                low -= 1
            for place in range(low, high):
                if units[place] == unit:
                    mine, there = place - low, True
                else:
                    summed += rate[row, units[place]]
            if there and high == low + 1:
                log_others = -np.inf
                if summed < _TINY:
                    log_others = _log_others(units, low, last, unit, row, log_rate)
                choices[_WEIGHT, n], choices[_OTHERS, n] = power, summed
                choices[_LOG_OTHERS, n], choices[_G, n] = log_others, sharpness[ranking]
                choices[_BASE, n] = base
                right += step if mine < 0 else 0.0
                n += 1
            elif there:
                ties[n_ties, _SHARPNESS], ties[n_ties, _OWN] = sharpness[ranking], base
                log_rest = -np.inf  # where the unit is all that is behind
                if rest >= _TINY:
                    log_rest = math.log(rest)
                elif last - high > 1 or mine >= 0:
                    log_rest = _log_others(units, high, last, unit, row, log_rate)
                ties[n_ties, _LOG_REST], ties[n_ties, _REST] = log_rest, rest
                _members(units, low, high, mine, row, log_rate, rate, ties, n_ties)
                left += step if mine >= 0 else 0.0
                right += step * (high - low) if mine < 0 else 0.0
                n_ties += 1
            high = low
    return n, n_ties, left, right


@njit(cache=True, inline="always")
def _members(
    units: Codes, low: int, high: int, mine: int, row: int, log_rate: Floats, rate: Floats,
    ties: Floats, tie: int,
) -> None:  # fmt: skip
    """Write the members of a tied block; of two, also in plain numbers if they allow."""
    ties[tie, _N], ties[tie, _MINE], ties[tie, _TWO] = high - low, mine, 0.0
    if high - low == 2 and (ties[tie, _REST] >= _TINY or ties[tie, _LOG_REST] == -np.inf):
        one = rate[row, units[low]] if mine < 0 else 1.0  # else the unit's own
        two = rate[row, units[low if mine == 1 else low + 1]]
        if one > _TINY and two > _TINY:
            ties[tie, _ONE], ties[tie, _TWO] = one, two
            return
    for k in range(low, high):
        ties[tie, _MEMBERS + k - low] = log_rate[row, units[k]]


@njit(cache=True)
def _log_others(
    units: Codes, place: int, last: int, unit: int, row: int, log_rate: Floats
) -> float:
    """Return the logarithm of all rates from a place on, but for the unit's."""
    total = -np.inf
    for later in range(place, last):
        if units[later] != unit:
            total = log_plus(total, log_rate[row, units[later]])
    return total


@njit(cache=True)
def _sliced(
    state: State, step: float, slope: float, power: float, choices: Floats, n: int, ties: Floats,
    n_ties: int, table: Floats,
) -> float:  # fmt: skip
    """Draw how far to move: step out from a level under the density, and shrink."""
    level = math.log(uniform(state)) + _value(0.0, slope, power, choices, n, ties, n_ties, table)
    low = -step * uniform(state)
    high = low + step
    while _value(low, slope, power, choices, n, ties, n_ties, table) > level:
        low -= step
        step *= 2.0
    while _value(high, slope, power, choices, n, ties, n_ties, table) > level:
        high += step
        step *= 2.0
    while True:
        delta = low + uniform(state) * (high - low)
        if _value(delta, slope, power, choices, n, ties, n_ties, table) >= level:
            return delta
        if delta < 0.0:
            low = delta
        else:
            high = delta


@njit(cache=True)
def _value(
    delta: float, slope: float, power: float, choices: Floats, n: int, ties: Floats, n_ties: int,
    table: Floats,
) -> float:  # fmt: skip
    """Return f. Factors of the same power are multiplied before the logarithm is taken."""
    total, product, log_rate, rate = slope * delta, 1.0, np.nan, 0.0
    for k in range(n):
        now = choices[_BASE, k] + choices[_G, k] * delta
        if now != log_rate:
            log_rate, rate = now, math.exp(min(now, _HUGE))
        others, weight = choices[_OTHERS, k], choices[_WEIGHT, k]
        if others < _TINY or now > _HUGE:
            log_others = choices[_LOG_OTHERS, k] if others < _TINY else math.log(others)
            total -= weight * log_plus(log_others, now)
        elif weight != power:
            total -= weight * math.log(others + rate)
        else:
            product *= others + rate
            if not 1e-100 < product < 1e100:
                total -= power * math.log(product)
                product = 1.0
    for tie in range(n_ties):
        now = ties[tie, _OWN] + ties[tie, _SHARPNESS] * delta
        if now != log_rate:
            log_rate, rate = now, math.exp(min(now, _HUGE))
        if ties[tie, _TWO] > 0.0 and abs(now) < _HUGE:
            product *= _against_two(ties, tie, rate)
            if product > 1e100:
                total -= power * math.log(product)
                product = 1.0
        else:
            total += power * _log_tie(ties, tie, now, table)
    return total if product == 1.0 else total - power * math.log(product)


@njit(cache=True, inline="always")
def _against_two(ties: Floats, tie: int, rate: float) -> float:
    """Return 1 / P of a block of two: both orders, with as few operations as can be."""
    one, two, rest = ties[tie, _ONE], ties[tie, _TWO], ties[tie, _REST]
    if ties[tie, _MINE] < 0.0:
        rest += rate
    else:
        one = rate
    both = one + two + rest
    return both * (one + rest) * (two + rest) / (one * two * (both + rest))


@njit(cache=True)
def _log_tie(ties: Floats, tie: int, now: float, table: Floats) -> float:
    """Return log P of any block."""
    n, mine, log_rest = int(ties[tie, _N]), int(ties[tie, _MINE]), ties[tie, _LOG_REST]
    if mine < 0:
        log_rest = log_plus(log_rest, now)
    for k in range(n):
        table[RATIO, k] = ties[tie, _MEMBERS + k] - log_rest
    if mine >= 0:
        table[RATIO, mine] = now - log_rest
    return log_block(table, n)
