"""Elliptical slices, and the normal approximation that they go around, of a few numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from dissensus.arrays.types import Floats


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


def around_mode(
    loss: Callable[[Floats], float], start: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """Return the mode and a square root of the inverse curvature there, the same on any processor.

    Where a search ends hangs on the last bits of its sums, which are not every processor's: so one
    step of Newton's goes on from there, and what remains of such differences is rounded off. The
    slices are exact around any place.

    Parameters
    ----------
    loss : callable
        Minus the log density.
    start, spread : array
        Where to begin, and how far the prior reaches.

    Returns
    -------
    array, array
        The mode, and the root, which has no more spread in any direction than the prior.

    Examples
    --------
    >>> mode, root = around_mode(lambda x: 2 * (x[0] - 1) ** 2, np.zeros(1), np.ones(1))
    >>> mode.round(3), root.round(3)
    (array([1.]), array([[0.5]]))
    """
    found = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 500}).x
    slope, size, direction = _shape(loss, found, spread)
    step = -direction @ ((direction.T @ slope) / size)
    mode = spread * np.round(found / spread + np.clip(step, -0.1, 0.1), 4)
    _, size, direction = _shape(loss, mode, spread)
    # Symmetric, as directions have no sign of their own.
    root = np.round((direction / np.sqrt(size)) @ direction.T, 5)
    return mode, np.ascontiguousarray(spread[:, None] * root)


def _shape(
    loss: Callable[[Floats], float], at: Floats, spread: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the slope, curvatures and their directions by differences, in units of the spreads."""
    n, here, steps = len(at), loss(at), 1e-3 * np.diag(spread)
    ahead = np.array([[loss(at + sign * one) for sign in (1, -1)] for one in steps])
    curved = np.diag(ahead.sum(1) - 2 * here)
    for j in range(n):
        for k in range(j):
            both = loss(at + steps[j] + steps[k]) + loss(at - steps[j] - steps[k])
            curved[j, k] = (both - ahead[j].sum() - ahead[k].sum() + 2 * here) / 2
            curved[k, j] = curved[j, k]
    # No direction is known less well than by the prior.
    size, direction = np.linalg.eigh(curved / 1e-6)
    return (ahead[:, 0] - ahead[:, 1]) / 2e-3, np.maximum(size, 1.0), direction
