"""The likelihood as a function of the unit, or group of units, that will be moved.

It depends on the sets that contain some of these units, and on tied blocks; `moves` has the
formulas. Rates are relative to the largest, and plain numbers unless they underflow.

A group is all units from a position on. It is written into a `MoveRoom` like a unit: in each set,
the sum of the rates of its units takes the place of the unit's rate. Only sets that have both units
of the group and other units matter: in all other sets, the proportions of rates do not change.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.families.rankings.kernels.layout import (
    BEGIN,
    LAST,
    PRIOR,
    RANK,
    SINGLE,
    STOP,
    UNIT,
    ItemNumbers,
    RankedItem,
)
from dissensus.kernels.compiled import inner, part
from dissensus.kernels.plackett_luce import table_for
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Floats

TINY = 1e-60
"""Relative rates below this, and sums of rates below it, are computed in logarithms."""

WEIGHT, OTHERS, LOG_OTHERS, G, BASE = range(5)
"""The rows of `MoveRoom.choices`: w; R; log R, where R is tiny; g; the unit's own log rate."""

N, SHARPNESS, OWN, MINE, LOG_REST, REST, ONE, TWO, MEMBERS = range(9)
"""The columns of `MoveRoom.ties`: the number of members; g; the unit's own log rate; the unit's
place in the block, -1 if it comes after the block; the log rate and the rate of all units after the
block, without this unit; the rates of a block's two members, 1 for the unit, and 0 if they are tiny
or the block is larger; then the members' log rates."""


class MoveRoom(NamedTuple):
    """Work space."""

    log_rate: Floats
    """(row, unit): relative to the strongest unit. The first row is for g = 1. If all
    rankings have another g, a second row is for it; if they differ in g, each has a row."""
    rate: Floats
    """(row, unit)"""
    choices: Floats
    """(`WEIGHT` ..., choice)"""
    ties: Floats
    """(tie, `N` ...)"""
    table: Floats
    """Work space of `dissensus.kernels.plackett_luce`."""


@inner
def room_for_moves(item: RankedItem) -> MoveRoom:
    """Allocate the work space of one item's moves."""
    n, n_places = len(item.shapes), 0
    n_rows, n_ties = 1 + len(item.spans), 0
    if item.numbers.common > 0.0:
        n_rows = 1 if item.numbers.common == 1.0 else 2
    for ranking in range(len(item.spans)):
        begin, stop = item.spans[ranking, BEGIN], item.spans[ranking, STOP]
        n_places += stop - begin
        for place in range(begin + 1, stop):
            n_ties += item.listed[RANK, place] == item.listed[RANK, place - 1]
    return MoveRoom(
        np.empty((n_rows, n)), np.empty((n_rows, n)), np.empty((5, n_places + 2)),
        np.empty((n_ties, MEMBERS + n)), table_for(n),
    )  # fmt: skip


@inner
def sharpness_of(row: int, common: float, sharpness: Floats) -> float:
    """Return the power of the strengths in a row of rates."""
    if row == 0:
        return 1.0
    return common if common > 0.0 else sharpness[row - 1]


@inner
def take(
    common: float, sharpness: Floats, log_strength: Floats, n_units: int, used: int,
    log_rate: Floats, rate: Floats,
) -> None:  # fmt: skip
    """Write the rates of all units."""
    top = -np.inf
    for cell in range(used):
        top = max(top, log_strength[cell])
    for row in range(len(rate)):
        g = sharpness_of(row, common, sharpness)
        for unit in range(n_units):
            log_rate[row, unit] = g * (log_strength[unit] - top)
        for cell in range(n_units, used):
            more = g * (log_strength[cell] - top)
            log_rate[row, n_units - 1] = log_plus(log_rate[row, n_units - 1], more)
        for unit in range(n_units):
            rate[row, unit] = math.exp(log_rate[row, unit])


