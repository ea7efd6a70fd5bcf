"""PowerMultinomial: density, draws, shapes and refusals, by PyMC's own test helpers."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest
from pymc.logprob.utils import ParameterValueError
from pymc.testing import BaseTestDistributionRandom, assert_support_point_is_expected
from scipy import stats

from dissensus.families.distributions import PowerMultinomial

P = np.array([0.5, 0.3, 0.2])
COUNTS = np.array([[3, 0, 2], [0, 1, 0], [0, 0, 0], [1, 2, 3]])


def logp(counts, n, p, power):
    return pm.logp(PowerMultinomial.dist(n=n, p=p, power=power), counts).eval()


@pytest.mark.parametrize("power", [0.3, 1.0, 4.0])
def test_density(power):
    want = power * stats.multinomial(COUNTS.sum(1), P).logpmf(COUNTS)
    np.testing.assert_allclose(logp(COUNTS, COUNTS.sum(1), P, power), want, atol=1e-12)


def test_a_label_of_probability_zero_that_nobody_named_costs_nothing():
    p = np.array([0.5, 0.5, 0.0])
    assert logp(np.array([1, 1, 0]), 2, p, 3.0) == pytest.approx(3 * np.log(0.5))
    assert logp(np.array([1, 0, 1]), 2, p, 3.0) == -np.inf


def test_counts_of_another_total_are_impossible():
    assert logp(np.array([1, 1, 0]), 3, P, 1.0) == -np.inf


@pytest.mark.parametrize("power", [0.0, -1.0])
def test_powers_are_positive(power):
    with pytest.raises(ParameterValueError, match="power > 0"):
        logp(COUNTS, COUNTS.sum(1), P, power)


def test_the_gradient_is_tempered():
    """d/dp of gamma * sum s log p on the free p: gamma s / p."""
    with pm.Model() as model:
        p = pm.Flat("p", shape=3)
        PowerMultinomial("counts", n=5, p=p / p.sum(), power=2.5, observed=COUNTS[0])
    got = model.compile_dlogp()({"p": P})
    np.testing.assert_allclose(got, 2.5 * (COUNTS[0] / P - 5), rtol=1e-6)


class TestRandom(BaseTestDistributionRandom):
    """Draws are plain multinomial counts, whatever the power."""

    pymc_dist = PowerMultinomial
    pymc_dist_params = {"n": np.array([5, 3]), "p": np.stack([P, P[::-1]]), "power": 2.5}  # noqa: RUF012
    sizes_to_check = (None, 2, (4, 2))
    sizes_expected = ((2, 3), (2, 3), (4, 2, 3))
    checks_to_run = ("check_rv_size",)


@pytest.mark.parametrize("power", [0.3, 1.0, 4.0])
def test_draws_are_multinomial(power):
    draws = pm.draw(PowerMultinomial.dist(n=6, p=P, power=power), 4000, random_seed=1)
    assert (draws.sum(-1) == 6).all()
    error = np.sqrt(6 * P * (1 - P) / 4000)
    assert (np.abs(draws.mean(0) - 6 * P) < 4 * error).all()
    np.testing.assert_allclose(np.cov(draws.T), 6 * (np.diag(P) - np.outer(P, P)), atol=0.12)


@pytest.mark.parametrize(
    ("n", "p", "power", "shape"),
    [(5, P, 1.0, (3,)), ([5, 2], P, 1.0, (2, 3)), (5, np.stack([P] * 4), 2.0, (4, 3)),
     (5, P, [1.0, 2.0], (2, 3)), ([[5], [6]], P, [1.0, 2.0], (2, 2, 3))],
)  # fmt: skip
def test_parameters_broadcast(n, p, power, shape):
    variable = PowerMultinomial.dist(n=n, p=p, power=power)
    counts = pm.draw(variable, random_seed=1)
    assert counts.shape == shape
    assert pm.logp(variable, counts).eval().shape == shape[:-1]


@pytest.mark.parametrize(
    ("n", "p", "size", "expected"),
    [(10, P, None, [5, 3, 2]), ([10, 20], P, None, [[5, 3, 2], [10, 6, 4]]),
     (10, P, 2, [[5, 3, 2], [5, 3, 2]])],
)  # fmt: skip
def test_support_point_is_near_the_mean(n, p, size, expected):
    with pm.Model() as model:
        PowerMultinomial("x", n=n, p=p, power=2.0, size=size)
    assert_support_point_is_expected(model, np.array(expected), check_finite_logp=True)


def test_dims_and_prior_predictive():
    with pm.Model(coords={"item": ["i", "j"], "label": list("abc")}) as model:
        theta = pm.Dirichlet("theta", a=np.ones((2, 3)), dims=("item", "label"))
        PowerMultinomial("counts", n=[4, 2], p=theta, power=3.0, dims=("item", "label"),
                         observed=[[4, 0, 0], [1, 1, 0]])  # fmt: skip
        drawn = pm.sample_prior_predictive(10, random_seed=1)["prior_predictive"]["counts"]
    assert drawn.dims == ("chain", "draw", "item", "label")
    assert (drawn.sum("label") == [4, 2]).all()
    assert np.isfinite(model.compile_logp()(model.initial_point()))
