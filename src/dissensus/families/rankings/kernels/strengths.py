r"""Drawing a log strength given its exposures.

The prior is Gamma(shape, 1). Listed n times, and waited for E in sum, by annotators of sharpness
g, a strength :math:`\lambda = e^u` has the log density

.. math:: f(u) = A u - e^u - \sum_r E_r e^{g_r u}, \qquad A = \mathrm{shape} + \sum g n,

of which nothing is left but a Gamma's where all g are 1. Otherwise f is concave, and u is drawn by
rejection from tangents, among them the line A u, which f comes up to as u falls: a small A has
most of its mass there, hundreds of units below the mode.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import inner
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import AREA, EDGE, HEIGHT, SLOPE, TOUCH, draw, draw_from, join
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Floats
from dissensus.kernels.variates import log_gamma_variate

LOG_EXPOSURE, SHARPNESS = range(2)
"""The rows of an array of terms."""

_AWAY = 1.3
"""The outer tangents touch where the slope is that of a normal curve so many standard deviations
from its mode."""

_AT_LEAST = 0.5
"""... or this, on the right of a curve whose A is small."""

_SMALL = 0.5
"""Below this A, the line A u takes the left tangent's place."""


@inner
def draw_log_strength(state: State, a: float, terms: Floats, n_terms: int, lines: Floats) -> float:
    """Draw one.

    Parameters
    ----------
    state : array (1)
        The random stream.
    a : float
        A.
    terms : array (2, term)
        Log E and g, one of each for each g that there is, or more.
    n_terms : int
        How many: more may have room.
    lines : array
        Room for `dissensus.kernels.slices`.
    """
    if n_terms == 0:
        return log_gamma_variate(state, a)
    if n_terms == 1 and terms[SHARPNESS, 0] == 1.0:
        return log_gamma_variate(state, a) - log_plus(0.0, terms[LOG_EXPOSURE, 0])
    peak = _touch(a, terms, n_terms, lines)
    return _one(state, a, terms, n_terms, lines, peak)


@inner
def draw_tail(
    state: State, a: float, terms: Floats, n_terms: int, lines: Floats, depth: float, out: Floats
) -> int:
    """Draw many of the same density, and return how many are written.

    Those so far below the largest that no sum of strengths would change are left out, if A is
    small: then nearly all are far down, where they are drawn in descending order.

    Parameters
    ----------
    state, a, terms, n_terms, lines
        As for `draw_log_strength`.
    depth : float
        How far below the largest to go; infinite: to the last.
    out : array (cell)
        Written, as far as it goes. Not in random order.
    """
    peak = _touch(a, terms, n_terms, lines)
    if a >= _SMALL:
        for k in range(len(out)):
            out[k] = _one(state, a, terms, n_terms, lines, peak)
        return len(out)
    n, missing, top = 0, len(out), -np.inf
    while missing > 0:  # propose as many, and again for those rejected
        high = _count_high(state, missing, lines)
        low, missing = missing - high, 0
        for _ in range(high):
            i = 1 if uniform(state) * (lines[AREA, 1] + lines[AREA, 2]) < lines[AREA, 1] else 2
            u, above = draw_from(state, lines, i)
            if math.log(uniform(state)) <= log_density(u, a, terms, n_terms) - peak - above:
                out[n], top, n = u, max(top, u), n + 1
            else:
                missing += 1
        u = lines[EDGE, 1]
        for left in range(low, 0, -1):
            u += math.log(uniform(state)) / (a * left)  # the largest of as many
            if u < top - depth:  # all from here on would be kept
                break
            if uniform(state) < math.exp(-_waited(u, terms, n_terms)):
                out[n], top, n = u, max(top, u), n + 1
            else:
                missing += 1
    return n


@inner
def _count_high(state: State, n: int, lines: Floats) -> int:
    """Draw how many of n come from the two pieces on the right: few, so leap over the others."""
    right = lines[AREA, 1] + lines[AREA, 2]
    log_left = math.log1p(-right / (lines[AREA, 0] + right))
    count, at = 0, math.log(uniform(state)) / log_left
    while at < n:
        count += 1
        at = math.floor(at) + 1.0 + math.log(uniform(state)) / log_left
    return count


@inner
def _one(state: State, a: float, terms: Floats, n_terms: int, lines: Floats, peak: float) -> float:
    while True:
        u, above = draw(state, lines)
        value = log_density(u, a, terms, n_terms)
        if math.log(uniform(state)) <= value - peak - above:
            return u


@inner
def log_density(u: float, a: float, terms: Floats, n_terms: int) -> float:
    """Return f(u)."""
    return a * u - _waited(u, terms, n_terms)


@inner
def _waited(u: float, terms: Floats, n_terms: int) -> float:
    total = math.exp(u)
    for k in range(n_terms):
        total += math.exp(terms[LOG_EXPOSURE, k] + terms[SHARPNESS, k] * u)
    return total


@inner
def _fall(u: float, terms: Floats, n_terms: int) -> tuple[float, float]:
    """Return A less the slope of f, and minus f's second derivative."""
    total = bend = math.exp(u)
    for k in range(n_terms):
        one = terms[SHARPNESS, k] * math.exp(terms[LOG_EXPOSURE, k] + terms[SHARPNESS, k] * u)
        total += one
        bend += terms[SHARPNESS, k] * one
    return total, bend


@inner
def _reach(total: float, terms: Floats, n_terms: int) -> float:
    """Return where the first of the terms of `_fall` alone reaches a value."""
    u = math.log(total)
    for k in range(n_terms):
        g = terms[SHARPNESS, k]
        u = min(u, (math.log(total / g) - terms[LOG_EXPOSURE, k]) / g)
    return u


@inner
def _mode(a: float, terms: Floats, n_terms: int) -> tuple[float, float]:
    """Return about where f is largest, and minus its second derivative there.

    The logarithm of `_fall` is convex and rising, and this is where it is log A: Newton's method
    comes closer from the right, where no term alone is above A.
    """
    u, bend = _reach(a, terms, n_terms), a
    for _ in range(50):
        total, bend = _fall(u, terms, n_terms)
        step = math.log(a / total) * total / bend
        u += step
        if step * step * bend < 0.01:  # a tenth of a standard deviation
            break
    return u, bend


@inner
def _touch(a: float, terms: Floats, n_terms: int, lines: Floats) -> float:
    """Put the tangents to f, and return f where the middle one touches: its height is 0."""
    mode, bend = _mode(a, terms, n_terms)
    flat = a / bend  # by how much u grows where the logarithm of `_fall` grows by 1, or less
    most = a + _AWAY * math.sqrt(a) + _AT_LEAST
    lines[TOUCH, 0] = mode + flat * math.log1p(-_AWAY / math.sqrt(a + _AWAY * _AWAY))
    lines[TOUCH, 1] = mode
    lines[TOUCH, 2] = min(mode + flat * math.log(most / a), _reach(most, terms, n_terms))
    peak = log_density(mode, a, terms, n_terms)
    for i in range(3):
        total, _ = _fall(lines[TOUCH, i], terms, n_terms)
        lines[SLOPE, i] = a - total
        lines[HEIGHT, i] = log_density(lines[TOUCH, i], a, terms, n_terms) - peak
    if a < _SMALL or lines[SLOPE, 0] <= 0.0:
        lines[TOUCH, 0], lines[HEIGHT, 0], lines[SLOPE, 0] = mode, a * mode - peak, a
    join(lines)
    return peak
