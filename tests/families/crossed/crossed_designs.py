"""Small unbalanced studies of crossed effects, and their densities written out in full by SciPy.

Nothing here knows of designs, sums or factors: covariances are matrices as large as there are
labels, and effects are looked up by name.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special, stats

from dissensus.families.crossed.kernels.data import (
    EXPONENTIAL,
    HALF_NORMAL,
    HALF_T,
    Crossed,
    Parameters,
    Priors,
    crossed,
    cutpoints,
)
from dissensus.families.crossed.kernels.sweep import start


class Study(NamedTuple):
    """A layout, where a chain stands, and priors that differ from pool to pool."""

    data: Crossed
    par: Parameters
    priors: Priors

    @property
    def item(self):
        """(label): codes, in the order of the layout."""
        return self.data.cell_item[self.data.cell]

    @property
    def pool(self):
        """(label)"""
        return self.data.cell_pool[self.data.cell]

    @property
    def eta(self):
        """(label): means and effects together."""
        par, data = self.par, self.data
        return par.mu[self.pool] + par.item[data.cell] + par.annotator[data.annotator]


def study(n_pools, family="gaussian", *, seed=1, n_items=7, n_annotators=3, n_labels=4,
          own_residual=False):  # fmt: skip
    """Draw a study with gaps and repeats, an item and an annotator without a label.

    Parameters are anywhere in the prior, and effects are not what the parameters say: a density
    must be right everywhere.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice([0, 1, 2], (n_items, n_annotators, n_pools), p=[0.4, 0.4, 0.2])
    labels[0], labels[1], labels[:, -1, 0] = 1, 0, 0
    if n_pools > 1:
        labels[2, :, 0] = 0
    item, who, pool = np.nonzero(labels)
    item, who, pool = (np.repeat(x, labels[item, who, pool]) for x in (item, who, pool))
    top = {"gaussian": 0, "bernoulli": 2, "ordinal": n_labels}[family]
    value = rng.normal(1.0, 2.0, len(item)) if top == 0 else rng.integers(0, top, len(item)) * 1.0
    mixed = rng.permutation(len(item))
    data = crossed(
        value[mixed], item[mixed], (who + n_annotators * pool)[mixed], pool[mixed],
        n_items=n_items, annotator_pool=np.repeat(np.arange(n_pools), n_annotators),
        n_pools=n_pools,
    )  # fmt: skip
    par = start(
        data, family, n_gaps=n_labels - 2 if family == "ordinal" else 0,
        n_sd=n_pools if own_residual else 1,
    )  # fmt: skip
    _scatter(par, family, rng)
    return Study(data, par, priors_of(n_pools, len(par.sd)))


def _scatter(par, family, rng):
    n_pools = len(par.mu)
    par.mu[:], par.item[:], par.annotator[:] = (rng.normal(size=len(x)) for x in (
        par.mu, par.item, par.annotator))  # fmt: skip
    for part in (par.sd_item, par.sd_annotator, par.gap):
        part[:] = rng.gamma(4.0, 0.25, len(part))
    if family == "gaussian":
        par.sd[:] = rng.gamma(4.0, 0.25, len(par.sd))
    root = rng.normal(size=(n_pools, n_pools + 2))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    par.correlation[:] = root @ root.T
    if family == "ordinal":
        par.latent[:] = rng.normal(size=len(par.latent))


def priors_of(n_pools, n_sd=1):
    """Return one form of prior after another."""
    forms = np.array([[HALF_T, 1.5, 4.0], [HALF_NORMAL, 1.2, 0.0], [EXPONENTIAL, 0.8, 0.0]])
    turn = np.arange(n_pools)
    return Priors(
        mu=np.column_stack([0.3 + turn, 1.5 + 0.5 * turn]), least=np.full(n_pools, -np.inf),
        sd_item=forms[turn % 3],
        sd_annotator=forms[(turn + 1) % 3], sd=forms[(np.arange(n_sd) + 2) % 3].copy(),
        gap=np.array([EXPONENTIAL, 0.9, 0.0]), lkj=2.5,
    )  # fmt: skip


# -- Densities --------------------------------------------------------------------------------


def log_scale(x, prior):
    """Return the log density of positive numbers, by SciPy."""
    form, size, df = prior
    known = {
        HALF_NORMAL: stats.halfnorm(scale=size), EXPONENTIAL: stats.expon(scale=size),
        HALF_T: stats.t(df or 1.0, scale=size),
    }  # fmt: skip
    return float(np.sum(known[form].logpdf(x) + (np.log(2) if form == HALF_T else 0.0)))


def log_scales(case):
    """Return the log prior density of everything but means and effects."""
    par, priors = case.par, case.priors
    total = (priors.lkj - 1) * np.linalg.slogdet(par.correlation)[1]
    for p in range(len(par.mu)):
        total += log_scale(par.sd_item[p], priors.sd_item[p])
        total += log_scale(par.sd_annotator[p], priors.sd_annotator[p])
    return total


def log_residuals(case):
    """Return the log prior density of residual standard deviations."""
    return sum(log_scale(x, prior) for x, prior in zip(case.par.sd, case.priors.sd, strict=True))


def cell_covariance(case):
    """Return the prior covariance of all cells' effects (cell, cell)."""
    data, par = case.data, case.par
    p = data.cell_pool
    same = data.cell_item[:, None] == data.cell_item
    return same * par.correlation[p[:, None], p] * par.sd_item[p][:, None] * par.sd_item[p]


def log_means(case):
    """Return the log prior density of the means."""
    return stats.norm.logpdf(case.par.mu, *case.priors.mu.T).sum()


def log_effects(case):
    """Return the log density of effects given their standard deviations."""
    par = case.par
    items = stats.multivariate_normal(cov=cell_covariance(case)).logpdf(par.item)
    sd = par.sd_annotator[case.data.annotator_pool]
    return items + stats.norm.logpdf(par.annotator, 0.0, sd).sum()


def log_labels(case, family):
    """Return the log-likelihood of the labels given everything."""
    value, eta, par = case.data.value, case.eta, case.par
    if family == "bernoulli":
        return special.log_expit(np.where(value == 1, eta, -eta)).sum()
    if family == "ordinal":
        cut = np.concatenate([[-np.inf], cutpoints(par.gap), [np.inf]])
        y = value.astype(int)
        between = stats.norm.cdf(cut[y + 1] - eta) - stats.norm.cdf(cut[y] - eta)
        return np.log(np.maximum(between, 1e-300)).sum()
    return stats.norm.logpdf(value, eta, residual(case)).sum()


def residual(case):
    """Return the residual standard deviation of every label."""
    return case.par.sd[case.pool if len(case.par.sd) > 1 else np.zeros_like(case.pool)]


def check_normal(draws, mean, covariance):
    """Check that draws, whitened by a normal distribution, are standard normal all at once."""
    n = len(draws)
    white = (np.array(draws) - mean) @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-3
    assert np.abs(white.T @ white / n - np.eye(len(mean))).max() < 5 * np.sqrt(2 / n)
    assert np.abs(white.mean(axis=0)).max() < 4.5 / np.sqrt(n)
