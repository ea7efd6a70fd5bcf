"""Sums of numbers given by their logarithms, for compiled code."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.compiled import inner
from dissensus.arrays.types import Floats

_LOST = 40.0
"""So far below the larger, the smaller does not change the sum in double precision."""


@inner
def log_plus(one: float, other: float) -> float:
    """Return the logarithm of a sum of two.

    Examples
    --------
    >>> round(math.exp(log_plus(math.log(2.0), math.log(3.0))), 12), log_plus(-np.inf, 1.5)
    (5.0, 1.5)
    """
    high, low = (one, other) if one > other else (other, one)
    if not high - low < _LOST:  # also where both are -inf, and the difference is undefined
        return high
    return high + math.log1p(math.exp(low - high))


@inner
def log_total(logs: Floats) -> float:
    """Return the logarithm of a sum of any number, -inf of none.

    Examples
    --------
    >>> round(math.exp(log_total(np.log([1.0, 2.0, 3.0]))), 12), log_total(np.empty(0))
    (6.0, -inf)
    """
    top = -np.inf
    for one in logs:
        top = max(top, one)
    if top == -np.inf:
        return top
    summed = 0.0
    for one in logs:
        summed += math.exp(one - top)
    return top + math.log(summed)
