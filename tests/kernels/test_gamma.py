"""Gamma variates of the small streams, and their logarithms, against known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats
from scipy.special import gammaln

from dissensus.kernels.random import started
from dissensus.kernels.variates import LEAST, gamma_variate, log_gamma_variate


@njit
def _variates(key, shape, n):
    state, out = started(key), np.empty(n)
    for i in range(n):
        out[i] = gamma_variate(state, shape)
    return out


@njit
def _logs(key, shape, n):
    state, out = started(key), np.empty(n)
    for i in range(n):
        out[i] = log_gamma_variate(state, shape)
    return out


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.999, 1.0, 1.001, 1.3, 7.0, 400.0, 1e8])
def test_distribution(shape):
    draws = _variates(np.uint64(8), shape, 50_000)
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / np.sqrt(50_000)


@pytest.mark.parametrize("shape", [1e-5, 0.0024, 0.05, 0.5, 1.0, 1.3, 7.0, 400.0])
def test_logarithms(shape):
    draws = _logs(np.uint64(9), shape, 50_000)
    assert np.isfinite(draws).all()
    # Compared in logarithms: at shape .0024 most variates are below the smallest number. There
    # P(G < g) is g^a / Gamma(a + 1) to within a relative error of g.
    direct = stats.gamma.cdf(np.exp(draws), shape)
    tail = np.exp(shape * np.minimum(draws, -30) - gammaln(shape + 1))
    probability = np.where(draws < -30, tail, direct)
    assert stats.kstest(probability, "uniform").pvalue > 1e-3


def test_the_tails_are_hit_as_often_as_they_should_be():
    """A million variates of one shape: one in ten thousand at either end."""
    draws, gamma = _variates(np.uint64(10), 2.5, 1_000_000), stats.gamma(2.5)
    for end in (draws < gamma.ppf(1e-4), draws > gamma.isf(1e-4)):
        assert abs(end.sum() - 100) < 40


def test_the_smallest_shapes_stay_finite():
    assert np.isfinite(_logs(np.uint64(1), LEAST, 100)).all()
