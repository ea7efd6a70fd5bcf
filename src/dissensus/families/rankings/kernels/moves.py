r"""Moving strengths by the exact likelihood, without arrival times, one at a time or in groups.

Given the times, strengths move in small steps: n waiting times determine a strength to a relative
error of :math:`1 / \sqrt n`, so that about n sweeps are needed to forget its ratio to strengths
of labels listed before it. Without the times, the log density of unit u is, up to a constant,

.. math::
    f(u) = A u - \sum_S w_S \log\bigl(R_S + e^{g_S u}\bigr)
    + \mathrm{power} \sum_b \log P_b(u),

where A is the prior shape plus power x sharpness for each ranking that lists u in a block without
ties. Each S is a set with u from which a single label was chosen: w is the power, and R the sum
over the other units in S. One more set has all cells, with the sum of their shapes as w and g = 1,
because the total strength is summed out too. Each b is a tied block that has u, or comes before u.
f is concave and falls on both sides; u is drawn by slice sampling with stepping out and shrinking
(Neal 2003). The power need not be a whole number. The cost of moving all units grows with the
square of their number.

Single moves are too small for units that are well known relative to each other, but not relative to
other units. So all strengths on the weak side of a cut through a fixed order are also multiplied by
e^delta. The order does not depend on the strengths. The log density of delta is, up to a constant,

.. math::
    f(\delta) = A \delta - \sum_S w_S \log\bigl(R_S + e^{g_S \delta} W_S\bigr)
    + \mathrm{power} \sum_b \log P_b(\delta),

where A is the sum of A over the group's units. In a set S, W is the sum over the group's units, and
R the sum over all other units. If all units of a set are in the group, it contributes
:math:`-w_S g_S \delta`. f is concave, and delta is drawn in the same way.

The two densities differ only in how a tied block changes with the move. Slice sampling is compiled
for each density: with one compiled function for both, moves of one unit took a quarter longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dissensus.families.rankings.kernels.layout import (
    BEGIN,
    LAST,
    POSTERIOR,
    PRIOR,
    RANK,
    SHARED_OWN,
    SINGLE,
    STOP,
    UNIT,
    ItemNumbers,
    RankedItem,
    RankedItems,
    ranked_item,
)
from dissensus.families.rankings.kernels.views import (
    BASE,
    LOG_OTHERS,
    LOG_REST,
    MEMBERS,
    MINE,
    MOVED,
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
    collect,
    collect_group,
    everything,
    group_everything,
    sharpness_of,
    take,
)
from dissensus.kernels.compiled import Inner, inner, kernel, named_after, part
from dissensus.kernels.plackett_luce import RATIO, log_block
from dissensus.kernels.random import State, uniform
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Floats

_HUGE = 60.0
"""Rates with a logarithm above this, and rates below `views.TINY`, are handled in logarithms:
products of a few other rates neither over- nor underflow."""

_END = 1e12
"""Maximum distance of stepping out; bounds the loop if slopes vanish in double precision."""

_LEVEL, _LOW, _HIGH, _SHRINK = range(4)
"""Why f is evaluated: for the slice's level, its lower end, its upper end, or a point in it."""

_FLAT = 1e-6
"""Lower bound of the slopes from which `width` estimates a width."""


@part
def width(left: float, right: float) -> float:
    """Estimate the width of a curve from its slopes on both sides.

    The width is about that of a beta variate's log odds. The log density is concave, so that a
    slice is one interval, and any interval that covers it is a valid start. The width may
    therefore depend on the state.
    """
    left, right = 1.0 / max(left, _FLAT), 1.0 / max(right, _FLAT)
    return 3.0 * math.sqrt(left + right) + left + right


