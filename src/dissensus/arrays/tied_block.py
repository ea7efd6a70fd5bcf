r"""The probability that a block of tied labels comes before the rest, under Plackett-Luce.

Let the labels of the block have strengths :math:`\lambda_k` and the rest together Z. With
:math:`r_k = \lambda_k / Z`, the probability that all of the block come first, in whatever order, is

.. math:: P = \int_0^\infty e^{-x} \prod_k \bigl(1 - e^{-r_k x}\bigr)\, dx

(the block's arrival times are all below that of the rest). Small blocks go by the recursion over
subsets that Plackett-Luce itself is, whose cost doubles with every label; others by the integral,
whose cost is linear. `docs/derivations/partial-rankings.md` has both, and the quadrature's error.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.compiled import inner
from dissensus.arrays.log_sums import log_plus
from dissensus.arrays.types import Floats

LARGEST_RECURSION = 7
"""Up to this size the recursion is the faster of the two; both are exact far beyond it."""

_DROP = 37.0
"""The quadrature goes on until the integrand is below e^-37 of its largest value."""

_WIDEST = 0.5
"""Largest first step in log x: e^-x alone, seen over log x, allows no wider one."""

_SDS = 0.75
"""The first step in standard deviations of the normal curve that fits the integrand's top."""

_AGREEMENT = 1e-10
"""How far the nodes between may differ. What all nodes miss is about the square of what each half
misses, so that 1e-7 would do; but two halves that miss much can agree by chance."""

_MOST_HALVINGS = 10
"""An end to halving, reached with infinite or undefined strengths only."""

_FACE_VALUE = -20.0
"""Below this log y, log(1 - e^-y) is log y - y/2 to double precision, and needs no logarithm."""

SATURATED = 6.5
"""Above this log y, e^-y is less than the smallest double, let alone beside 1."""


@inner
def log_before_rest(log_ratio: Floats, share: Floats) -> float:
    r"""Return log P, and write its gradient.

    Parameters
    ----------
    log_ratio : array (label)
        :math:`\log(\lambda_k / Z)` of the labels in the block.
    share : array (label) or of length 0
        Written: the derivative of log P with respect to each log ratio, which is that with
        respect to :math:`\log \lambda_k`; that with respect to log Z is minus their sum. Nothing is
        written, nor computed, if its length is 0.

    Examples
    --------
    >>> share = np.empty(2)
    >>> logp = log_before_rest(np.log([1.0, 1.0]), share)
    >>> round(math.exp(logp), 12), share.round(6)  # 2/3 * 1/2
    (0.333333333333, array([0.416667, 0.416667]))
    """
    if len(log_ratio) == 1:
        return _one(log_ratio[0], share)
    if len(log_ratio) <= LARGEST_RECURSION:
        value = by_recursion(log_ratio, share)
    else:
        value = by_integral(log_ratio, share)
    return 0.0 if value > 0 else value  # by rounding, for a block that is all but certain


@inner
def _one(log_ratio: float, share: Floats) -> float:
    """Return log(r / (1 + r)), without overflow."""
    away = math.log1p(math.exp(-abs(log_ratio)))
    if len(share):
        share[0] = math.exp(-away - max(log_ratio, 0.0))
    return min(log_ratio, 0.0) - away


@inner
def by_recursion(log_ratio: Floats, share: Floats) -> float:
    """Return log P by the recursion over subsets; 2^n steps for n labels.

    Subsets are bit patterns, so that what is left after taking a label away has a smaller
    number, and counting up meets it first.
    """
    n = len(log_ratio)
    total = np.zeros(1 << n)
    chance = np.zeros(1 << n)
    terms = np.empty(n)
    for left in range(1, 1 << n):
        top = -np.inf
        fresh = True
        for label in range(n):
            if left >> label & 1:
                if fresh:
                    total[left] = log_plus(total[left ^ 1 << label], log_ratio[label])
                    fresh = False
                terms[label] = log_ratio[label] + chance[left ^ 1 << label]
                top = max(top, terms[label])
        summed = 0.0
        for label in range(n):
            if left >> label & 1:
                summed += math.exp(terms[label] - top)
        chance[left] = top + math.log(summed) - total[left]
    if len(share):
        _recursion_gradient(log_ratio, total, chance, share)
    return chance[-1]


