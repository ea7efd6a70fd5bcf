r"""Moving a group of strengths together by the exact likelihood, arrival times summed out.

One at a time, units that are well known relative to each other, and little relative to the rest, go
nowhere. So all units on the weak side of a cut through a fixed order are multiplied by e^delta as
well. The order depends on no strength, hence delta has the log density, up to a constant,

.. math::
    f(\delta) = A \delta - \sum_S w_S \log\bigl(R_S + e^{g_S \delta} W_S\bigr)
    + \mathrm{power} \sum_b \log P_b(\delta),

where A is the sum of the units' own (see `exact_moves`), and W and R are what the
group comes to in a set, and what the others do. Of a set that is all of the group there remains
:math:`-w_S g_S \delta`. f is concave, and delta is drawn in the same way.
"""

from __future__ import annotations

from dissensus.arrays.group_view import MOVED, collect_group, group_everything
from dissensus.arrays.ranked_item import ItemNumbers
from dissensus.arrays.slicing import slicer, width
from dissensus.arrays.unit_view import (
    LOG_REST,
    MEMBERS,
    ONE,
    REST,
    SHARPNESS,
    TWO,
    N,
)
from dissensus.kernels.compiled import inner, part
from dissensus.kernels.plackett_luce import RATIO, log_block
from dissensus.kernels.random import State
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Floats


@part
def _against_two(ties: Floats, tie: int, rate: float) -> float:
    """Return 1 / P of a block of two, in plain numbers."""
    one, two, rest = ties[tie, ONE], ties[tie, TWO], ties[tie, REST] + rate
    if ties[tie, MOVED] > 0.0:
        one *= rate
        two *= rate if ties[tie, MOVED] > 1.0 else 1.0
    both = one + two + rest
    return both * (one + rest) * (two + rest) / (one * two * (both + rest))


@inner
def _log_tie(ties: Floats, tie: int, now: float, delta: float, table: Floats) -> float:
    """Return log P of any block."""
    n, log_rest = int(ties[tie, N]), log_plus(ties[tie, LOG_REST], now)
    for k in range(n):
        table[RATIO, k] = ties[tie, MEMBERS + k] - log_rest
    for k in range(int(ties[tie, MOVED])):
        table[RATIO, k] += ties[tie, SHARPNESS] * delta
    return log_block(table, n)


_sliced = slicer(_against_two, _log_tie)


@inner
def move_group(
    state: State, numbers: ItemNumbers, listed: Codes, spans: Codes, sharpness: Floats,
    shapes: Floats, log_strength: Floats, used: int, position: Codes, turn: int, log_rate: Floats,
    rate: Floats, choices: Floats, ties: Floats, table: Floats,
) -> None:  # fmt: skip
    """Move all units from a position on together; which position, turns decide.

    It comes after `exact_moves.move_units`, whose rates it takes as they are. Two
    units at the least are on either side: one alone that moves, or stays, is a move of one unit,
    since only proportions count.

    Parameters
    ----------
    position : array (unit)
        From `unit_order.write_positions`.
    turn : int
        How many group moves there were before.
    others
        As for `move_units`.
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
    delta = _sliced(state, step, slope, power, choices, n, ties, n_ties, table)
    for unit in range(n_units):
        log_strength[unit] += delta if position[unit] >= cut else 0.0
    if position[n_units - 1] >= cut:
        for cell in range(n_units, used):
            log_strength[cell] += delta
