"""Drawing how far strengths move: a slice under their exact, concave log density.

The density is that of `exact_moves` for one strength and of
`group_moves` for a group. The two differ only in how a tied block changes with the
move; each has the code of this file compiled for itself, with its own tied blocks built in: one
compiled function that asks which it is took single moves a quarter longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dissensus.arrays.unit_view import (
    BASE,
    LOG_OTHERS,
    OTHERS,
    OWN,
    SHARPNESS,
    TINY,
    TWO,
    WEIGHT,
    G,
)
from dissensus.kernels.compiled import Inner, named_after, part
from dissensus.kernels.random import State, uniform
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Floats

_HUGE = 60.0
"""Rates whose logarithm is above this are taken in logarithms, as are those below
`unit_view.TINY`: no product of a few over- or underflows."""

_END = 1e12
"""No log strength goes farther, even if the slope is too small for double precision."""

_LEVEL, _LOW, _HIGH, _SHRINK = range(4)
"""What f is asked for: the level of the slice, either end of it, or a point within."""

_FLAT = 1e-6
"""A slope that is as good as none, where the width of a curve is guessed."""


@part
def width(left: float, right: float) -> float:
    """Guess the width of a curve from how steep it is on both sides.

    It is about that of a beta variate's log odds. The density is concave, so that the part of the
    line above a level is one piece, and any start that covers it is as good: it may depend on the
    state.
    """
    left, right = 1.0 / max(left, _FLAT), 1.0 / max(right, _FLAT)
    return 3.0 * math.sqrt(left + right) + left + right


def slicer(against_two: Callable[..., float], log_tie: Callable[..., float]) -> Any:
    """Compile slice sampling for one way in which tied blocks change.

    Parameters
    ----------
    against_two : compiled function (ties, tie, rate)
        1 / P of a block of two, in plain numbers.
    log_tie : compiled function (ties, tie, now, delta, table)
        log P of any block.

    Returns
    -------
    compiled function (state, step, slope, power, choices, n, ties, n_ties, table)
        Draws how far to move: steps out from a level under the density, and shrinks.
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