@inner
def everything(
    unit: int, numbers: ItemNumbers, log_rate: Floats, rate: Floats, choices: Floats
) -> int:
    """Write the choices from all cells, and return their number."""
    total, shared, common = numbers.total_shape, numbers.shared, numbers.common
    n = 1 if shared == 0.0 or common == 1.0 else 2
    for k in range(n):
        summed, log_summed = 0.0, -np.inf
        for other in range(rate.shape[1]):
            if other != unit:
                summed += rate[k, other]
        if summed < TINY:
            for other in range(rate.shape[1]):
                if other != unit:
                    log_summed = log_plus(log_summed, log_rate[k, other])
        choices[OTHERS, k], choices[LOG_OTHERS, k] = summed, log_summed
        choices[BASE, k], choices[G, k] = log_rate[k, unit], 1.0 if k == 0 else common
        choices[WEIGHT, k] = total if k == 0 else shared
    if n == 1:
        choices[WEIGHT, 0] += shared
    return n


@inner
def collect(
    listed: Codes, spans: Codes, sharpness: Floats, common: float, power: float, unit: int,
    log_rate: Floats, rate: Floats, choices: Floats, ties: Floats, n: int, left: float,
    right: float,
) -> tuple[int, int, float, float]:  # fmt: skip
    """Write the choices and ties that have the unit, or that come before it.

    Returns the number of choices and of ties, and the approximate slopes of f on both sides.
    """
    n_ties = 0
    for ranking in range(len(spans)):
        row = 0 if common == 1.0 else 1 if common > 0.0 else 1 + ranking
        begin, high, last = spans[ranking, BEGIN], spans[ranking, STOP], spans[ranking, LAST]
        step, base, summed, there = power * sharpness[ranking], log_rate[row, unit], 0.0, False
        for place in range(high, last):
            there = there or listed[UNIT, place] == unit
            summed += 0.0 if listed[UNIT, place] == unit else rate[row, listed[UNIT, place]]
        while high > begin:  # from the end: sums after a block are not differences
            low, mine, rest = high - 1, -1, summed
            while low > begin and listed[RANK, low - 1] == listed[RANK, low]:
                low -= 1
            for place in range(low, high):
                if listed[UNIT, place] == unit:
                    mine, there = place - low, True
                else:
                    summed += rate[row, listed[UNIT, place]]
            if there and high == low + 1:
                log_others = -np.inf
                if summed < TINY:
                    log_others = _log_others(listed, low, last, unit, row, log_rate)
                choices[WEIGHT, n], choices[OTHERS, n] = power, summed
                choices[LOG_OTHERS, n], choices[G, n] = log_others, sharpness[ranking]
                choices[BASE, n] = base
                right += step if mine < 0 else 0.0
                n += 1
            elif there:
                ties[n_ties, SHARPNESS], ties[n_ties, OWN] = sharpness[ranking], base
                log_rest = -np.inf  # if only the unit comes after
                if rest >= TINY:
                    log_rest = math.log(rest)
                elif last - high > 1 or mine >= 0:
                    log_rest = _log_others(listed, high, last, unit, row, log_rate)
                ties[n_ties, LOG_REST], ties[n_ties, REST] = log_rest, rest
                _members(listed, low, high, mine, row, log_rate, rate, ties, n_ties)
                left += step if mine >= 0 else 0.0
                right += step * (high - low) if mine < 0 else 0.0
                n_ties += 1
            high = low
    return n, n_ties, left, right


