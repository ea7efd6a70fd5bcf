"""Binomial variates from a stream of words: how many of n, and in which cells they fall."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner
from dissensus.arrays.stream import State, uniform

_MANY = 10.0
"""Expected successes from which rejection is cheaper than counting up from none."""


@inner
def binomial(state: State, n: int, p: float) -> int:
    """Draw how many of n succeed, each with probability p."""
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
    """Jump from success to success: the gaps between them are geometric."""
    step = math.log1p(-p)
    place, found = 0.0, 0
    while True:
        place += math.floor(math.log(uniform(state)) / step) + 1.0
        if place > n:
            return found
        found += 1


@inner
def _rejected(state: State, n: int, p: float) -> int:
    """Reject from a table mountain over the transformed density: Hoermann (1993), BTRS."""
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
def scatter(
    state: State,
    n: int,
    weight: npt.NDArray[np.float64],
    total: float,
    found: npt.NDArray[np.int64],
) -> None:
    """Draw how many of n fall into each cell, with chances in proportion to weights.

    Parameters
    ----------
    state : stream
    n : int
    weight : array (cell)
        Of the given total, up to rounding.
    total : float
    found : array (cell)
        Where the numbers are written.
    """
    found[:] = 0
    last = len(weight) - 1
    while weight[last] <= 0.0 and last > 0:
        last -= 1  # what rounding leaves over must not go to an impossible cell
    if n == 1:
        left = uniform(state) * total
        for k in range(last):
            left -= weight[k]
            if left < 0.0:
                found[k] = 1
                return
        found[last] = 1
        return
    rest = n
    for k in range(last):
        if rest == 0:
            return
        found[k] = binomial(state, rest, weight[k] / total if total > 0.0 else 0.0)
        rest -= found[k]
        total -= weight[k]
    found[last] = rest
