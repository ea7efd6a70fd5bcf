"""Annotators given items: the density without effects and means, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from families.crossed.crossed_designs import (
    check_normal,
    log_residuals,
    log_scales,
    residual,
    study,
)
from scipy import stats

from dissensus.families.crossed.kernels import sweep as kernel
from dissensus.families.crossed.kernels.data import label_sums
from dissensus.kernels.random import started

CASES = [(1, False), (2, False), (3, True)]
every_case = pytest.mark.parametrize(("n_pools", "own_residual"), CASES)


def prepared(case):
    sums = kernel.annotator_room(case.data)
    kernel.sum_annotators(case.data, label_sums(case.data, case.par.latent), case.par.item, sums)
    return sums


def log_density(case):
    data, par = case.data, case.par
    x = case.pool[:, None] == np.arange(len(par.mu))
    same = data.annotator[:, None] == data.annotator
    cov = same * par.sd_annotator[case.pool] ** 2 + np.diag(residual(case) ** 2)
    mean, sd = case.priors.mu.T
    normal = stats.multivariate_normal(x @ mean + par.item[data.cell], cov + (x * sd**2) @ x.T)
    return normal.logpdf(data.value) + log_scales(case) + log_residuals(case)


@every_case
@pytest.mark.parametrize("which", ["sd_annotator", "sd"])
def test_standard_deviations(n_pools, own_residual, which):
    case = study(n_pools, seed=1, own_residual=own_residual)
    sums = prepared(case)
    moved = {"sd_annotator": kernel.SD_ANNOTATOR, "sd": kernel.SD}[which]
    rest = (case.priors.sd_annotator, case.priors.sd)
    rest = (*rest, *kernel.marginal(case.data, sums, case.par, case.priors))
    for p, was in enumerate(getattr(case.par, which).copy()):
        actual, want = [], []
        for x in (-3.0, -0.5, 0.3, 2.0):
            getattr(case.par, which)[p] = np.exp(x)
            want.append(log_density(case) + x)
            actual.append(kernel._log_density(x, moved, p, *rest))
        np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-8, atol=1e-8)
        getattr(case.par, which)[p] = was


@every_case
def test_means_and_effects_are_drawn_together(n_pools, own_residual):
    """With variances held; annotators without a label are the prior's."""
    case, n = study(n_pools, seed=2, own_residual=own_residual), 4000
    data, par = case.data, case.par
    sums = prepared(case)
    kernel._log_marginal(*kernel.marginal(data, sums, par, case.priors))
    state, draws = started(np.uint64(1)), []
    for _ in range(n):
        kernel.draw_annotators(state, data, par, sums)
        draws.append(np.concatenate([par.mu, par.annotator]))
    x = case.pool[:, None] == np.arange(n_pools)
    z = data.annotator[:, None] == np.arange(len(par.annotator))
    design, weight = np.hstack([x, z]).astype(float), residual(case) ** -2
    variance = np.concatenate([case.priors.mu[:, 1], par.sd_annotator[data.annotator_pool]]) ** 2
    covariance = np.linalg.inv(np.diag(1 / variance) + design.T @ (weight[:, None] * design))
    linear = design.T @ (weight * (data.value - par.item[data.cell]))
    linear[:n_pools] += case.priors.mu[:, 0] / case.priors.mu[:, 1] ** 2
    check_normal(draws, covariance @ linear, covariance)