@part
def _members(
    listed: Codes, low: int, high: int, mine: int, row: int, log_rate: Floats, rate: Floats,
    ties: Floats, tie: int,
) -> None:  # fmt: skip
    """Write the members of a tied block; if there are two, also in plain numbers unless tiny."""
    ties[tie, N], ties[tie, MINE], ties[tie, TWO] = high - low, mine, 0.0
    for k in range(low, high):
        ties[tie, MEMBERS + k - low] = log_rate[row, listed[UNIT, k]]
    lone = ties[tie, LOG_REST] == -np.inf
    if high - low == 2 and (lone or ties[tie, REST] >= TINY):
        first = rate[row, listed[UNIT, low]] if mine < 0 else 1.0  # 1: the unit
        second = rate[row, listed[UNIT, low if mine == 1 else low + 1]]
        if min(first, second) > TINY:
            ties[tie, ONE], ties[tie, TWO] = first, second


@inner
def _log_others(
    listed: Codes, place: int, last: int, unit: int, row: int, log_rate: Floats
) -> float:
    """Return the logarithm of the sum of rates from a place on, without the rate of `unit`."""
    total = -np.inf
    for later in range(place, last):
        if listed[UNIT, later] != unit:
            total = log_plus(total, log_rate[row, listed[UNIT, later]])
    return total


MOVED = MINE
"""Column of the number of moving members, which come first, in moves of a group."""

_MODERATE = 30.0
"""Products of a few numbers from e^-30 to e^30 and one number up to e^60 do not overflow."""


