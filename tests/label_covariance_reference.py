"""Covariances of labels by integrating over the item's effect: slow, and by another way.

The library integrates over correlations and mixes normal distributions (Plackett's identity). Here
the mean label is found given the item's effect, and averaged over effects, both on even grids: for
integrands as smooth as these, that converges faster than any power of the step (the trapezoidal
rule of a bell-shaped function). Halving the step changes nothing from the 12th digit on.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtr


def grid(sd, least):
    """Nodes and weights of a normal distribution; ``least`` is the scale of what it averages."""
    if sd == 0:
        return np.zeros(1), np.ones(1)
    step = min(sd, least) / 5
    n = int(np.ceil(10 * sd / step))
    nodes = step * np.arange(-n, n + 1)
    weights = np.exp(-0.5 * (nodes / sd) ** 2)
    return nodes, weights / weights.sum()


def mean_yes(eta, noise):
    """P(label = 1) of the logistic model at these predictors, given the sd of what is added."""
    nodes, weights = grid(noise, 1.0)
    out = np.empty(len(eta))
    for start in range(0, len(eta), 500):
        rows = slice(start, start + 500)
        out[rows] = expit(eta[rows, None] + nodes) @ weights
    return out


def mean_ordered(eta, noise, cutpoint, values):
    """Mean of an ordered label at these predictors, given the sd of what is added."""
    bound = (eta[:, None] - np.asarray(cutpoint)) / np.hypot(1.0, noise)
    return values[0] + ndtr(bound) @ np.diff(values)


def moments(mean, variance, pool, other_pool=None, correlation=1.0):
    """Covariance of two labels of an item, and both variances.

    ``one`` and ``two`` are (mu, sd of the shared effect, sd of the effect that is not shared) of
    either pool. ``mean`` maps predictors and a noise sd to mean labels, ``variance`` likewise to
    the variance of a label.
    """
    other_pool = pool if other_pool is None else other_pool
    effect, weights = grid(pool[1], 1.0)
    first = mean(pool[0] + effect, pool[2])
    # Given one pool's effect, the other's is normal: what is left of it is more noise.
    slope = correlation * other_pool[1] / pool[1] if pool[1] else 0.0
    left = other_pool[1] * np.sqrt(1 - correlation**2)
    second = mean(other_pool[0] + slope * effect, np.hypot(other_pool[2], left))
    covariance = weights @ ((first - weights @ first) * (second - weights @ second))
    spreads = [
        float(variance(np.array([mu]), np.hypot(s, a))[0]) for mu, s, a in (pool, other_pool)
    ]
    return covariance, *spreads


def correlation_yes(pool, other_pool=None, correlation=1.0):
    """Correlation of two labels 0 and 1 under the logistic model."""

    def variance(eta, sd):
        return mean_yes(eta, sd) * mean_yes(-eta, sd)

    covariance, first, second = moments(mean_yes, variance, pool, other_pool, correlation)
    return covariance / np.sqrt(first * second)


def correlation_ordered(cutpoint, values, pool, other_pool=None, correlation=1.0):
    """Correlation of two ordered labels under the cumulative probit model."""
    values = np.asarray(values, dtype=float)

    def mean(eta, sd):
        return mean_ordered(eta, sd, cutpoint, values)

    def variance(eta, sd):
        squares = mean_ordered(eta, sd, cutpoint, (values - values[0]) ** 2)
        return squares - (mean(eta, sd) - values[0]) ** 2

    covariance, first, second = moments(mean, variance, pool, other_pool, correlation)
    return covariance / np.sqrt(first * second)
