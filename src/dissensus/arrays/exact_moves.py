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

from dissensus.arrays.ranked_item import PRIOR, SHARED_OWN, SINGLE, ItemNumbers
from dissensus.arrays.slicing import slicer, width
from dissensus.arrays.unit_view import (
    LOG_REST,
    MEMBERS,
    MINE,
    ONE,
    REST,
    TWO,
    N,
    collect,
    everything,
    sharpness_of,
    take,
)
from dissensus.kernels.compiled import inner, part
from dissensus.kernels.plackett_luce import RATIO, log_block
from dissensus.kernels.random import State
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Floats

_FAR = 50.0
"""After a move of so much all rates are taken anew, relative to the largest as it is then."""


@part
def _against_two(ties: Floats, tie: int, rate: float) -> float:
    """Return 1 / P of a block of two: both orders, with as few operations as can be."""
    one, two, rest = ties[tie, ONE], ties[tie, TWO], ties[tie, REST]
    if ties[tie, MINE] < 0.0:
        rest += rate
    else:
        one = rate
    both = one + two + rest
    return both * (one + rest) * (two + rest) / (one * two * (both + rest))


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
    """Draw how far to move one unit."""
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
    """Move some units, one after another.

    Parameters
    ----------
    state : array (1)
        The random stream.
    numbers, listed, spans, sharpness, shapes
        Of a `ranked_item.RankedItem`.
    log_strength : array (unit, then the tail's further cells)
        The state; written. Those of a tail move together.
    used : int
        How many of them count.
    first, n_moves : int
        Which unit to start with, and how many to move.
    log_rate, rate, choices, ties, table
        Of a `unit_view.MoveRoom`.
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
