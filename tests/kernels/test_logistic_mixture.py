"""The mixture against the logistic distribution that it is to be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import kstwobign

from dissensus.kernels.special import logistic_mixture


def distribution(x):
    weights, variances = logistic_mixture()
    return ndtr(x[:, None] / np.sqrt(variances)) @ weights


def test_is_the_logistic_distribution():
    x = np.linspace(-45, 45, 2001)
    np.testing.assert_allclose(distribution(x), expit(x), rtol=0, atol=2e-15)
    near = x[abs(x) < 25]
    np.testing.assert_allclose(distribution(near), expit(near), rtol=2e-6)


def test_moments():
    weights, variances = logistic_mixture()
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    assert weights @ variances == pytest.approx(np.pi**2 / 3, rel=1e-13)
    # The fourth moment of the logistic distribution is 7 pi^4 / 15, 3 V^2 that of a normal one.
    assert 3 * weights @ variances**2 == pytest.approx(7 * np.pi**4 / 15, rel=1e-12)


def test_is_four_times_kolmogorovs_square():
    # Kolmogorov's distribution as scipy has it: means of functions of V, on other nodes.
    weights, variances = logistic_mixture()
    k = np.linspace(0.05, 5, 20001)
    density = kstwobign.pdf(k)
    for power in (-1.0, 0.5, 1.5):
        expected = np.trapezoid((4 * k**2) ** power * density, k)
        assert weights @ variances**power == pytest.approx(expected, rel=1e-8)


def test_is_one_table_that_nobody_can_change():
    assert logistic_mixture() is logistic_mixture()
    with pytest.raises(ValueError, match="read-only"):
        logistic_mixture()[0][0] = 1
