"""The estimated prior: right on simulated scores, sensible on coarse and wild ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import dissensus as dx
from dissensus.arrays import empirical_bayes
from dissensus.arrays.empirical_bayes import estimate_prior, grid_step
from dissensus.arrays.normal_gamma import NormalGamma, log_marginal, moments


def simulated(prior, n_items, n_scores, seed=0):
    """Scores of items whose means and variances come from the prior."""
    m, k, a, b = prior
    rng = np.random.default_rng(seed)
    variance = b / rng.gamma(a, size=n_items)
    mean = rng.normal(m, np.sqrt(variance / k))
    scores = rng.normal(mean[:, None], np.sqrt(variance)[:, None], (n_items, n_scores))
    return scores.ravel(), np.repeat(np.arange(n_items), n_scores)


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
    found = estimate_prior(reduced(scores + offset, item))
    spread = np.sqrt(b / a / k)
    assert float(found.m) - offset == pytest.approx(m, abs=0.25 * spread)
    for got, want in ((found.k, k), (found.a, a), (found.b / found.a, b / a)):
        assert np.log(float(got) / want) == pytest.approx(0, abs=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_prior_nearby_is_likelier(seed):
    prior = (2.0, 0.5, 3.0, 4.0)
    data = reduced(*simulated(prior, 300, 4, seed))
    found = estimate_prior(data)
    best = log_marginal(found, data).sum()
    assert best >= log_marginal(NormalGamma(*map(np.array, prior)), data).sum()
    rng = np.random.default_rng(seed)
    for _ in range(30):
        factor = np.exp(rng.normal(0, 0.05, 3))
        other = NormalGamma(
            found.m + rng.normal(0, 0.05), *(x * f for x, f in zip(found[1:], factor, strict=True))
        )
        assert log_marginal(other, data).sum() <= best + 1e-6


def test_the_gradient_is_that_of_the_likelihood():
    data = reduced(*simulated((2.0, 0.5, 3.0, 4.0), 50, 3))
    at = np.array([1.5, 0.7, 2.0, 3.0])

    def value(x):
        return float(log_marginal(NormalGamma(*map(np.array, x)), data).sum())

    got = empirical_bayes._gradient(NormalGamma(*map(np.array, at)), data)
    np.testing.assert_allclose(got, approx_fprime(at, value, 1e-7), rtol=1e-4)


def test_one_wild_item_does_not_set_the_scale():
    scores, item = simulated((3.0, 0.5, 5.0, 5.0), 400, 4)
    scores[:4] = [1e5, -1e5, 2e5, 0]
    found = estimate_prior(reduced(scores, item))
    assert 0.3 < float(found.b / found.a) < 3


def test_items_without_scores_change_nothing():
    scores, item = simulated((2.0, 0.5, 3.0, 4.0), 200, 3)
    alone, among = (estimate_prior(moments(scores, item, n)) for n in (200, 230))
    np.testing.assert_allclose(np.ravel(alone), np.ravel(among), rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_scores_does_not_matter(unit):
    scores, item = simulated((2.0, 0.5, 3.0, 4.0), 300, 3)
    m, k, a, b = estimate_prior(reduced(scores, item))
    found = estimate_prior(reduced(scores * unit, item))
    np.testing.assert_allclose(np.ravel(found), np.ravel([m * unit, k, a, b * unit**2]), rtol=1e-4)


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
    found = estimate_prior(data, grid_step(scores))
    assert np.sqrt(float(found.b / found.a)) == pytest.approx(
        np.hypot(sd, np.sqrt(1 / 12)), rel=0.15
    )


def test_one_score_each_says_nothing_about_spread():
    data = reduced(np.array([1.0, 2.0, 3.0]), np.arange(3))
    with pytest.raises(dx.AnnotationError, match="no spread within any item"):
        estimate_prior(data)


def test_steps():
    assert grid_step(np.array([3.0, 1.0, 2.0, 2.0])) == 1
    assert grid_step(np.array([0.5])) == 0
