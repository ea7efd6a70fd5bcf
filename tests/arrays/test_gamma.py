"""Logarithms of Gamma variates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.arrays.gamma import log_gamma_variates


@pytest.mark.parametrize("a", [1e-5, 0.02, 0.0999, 0.1, 1.0, 50.0])
@pytest.mark.parametrize(("cells", "n"), [(1, 5000), (250, 20)])
def test_distribution(a, cells, n):
    """Many draws of few shapes and few of many: drawn in two ways."""
    draws = log_gamma_variates(np.full(cells, a), n, np.random.default_rng(5))
    assert draws.shape == (cells, n)
    assert stats.kstest(draws.ravel(), stats.loggamma(a).cdf).pvalue > 1e-3


@pytest.mark.parametrize("n", [50, 5000])
def test_each_shape_has_its_own_row(n):
    shapes = np.array([0.5, 0.01, 40.0])
    draws = log_gamma_variates(shapes, n, np.random.default_rng(6))
    for row, a in zip(draws, shapes, strict=True):
        mean, variance = stats.loggamma(a).stats("mv")
        assert abs(row.mean() - mean) < 4 * np.sqrt(variance / n)


def test_shapes_are_left_as_they_were():
    shape = np.array([0.01, 2.0])
    log_gamma_variates(shape, 2, np.random.default_rng(1))
    assert shape.tolist() == [0.01, 2.0]


def test_the_smallest_shapes_stay_finite():
    draws = log_gamma_variates(np.array([1e-300, 5e-324]), 100, np.random.default_rng(1))
    assert np.isfinite(draws).all()
