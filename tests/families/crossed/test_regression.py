"""Coefficients of covariates: each move against matrices as large as there are labels."""

from __future__ import annotations

import numpy as np
import pytest
from families.crossed.crossed_designs import study

from dissensus.families.crossed.kernels import logistic_regression as logistic
from dissensus.families.crossed.kernels.data import (
    LabelSums,
    item_room,
    label_sums,
    sum_designs,
    sum_items,
)
from dissensus.families.crossed.kernels.odds import odds
from dissensus.families.crossed.kernels.regression import (
    draw_normal,
    move_given_annotators,
    move_given_items,
    offsets,
    regression,
    sum_covariates,
)
from dissensus.families.crossed.kernels.sweep import annotator_room, sum_annotators
from dissensus.families.crossed.kernels.transport import directions, effect_room
from dissensus.kernels.random import started

PRIOR = np.array([[0.3, 0.7], [-0.2, 1.5], [0.0, 0.4], [0.1, 1.0]])
DRAWS = 20_000


def with_covariates(n_pools, family="gaussian", *, own_residual=False):
    """Return a study with covariates of labels, of items, and of annotators, and all of them."""
    case = study(n_pools, family, seed=3, own_residual=own_residual)
    rng = np.random.default_rng(5)
    n = len(case.data.value)
    of_item, of_annotator = rng.normal(size=50)[case.item], rng.normal(size=50)[case.data.annotator]
    x = np.column_stack([rng.normal(size=n), of_item, of_annotator, of_item * of_annotator])
    data = case.data._replace(regression=regression(x, case.data))
    par = case.par._replace(coefficient=rng.normal(size=4))
    return case._replace(data=data, par=par, priors=case.priors._replace(coefficient=PRIOR)), x


def sums_of(case):
    labels = label_sums(case.data, case.par.latent)
    sum_covariates(case.data.regression, case.par.latent, labels.covariate)
    return labels


def dense(case, x, y, covariance):
    """Return mean and covariance of (mu, coefficients), given labels with this covariance."""
    design = np.column_stack([np.eye(len(case.par.mu))[case.pool], x])
    prior = np.concatenate([case.priors.mu, case.priors.coefficient])
    inverse = np.linalg.inv(covariance)
    spread = np.linalg.inv(design.T @ inverse @ design + np.diag(prior[:, 1] ** -2.0))
    return spread @ (design.T @ inverse @ y + prior[:, 0] / prior[:, 1] ** 2), spread


def noise(case):
    return np.diag(np.broadcast_to(case.par.sd, len(case.par.mu))[case.pool] ** 2)


def of_items(case):
    """Return the covariance of labels whose items are unknown."""
    par = case.par
    sigma = par.correlation * np.outer(par.sd_item, par.sd_item)
    return sigma[np.ix_(case.pool, case.pool)] * np.equal.outer(case.item, case.item) + noise(case)


def of_annotators(case):
    """Return the covariance of labels whose annotators are unknown."""
    same = np.equal.outer(case.data.annotator, case.data.annotator)
    return same * case.par.sd_annotator[case.pool] ** 2 + noise(case)


CASES = pytest.mark.parametrize(("n_pools", "own_residual"), [(1, False), (2, False), (3, True)])


