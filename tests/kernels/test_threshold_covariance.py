"""Covariances of labels against integration over the item's effect, and by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_covariance_reference import correlation_ordered, correlation_yes, grid, mean_yes
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from dissensus.kernels.special import (
    covariance_between,
    covariance_within,
    logistic_mixture,
    mixture_variance,
    step_variance,
)

CUTS = np.array([-1.2, -0.1, 0.2, 1.1])
VALUES = np.array([1.0, 2.0, 4.0, 4.5, 7.0])


def yes(mu, item, annotator):
    weights, noise = logistic_mixture()
    sd = np.sqrt(item**2 + annotator**2 + noise)
    return weights, mu / sd, sd


def ordered(mu, item, annotator):
    sd = np.full(len(CUTS), np.sqrt(item**2 + annotator**2 + 1))
    return np.diff(VALUES), (mu - CUTS) / sd, sd


def correlation(labels, variance, pool, other_pool=None, rho=1.0):
    """As in `label_covariance_reference`, by the kernels."""
    first = labels(*pool)
    if other_pool is None:
        return covariance_within(*first, pool[1] ** 2) / variance(*first[:2])
    second = labels(*other_pool)
    covariance = covariance_between(*first, *second, rho * pool[1] * other_pool[1])
    return covariance / np.sqrt(variance(*first[:2]) * variance(*second[:2]))


def test_the_reference_against_quadpack():
    def product(u):
        return expit(1 + u) ** 2 * norm.pdf(u, scale=2.0)

    nodes, weights = grid(2.0, 1.0)
    expected = quad(product, -40, 40, epsabs=1e-13, limit=200)[0]
    assert weights @ expit(1 + nodes) ** 2 == pytest.approx(expected, abs=1e-12)
    expected = quad(lambda u: expit(-7 + u) * norm.pdf(u, scale=30.0), -300, 300, limit=500)[0]
    assert mean_yes(np.array([-7.0]), 30.0)[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.long
@pytest.mark.unit(12)
@pytest.mark.parametrize("mu", [0.0, 1.3, -6.0, 20.0])
@pytest.mark.parametrize("item", [1e-3, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("annotator", [0.0, 1.0, 50.0])
def test_two_labels_over_a_wide_range(mu, item, annotator):
    pool = (mu, item, annotator)
    result = correlation(yes, mixture_variance, pool)
    assert result == pytest.approx(correlation_yes(pool), rel=2e-6, abs=1e-12)


@pytest.mark.parametrize("rho", [-1.0, -0.6, 0.0, 0.4, 0.95, 0.9999, 1.0])
@pytest.mark.parametrize(
    ("pool", "other_pool"),
    [
        ((0.0, 1.0, 0.5), (0.0, 1.0, 0.5)),
        ((1.0, 2.0, 0.5), (-0.5, 0.7, 0.0)),
        ((8.0, 12.0, 1.0), (-3.0, 4.0, 2.0)),
    ],
)
def test_two_labels_of_two_pools(pool, other_pool, rho):
    actual = correlation(yes, mixture_variance, pool, other_pool, rho)
    assert actual == pytest.approx(correlation_yes(pool, other_pool, rho), abs=1e-9)
    actual = correlation(ordered, step_variance, pool, other_pool, rho)
    expected = correlation_ordered(CUTS, VALUES, pool, other_pool, rho)
    assert actual == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mu", [0.0, -2.0, 6.0])
@pytest.mark.parametrize("item", [1e-3, 1.0, 8.0, 100.0])
@pytest.mark.parametrize("annotator", [0.0, 2.0])
def test_ordered_labels_over_a_wide_range(mu, item, annotator):
    pool = (mu, item, annotator)
    result = correlation(ordered, step_variance, pool)
    assert result == pytest.approx(correlation_ordered(CUTS, VALUES, pool), abs=1e-9)


def test_no_effect_no_covariance():
    assert covariance_within(*yes(0.4, 0.0, 1.0), 0.0) == 0
    assert covariance_between(*ordered(0.4, 0.0, 1.0), *ordered(1.0, 1.0, 1.0), 0.0) == 0


def test_perfect_agreement_is_a_correlation_of_one():
    bound = np.linspace(2, -2, 5)
    ones = np.ones(5)
    assert covariance_within(ones, bound, ones, 1.0) == pytest.approx(step_variance(ones, bound))


@given(st.integers(0, 2**31))
@settings(deadline=None, max_examples=40)
def test_within_is_between_a_pool_and_itself(seed):
    rng = np.random.default_rng(seed)
    part = (rng.normal(size=3), rng.normal(size=3), 1 + rng.gamma(2, size=3))
    shared = rng.random()
    expected = covariance_between(*part, *part, shared)
    assert covariance_within(*part, shared) == pytest.approx(expected, abs=1e-12)


def test_variance_of_an_ordered_label_by_its_definition():
    weight, bound, _ = ordered(0.3, 1.0, 0.5)
    chances = -np.diff(norm.cdf(np.concatenate([[np.inf], bound, [-np.inf]])))
    mean = chances @ VALUES
    assert step_variance(weight, bound) == pytest.approx(chances @ (VALUES - mean) ** 2)
