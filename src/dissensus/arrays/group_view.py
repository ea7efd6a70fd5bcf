"""What the likelihood says about a group of units: the sets that some of it are in, and the ties.

`group_moves` has the formula. A group is all units from a position on. It is
written into a `unit_view.MoveRoom` as one unit is: with the summed rates of its
part of a set in place of the unit's own. Only sets that hold both some of the
group and some of the others count: within the group or without, all rates keep their proportions.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.ranked_item import (
    BEGIN,
    LAST,
    PRIOR,
    RANK,
    SINGLE,
    STOP,
    UNIT,
    ItemNumbers,
)
from dissensus.arrays.unit_view import (
    BASE,
    LOG_OTHERS,
    LOG_REST,
    MEMBERS,
    MINE,
    ONE,
    OTHERS,
    OWN,
    REST,
    SHARPNESS,
    TINY,
    TWO,
    WEIGHT,
    G,
    N,
)
from dissensus.kernels.compiled import inner, part
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Floats

MOVED = MINE
"""How many members of a tied block, the first ones, move; where one unit has which it is."""

_MODERATE = 30.0
"""Products of a few numbers between e^-30 and e^30, and of another up to e^60, are as they are."""


@inner
def group_everything(
    position: Codes, cut: int, numbers: ItemNumbers, shapes: Floats, log_rate: Floats,
    rate: Floats, choices: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Write the choices from all cells; return how many these are, and the group's slope so far."""
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
    """Write the choices and ties that are between the group and the others.

    `left` and `right` are what is to be added to the slope, and what to its opposite, for how
    steep f is on both sides, about.

    Returns how many choices and ties, and the slope, `left` and `right` as they are then.
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
        while high > begin:  # from the end: what is left is a sum, not a difference
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
            if n_own == last - low:  # all of the group
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
    """Write a set, relative to the group's part of it where plain numbers allow.

    So most sets have the same group's part, 1, and one exponential serves them all.
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
    """Write a tied block, its members that move first; relative to the group's rest, if any."""
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
        one, two, rest = ties[tie, MEMBERS], ties[tie, MEMBERS + 1], ties[tie, LOG_REST]
        if max(abs(one), abs(two)) < _MODERATE and (rest == -np.inf or abs(rest) < _MODERATE):
            ties[tie, ONE], ties[tie, TWO] = math.exp(one), math.exp(two)
            ties[tie, REST] = math.exp(rest)


@inner
def _logs(
    listed: Codes, place: int, last: int, position: Codes, cut: int, row: int, log_rate: Floats
) -> tuple[float, float]:
    """Return the logarithms of the group's rates from a place on, and of the others'."""
    log_own = log_others = -np.inf
    for later in range(place, last):
        unit = listed[UNIT, later]
        if position[unit] >= cut:
            log_own = log_plus(log_own, log_rate[row, unit])
        else:
            log_others = log_plus(log_others, log_rate[row, unit])
    return log_own, log_others
