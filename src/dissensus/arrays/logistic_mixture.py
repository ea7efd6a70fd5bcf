r"""The logistic distribution as a mixture of normal ones.

A logistic number is :math:`2 K Z`, with Z standard normal and K of Kolmogorov's distribution
(Andrews & Mallows 1974). The density of the variance :math:`V = 4 K^2` falls off doubly
exponentially on both sides of the scale of log V, so that equal steps there integrate it, and what
is smooth beside it, to the last digits.
"""

from __future__ import annotations

import functools

import numpy as np

from dissensus.arrays.types import Floats

_STEP = 0.25
_LEAST = 1e-22
"""Smaller weights are left out."""
_TERMS = 40


@functools.cache
def logistic_mixture() -> tuple[Floats, Floats]:
    r"""Return weights and variances of normal distributions whose mixture is the logistic one.

    Its distribution function is right to 1e-15, and 25 scale units out in the tails to about 1e-6
    of itself.

    Examples
    --------
    >>> weights, variances = logistic_mixture()
    >>> len(weights), round(float(weights @ variances) / (np.pi**2 / 3), 12)
    (28, 1.0)
    """
    variances = np.exp(_STEP * np.arange(-30, 41))
    weights = _STEP * variances * _density(variances)
    kept = weights > _LEAST
    weights, variances = weights[kept] / weights[kept].sum(), variances[kept]
    weights.flags.writeable = variances.flags.writeable = False
    return weights, variances


def _density(variance: Floats) -> Floats:
    """Return the density of V = 4 K^2, by that of the two series of K which converges there."""
    k = np.sqrt(variance) / 2
    j = np.arange(1, _TERMS)[:, None]
    sign = np.where(j % 2 == 1, 1.0, -1.0)
    far = 8 * k * (sign * j**2 * np.exp(-2 * (j * k) ** 2)).sum(axis=0)
    ratio = ((2 * j - 1) * np.pi) ** 2 / (8 * k**2)
    near = np.sqrt(2 * np.pi) / k**2 * (np.exp(-ratio) * (2 * ratio - 1)).sum(axis=0)
    return np.asarray(np.where(k < 1, near, far) / (8 * k))
