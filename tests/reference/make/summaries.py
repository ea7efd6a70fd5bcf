"""Mean, sd and quantiles: of a distribution, of a density on a grid, of a mixture, of draws.

Each returns from the name of a statistic to its value and Monte Carlo standard error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, special

QUANTILES = {"q01": 0.01, "q05": 0.05, "q50": 0.5, "q95": 0.95, "q99": 0.99}
Statistics = dict[str, tuple[float, float]]


def exactly(**values: float) -> Statistics:
    """Give what is known without a Monte Carlo error."""
    return {name: (float(value), 0.0) for name, value in values.items()}


def of_distribution(known: Any) -> Statistics:
    """Summarise a distribution of SciPy's."""
    edges = {name: known.ppf(q) for name, q in QUANTILES.items()}
    return exactly(mean=known.mean(), sd=known.std(), **edges)


def of_grid(change: Callable[[Any], Any], grid: Any, mass: Any) -> Statistics:
    """Summarise a trapezoidal sum over an even grid of what ``change`` increases in.

    Sums over a whole line converge faster than any power of the step, and so does the share below
    a point, if the density between the nodes is taken for what sines tell of it (Whittaker).
    """
    mass = mass / mass.sum()
    value, step = change(grid), grid[1] - grid[0]
    mean = float(mass @ value)
    sd = float(np.sqrt(mass @ (value - mean) ** 2))

    def below(x: float) -> float:
        return float(mass @ (0.5 + special.sici(np.pi * (x - grid) / step)[0] / np.pi))

    edges = {}
    for name, q in QUANTILES.items():
        cut = optimize.brentq(lambda x, q=q: below(x) - q, grid[0], grid[-1], xtol=1e-12)
        edges[name] = float(change(cut))
    return exactly(mean=mean, sd=sd, **edges)


def of_mixture(
    weight: Any, mean: Any, variance: Any, cdf: Callable[[float], Any], low: float, high: float
) -> Statistics:
    """Summarise a mixture from its components' moments and distribution functions."""
    middle = float(weight @ mean)
    sd = float(np.sqrt(weight @ (variance + (mean - middle) ** 2)))
    edges = {
        name: optimize.brentq(lambda x, q=q: float(weight @ cdf(x)) - q, low, high, xtol=1e-12)
        for name, q in QUANTILES.items()
    }
    return exactly(mean=middle, sd=sd, **edges)


def of_draws(draws: Any) -> Statistics:
    """Summarise draws (chain, draw) with their errors as ArviZ has them."""
    import arviz_stats

    draws = np.asarray(draws)

    def error(**which: Any) -> float:
        return float(arviz_stats.mcse(draws, **which))

    out = {
        "mean": (float(draws.mean()), error(method="mean")),
        "sd": (float(draws.std(ddof=1)), error(method="sd")),
    }
    for name, q in QUANTILES.items():
        out[name] = (float(np.quantile(draws, q)), error(method="quantile", prob=q))
    return out


def least_difference(first: Statistics, second: Statistics) -> float:
    """Return by how much two summaries of one number differ at most."""
    return max(abs(first[name][0] - second[name][0]) for name in first)
