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


def prepared(one):
    """Return what `move_items` looks at."""
    sums, room = crossed_sums.item_room(one.data)
    labels = crossed_sums.label_sums(one.data, one.par.latent)
    crossed_sums.sum_items(one.data, labels, one.par.annotator, sums)
    return sums, room


def density_of(one, sums, room, x, moved, p, q=0):
    """Return the kernel's density, of many pools."""
    priors = one.priors
    rest = kernel.marginal(one.data, sums, one.par, priors, room)
    return kernel._log_density(x, moved, p, q, priors.sd_item, priors.sd, priors.lkj, *rest)


def marginal(one):
    """Return the normal distribution of the labels given annotators and variances."""
    cells = one.data.cell
    x = one.pool[:, None] == np.arange(len(one.par.mu))
    mean, sd = one.priors.mu.T
    cov = cell_covariance(one)[np.ix_(cells, cells)] + (x * sd**2) @ x.T
    cov += np.diag(residual(one) ** 2)
    return stats.multivariate_normal(x @ mean + one.par.annotator[one.data.annotator], cov)


def log_density(one):
    return marginal(one).logpdf(one.data.value) + log_scales(one) + log_residuals(one)


MOVED = {"sd_item": kernel.SD_ITEM, "sd": kernel.SD, "correlation": kernel.CORRELATION}


@every_case
@pytest.mark.parametrize("name", MOVED)
def test_standard_deviations_and_correlations(n_pools, own_residual, name):
    """Standard deviations are moved as logarithms; one pool has a short cut."""
    one = study(n_pools, seed=1, own_residual=own_residual)
    sums, room = prepared(one)
    numbers, is_sd = getattr(one.par, name), name != "correlation"
    pairs = zip(*np.tril_indices(n_pools, -1), strict=True)
    for place in np.ndindex(numbers.shape) if is_sd else pairs:
        was, actual, want = numbers[place], [], []
        for x in np.exp([-4.0, -1.0, 0.3, 2.0]) if is_sd else was + np.array([-0.1, -0.03, 0, 0.1]):
            numbers[place] = numbers[place[::-1]] = x
            at = np.log(x) if is_sd else x
            want.append(log_density(one) + at * is_sd)
            actual.append(density_of(one, sums, room, at, MOVED[name], *place))
            if n_pools == 1:
                short = kernel.marginal_of_one_pool(one.data, sums, one.par, one.priors, room)
                priors = (one.priors.sd_item, one.priors.sd)
                alone = kernel._log_density_of_one_pool(at, MOVED[name], *priors, *short)
                assert alone == pytest.approx(actual[-1], rel=1e-10)
        np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-8, atol=1e-8)
        numbers[place] = numbers[place[::-1]] = was


def test_what_is_no_correlation_matrix_has_no_density():
    one = study(3, seed=6)
    sums, room = prepared(one)
    one.par.correlation[:] = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]
    for x in (-1.5, -1.0, 1.0, -0.9):
        assert density_of(one, sums, room, x, kernel.CORRELATION, 2, 0) == -np.inf


def posterior(one):
    """Return mean and covariance of (means, cells) given labels, annotators and variances."""
    data, n_pools = one.data, len(one.par.mu)
    x = (one.pool[:, None] == np.arange(n_pools)).astype(float)
    z = (data.cell[:, None] == np.arange(len(data.cell_pool))).astype(float)
    design, weight = np.hstack([x, z]), residual(one) ** -2
    prior = np.zeros((design.shape[1],) * 2)
    prior[:n_pools, :n_pools] = np.diag(one.priors.mu[:, 1] ** -2)
    prior[n_pools:, n_pools:] = np.linalg.inv(cell_covariance(one))
    linear = design.T @ (weight * (data.value - one.par.annotator[data.annotator]))
    linear[:n_pools] += one.priors.mu[:, 0] / one.priors.mu[:, 1] ** 2
    covariance = np.linalg.inv(prior + design.T @ (weight[:, None] * design))
    return covariance @ linear, covariance


@every_case
def test_means_and_effects_are_drawn_together(n_pools, own_residual):
    one, n = study(n_pools, seed=8, own_residual=own_residual), 4000
    sums, room = prepared(one)
    mean, covariance = posterior(one)
    state, draws = started(np.uint64(1)), np.empty((n, len(mean)))
    which = "_of_one_pool" if n_pools == 1 else ""
    given = getattr(kernel, f"marginal{which}")(one.data, sums, one.par, one.priors, room)
    getattr(kernel, f"_log_marginal{which}")(*given)
    for k in range(n):
        kernel.draw_items(state, one.data, one.par, sums, room)
        draws[k] = np.concatenate([one.par.mu, one.par.item])
    check_normal(draws, mean, covariance)


def test_a_residual_that_vanishes_divides_by_nothing():
    one = study(2, seed=11)
    sums, room = prepared(one)
    assert density_of(one, sums, room, -400.0, kernel.SD, 0) == -np.inf
