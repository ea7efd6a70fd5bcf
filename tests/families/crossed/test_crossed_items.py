"""Items given annotators: densities without effects and means, against matrices of all labels."""

from __future__ import annotations

import numpy as np
import pytest
from families.crossed.crossed_designs import (
    cell_covariance,
    check_normal,
    log_residuals,
    log_scales,
    residual,
    study,
)
from scipy import stats

from dissensus.families.crossed.kernels import data as crossed_sums
from dissensus.families.crossed.kernels import items as kernel
from dissensus.kernels.random import started

CASES = [(1, False), (2, False), (2, True), (3, True)]
every_case = pytest.mark.parametrize(("n_pools", "own_residual"), CASES)


def prepared(case):
    """Return what `move_items` looks at."""
    sums, room = crossed_sums.item_room(case.data)
    labels = crossed_sums.label_sums(case.data, case.par.latent)
    crossed_sums.sum_items(case.data, labels, case.par.annotator, sums)
    return sums, room


def density_of(case, sums, room, x, moved, p, q=0):
    """Return the kernel's density, of many pools."""
    priors = case.priors
    rest = kernel.marginal(case.data, sums, case.par, priors, room)
    return kernel._log_density(x, moved, p, q, priors.sd_item, priors.sd, priors.lkj, *rest)


def marginal(case):
    """Return the normal distribution of the labels given annotators and variances."""
    cells = case.data.cell
    x = case.pool[:, None] == np.arange(len(case.par.mu))
    mean, sd = case.priors.mu.T
    cov = cell_covariance(case)[np.ix_(cells, cells)] + (x * sd**2) @ x.T
    cov += np.diag(residual(case) ** 2)
    return stats.multivariate_normal(x @ mean + case.par.annotator[case.data.annotator], cov)


def log_density(case):
    return marginal(case).logpdf(case.data.value) + log_scales(case) + log_residuals(case)


MOVED = {"sd_item": kernel.SD_ITEM, "sd": kernel.SD, "correlation": kernel.CORRELATION}


@every_case
@pytest.mark.parametrize("name", MOVED)
def test_standard_deviations_and_correlations(n_pools, own_residual, name):
    """Standard deviations are moved as logarithms; one pool has a short cut."""
    case = study(n_pools, seed=1, own_residual=own_residual)
    sums, room = prepared(case)
    numbers, is_sd = getattr(case.par, name), name != "correlation"
    pairs = zip(*np.tril_indices(n_pools, -1), strict=True)
    for place in np.ndindex(numbers.shape) if is_sd else pairs:
        was, actual, want = numbers[place], [], []
        for x in np.exp([-4.0, -1.0, 0.3, 2.0]) if is_sd else was + np.array([-0.1, -0.03, 0, 0.1]):
            numbers[place] = numbers[place[::-1]] = x
            at = np.log(x) if is_sd else x
            want.append(log_density(case) + at * is_sd)
            actual.append(density_of(case, sums, room, at, MOVED[name], *place))
            if n_pools == 1:
                short = kernel.marginal_of_one_pool(case.data, sums, case.par, case.priors, room)
                priors = (case.priors.sd_item, case.priors.sd)
                alone = kernel._log_density_of_one_pool(at, MOVED[name], *priors, *short)
                assert alone == pytest.approx(actual[-1], rel=1e-10)
        np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-8, atol=1e-8)
        numbers[place] = numbers[place[::-1]] = was


def test_what_is_no_correlation_matrix_has_no_density():
    case = study(3, seed=6)
    sums, room = prepared(case)
    case.par.correlation[:] = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]
    for x in (-1.5, -1.0, 1.0, -0.9):
        assert density_of(case, sums, room, x, kernel.CORRELATION, 2, 0) == -np.inf


def posterior(case):
    """Return mean and covariance of (means, cells) given labels, annotators and variances."""
    data, n_pools = case.data, len(case.par.mu)
    x = (case.pool[:, None] == np.arange(n_pools)).astype(float)
    z = (data.cell[:, None] == np.arange(len(data.cell_pool))).astype(float)
    design, weight = np.hstack([x, z]), residual(case) ** -2
    prior = np.zeros((design.shape[1],) * 2)
    prior[:n_pools, :n_pools] = np.diag(case.priors.mu[:, 1] ** -2)
    prior[n_pools:, n_pools:] = np.linalg.inv(cell_covariance(case))
    linear = design.T @ (weight * (data.value - case.par.annotator[data.annotator]))
    linear[:n_pools] += case.priors.mu[:, 0] / case.priors.mu[:, 1] ** 2
    covariance = np.linalg.inv(prior + design.T @ (weight[:, None] * design))
    return covariance @ linear, covariance


@every_case
def test_means_and_effects_are_drawn_together(n_pools, own_residual):
    case, n = study(n_pools, seed=8, own_residual=own_residual), 4000
    sums, room = prepared(case)
    mean, covariance = posterior(case)
    state, draws = started(np.uint64(1)), np.empty((n, len(mean)))
    which = "_of_one_pool" if n_pools == 1 else ""
    given = getattr(kernel, f"marginal{which}")(case.data, sums, case.par, case.priors, room)
    getattr(kernel, f"_log_marginal{which}")(*given)
    for k in range(n):
        kernel.draw_items(state, case.data, case.par, sums, room)
        draws[k] = np.concatenate([case.par.mu, case.par.item])
    check_normal(draws, mean, covariance)


def test_a_residual_that_vanishes_divides_by_nothing():
    case = study(2, seed=11)
    sums, room = prepared(case)
    assert density_of(case, sums, room, -400.0, kernel.SD, 0) == -np.inf
