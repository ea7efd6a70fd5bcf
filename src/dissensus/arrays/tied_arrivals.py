"""Arrival times of labels tied in one block, without going through their orders.

Every label arrives at an exponential time whose rate is its strength. A block of tied labels
says that all of them arrive before any of the rest, whose first arrival is at rate Z. Let m be
that first arrival. Given m, the block's times are independent exponentials truncated to (0, m);
and m itself has a density proportional to Z exp(-Z m) times the product of 1 - exp(-lambda m)
over the block, which is log-concave. So m is drawn by rejection from tangents, which lie above a
log-concave density wherever they touch it; then the times; then m is forgotten, since the rest
arrives after the last of the block without memory. The cost is linear in the size of the block.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.stream import State, uniform

Floats = npt.NDArray[np.float64]

_FALL = 0.7
"""How far below its peak the outer tangents touch the log density, at least."""
_STEEP = 1.6
"""... and at most, roughly: between the two little is rejected."""
_FLAT = 1e-12
_GONE = 1e-300


@njit(cache=True)
def _log_density(m: float, rates: Floats, rest: float) -> float:
    total = -rest * m
    for rate in rates:
        total += np.log(-np.expm1(-rate * m))
    return total


@njit(cache=True)
def _slope(m: float, rates: Floats, rest: float) -> float:
    total = -rest
    for rate in rates:
        x = rate * m
        total += (1.0 if x < _GONE else x / np.expm1(min(x, 700.0))) / m
    return total


@njit(cache=True)
def _mode(rates: Floats, rest: float) -> float:
    """Return about where the density peaks; exactness only saves rejections."""
    low = high = len(rates) / (rest + np.mean(rates))
    while _slope(low, rates, rest) < 0.0:
        low *= 0.25
    while _slope(high, rates, rest) > 0.0:
        high *= 4.0
    for _ in range(12):
        middle = np.sqrt(low) * np.sqrt(high)
        if _slope(middle, rates, rest) > 0.0:
            low = middle
        else:
            high = middle
    return np.sqrt(low) * np.sqrt(high)


@njit(cache=True)
def _lower(mode: float, peak: float, rates: Floats, rest: float, factor: float) -> float:
    """Return a point to one side of the mode where the log density is about 1 lower."""
    near = far = 1.0
    while peak - _log_density(mode * far, rates, rest) < _FALL:
        near = far
        far *= factor
    for _ in range(4):
        if peak - _log_density(mode * far, rates, rest) < _STEEP:
            break
        middle = np.sqrt(near * far)
        if peak - _log_density(mode * middle, rates, rest) < _FALL:
            near = middle
        else:
            far = middle
    return mode * far


@njit(cache=True)
def draw_ceiling(state: State, rates: Floats, rest: float) -> float:
    """Draw m, the first arrival of the rest given that the whole block arrived before."""
    mode = _mode(rates, rest)
    peak = _log_density(mode, rates, rest)
    touch, height, slope = np.empty(3), np.empty(3), np.empty(3)
    touch[0] = _lower(mode, peak, rates, rest, 0.6)
    touch[1] = mode
    touch[2] = _lower(mode, peak, rates, rest, 1.6)
    for i in range(3):
        height[i] = _log_density(touch[i], rates, rest) - peak
        slope[i] = _slope(touch[i], rates, rest)
    edge = np.array([0.0, touch[0], touch[2], np.inf])
    for i in range(2):  # where neighbouring tangents meet
        gap = slope[i] - slope[i + 1]
        if gap > 0.0:
            there = height[i + 1] - height[i] + slope[i] * touch[i] - slope[i + 1] * touch[i + 1]
            edge[i + 1] = min(max(there / gap, touch[i]), touch[i + 1])
    area = np.empty(3)
    for i in range(3):
        start = height[i] + slope[i] * (edge[i] - touch[i])
        area[i] = _area(start, slope[i], edge[i + 1] - edge[i])
    while True:
        pick, i = uniform(state) * area.sum(), 0
        while i < 2 and pick > area[i]:
            pick -= area[i]
            i += 1
        m = edge[i] + _inverse(uniform(state), slope[i], edge[i + 1] - edge[i])
        above = height[i] + slope[i] * (m - touch[i])
        if m > 0.0 and np.log(uniform(state)) <= _log_density(m, rates, rest) - peak - above:
            return m


@njit(cache=True)
def _area(start: float, slope: float, width: float) -> float:
    """Integrate exp(start + slope x) from 0 to width."""
    if abs(slope) * width < _FLAT:
        return np.exp(start) * width
    return np.exp(start) * np.expm1(slope * width) / slope


@njit(cache=True)
def _inverse(u: float, slope: float, width: float) -> float:
    """Draw x in (0, width) with density proportional to exp(slope x)."""
    if abs(slope) * width < _FLAT:
        return u * width
    if slope > 0.0:  # measured from the far end, where the density is large
        return width + np.log(u + (1.0 - u) * np.exp(-slope * width)) / slope
    return np.log1p(u * np.expm1(slope * width)) / slope


@njit(cache=True)
def draw_block(state: State, rates: Floats, rest: float, times: Floats) -> float:
    """Write the arrival times of a block before the rest, and return the last of them.

    Where nothing is left (``rest`` is 0) the block says nothing, and the times are free.
    """
    if len(rates) == 1:
        times[0] = -np.log(uniform(state)) / (rates[0] + rest)
        return times[0]
    ceiling = draw_ceiling(state, rates, rest) if rest > 0.0 else np.inf
    last = 0.0
    for k in range(len(rates)):
        u = uniform(state)
        if rates[k] * ceiling < _GONE:
            times[k] = u * ceiling
        else:
            times[k] = -np.log1p(u * np.expm1(-rates[k] * ceiling)) / rates[k]
        last = max(last, times[k])
    return last
