"""Estimating a conjugate normal prior from all items together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from dissensus.arrays.normal_gamma import Moments, NormalGamma, log_marginal
from dissensus.errors import AnnotationError

# Log-scale bounds for k, a and b (b in units of the pooled variance). At a bound the data ask for
# an infinitely firm or empty prior; beyond it nothing visible would change.
_BOUNDS = (np.log(1e-3), np.log(1e3))


def estimate_prior(data: Moments) -> NormalGamma:
    """Return the prior (m, k, a, b) of largest marginal likelihood over the items.

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
    pooled = _pooled_variance(data)
    seen = data.n > 0
    centre = float(np.average(data.mean[seen], weights=data.n[seen]))
    scale = np.sqrt(pooled)

    def prior(x: npt.NDArray[np.float64]) -> NormalGamma:
        k, a, b = np.exp(x[1:])
        return NormalGamma(*map(np.asarray, (centre + scale * x[0], k, a, b * pooled)))

    def loss(x: npt.NDArray[np.float64]) -> float:
        return -float(log_marginal(prior(x), data).sum()) / len(data.n)

    wide = 10 + (data.mean[seen].max() - data.mean[seen].min()) / scale
    start = np.array([0.0, 0.0, np.log(2.0), 0.0])
    found = minimize(loss, start, method="L-BFGS-B", bounds=[(-wide, wide), *[_BOUNDS] * 3])
    return prior(found.x)


def _pooled_variance(data: Moments) -> float:
    freedom = float(np.maximum(data.n - 1, 0).sum())
    if freedom == 0 or data.squares.sum() <= 0:
        raise AnnotationError(
            "annotations",
            expected="items with two or more different scores, to estimate a prior from",
            found="no spread within any item",
            hint="State one: prior=(m, k, a, b)",
        )
    return float(data.squares.sum()) / freedom