@pytest.mark.slow
@CASES
@pytest.mark.parametrize("side", ["annotators", "items"])
def test_coefficients_given_one_side_are_normal_as_matrices_say(n_pools, own_residual, side):
    case, x = with_covariates(n_pools, own_residual=own_residual)
    labels, state = sums_of(case), started(7)
    sums, _ = item_room(case.data)
    room = annotator_room(case.data)
    if side == "annotators":
        sum_items(case.data, labels, case.par.annotator, sums)
        move, given = move_given_annotators, (sums.mean, sums.within)
        rest, covariance = case.par.annotator[case.data.annotator], of_items(case)
    else:
        sum_annotators(case.data, labels, case.par.item, room)
        move, given = move_given_items, (room.mean, room.within)
        rest, covariance = case.par.item[case.data.cell], of_annotators(case)
    mean, spread = dense(case, x, case.par.latent - rest, covariance)
    actual = np.empty((DRAWS, 4))
    for k in range(DRAWS):
        move(state, case.data, labels, case.par, case.priors, *(part.copy() for part in given))
        actual[k] = case.par.coefficient
    sd = np.sqrt(np.diag(spread))[n_pools:]
    np.testing.assert_allclose(actual.mean(axis=0), mean[n_pools:], atol=5 * sd.max() / DRAWS**0.5)
    expected = spread[n_pools:, n_pools:] / np.outer(sd, sd)
    np.testing.assert_allclose(np.cov(actual.T) / np.outer(sd, sd), expected, atol=0.05)


@CASES
def test_what_is_left_is_labels_less_their_covariates(n_pools, own_residual):
    case, x = with_covariates(n_pools, own_residual=own_residual)
    labels, (sums, _) = sums_of(case), item_room(case.data)
    sum_items(case.data, labels, case.par.annotator, sums)
    move_given_annotators(
        started(3), case.data, labels, case.par, case.priors, sums.mean, sums.within
    )
    sum_designs(case.data.designs.of_item, case.data.item_start, sums.mean, sums.first, sums.second)
    plain = case.data._replace(regression=None)
    expected, _ = item_room(plain)
    rest = case.par.latent - x @ case.par.coefficient
    sum_items(plain, label_sums(plain, rest), case.par.annotator, expected)
    for name in ("mean", "first", "second", "within"):
        np.testing.assert_allclose(
            np.tril(getattr(sums, name)) if name == "second" else getattr(sums, name),
            np.tril(getattr(expected, name)) if name == "second" else getattr(expected, name),
            rtol=1e-9, atol=1e-9,
        )  # fmt: skip


def test_offsets_are_covariates_times_coefficients():
    case, x = with_covariates(3)
    out = np.empty(len(x))
    offsets(case.data.regression, case.par.coefficient, out)
    np.testing.assert_allclose(out, x @ case.par.coefficient)


def test_a_normal_draw_has_its_mean_and_covariance():
    precision, linear = np.array([[2.0, 0.8], [0.8, 1.0]]), np.array([1.0, -0.5])
    state, result = started(1), np.empty((DRAWS, 2))
    for k in range(DRAWS):
        result[k] = linear
        draw_normal(state, precision.copy(), result[k])
    spread = np.linalg.inv(precision)
    np.testing.assert_allclose(result.mean(axis=0), spread @ linear, atol=0.04)
    np.testing.assert_allclose(np.cov(result.T), spread, atol=0.05)


def offset_of(case):
    return logistic.Offset(
        case.data, case.data.regression, case.par, np.zeros(len(case.par.mu) + 4)
    )


def log_posterior(case, x, at, rest, guessed=0):
    """Return the log density of (mu, coefficients) given all effects, of two labels.

    With guesses, a value of 1 is a label that is right: known, or one of so many that was chosen.
    """
    n_pools = len(case.par.mu)
    eta = at[:n_pools][case.pool] + x @ at[n_pools:] + rest
    prior = np.concatenate([case.priors.mu, case.priors.coefficient])
    known, unknown = -np.logaddexp(0.0, -eta), -np.logaddexp(0.0, eta)
    right = np.logaddexp(known, unknown - np.log(guessed)) if guessed else known
    likelihood = np.where(case.data.value == 1, right, unknown).sum()
    return likelihood - 0.5 * (((at - prior[:, 0]) / prior[:, 1]) ** 2).sum()


