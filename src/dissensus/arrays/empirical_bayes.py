"""Estimating a conjugate normal prior from all items together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import digamma

from dissensus.arrays.normal_gamma import Moments, NormalGamma, log_marginal, update
from dissensus.errors import AnnotationError

Floats = npt.NDArray[np.float64]

# Bounds of k, a, and of b/a in units of the typical variance, all in logarithms. At a bound the
# data ask for an infinitely firm or empty prior; beyond it nothing visible would change.
_BOUNDS = [tuple(np.log(pair)) for pair in ((1e-6, 1e6), (0.1, 1e4), (1e-6, 1e6))]


def grid_step(value: Floats) -> float:
    """Return the smallest distance between two different scores: the fineness of the scale.

    Examples
    --------
    >>> grid_step(np.array([1.0, 4.0, 4.0, 3.5]))
    0.5
    """
    gaps = np.diff(np.unique(value))
    return float(gaps.min()) if len(gaps) else 0.0


def estimate_prior(data: Moments, step: float = 0.0) -> NormalGamma:
    """Return the prior (m, k, a, b) of largest marginal likelihood over the items.

    Parameters
    ----------
    data : Moments
        The scores of each item.
    step : float
        Fineness of the scale, see `grid_step`. On a coarse scale annotators often agree to the
        letter; taken literally, no spread at all is infinitely likely under a spread of 0, and
        that would be the estimate for all items. So no item's spread counts for less than
        that of rounding, step**2 / 12.

    Raises
    ------
    AnnotationError
        If there is no item with two different scores, so that no spread can be seen.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> means = rng.normal(5, 2, 400)
    >>> scores = rng.normal(means[:, None], 1, (400, 5))
    >>> squares = ((scores - scores.mean(1, keepdims=True)) ** 2).sum(1)
    >>> prior = estimate_prior(Moments(np.full(400, 5.0), scores.mean(1), squares))
    >>> round(float(prior.m)), round(float(prior.k), 1)  # k = 1 / 4
    (5, 0.3)
    """
    variance = _typical_variance(data)
    seen = data.n > 0
    centre = float(np.median(data.mean[seen]))
    # Medians, since one item of wild scores would make everything else look small.
    spread = float(np.median(np.abs(data.mean[seen] - centre))) + np.sqrt(variance)
    rounding = (data.n - 1).clip(0) * step**2 / 12
    floored = data._replace(squares=np.maximum(data.squares, rounding))

    def prior(x: Floats) -> NormalGamma:
        k, a, ratio = np.exp(x[1:])
        m, b = centre + spread * x[0], a * ratio * variance
        return NormalGamma(*(np.asarray(value) for value in (m, k, a, b)))

    def loss(x: Floats) -> tuple[float, Floats]:
        at = prior(x)
        m, k, a, b = _gradient(at, floored)
        slope = np.array([spread * m, at.k * k, at.a * a + at.b * b, at.b * b])
        return -float(log_marginal(at, floored).sum()) / len(data.n), -slope / len(data.n)

    wide = 10 + float(np.abs(data.mean[seen] - centre).max()) / spread
    bounds = [(-wide, wide), *_BOUNDS]
    start = np.clip([0.0, np.log(variance / spread**2), np.log(2.0), 0.0], *np.transpose(bounds))
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds,
        options={"ftol": 1e-13, "gtol": 1e-8, "maxiter": 500},
    )  # fmt: skip
    return prior(found.x)


def _gradient(prior: NormalGamma, data: Moments) -> tuple[float, float, float, float]:
    """Return the derivatives of the summed log marginal likelihood by m, k, a and b."""
    after = update(prior, data)
    distance = data.mean - prior.m
    weight = after.a / after.b
    return (
        float((weight * prior.k * data.n * distance / after.k).sum()),
        float(
            (0.5 / prior.k - 0.5 / after.k - weight * (data.n * distance / after.k) ** 2 / 2).sum()
        ),
        float((digamma(after.a) - digamma(prior.a) + np.log(prior.b) - np.log(after.b)).sum()),
        float((prior.a / prior.b - weight).sum()),
    )


def _typical_variance(data: Moments) -> float:
    spread = data.squares > 0
    if not spread.any():
        raise AnnotationError(
            "annotations",
            expected="items with two or more different scores, to estimate a prior from",
            found="no spread within any item",
            hint="State one: prior=(m, k, a, b)",
        )
    return float(np.median(data.squares[spread] / (data.n[spread] - 1)))
