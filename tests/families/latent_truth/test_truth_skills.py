"""Densities that slices are drawn by, against SciPy: they may differ by a constant only."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from dissensus.families.latent_truth.kernels import accuracies, errors
from dissensus.kernels.random import started

EASE = np.array([-1.4, 0.0, 1.3])
RIGHT, WRONG = np.array([2.0, 3, 0]), np.array([1.0, 0, 4])
ETAS = np.array([-1.3, 0.2, 0.9, 2.5])


def constant(actual, want):
    np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-9, atol=1e-9)


LOW = -np.log(2)
"""The logit of a guess at three labels, between the first and the second of ETAS."""


def eased(eta, ease):
    """Return accuracies: odds beyond those of a guess, which are 1/2, are multiplied."""
    odds = np.exp(eta)
    odds = odds + np.maximum(odds - 0.5, 0) * (np.exp(ease) - 1)
    return odds / (1 + odds)


def hits(eta, spread):
    return (stats.binom.logpmf(RIGHT, RIGHT + WRONG, eased(eta, spread * EASE))).sum()


def test_right_and_wrong_answers():
    result = [accuracies.log_hits.py_func(eta, 0.7, EASE, LOW, RIGHT, WRONG) for eta in ETAS]
    constant(result, [hits(eta, 0.7) for eta in ETAS])
    assert np.isfinite(accuracies.log_hits(900.0, 0.7, EASE, LOW, RIGHT, 0 * WRONG))


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.8, 1.2), (0.05, 9.95)])
def test_accuracy_that_is_beta_a_priori(a, b):
    """As a logit: with the derivative of the accuracy, p (1 - p)."""
    result = [
        accuracies._log_beta(eta, a, b, -np.inf, 0.7, EASE, LOW, RIGHT, WRONG) for eta in ETAS
    ]
    p = special.expit(ETAS)
    prior = stats.beta.logpdf(p, a, b) + np.log(p * (1 - p))
    constant(
        result, [log_prior + hits(eta, 0.7) for log_prior, eta in zip(prior, ETAS, strict=True)]
    )
    assert accuracies._log_beta(-0.8, a, b, -0.7, 0.7, EASE, LOW, RIGHT, WRONG) == -np.inf


def test_accuracy_of_one_of_a_population():
    result = [accuracies._log_normal(eta, 0.4, 0.6, 0.7, EASE, LOW, RIGHT, WRONG) for eta in ETAS]
    constant(result, [stats.norm.logpdf(eta, 0.4, 0.6) + hits(eta, 0.7) for eta in ETAS])


def test_mean_and_spread_of_a_population():
    low = accuracies.lowest(3)
    assert special.expit(low) == pytest.approx(1 / 3)
    result = [accuracies._log_mean(eta, low, 0.5, ETAS) for eta in (0.1, 0.8, 1.4)]
    constant(result, [
        stats.logistic.logpdf(m) + stats.norm.logpdf(ETAS, m, 0.5).sum() for m in (0.1, 0.8, 1.4)
    ])  # fmt: skip
    assert accuracies._log_mean(low - 0.01, low, 0.5, ETAS) == -np.inf
    logs = np.log([0.2, 0.7, 2.0])
    result = [accuracies._log_spread(log, 1.5, 0.3, ETAS) for log in logs]
    constant(result, [
        stats.halfnorm.logpdf(np.exp(log), scale=1.5) + log
        + stats.norm.logpdf(ETAS, 0.3, np.exp(log)).sum() for log in logs
    ])  # fmt: skip
    assert accuracies._log_spread(-50.0, 1.5, 0.3, ETAS) == -np.inf


@pytest.mark.parametrize("low", [-np.inf, -0.7, 1.5])
@pytest.mark.parametrize("ease", [np.zeros(1), EASE], ids=["no difficulty", "difficulty"])
def test_draws_of_an_accuracy(low, ease):
    """By quadrature; a bound far up makes draws fail, and slices take over."""
    right, wrong = (part[: len(ease)] for part in (RIGHT, WRONG))
    state, eta, result = started(3), 2.0, np.empty(20_000)
    for k in range(len(result)):
        eta = result[k] = accuracies.draw_beta(
            state, eta, 1.5, 1.0, low, 0.7, ease, LOW, right, wrong
        )
    x = np.linspace(max(low, -12.0), 14.0, 40_001)[1:]
    log = 1.5 * special.log_expit(x) + special.log_expit(-x)
    for q, easiness in enumerate(ease):
        odds = special.logit(eased(x, 0.7 * easiness))
        log += right[q] * special.log_expit(odds)
        log += wrong[q] * special.log_expit(-odds)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = weight @ x
    sd = np.sqrt(weight @ (x - mean) ** 2)
    assert result.min() > low
    assert result.mean() == pytest.approx(mean, abs=0.06 * sd)
    assert result.std() == pytest.approx(sd, rel=0.06)


def test_decay_of_errors():
    error = np.array([[0, 4.0, 1], [2, 0, 3], [0, 5, 0]])

    def want(decay):
        out = stats.norm.logpdf(decay)
        for z in range(3):
            chance = np.array([0 if y == z else np.exp(-decay * abs(y - z)) for y in range(3)])
            out += stats.multinomial.logpmf(error[z], error[z].sum(), chance / chance.sum())
        return out

    room = np.empty((3, 3))
    places = [-1.0, 0.0, 0.7, 2.0]
    constant([errors._log_decay(place, 1.0, error, room) for place in places],
             [want(place) for place in places])  # fmt: skip
    errors.log_graded(40.0, room)
    assert np.exp(room).sum(axis=1) == pytest.approx(1)
    errors.log_graded(-400.0, room)
    assert np.exp(room).sum(axis=1) == pytest.approx(1)


def test_errors_of_everybodys_own_are_dirichlet_multinomial():
    error = np.array([[[0, 4.0, 1], [2, 0, 3], [0, 0, 0]], [[0, 0, 2], [1, 0, 0], [6, 1, 0]]])
    base = np.empty((3, 3))
    errors.log_graded(0.4, base)

    def want(concentration):
        out = 0.0
        for r, z in np.ndindex(2, 3):
            shape = concentration * np.exp(np.delete(base[z], z))
            counts = np.delete(error[r, z], z)
            out += stats.dirichlet_multinomial.logpmf(counts, shape, int(counts.sum()))
        return out

    places = np.array([0.3, 2.0, 15.0])
    constant([errors._log_unequal(place, base, error) for place in places],
             [want(place) for place in places])  # fmt: skip
    prior = np.array([1.5, 1.0])
    actual = [errors._log_concentration(np.log(place), prior, base, error) for place in places]
    constant(actual, [stats.norm.logpdf(np.log(place), 1.5, 1.0) + want(place) for place in places])


def test_difficulty_and_slopes():
    many = accuracies.Hits(LOW, np.array([0.4, -0.2]), np.array([1.0, 1.7]),
                           np.stack([RIGHT, WRONG]), np.stack([WRONG, RIGHT]))  # fmt: skip

    def want(spread, slope):
        p = eased(many.skill[:, None], spread * slope[:, None] * EASE)
        return (many.right * np.log(p) + many.wrong * np.log1p(-p)).sum()

    logs = np.log([0.2, 0.9, 2.5])
    actual = [accuracies._log_difficulty(log, 1.0, EASE, many) for log in logs]
    constant(actual, [
        stats.halfnorm.logpdf(np.exp(log)) + log + want(np.exp(log), many.slope) for log in logs
    ])  # fmt: skip
    actual = [accuracies._log_slope(log, 0.5, 0.8, EASE, many) for log in logs]
    constant(actual, [
        stats.norm.logpdf(log, 0, 0.5) + want(0.8, np.full(2, np.exp(log))) for log in logs
    ])  # fmt: skip
