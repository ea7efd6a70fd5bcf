"""Normal variates, whole and cut off, from the small random streams of `stream`.

Whole ones by the ziggurat (Marsaglia & Tsang 2000, in the form of Doornik 2005, who takes the
layer and the place in it from different bits): a sweep over hundreds of thousands of items is
nothing but normal variates, and a logarithm and a cosine each would be most of its time.
Cut-off ones by rejection from what lies closest (Robert 1995).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dissensus.arrays.compiled import inner
from dissensus.arrays.stream import State, uniform, word
from dissensus.arrays.types import Floats

_LAYERS: Final = 128
_LAST: Final = 3.442619855899
"""Where the tail begins, for 128 layers."""
_AREA: Final = 9.91256303526217e-3
"""Of each layer."""


def _ziggurat() -> Floats:
    edge = np.empty(_LAYERS + 1)
    density = math.exp(-0.5 * _LAST**2)
    edge[0], edge[1], edge[_LAYERS] = _AREA / density, _LAST, 0.0
    for layer in range(2, _LAYERS):
        density += _AREA / edge[layer - 1]
        edge[layer] = math.sqrt(-2.0 * math.log(density))
    return edge


_EDGE: Final = _ziggurat()
_RATIO: Final = _EDGE[1:] / _EDGE[:-1]
_MASK: Final = np.uint64(_LAYERS - 1)


@inner
def normal(state: State) -> float:
    """Draw from the standard normal distribution."""
    while True:
        bits = word(state)
        layer = np.int64(bits & _MASK)
        u = (np.float64(bits >> np.uint64(12)) + 0.5) * 2.0**-51 - 1.0
        if abs(u) < _RATIO[layer]:
            return u * _EDGE[layer]
        if layer == 0:
            return math.copysign(_beyond(state, _LAST), u)
        x = u * _EDGE[layer]
        low = math.exp(-0.5 * (_EDGE[layer] ** 2 - x * x))
        high = math.exp(-0.5 * (_EDGE[layer + 1] ** 2 - x * x))
        if high + uniform(state) * (low - high) < 1.0:
            return x


@inner
def _beyond(state: State, low: float) -> float:
    """Draw from the tail above a positive number: exponential steps, thinned."""
    while True:
        step = -math.log(uniform(state)) / low
        if -2.0 * math.log(uniform(state)) > step * step:
            return low + step


_WIDE: Final = 1.5
"""An interval wider than this that has the middle in it is hit often enough by whole variates."""


@inner
def normal_between(state: State, low: float, high: float) -> float:
    """Draw from the standard normal distribution cut off at both ends; either may be infinite."""
    if low > -high:  # the side on which both ends are farther up
        return _between(state, low, high)
    return -_between(state, -high, -low)


@inner
def _between(state: State, low: float, high: float) -> float:
    """Do so where the middle of the interval is above 0."""
    if low < 0.3 and high - low > _WIDE:
        while True:
            x = normal(state)
            if low < x < high:
                return x
    if low >= 0.3 and high - low > 1.0 / max(low, 1.0):
        while True:
            x = _beyond(state, low)
            if x < high:
                return x
    nearest = max(low, 0.0)
    while True:
        x = low + uniform(state) * (high - low)
        if -2.0 * math.log(uniform(state)) > x * x - nearest * nearest:
            return x
