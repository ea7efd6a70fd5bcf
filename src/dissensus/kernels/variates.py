"""Random variates from the words of a stream: exponential, normal, Gamma, binomial.

Normal variates are drawn by the ziggurat (Marsaglia & Tsang 2000, in the form of Doornik 2005, with
layer and place from different bits), because a logarithm and a cosine for each variate would take
most of the time of a sweep. Truncated normal variates are drawn by rejection (Robert 1995).

Gamma variates are drawn by the rejection of Marsaglia & Tsang (2000), from ziggurat normals. For a
shape below 1, a variate of shape + 1 is multiplied by U^(1/shape), where U is uniform. With small
shapes this product would underflow, so that its logarithm is drawn.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform, word
from dissensus.kernels.types import Floats, Ints, Keys

_MANY = 10.0
"""Expected number of successes from which `_rejected` is faster than `_counted`."""


@inner
def binomial(state: State, n: int, p: float) -> int:
    """Draw the number of successes among n, each with probability p."""
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    if p > 0.5:
        return n - _up_to_half(state, n, 1.0 - p)
    return _up_to_half(state, n, p)


@inner
def _up_to_half(state: State, n: int, p: float) -> int:
    return _counted(state, n, p) if n * p < _MANY else _rejected(state, n, p)


@inner
def _counted(state: State, n: int, p: float) -> int:
    """Draw by jumps from success to success; gaps between successes are geometric."""
    step = math.log1p(-p)
    place, n_successes = 0.0, 0
    while True:
        place += math.floor(math.log(uniform(state)) / step) + 1.0
        if place > n:
            return n_successes
        n_successes += 1


@inner
def _rejected(state: State, n: int, p: float) -> int:
    """Draw by transformed rejection with squeeze: Hoermann (1993), algorithm BTRS."""
    q = 1.0 - p
    sd = math.sqrt(n * p * q)
    b = 1.15 + 2.53 * sd
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = n * p + 0.5
    sure = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * sd
    odds = math.log(p / q)
    mode = math.floor((n + 1) * p)
    top = math.lgamma(mode + 1.0) + math.lgamma(n - mode + 1.0)
    while True:
        v = uniform(state)
        u = uniform(state) - 0.5
        room = 0.5 - abs(u)
        k = math.floor((2.0 * a / room + b) * u + centre)
        if k < 0 or k > n:
            continue
        if room >= 0.07 and v <= sure:
            return int(k)
        height = math.log(v * alpha / (a / (room * room) + b))
        if height <= top - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0) + (k - mode) * odds:
            return int(k)


@inner
def scatter(state: State, n: int, weight: Floats, total: float, counts: Ints) -> None:
    """Draw n cells, with probabilities proportional to the weights; write the count of each cell.

    ``total`` is the sum of the weights, up to rounding.
    """
    counts[:] = 0
    last = len(weight) - 1
    while weight[last] <= 0.0 and last > 0:
        last -= 1  # the last cell gets what rounding leaves: its weight must not be 0
    if n == 1:
        left = uniform(state) * total
        for k in range(last):
            left -= weight[k]
            if left < 0.0:
                counts[k] = 1
                return
        counts[last] = 1
        return
    rest = n
    for k in range(last):
        if rest == 0:
            return
        counts[k] = binomial(state, rest, weight[k] / total if total > 0.0 else 0.0)
        rest -= counts[k]
        total -= weight[k]
    counts[last] = rest


def draw_exponential(keys: Keys, draws: int) -> Floats:
    """Draw variates (draw, column), each column from a separate stream.

    The draws of a column depend only on the start of its stream, which is in ``keys`` (column). A
    shorter run gives the first draws of a longer run.

    >>> keys = np.array([3, 5], dtype=np.uint64)
    >>> both = draw_exponential(keys, 4)
    >>> bool((draw_exponential(keys[1:], 2) == both[:2, 1:]).all()), bool((both > 0).all())
    (True, True)
    """
    out = np.empty((draws, len(keys)))
    _fill(keys.copy(), out)
    return out


@kernel
def _fill(states: Keys, out: Floats) -> None:
    for draw in range(len(out)):
        for column in range(out.shape[1]):
            out[draw, column] = -math.log(uniform(states[column : column + 1]))


_LAYERS: Final = 128
_LAST: Final = 3.442619855899
"""The number at which the tail begins, for 128 layers of the ziggurat."""
_AREA: Final = 9.91256303526217e-3
"""Area of each layer."""


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
    """Draw from the normal tail above a positive number, by rejection from an exponential."""
    while True:
        step = -math.log(uniform(state)) / low
        if -2.0 * math.log(uniform(state)) > step * step:
            return low + step


_WIDE: Final = 1.5
"""In an interval near 0 that is wider than this, few unbounded normal variates are rejected."""


@inner
def normal_between(state: State, low: float, high: float) -> float:
    """Draw from the standard normal distribution between two bounds, which may be infinite."""
    if low > -high:  # the middle of the interval is above 0
        return _between(state, low, high)
    return -_between(state, -high, -low)


@inner
def _between(state: State, low: float, high: float) -> float:
    """Do as `normal_between` if the middle of the interval is above 0."""
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


SMALL: Final = 0.1
"""Below this shape, variates may underflow: a variate's logarithm is below -708 with probability
e^-70 for shape 0.1, and with probability e^-7 for shape 0.01."""

LEAST: Final = 1e-300
"""Smaller shapes are replaced by this shape, so that logarithms stay finite; no result changes."""


@inner
def gamma_variate(state: State, shape: float) -> float:
    """Draw a Gamma(shape, 1) variate, for a shape that is not below `SMALL`."""
    return gamma_of(state, shape, *constants(shape))


@inner
def constants(shape: float) -> tuple[float, float]:
    """Return the constants d and c of a shape, which `gamma_of` needs for each draw."""
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    return d, 1.0 / math.sqrt(9.0 * d)


@inner
def gamma_of(state: State, shape: float, d: float, c: float) -> float:
    """Draw a Gamma(shape, 1) variate, given the shape's `constants`."""
    if shape == 1.0:
        return -math.log(uniform(state))
    if shape < 1.0:
        return _above(state, d, c) * uniform(state) ** (1.0 / shape)
    return _above(state, d, c)


@inner
def log_gamma_variate(state: State, shape: float) -> float:
    """Draw the logarithm of a Gamma(shape, 1) variate; it is finite for any positive shape."""
    out = math.log(_above(state, *constants(shape)))
    if shape < 1.0:
        out += math.log(uniform(state)) / shape
    return out


@inner
def _above(state: State, d: float, c: float) -> float:
    """Draw a Gamma(d + 1/3, 1) variate; the shape d + 1/3 is 1 or more."""
    while True:
        x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v *= v * v
        u, square = uniform(state), x * x
        if u < 1.0 - 0.0331 * square * square:
            return d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v


@inner
def tables(state: State, n: float, alpha: float) -> float:
    """Draw the number of tables of n guests in a Chinese restaurant process."""
    out = 0.0
    for guest in range(int(n)):
        if uniform(state) * (alpha + guest) < alpha:
            out += 1.0
    return out
