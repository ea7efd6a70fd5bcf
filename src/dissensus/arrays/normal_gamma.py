"""The conjugate normal model with unknown mean and variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Floats = npt.NDArray[np.float64]


class Moments(NamedTuple):
    """What the scores of one item say: all the model needs of them."""

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


def moments(value: Floats, item: npt.NDArray[np.int64], n_items: int) -> Moments:
    """Reduce scores to per-item moments (two passes, so that large offsets do not cancel).

    Examples
    --------
    >>> moments(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]), 2)
    Moments(n=array([2., 1.]), mean=array([2., 5.]), squares=array([2., 0.]))
    """
    n = np.bincount(item, minlength=n_items).astype(np.float64)
    mean = np.bincount(item, value, minlength=n_items) / np.maximum(n, 1)
    squares = np.bincount(item, (value - mean[item]) ** 2, minlength=n_items)
    return Moments(n, mean, squares)


def update(prior: NormalGamma, data: Moments) -> NormalGamma:
    """Return the posterior of each item.

    Examples
    --------
    >>> prior = NormalGamma(*(np.array(x) for x in (0.0, 1.0, 2.0, 2.0)))
    >>> data = Moments(np.array([3.0]), np.array([4.0]), np.array([0.0]))
    >>> update(prior, data).m
    array([3.])
    """
    k = prior.k + data.n
    shift = data.mean - prior.m
    return NormalGamma(
        m=(prior.k * prior.m + data.n * data.mean) / k,
        k=k,
        a=prior.a + data.n / 2,
        b=prior.b + data.squares / 2 + prior.k * data.n * shift**2 / (2 * k),
    )


def draw(
    posterior: NormalGamma, size: tuple[int, ...], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw means and variances, each of shape (*size, item)."""
    shape = (*size, *posterior.m.shape)
    variance = posterior.b / rng.standard_gamma(np.broadcast_to(posterior.a, shape))
    mean = posterior.m + rng.standard_normal(shape) * np.sqrt(variance / posterior.k)
    return mean, variance


def log_density(posterior: NormalGamma, mean: Floats, variance: Floats) -> Floats:
    """Return the joint log density of mean and variance."""
    m, k, a, b = posterior
    return np.asarray(
        a * np.log(b) - gammaln(a) - (a + 1.5) * np.log(variance)
        + 0.5 * np.log(k / (2 * np.pi)) - (b + 0.5 * k * (mean - m) ** 2) / variance
    )  # fmt: skip


def log_marginal(prior: NormalGamma, data: Moments) -> Floats:
    """Return each item's log marginal likelihood, the parameters summed out.

    Examples
    --------
    >>> prior = NormalGamma(*(np.array(x) for x in (0.0, 1.0, 2.0, 2.0)))
    >>> none = Moments(np.array([0.0]), np.array([0.0]), np.array([0.0]))
    >>> log_marginal(prior, none)
    array([0.])
    """
    after = update(prior, data)
    return np.asarray(
        gammaln(after.a) - gammaln(prior.a) + prior.a * np.log(prior.b) - after.a * np.log(after.b)
        + 0.5 * np.log(prior.k / after.k) - 0.5 * data.n * np.log(2 * np.pi)
    )  # fmt: skip
