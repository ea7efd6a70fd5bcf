"""The learned prior of scores: right on simulated ones, sensible on coarse and wild ones."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.families.conjugate.normal_prior import (
    SPREADS,
    draw_priors,
    grid_step,
    log_density,
    rounded,
    units_of,
)
from dissensus.kernels.normal import NormalGamma, log_marginal, moments


def simulated(prior, n_items, n_scores, seed=0):
    """Scores of items whose means and variances come from the prior."""
    m, k, a, b = prior
    rng = np.random.default_rng(seed)
    variance = b / rng.gamma(a, size=n_items)
    mean = rng.normal(m, np.sqrt(variance / k))
    scores = rng.normal(mean[:, None], np.sqrt(variance)[:, None], (n_items, n_scores))
    return scores.ravel(), np.repeat(np.arange(n_items), n_scores)


def learned(data, step=0.0):
    """Return the posterior median of each of the prior's parameters."""
    units, data = units_of(data), rounded(data, step)
    result = units.prior(draw_priors(units, data, 200, 100, 7)[:, :4])
    return NormalGamma(*(np.median(draws) for draws in result))


def reduced(scores, item):
    return moments(scores, item, int(item.max()) + 1)


@pytest.mark.parametrize(
    "prior",
    [(2.0, 0.5, 3.0, 4.0), (-5.0, 5.0, 1.0, 1e-6), (0.0, 0.01, 0.6, 1e6), (60.0, 0.1, 8.0, 900.0)],
    ids=str,
)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_known_hyperparameters_are_recovered(prior, offset):
    """4,000 items of five scores; log k, log a and log b/a within .25, far beyond chance."""
    m, k, a, b = prior
    scores, item = simulated(prior, 4000, 5)
    actual = learned(reduced(scores + offset, item))
    spread = np.sqrt(b / a / k)
    assert float(actual.m) - offset == pytest.approx(m, abs=0.25 * spread)
    for got, want in ((actual.k, k), (actual.a, a), (actual.b / actual.a, b / a)):
        assert np.log(float(got) / want) == pytest.approx(0, abs=0.25)


@pytest.mark.long
def test_draws_have_the_means_that_weighting_the_prior_gives():
    """Three items of three scores: 400,000 draws from the prior, weighted by the likelihood."""
    data = reduced(*simulated((2.0, 0.5, 3.0, 4.0), 3, 3, seed=5))
    units = units_of(data)
    places = np.random.default_rng(2).normal(size=(400_000, 4)) * SPREADS
    prior = units.prior(places[:, None])
    logs = log_marginal(prior, data).sum(axis=1)
    weights = np.exp(logs - logs.max())
    assert weights.sum() ** 2 / (weights**2).sum() > 10_000  # draws that count
    wanted = np.average(places, axis=0, weights=weights)
    spread = np.sqrt(np.average((places - wanted) ** 2, axis=0, weights=weights))
    drawn = draw_priors(units, data, 5000, 200, 3)[:, :4]
    np.testing.assert_allclose(drawn.mean(axis=0), wanted, atol=0.08)
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.08)


@pytest.mark.long
def test_weights_of_predictions_are_those_that_weighting_the_prior_gives():
    """As above with two systems: 600,000 draws from the prior, weighted by the likelihood."""
    data = reduced(*simulated((2.0, 0.5, 3.0, 4.0), 4, 3, seed=5))
    units = units_of(data)
    labels = np.array([[-1.0, 0.3], [0.5, -1.2], [1.2, 0.1], [-0.7, 0.8]])
    spread = np.array([*SPREADS, 0.5**0.5, 0.5**0.5])
    places = np.random.default_rng(2).normal(size=(600_000, 6)) * spread
    prior = units.prior(places[:, None])
    prior = prior._replace(m=prior.m + units.reach * places[:, 4:] @ labels.T)
    logs = log_marginal(prior, data).sum(axis=1)
    weights = np.exp(logs - logs.max())
    assert weights.sum() ** 2 / (weights**2).sum() > 5_000  # draws that count
    wanted = np.average(places, axis=0, weights=weights)
    sd = np.sqrt(np.average((places - wanted) ** 2, axis=0, weights=weights))
    drawn = draw_priors(units, data, 8000, 200, 3, labels)[:, :6]
    np.testing.assert_allclose(drawn.mean(axis=0), wanted, atol=0.12)
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.12)