def slicer(against_two: Callable[..., float], log_tie: Callable[..., float]) -> Any:
    """Compile slice sampling for one way in which tied blocks change.

    `against_two` (ties, tie, rate) is 1 / P of a block of two, in plain numbers; `log_tie` (ties,
    tie, now, delta, table) is log P of any block. The compiled function draws the size of a move,
    by stepping out and shrinking.
    """

    def weigh(
        delta: float, slope: float, power: float, choices: Floats, n: int, ties: Floats,
        n_ties: int, table: Floats,
    ) -> float:  # fmt: skip
        """Return f. Factors of the same power are multiplied before the logarithm is taken."""
        total, product, log_rate, rate = slope * delta, 1.0, np.nan, 0.0
        for k in range(n):
            now = choices[BASE, k] + choices[G, k] * delta
            if now != log_rate:
                log_rate, rate = now, math.exp(min(now, _HUGE))
            others, weight = choices[OTHERS, k], choices[WEIGHT, k]
            if others < TINY or now > _HUGE:
                log_others = choices[LOG_OTHERS, k] if others < TINY else math.log(others)
                total -= weight * log_plus(log_others, now)
            elif weight != power:
                total -= weight * math.log(others + rate)
            else:
                product *= others + rate
                if not 1e-100 < product < 1e100:
                    total -= power * math.log(product)
                    product = 1.0
        for tie in range(n_ties):
            now = ties[tie, OWN] + ties[tie, SHARPNESS] * delta
            if now != log_rate:
                log_rate, rate = now, math.exp(min(now, _HUGE))
            if ties[tie, TWO] > 0.0 and abs(now) < _HUGE:
                product *= against_two(ties, tie, rate)
                if product > 1e100:
                    total -= power * math.log(product)
                    product = 1.0
            else:
                total += power * log_tie(ties, tie, now, delta, table)
        return total if product == 1.0 else total - power * math.log(product)

    value = Inner(named_after(weigh, log_tie), cache=False)

    def sliced(
        state: State, step: float, slope: float, power: float, choices: Floats, n: int,
        ties: Floats, n_ties: int, table: Floats,
    ) -> float:  # fmt: skip
        delta, doing, level, low, high = 0.0, _LEVEL, math.log(uniform(state)), 0.0, 0.0
        while True:
            height = value(delta, slope, power, choices, n, ties, n_ties, table)
            if doing == _LEVEL:
                level += height
                low = -step * uniform(state)
                high = low + step
                doing = _LOW
            elif doing == _LOW:
                if height > level:
                    low -= step
                    step *= 2.0
                else:
                    doing = _HIGH
            elif doing == _HIGH:
                if height > level:
                    high += step
                    step *= 2.0
                else:
                    doing = _SHRINK
            elif height >= level or delta == 0.0:
                return delta
            elif delta < 0.0:
                low = delta
            else:
                high = delta
            if doing == _LOW and low <= -_END:
                doing = _HIGH
            if doing == _HIGH and high >= _END:
                doing = _SHRINK
            if doing == _LOW:
                delta = low
            elif doing == _HIGH:
                delta = high
            else:
                delta = low + uniform(state) * (high - low)

    return Inner(named_after(sliced, log_tie), cache=False)


_FAR = 50.0
"""After a larger move, all rates are computed again, relative to the largest rate."""


@part
def _against_two(ties: Floats, tie: int, rate: float) -> float:
    """Return 1 / P of a block of two, both orders together, with as few operations as possible."""
    first, second, rest = ties[tie, ONE], ties[tie, TWO], ties[tie, REST]
    if ties[tie, MINE] < 0.0:
        rest += rate
    else:
        first = rate
    both = first + second + rest
    return both * (first + rest) * (second + rest) / (first * second * (both + rest))


@inner
def _log_tie(ties: Floats, tie: int, now: float, delta: float, table: Floats) -> float:  # noqa: ARG001
    """Return log P of any block."""
    n, mine, log_rest = int(ties[tie, N]), int(ties[tie, MINE]), ties[tie, LOG_REST]
    if mine < 0:
        log_rest = log_plus(log_rest, now)
    for k in range(n):
        table[RATIO, k] = ties[tie, MEMBERS + k] - log_rest
    if mine >= 0:
        table[RATIO, mine] = now - log_rest
    return log_block(table, n)


_sliced = slicer(_against_two, _log_tie)


@part
def _move(
    state: State, listed: Codes, spans: Codes, sharpness: Floats, common: float, power: float,
    unit: int, log_rate: Floats, rate: Floats, choices: Floats, ties: Floats, table: Floats,
    n: int, slope: float, right: float,
) -> float:  # fmt: skip
    """Draw the size of the move of one unit."""
    n, n_ties, left, right = collect(
        listed, spans, sharpness, common, power, unit, log_rate, rate, choices, ties, n, slope,
        right,
    )  # fmt: skip
    step = width(left, right)
    return _sliced(state, step, slope, power, choices, n, ties, n_ties, table)


