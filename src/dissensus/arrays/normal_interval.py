"""The probability that a standard normal variate falls between two numbers, and its slopes.

Exact to rounding in the far tails too, where both distribution functions are 0 or 1 in floating
point: both ends are mirrored to the side on which the functions are small.
"""

from __future__ import annotations

import math
from typing import Final

from dissensus.arrays.compiled import inner

_ROOT_HALF: Final = math.sqrt(0.5)
_DENSITY: Final = 1.0 / math.sqrt(2.0 * math.pi)
_FAR: Final = 25.0
"""Beyond this many standard deviations probabilities are taken in logarithms."""


@inner
def _scaled_tail(x: float) -> float:
    """Return Phi(-x) / phi(x) for large x: the asymptotic series, good to 1e-13 at 25."""
    y = 1.0 / (x * x)
    return (1.0 - y * (1.0 - y * (3.0 - y * (15.0 - y * (105.0 - y * 945.0))))) / x


@inner
def _far(low: float, high: float) -> tuple[float, float, float]:
    """Do so for two numbers far below 0."""
    width = high - low
    drop = 0.5 * width * (high + low)  # the density at low is exp(drop) of that at high
    relative = math.exp(drop) if drop > -700.0 else 0.0
    if width * -high < 1e-4:  # tails that differ so little have lost their digits
        scaled = width * math.exp(0.5 * drop)
    else:
        scaled = _scaled_tail(-high)
        if low > -math.inf and relative > 0.0:
            scaled -= _scaled_tail(-low) * relative
    if not scaled > 0.0:
        return -math.inf, 0.0, 0.0
    log_p = math.log(_DENSITY) - 0.5 * high * high + math.log(scaled)
    return log_p, relative / scaled, 1.0 / scaled


@inner
def interval(low: float, high: float) -> tuple[float, float, float]:
    """Return log P(low < x < high), and the density at both ends over the probability.

    Parameters
    ----------
    low, high : float
        Either may be infinite.

    Examples
    --------
    >>> [round(x, 4) for x in interval(-1.0, 1.0)]
    [-0.3817, 0.3544, 0.3544]
    """
    if low > -high:
        log_p, at_high, at_low = _below(-high, -low)
        return log_p, at_low, at_high
    return _below(low, high)


@inner
def _below(low: float, high: float) -> tuple[float, float, float]:
    if high < -_FAR:
        return _far(low, high)
    p = 0.5 * (math.erfc(-high * _ROOT_HALF) - math.erfc(-low * _ROOT_HALF))
    width = high - low
    if width < 1e-5:  # the difference has lost its digits; the density hardly changes
        p = width * _DENSITY * math.exp(-0.5 * (0.5 * (low + high)) ** 2)
    if p <= 0.0:
        return -math.inf, 0.0, 0.0
    at_low = _DENSITY * math.exp(-0.5 * low * low) / p
    return math.log(p), at_low, _DENSITY * math.exp(-0.5 * high * high) / p