@pytest.mark.parametrize("n_pools", [1, 2])
def test_newton_steps_lead_to_the_mode_and_have_its_curvature(n_pools):
    case, x = with_covariates(n_pools, "bernoulli")
    offset = offset_of(case)
    rest = case.par.item[case.data.cell] + case.par.annotator[case.data.annotator]
    at = np.zeros(n_pools + 4)
    prior = np.concatenate([case.priors.mu, case.priors.coefficient])
    for _ in range(20):
        at, root = logistic.newton_step(at, rest, case.data.value, offset.design, prior)
    step = 1e-4 * np.eye(len(at))
    up, down = (
        np.array([log_posterior(case, x, at + sign * s, rest) for s in step]) for sign in (1, -1)
    )
    np.testing.assert_allclose((up - down) / 2e-4, 0.0, atol=1e-5)
    curvature = -(up + down - 2 * log_posterior(case, x, at, rest)) / 1e-8
    np.testing.assert_allclose(np.diag(root @ root.T), curvature, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("guessed", "least"), [(0.0, -np.inf), (3.0, -np.inf), (0.0, -0.2)])
def test_draws_along_the_ellipse_have_the_moments_of_a_grid(guessed, least):
    # Two free numbers, so that the density can be summed over a grid; the centre is far off.
    case, _ = with_covariates(1, "bernoulli")
    x = np.random.default_rng(1).normal(size=(len(case.data.value), 1)) * 2.0
    data = case.data._replace(regression=regression(x, case.data))
    case = case._replace(
        data=data, par=case.par._replace(coefficient=np.zeros(1)),
        priors=case.priors._replace(
            coefficient=np.array([[0.5, 3.0]]), least=np.array([least])
        ),
    )  # fmt: skip
    offset = logistic.Offset(data, data.regression, case.par, np.array([2.0, -3.0]))
    rest = case.par.item[data.cell] + case.par.annotator[data.annotator]
    grid = np.linspace(-12.0, 12.0, 241)
    log = np.array(
        [[log_posterior(case, x, np.array([m, c]), rest, guessed) for c in grid] for m in grid]
    )
    log[grid < least] = -np.inf
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    state, result = started(8), np.empty((DRAWS, 2))
    for k in range(DRAWS):
        logistic.given_effects(state, data, case.par, case.priors, offset, guessed)
        result[k] = case.par.mu[0], case.par.coefficient[0]
    for axis in (0, 1):
        share = weight.sum(axis=1 - axis)
        mean = share @ grid
        sd = np.sqrt(share @ (grid - mean) ** 2)
        assert result[:, axis].mean() == pytest.approx(mean, abs=0.05 * sd)
        assert result[:, axis].std() == pytest.approx(sd, rel=0.05)


@pytest.mark.parametrize("n_pools", [1, 2])
def test_coefficients_against_effects_leave_every_label_as_it_is(n_pools):
    case, x = with_covariates(n_pools, "bernoulli")
    offset, room = offset_of(case), effect_room(case.data)
    directions(case.data, case.par, room)
    assert offset.of_items.tolist() == [1]
    assert offset.of_annotators.tolist() == [2]
    before, was = case.eta + x @ case.par.coefficient, case.par.coefficient.copy()
    state = started(2)
    logistic._against_items(state, case.data, case.par, case.priors, offset, room.precision)
    logistic._against_annotators(state, case.data, case.par, case.priors, offset)
    assert (case.par.coefficient != was).tolist() == [False, True, True, False]
    np.testing.assert_allclose(case.eta + x @ case.par.coefficient, before)


def test_labels_laid_out_one_by_one_have_the_odds_of_all():
    case, x = with_covariates(2, "bernoulli")
    offset, known = offset_of(case), odds(case.data, case.par)
    of_label = np.exp(case.eta + x @ case.par.coefficient)
    data, seen = offset.seen_by_items(case.data, known)
    np.testing.assert_allclose(known.cell[data.cell] * seen.annotator[data.annotator], of_label)
    data, seen = offset.seen_by_annotators(case.data, known)
    np.testing.assert_allclose(seen.cell * known.annotator[data.annotator], of_label)
    assert isinstance(label_sums(case.data, case.par.latent), LabelSums)