@inner
def move_units(
    state: State, numbers: ItemNumbers, listed: Codes, spans: Codes, sharpness: Floats,
    shapes: Floats, log_strength: Floats, used: int, first: int, n_moves: int, log_rate: Floats,
    rate: Floats, choices: Floats, ties: Floats, table: Floats,
) -> None:  # fmt: skip
    """Move `n_moves` units, one after another, from the unit `first` on.

    `log_strength` (unit, then the tail's further cells) is written; its first `used` cells are in
    use, and cells of a tail move together. The last five arguments are a `views.MoveRoom`.
    """
    n_units, common, power = len(shapes), numbers.common, numbers.power
    if n_units < 2:
        return
    take(common, sharpness, log_strength, n_units, used, log_rate, rate)
    for i in range(first, first + n_moves):
        unit = i % n_units
        many = max(numbers.n_tail, 1) if unit == n_units - 1 else 1
        own = many * shapes[unit, PRIOR]
        left = shapes[unit, SINGLE] - shapes[unit, PRIOR] + own
        right = numbers.total_shape - own
        right += numbers.shared * common - shapes[unit, SHARED_OWN]
        n = everything(unit, numbers, log_rate, rate, choices)
        delta = _move(
            state, listed, spans, sharpness, common, power, unit, log_rate, rate, choices, ties,
            table, n, left, right,
        )  # fmt: skip
        log_strength[unit] += delta
        if unit == n_units - 1:
            for cell in range(n_units, used):
                log_strength[cell] += delta
        if abs(delta) > _FAR:
            take(common, sharpness, log_strength, n_units, used, log_rate, rate)
        else:
            for row in range(len(rate)):
                log_rate[row, unit] += sharpness_of(row, common, sharpness) * delta
                rate[row, unit] = math.exp(log_rate[row, unit])


@part
def _group_against_two(ties: Floats, tie: int, rate: float) -> float:
    """Return 1 / P of a block of two, in plain numbers."""
    first, second, rest = ties[tie, ONE], ties[tie, TWO], ties[tie, REST] + rate
    if ties[tie, MOVED] > 0.0:
        first *= rate
        second *= rate if ties[tie, MOVED] > 1.0 else 1.0
    both = first + second + rest
    return both * (first + rest) * (second + rest) / (first * second * (both + rest))


@inner
def _log_group_tie(ties: Floats, tie: int, now: float, delta: float, table: Floats) -> float:
    """Return log P of any block."""
    n, log_rest = int(ties[tie, N]), log_plus(ties[tie, LOG_REST], now)
    for k in range(n):
        table[RATIO, k] = ties[tie, MEMBERS + k] - log_rest
    for k in range(int(ties[tie, MOVED])):
        table[RATIO, k] += ties[tie, SHARPNESS] * delta
    return log_block(table, n)


_group_sliced = slicer(_group_against_two, _log_group_tie)


@inner
def move_group(
    state: State, numbers: ItemNumbers, listed: Codes, spans: Codes, sharpness: Floats,
    shapes: Floats, log_strength: Floats, used: int, position: Codes, turn: int, log_rate: Floats,
    rate: Floats, choices: Floats, ties: Floats, table: Floats,
) -> None:  # fmt: skip
    """Move all units from a position on together; `turn` determines the position.

    Call it after `move_units`, with the same arguments: it reads the rates of `move_units`.
    `position` (unit) is from `positions`. At least two units are on each side: moving all units but
    one would be the same as moving that one, since only proportions matter.
    """
    n_units, power = len(shapes), numbers.power
    if n_units < 4:
        return
    cut = 2 + turn % (n_units - 3)
    n, slope = group_everything(position, cut, numbers, shapes, log_rate, rate, choices)
    right = numbers.total_shape + numbers.shared * numbers.common
    n, n_ties, slope, left, right = collect_group(
        listed, spans, sharpness, numbers.common, power, position, cut, log_rate, rate, choices,
        ties, n, slope, 0.0, right,
    )  # fmt: skip
    step = width(slope + left, right - slope)
    delta = _group_sliced(state, step, slope, power, choices, n, ties, n_ties, table)
    for unit in range(n_units):
        log_strength[unit] += delta if position[unit] >= cut else 0.0
    if position[n_units - 1] >= cut:
        for cell in range(n_units, used):
            log_strength[cell] += delta