@inner
def group_everything(
    position: Codes, cut: int, numbers: ItemNumbers, shapes: Floats, log_rate: Floats,
    rate: Floats, choices: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Write the choices from all cells; return their number, and the sum of the group's A."""
    n_units, common, slope = len(position), numbers.common, 0.0
    n = 1 if numbers.shared == 0.0 or common == 1.0 else 2
    for k in range(n):
        own, others = 0.0, 0.0
        for unit in range(n_units):
            if position[unit] >= cut:
                own += rate[k, unit]
            else:
                others += rate[k, unit]
        log_own = log_others = np.nan
        if min(own, others) < TINY:
            log_own = log_others = -np.inf
            for unit in range(n_units):
                if position[unit] >= cut:
                    log_own = log_plus(log_own, log_rate[k, unit])
                else:
                    log_others = log_plus(log_others, log_rate[k, unit])
        weight, g = (numbers.total_shape, 1.0) if k == 0 else (numbers.shared, common)
        weight += numbers.shared if n == 1 else 0.0
        _write_choice(choices, k, weight, g, own, others, log_own, log_others)
    for unit in range(n_units):
        if position[unit] >= cut:
            slope += shapes[unit, SINGLE]
    if position[n_units - 1] >= cut:
        slope += (max(numbers.n_tail, 1) - 1) * shapes[n_units - 1, PRIOR]
    return n, slope


@inner
def collect_group(
    listed: Codes, spans: Codes, sharpness: Floats, common: float, power: float, position: Codes,
    cut: int, log_rate: Floats, rate: Floats, choices: Floats, ties: Floats, n: int,
    slope: float, left: float, right: float,
) -> tuple[int, int, float, float, float]:  # fmt: skip
    """Write the choices and ties that have units of the group and other units.

    Returns the number of choices and of ties, the slope, and `left` and `right`: the slopes of f on
    both sides are about slope + left and right - slope.
    """
    n_ties = 0
    for ranking in range(len(spans)):
        row = 0 if common == 1.0 else 1 if common > 0.0 else 1 + ranking
        begin, high, last = spans[ranking, BEGIN], spans[ranking, STOP], spans[ranking, LAST]
        g, own, others, n_own = sharpness[ranking], 0.0, 0.0, 0
        step = power * g
        for place in range(high, last):
            unit = listed[UNIT, place]
            if position[unit] >= cut:
                own += rate[row, unit]
                n_own += 1
            else:
                others += rate[row, unit]
        while high > begin:  # from the end: sums after a block are not differences
            low, own_rest, others_rest, n_rest = high - 1, own, others, n_own
            while low > begin and listed[RANK, low - 1] == listed[RANK, low]:
                low -= 1
            for place in range(low, high):
                unit = listed[UNIT, place]
                if position[unit] >= cut:
                    own += rate[row, unit]
                    n_own += 1
                else:
                    others += rate[row, unit]
            if n_own == last - low:  # only units of the group are left
                slope -= step if high == low + 1 else 0.0
            elif n_own > 0 and high == low + 1:
                log_own = log_others = np.nan
                if min(own, others) < TINY:
                    log_own, log_others = _logs(listed, low, last, position, cut, row, log_rate)
                _write_choice(choices, n, power, g, own, others, log_own, log_others)
                right += step
                n += 1
            elif n_own > 0:
                log_own, log_others = (
                    math.log(max(own_rest, TINY)),
                    math.log(max(others_rest, TINY)),
                )
                if min(own_rest, others_rest) < TINY:
                    log_own, log_others = _logs(listed, high, last, position, cut, row, log_rate)
                ties[n_ties, SHARPNESS] = g
                _write_tie(
                    listed, low, high, position, cut, row, log_rate, log_own, log_others, ties,
                    n_ties,
                )  # fmt: skip
                moved = n_own - n_rest
                left += step * moved if n_rest < last - high else 0.0
                right += step * (high - low - moved) if n_rest > 0 else 0.0
                n_ties += 1
            high = low
    return n, n_ties, slope, left, right


@part
def _write_choice(
    choices: Floats, k: int, weight: float, g: float, own: float, others: float, log_own: float,
    log_others: float,
) -> None:  # fmt: skip
    """Write a set, relative to the sum over its units of the group unless this sum is tiny.

    The sum is then 1 in most sets, and one exponential serves all these sets.
    """
    choices[WEIGHT, k], choices[G, k] = weight, g
    if min(own, others) >= TINY:
        choices[OTHERS, k], choices[BASE, k] = others / own, 0.0
        choices[LOG_OTHERS, k] = math.log(others / own) if others < TINY * own else -np.inf
    else:
        choices[OTHERS, k], choices[BASE, k] = others, log_own
        choices[LOG_OTHERS, k] = log_others


@inner
def _write_tie(
    listed: Codes, low: int, high: int, position: Codes, cut: int, row: int, log_rate: Floats,
    log_own: float, log_others: float, ties: Floats, tie: int,
) -> None:  # fmt: skip
    """Write a tied block, moving members first.

    Rates are relative to the sum of the group's later rates, if there are any.
    """
    front, back = MEMBERS, MEMBERS + high - low
    unit = 0.0 if log_own == -np.inf else log_own
    for place in range(low, high):
        log_member = log_rate[row, listed[UNIT, place]] - unit
        if position[listed[UNIT, place]] >= cut:
            ties[tie, front] = log_member
            front += 1
        else:
            back -= 1
            ties[tie, back] = log_member
    ties[tie, N], ties[tie, MOVED] = high - low, front - MEMBERS
    ties[tie, OWN], ties[tie, LOG_REST], ties[tie, TWO] = log_own - unit, log_others - unit, 0.0
    if high - low == 2 and log_own > -np.inf:
        first, second, rest = ties[tie, MEMBERS], ties[tie, MEMBERS + 1], ties[tie, LOG_REST]
        if max(abs(first), abs(second)) < _MODERATE and (rest == -np.inf or abs(rest) < _MODERATE):
            ties[tie, ONE], ties[tie, TWO] = math.exp(first), math.exp(second)
            ties[tie, REST] = math.exp(rest)


@inner
def _logs(
    listed: Codes, place: int, last: int, position: Codes, cut: int, row: int, log_rate: Floats
) -> tuple[float, float]:
    """Return two log sums from a place on: of the group's rates, and of all other rates."""
    log_own = log_others = -np.inf
    for later in range(place, last):
        unit = listed[UNIT, later]
        if position[unit] >= cut:
            log_own = log_plus(log_own, log_rate[row, unit])
        else:
            log_others = log_plus(log_others, log_rate[row, unit])
    return log_own, log_others
