"""Elliptical slices in Python, around a normal approximation of a density of few numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def elliptical(
    rng: np.random.Generator, at: Floats, height: Callable[[Floats], float]
) -> tuple[Floats, float]:
    """Move along an ellipse (Murray, Adams & MacKay 2010).

    Parameters
    ----------
    rng : numpy.random.Generator
    at : array
        Where from, in units in which the approximation is the standard normal distribution.
    height : callable
        How much higher the log density is than the approximation's.

    Returns
    -------
    array, float
        Where to, and how high it is there.

    Examples
    --------
    >>> rng, at, kept = np.random.default_rng(1), np.zeros(1), []
    >>> for _ in range(4000):  # the density is Normal(1, 1)
    ...     at, _ = elliptical(rng, at, lambda x: x[0])
    ...     kept.append(at[0])
    >>> round(np.mean(kept), 1), round(np.std(kept), 1)
    (np.float64(1.0), np.float64(1.0))
    """
    aside, level = rng.normal(size=len(at)), height(at) - rng.exponential()
    if not math.isfinite(level):
        raise FloatingPointError(f"a log density that is not finite: {level}")
    angle = rng.uniform(0.0, 2 * math.pi)
    low, top = angle - 2 * math.pi, angle
    while True:
        there = math.cos(angle) * at + math.sin(angle) * aside
        found = height(there)
        if found > level:
            return there, found
        low, top = (angle, top) if angle < 0 else (low, angle)
        angle = rng.uniform(low, top)
