"""The logarithm of a rising factorial, which counts have under Beta and Dirichlet priors."""

from __future__ import annotations

import math

from dissensus.arrays.compiled import inner

_FEW = 32
"""Factors that are multiplied one by one: sooner done than two gamma functions."""
_LARGE = 1e8
"""So many factors of such a size stay below what a number can be."""


@inner
def log_rising(a: float, n: float) -> float:
    """Return log gamma(a + n) / gamma(a), for a whole number n and a > 0."""
    if n > _FEW:
        return math.lgamma(a + n) - math.lgamma(a)
    if a > _LARGE:  # where gamma functions have few digits left for their ratio
        return n * math.log(a) + 0.5 * n * (n - 1.0) / a
    out = 1.0
    for k in range(int(n)):
        out *= a + k
    return math.log(out)


@inner
def log_rising_of(a: float, n: float) -> float:
    """Return log gamma(a + n) / gamma(a), also where n is not whole."""
    if n == math.floor(n):
        return log_rising(a, n)
    return math.lgamma(a + n) - math.lgamma(a)
