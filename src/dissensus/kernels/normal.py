"""The conjugate normal model with unknown mean and variance."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from dissensus.kernels.compiled import kernel
from dissensus.kernels.types import Floats, Ints, Keys
from dissensus.kernels.variates import LEAST, log_gamma_variate, normal

_LARGEST_LOG = 690.0
_LOG_TURN = math.log(2.0 * math.pi)


class Moments(NamedTuple):
    """Sufficient statistics of the scores of each item (item)."""

    n: Floats
    mean: Floats
    squares: Floats
    """Sum of squared deviations from the item's own mean."""


class NormalGamma(NamedTuple):
    r"""Parameters of :math:`\sigma^2 \sim IG(a, b),\ \mu \mid \sigma^2 \sim N(m, \sigma^2/k)`."""

    m: Floats
    k: Floats
    a: Floats
    b: Floats


def moments(value: Floats, item: Ints, n_items: int) -> Moments:
    """Return the moments of each item's scores.

    One of the item's scores is subtracted first, and there are two passes. This avoids cancellation
    if all scores are large; equal scores have squared deviations of exactly 0.
    """
    n = np.bincount(item, minlength=n_items).astype(np.float64)
    origin = np.zeros(n_items)
    origin[item] = value
    from_origin = value - origin[item]
    shift = np.bincount(item, from_origin, minlength=n_items) / np.maximum(n, 1)
    squares = np.bincount(item, (from_origin - shift[item]) ** 2, minlength=n_items)
    return Moments(n, origin + shift, squares)


def update(prior: NormalGamma, data: Moments) -> NormalGamma:
    """Return the posterior of each item."""
    k = prior.k + data.n
    shift = data.mean - prior.m
    return NormalGamma(
        m=prior.m + data.n / k * shift,
        k=k,
        a=prior.a + data.n / 2,
        b=prior.b + data.squares / 2 + prior.k * data.n * shift**2 / (2 * k),
    )


def draw(posterior: NormalGamma, keys: Keys, out_mean: Floats, out_variance: Floats) -> None:
    """Draw means and variances into arrays (draw, item), all finite.

    There is one posterior for each item (item), or for each draw and item (draw, item). The random
    numbers of an item depend only on the start of its stream, ``keys`` (item); a shorter run gives
    the first draws of a longer run.
    """
    m, k, a, b = (np.atleast_2d(parameter) for parameter in posterior)
    _fill(m, k, a, b, keys.copy(), out_mean, out_variance)


@kernel
def _fill(
    m: Floats, k: Floats, a: Floats, b: Floats, states: Keys, mean: Floats, variance: Floats
) -> None:
    for draw in range(len(mean)):
        row = draw if len(m) > 1 else 0
        for item in range(mean.shape[1]):
            state = states[item : item + 1]
            log = math.log(b[row, item]) - log_gamma_variate(state, max(a[row, item], LEAST))
            # If the shape is small and the item has no score, the variance is often too large for a
            # float: it is limited.
            variance[draw, item] = math.exp(min(max(log, -_LARGEST_LOG), _LARGEST_LOG))
            spread = math.sqrt(variance[draw, item] / k[row, item])
            mean[draw, item] = m[row, item] + spread * normal(state)


def log_density(posterior: NormalGamma, mean: Floats, variance: Floats) -> Floats:
    """Return the joint log density of mean and variance."""
    m, k, a, b = posterior
    return np.asarray(
        a * np.log(b) - gammaln(a) - (a + 1.5) * np.log(variance)
        + 0.5 * np.log(k / (2 * np.pi)) - (b + 0.5 * k * (mean - m) ** 2) / variance
    )  # fmt: skip


def sum_log_marginal(prior: NormalGamma, data: Moments) -> float:
    """Return the sum of `log_marginal` over items; only m may differ between items.

    >>> data = Moments(np.array([2.0, 3.0]), np.array([0.0, 1.0]), np.array([0.5, 2.0]))
    >>> prior = NormalGamma(np.array([0.2, 0.7]), np.array(0.5), np.array(2.0), np.array(1.5))
    >>> np.isclose(sum_log_marginal(prior, data), log_marginal(prior, data).sum())
    np.True_
    """
    k, a, b = float(prior.k), float(prior.a), float(prior.b)
    return float(_sum_log_marginal(np.atleast_1d(prior.m), k, a, b, *data))


@kernel
def _sum_log_marginal(
    m: Floats, k: float, a: float, b: float, n: Floats, mean: Floats, squares: Floats
) -> float:
    out, of_prior = 0.0, a * math.log(b) - math.lgamma(a) + 0.5 * math.log(k)
    for item in range(len(n)):
        apart = mean[item] - (m[item] if len(m) > 1 else m[0])
        after_k, after_a = k + n[item], a + 0.5 * n[item]
        after_b = b + 0.5 * (squares[item] + k * n[item] * apart * apart / after_k)
        out += of_prior + math.lgamma(after_a) - after_a * math.log(after_b)
        out -= 0.5 * (math.log(after_k) + n[item] * _LOG_TURN)
    return out


def log_marginal(prior: NormalGamma, data: Moments) -> Floats:
    """Return each item's log marginal likelihood, with mean and variance integrated out."""
    after = update(prior, data)
    return np.asarray(
        gammaln(after.a) - gammaln(prior.a) + prior.a * np.log(prior.b) - after.a * np.log(after.b)
        + 0.5 * np.log(prior.k / after.k) - 0.5 * data.n * np.log(2 * np.pi)
    )  # fmt: skip