@inner
def _recursion_gradient(log_ratio: Floats, total: Floats, chance: Floats, share: Floats) -> None:
    """Write the gradient: 1, less the label's part of every total it was chosen from.

    `visited` is the probability, given that the block comes first, that the labels left to
    choose are at some point exactly these.
    """
    n = len(log_ratio)
    share[:] = 1.0
    visited = np.zeros(1 << n)
    visited[-1] = 1.0
    for left in range((1 << n) - 1, 0, -1):
        for label in range(n):
            if left >> label & 1:
                log_part = log_ratio[label] - total[left]
                share[label] -= visited[left] * math.exp(log_part)
                smaller = left ^ 1 << label
                # One exponential: the second part may overflow where the first is 0.
                log_next = log_part + chance[smaller] - chance[left]
                visited[smaller] += visited[left] * math.exp(log_next)


@inner
def by_integral(log_ratio: Floats, share: Floats) -> float:
    """Return log P by the trapezoidal rule in s = log x; linear in the size of the block.

    The integrand is entire in s and falls off exponentially on both sides, so that the rule
    converges faster than any power of the step: halving the step about squares the error. So the
    nodes between those of the last step are added until they alone give nearly the same.
    """
    mode, curvature = top_of_integrand(log_ratio)
    step = min(_WIDEST, _SDS / math.sqrt(curvature))
    highest = log_integrand(mode, log_ratio)
    for label in range(len(share)):
        share[label] = 0.0
    nodes = _sum(mode, step, highest, log_ratio, share)
    for _ in range(_MOST_HALVINGS):
        between = _sum(mode + step / 2, step, highest, log_ratio, share)
        apart = abs(between - nodes)
        nodes += between
        step /= 2
        if apart <= _AGREEMENT * nodes:
            break
    for label in range(len(share)):
        share[label] /= nodes
    return highest + math.log(step * nodes)


@inner
def top_of_integrand(log_ratio: Floats) -> tuple[float, float]:
    r"""Return about where the integrand is largest over s, and minus its logarithm's curvature.

    There :math:`x = 1 + \sum_k \phi(r_k x)` with :math:`\phi(y) = y / (e^y - 1)`. The right hand
    side is convex and falling, so that Newton's method from x = 1 comes closer from one side.
    """
    x = 1.0
    for _ in range(50):
        summed, bend = 1.0, 0.0
        for one in log_ratio:
            y = math.exp(min(one + math.log(x), SATURATED))
            fall = phi(y)
            summed += fall
            bend += fall * (fall + y - 1)
        if summed - x < 0.01 * x:
            break
        x += (summed - x) / (1 + bend / x)
    return math.log(x), x + bend


@inner
def phi(y: float) -> float:
    r"""Return :math:`y / (e^y - 1)`: how fast the logarithm of 1 - e^-y grows with log y.

    Examples
    --------
    >>> phi(0.0), round(phi(1.0), 6)
    (1.0, 0.581977)
    """
    return y / math.expm1(y) if y > 1e-300 else 1.0


@inner
def log_integrand(s: float, log_ratio: Floats) -> float:
    """Return the logarithm of the integrand over s, finite however small it is."""
    logs, product = s - math.exp(s), 1.0
    for one in log_ratio:
        log_y = s + one
        if log_y < _FACE_VALUE:
            logs += log_y - 0.5 * math.exp(log_y)
        elif log_y < SATURATED:
            product *= -math.expm1(-math.exp(log_y))
            if product < 1e-250:
                logs += math.log(product)
                product = 1.0
    return logs + math.log(product)


@inner
def _sum(start: float, step: float, highest: float, log_ratio: Floats, share: Floats) -> float:
    """Sum the integrand over evenly spaced nodes, and add up what each label's share of it is."""
    summed = 0.0
    for side in range(2):
        s, move = (start, step) if side == 0 else (start - step, -step)
        log_height = log_integrand(s, log_ratio) - highest
        while log_height > -_DROP:
            height = math.exp(log_height)
            summed += height
            for label in range(len(share)):
                log_y = s + log_ratio[label]
                if log_y < SATURATED:
                    share[label] += height * phi(math.exp(log_y))
            s += move
            log_height = log_integrand(s, log_ratio) - highest
    return summed
