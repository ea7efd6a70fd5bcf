"""Items given annotators: densities without effects and means, against matrices of all labels."""

from __future__ import annotations

import numpy as np
import pytest
from families.crossed.crossed_designs import (
    cell_covariance,
    log_residuals,
    log_scales,
    residual,
    study,
)
from scipy import stats

from dissensus.families.crossed.kernels import covariance as crossed_covariance
from dissensus.families.crossed.kernels import data as crossed_sums
from dissensus.families.crossed.kernels import items as kernel
from dissensus.families.crossed.kernels import one_pool
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


def differences(one, density, put, points):
    """Return how a kernel's density and the full one move over points."""
    found, want = [], []
    for x in points:
        put(x)
        want.append(log_density(one))
        found.append(density(x))
    return np.diff(found), np.diff(want)


@every_case
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_standard_deviations_of_items(n_pools, own_residual, seed):
    one = study(n_pools, seed=seed, own_residual=own_residual)
    sums, room = prepared(one)
    for p in range(n_pools):

        def put(x, p=p):
            one.par.sd_item[p] = np.exp(x)

        def density(x, p=p):
            # of sd, not of its logarithm
            return density_of(one, sums, room, x, kernel.SD_ITEM, p) - x

        found, want = differences(one, density, put, [-4.0, -1.0, 0.3, 2.0])
        np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-8)


@every_case
def test_residual_standard_deviations(n_pools, own_residual):
    one = study(n_pools, seed=4, own_residual=own_residual)
    sums, room = prepared(one)
    for p in range(len(one.par.sd)):

        def put(x, p=p):
            one.par.sd[p] = np.exp(x)

        def density(x, p=p):
            return density_of(one, sums, room, x, kernel.SD, p) - x

        found, want = differences(one, density, put, [-2.0, -0.5, 0.3, 2.0])
        np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_pools", [2, 3])
def test_correlations(n_pools):
    one = study(n_pools, seed=5)
    sums, room = prepared(one)
    for p in range(n_pools):
        for q in range(p):
            now = one.par.correlation[p, q]

            def put(x, p=p, q=q):
                one.par.correlation[p, q] = one.par.correlation[q, p] = x

            def density(x, p=p, q=q):
                return density_of(one, sums, room, x, kernel.CORRELATION, p, q)

            found, want = differences(one, density, put, now + np.array([-0.1, -0.03, 0.0, 0.1]))
            np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-8)
            put(now)


def test_what_is_no_correlation_matrix_has_no_density():
    one = study(3, seed=6)
    sums, room = prepared(one)
    one.par.correlation[:] = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]
    for x in (-1.5, -1.0, 1.0, -0.9):
        assert density_of(one, sums, room, x, kernel.CORRELATION, 2, 0) == -np.inf


@pytest.mark.parametrize("n", [2, 3])
def test_lkj_is_a_power_of_the_determinant(n):
    one = study(n, seed=7)
    want = 1.5 * np.linalg.slogdet(one.par.correlation)[1]
    room = np.empty((n, n))
    assert crossed_covariance.log_lkj(one.par.correlation, 2.5, room) == pytest.approx(want)
    assert crossed_covariance.log_lkj(one.par.correlation, 1.0, room) == 0.0


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
    """Whitened by the exact posterior they are standard normal, all at once."""
    one, n = study(n_pools, seed=8, own_residual=own_residual), 4000
    sums, room = prepared(one)
    mean, covariance = posterior(one)
    state, draws = started(np.uint64(1)), np.empty((n, len(mean)))
    moves = one_pool if n_pools == 1 else kernel
    moves._log_marginal(*moves.marginal(one.data, sums, one.par, one.priors, room))
    for k in range(n):
        moves.draw_items(state, one.data, one.par, sums, room)
        draws[k] = np.concatenate([one.par.mu, one.par.item])
    white = (draws - mean) @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-3
    away = white.T @ white / n - np.eye(len(mean))
    assert np.abs(away).max() < 5 * np.sqrt(2 / n)
    assert np.abs(white.mean(axis=0)).max() < 4.5 / np.sqrt(n)


def test_sums_are_those_of_the_labels():
    one = study(2, seed=9)
    sums, _ = prepared(one)
    left = one.data.value - one.par.annotator[one.data.annotator]
    cells = range(len(one.data.cell_pool))
    mean = np.array([left[one.data.cell == c].mean() for c in cells])
    np.testing.assert_allclose(sums.mean, mean)
    within = np.bincount(one.pool, (left - mean[one.data.cell]) ** 2)
    np.testing.assert_allclose(sums.within, within, rtol=1e-10)


def test_a_single_pool_is_the_same_as_one_of_many():
    """The short cut for one pool, against the general form."""
    one = study(1, seed=10)
    sums, room = prepared(one)
    args = (one.data, sums, one.par, one.priors, room)
    short = one_pool._log_marginal(*one_pool.marginal(*args))
    kept = room.precision.copy(), room.linear.copy()
    for part in (room.precision, room.linear):
        part[:] = 0.0
    assert kernel._log_marginal(*kernel.marginal(*args)) == pytest.approx(short)
    np.testing.assert_allclose(room.precision, kept[0])
    np.testing.assert_allclose(room.linear, kept[1])


@pytest.mark.parametrize("moved", ["sd_item", "sd"])
def test_standard_deviations_of_a_single_pool(moved):
    one = study(1, seed=12)
    sums, room = prepared(one)
    which = {"sd_item": one_pool.SD_ITEM, "sd": one_pool.SD}[moved]

    def put(x):
        getattr(one.par, moved)[0] = np.exp(x)

    def density(x):
        rest = one_pool.marginal(one.data, sums, one.par, one.priors, room)
        return one_pool._log_density(x, which, one.priors.sd_item, one.priors.sd, *rest) - x

    found, want = differences(one, density, put, [-4.0, -1.0, 0.3, 2.0])
    np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-8)


def test_a_residual_that_vanishes_divides_by_nothing():
    one = study(2, seed=11)
    sums, room = prepared(one)
    assert density_of(one, sums, room, -400.0, kernel.SD, 0) == -np.inf
