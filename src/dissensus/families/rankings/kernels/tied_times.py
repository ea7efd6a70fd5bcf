r"""Arrival times of labels tied in one block, without going through their orders.

Every label arrives at an exponential time whose rate is its strength. A block of tied labels means
that all of them arrive before the rest: the labels after the block. Let m be the first arrival of
the rest, which has rate Z. Given m, the block's times are independent exponentials truncated to
(0, m). The density of m is proportional to Z exp(-Z m) times the product of 1 - exp(-lambda m) over
the block, which is log-concave in log m (see `dissensus.kernels.plackett_luce` for the same
function). So log m is drawn by rejection from tangents, and then the times. m is discarded, because
arrivals after the last of the block have no memory. The cost is linear in the size of the block. In
a block of two, one of its two orders is drawn instead.

Rates are relative to Z, and times are in units of 1 / Z. Both are logarithms, so that strengths of
any ratio are allowed.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import inner
from dissensus.kernels.plackett_luce import SATURATED, log_integrand, phi, top_of_integrand
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import HEIGHT, SLOPE, TOUCH, draw, join
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Floats

_SDS = 1.3
"""Distance from the mode at which the outer tangents touch, in standard deviations of a normal
curve with the mode's curvature. With this distance, few proposals are rejected."""

_LINEAR = -600.0
"""Below this log y, 1 - e^-y is y, and y itself may be too small a number."""


@inner
def draw_block(state: State, log_ratio: Floats, log_time: Floats, lines: Floats) -> float:
    """Write the log arrival times of a block that arrives before the rest; return the last time.

    `log_ratio` are log strengths of the labels in the block, relative to Z; `lines` is work
    space for `dissensus.kernels.slices`.
    """
    if len(log_ratio) == 1:
        log_time[0] = log_exponential(state) - log_plus(0.0, log_ratio[0])
        return log_time[0]
    if len(log_ratio) == 2:
        return _draw_two(state, log_ratio, log_time)
    ceiling = log_ceiling(state, log_ratio, lines)
    last = -np.inf
    for k in range(len(log_ratio)):
        u, log_y = uniform(state), log_ratio[k] + ceiling
        if log_y < _LINEAR:
            log_time[k] = math.log(u) + ceiling
        else:
            y = math.exp(min(log_y, SATURATED))
            log_time[k] = math.log(-math.log1p(u * math.expm1(-y))) - log_ratio[k]
        last = max(last, log_time[k])
    return last


@inner
def log_exponential(state: State) -> float:
    """Draw the logarithm of an exponential variate of mean 1."""
    return math.log(-math.log(uniform(state)))


@inner
def _draw_two(state: State, log_ratio: Floats, log_time: Floats) -> float:
    """Draw which of two comes first, and then their times.

    The order i, k has probability r_i / (1 + r_i + r_k) times r_k / (1 + r_k), so that the odds
    of the two orders are (1 + r_i) / (1 + r_k).
    """
    with_first, with_second = log_plus(0.0, log_ratio[0]), log_plus(0.0, log_ratio[1])
    first = (
        0 if uniform(state) * (1.0 + math.exp(min(with_second - with_first, 700.0))) < 1.0 else 1
    )
    left = with_second if first == 0 else with_first
    log_time[first] = log_exponential(state) - log_plus(with_first, log_ratio[1])
    log_time[1 - first] = log_plus(log_time[first], log_exponential(state) - left)
    return log_time[1 - first]


@inner
def log_ceiling(state: State, log_ratio: Floats, lines: Floats) -> float:
    """Draw log m, with m the first arrival of the rest, given that the block arrived before m."""
    mode, curvature = top_of_integrand(log_ratio)
    peak = log_integrand(mode, log_ratio)
    away = _SDS / math.sqrt(curvature)
    while _slope(mode + away, log_ratio) >= 0.0:  # the mode is known to one percent only
        away *= 2.0
    for i in range(3):
        touch = mode + (i - 1) * away
        lines[TOUCH, i] = touch
        lines[HEIGHT, i] = log_integrand(touch, log_ratio) - peak
        lines[SLOPE, i] = _slope(touch, log_ratio)
    join(lines)
    while True:
        s, above = draw(state, lines)
        if math.log(uniform(state)) <= log_integrand(s, log_ratio) - peak - above:
            return s


@inner
def _slope(s: float, log_ratio: Floats) -> float:
    total = 1.0 - math.exp(s)
    for log_r in log_ratio:
        if s + log_r < SATURATED:
            total += phi(math.exp(s + log_r))
    return total