_ROUNDS = 10
"""Number of iterations of `positions`, which only needs to separate strong from weak units."""


_BY_INSERTION = 15
"""Numba's `argsort` sorts at most this many numbers by insertion, which is stable."""


def positions(items: RankedItems, which: Codes) -> Codes:
    """Return the position of each unit of some items, 0 for an item's strongest.

    The order is that of strengths after a few iterations of the MM algorithm of Hunter (2004) for
    Plackett-Luce. An iteration divides a unit's count (how often it was listed, plus its prior
    shape) by the count that is expected for a strength of 1. A tied block counts as several choices
    from the same set. A sharpness changes the ratios of strengths, but not their order.
    """
    weakness = np.zeros(len(items.shapes))
    out = np.empty(len(weakness), dtype=np.int64)
    _weaken(items, which, weakness)
    if items.n_units.max() > _BY_INSERTION:
        _sort(items, which, weakness, out)
        return out
    place, owner = (
        np.arange(items.unit_start[-1]),
        np.repeat(np.arange(len(items.n_units)), items.n_units),
    )
    order = np.lexsort((weakness[: len(owner)], owner))
    out[order] = place - items.unit_start[owner]
    return out


@kernel
def _sort(items: RankedItems, which: Codes, weakness: Floats, out: Codes) -> None:
    for i in range(len(which)):
        low, high = items.unit_start[which[i]], items.unit_start[which[i] + 1]
        order = np.argsort(weakness[low:high])
        for k in range(high - low):
            out[low + order[k]] = k


@kernel
def _weaken(items: RankedItems, which: Codes, weakness: Floats) -> None:
    """Write minus the strengths of the units of some items."""
    for i in range(len(which)):
        low, high = items.unit_start[which[i]], items.unit_start[which[i] + 1]
        _write(ranked_item(items, which[i]), weakness[low:high])


@inner
def _write(item: RankedItem, weakness: Floats) -> None:
    numbers, listed, spans, _, shapes = item
    n = len(shapes)
    got, due, strength = np.empty(n), np.empty(n), np.empty(n)
    for unit in range(n):
        strength[unit] = got[unit] = shapes[unit, POSTERIOR]
    got[n - 1] += (max(numbers.n_tail, 1) - 1) * shapes[n - 1, PRIOR]
    strength[n - 1] = got[n - 1]
    for turn in range(_ROUNDS + 1):
        summed = 0.0
        for unit in range(n):
            summed += strength[unit]
        for unit in range(n):
            due[unit] = (numbers.total_shape + numbers.shared) / summed
            if turn == 0:
                strength[unit] /= summed
        if turn > 0:
            for ranking in range(len(spans)):
                _add_due(listed, spans, ranking, numbers.power, strength, due)
            for unit in range(n):
                strength[unit] = got[unit] / due[unit]
    for unit in range(n):
        weakness[unit] = -strength[unit]


@inner
def _add_due(
    listed: Codes, spans: Codes, ranking: int, power: float, strength: Floats, due: Floats
) -> None:
    """For each choice in a ranking, add 1 / (sum of available strengths) to all available units.

    Each unit thus gets the sum over all choices until it is chosen itself.
    """
    begin, stop, last = spans[ranking, BEGIN], spans[ranking, STOP], spans[ranking, LAST]
    left, so_far, low = 0.0, 0.0, begin
    for place in range(begin, last):
        left += strength[listed[UNIT, place]]
    while low < stop:
        high = low + 1
        while high < stop and listed[RANK, high] == listed[RANK, low]:
            high += 1
        so_far += power * (high - low) / left
        for place in range(low, high):
            due[listed[UNIT, place]] += so_far
            left -= strength[listed[UNIT, place]]
        left = max(left, 1e-300)
        low = high
    for place in range(stop, last):
        due[listed[UNIT, place]] += so_far