def test_the_log_density_stands_behind_each_draw():
    data = reduced(*simulated((2.0, 0.5, 3.0, 4.0), 20, 3))
    units = units_of(data)
    drawn = draw_priors(units, data, 5, 10, 3)
    wanted = [log_density(x, units, data) for x in drawn[:, :4]]
    np.testing.assert_allclose(drawn[:, 4], wanted)


def test_one_wild_item_does_not_set_the_scale():
    scores, item = simulated((3.0, 0.5, 5.0, 5.0), 400, 4)
    scores[:4] = [1e5, -1e5, 2e5, 0]
    result = learned(reduced(scores, item))
    assert 0.3 < float(result.b / result.a) < 3


def test_items_without_scores_change_nothing():
    scores, item = simulated((2.0, 0.5, 3.0, 4.0), 200, 3)
    alone, among = (learned(moments(scores, item, n)) for n in (200, 230))
    np.testing.assert_allclose(np.ravel(alone), np.ravel(among), rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_scores_does_not_matter(unit):
    scores, item = simulated((2.0, 0.5, 3.0, 4.0), 300, 3)
    m, k, a, b = learned(reduced(scores, item))
    result = learned(reduced(scores * unit, item))
    np.testing.assert_allclose(np.ravel(result), np.ravel([m * unit, k, a, b * unit**2]), rtol=1e-4)


@pytest.mark.parametrize("sd", [0.3, 0.5, 0.8])
def test_agreement_to_the_letter_is_no_certainty(sd):
    """Whole-number ratings: up to half of the items are unanimous, and none of them certain.

    Taken literally, the likelihood has no maximum there, and the estimate at sd = .3 was a
    spread of .03.
    """
    rng = np.random.default_rng(1)
    mean = rng.normal(3, 1, 500)
    scores = np.clip(np.rint(rng.normal(mean[:, None], sd, (500, 5))), 1, 5)
    data = reduced(scores.ravel(), np.repeat(np.arange(500), 5))
    assert (data.squares == 0).mean() > 0.02
    result = learned(data, grid_step(scores))
    assert np.sqrt(float(result.b / result.a)) == pytest.approx(
        np.hypot(sd, np.sqrt(1 / 12)), rel=0.15
    )


def test_one_score_each_says_nothing_about_spread():
    data = reduced(np.array([1.0, 2.0, 3.0]), np.arange(3))
    with pytest.raises(dx.AnnotationError, match="found no item with two scores"):
        learned(data)


def test_steps():
    assert grid_step(np.array([3.0, 1.0, 2.0, 2.0])) == 1
    assert grid_step(np.array([0.5])) == 0


@pytest.mark.long
def test_the_weight_of_a_system_that_knows_skewed_means_is_near_1():
    """Most means are below 3 and a few above 50: the unit of weights is not a median."""
    rng = np.random.default_rng(2)
    mu = np.exp(rng.normal(0, 1.8, 80))
    ann = dx.from_matrix(rng.normal(mu[:, None], 1, (80, 3)))
    labels = rng.normal(mu, 0.5)
    pred = dx.predictions({"item": range(80), "system": ["s"] * 80, "label": labels})
    fit = dx.models.normal_scores.fit(ann, predictions=pred, draws=400, random_seed=1)
    assert float(fit["posterior"]["prediction_weight"].mean()) == pytest.approx(1, abs=0.05)
    error = dx.score_error(fit, pred)["mean_squared_error"]
    assert float(error.mean()) == pytest.approx(((labels - mu) ** 2).mean(), abs=0.15)


@pytest.mark.long
def test_equal_numbers_are_no_evidence():
    """The standard deviation of 80 times 1/3 is not exactly 0."""
    rng = np.random.default_rng(2)
    ann = dx.from_matrix(rng.normal(0.3, 1, (80, 3)))
    pred = dx.predictions({"item": range(80), "system": ["s"] * 80, "label": [1 / 3] * 80})
    fit = dx.models.normal_scores.fit(ann, predictions=pred, draws=50, random_seed=1)
    assert float(abs(fit["posterior"]["prediction_weight"]).max()) < 100
