"""Arrival times of tied labels, against quadrature and against plain rejection."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.families.rankings.kernels.tied_times import draw_block, log_ceiling
from dissensus.kernels.random import started
from dissensus.kernels.slices import tangents

CASES = [
    [0.0, 0.0],
    np.log([1.0, 2.5, 0.5]),
    [-11.5, -11.5],  # the block is far weaker than the rest: m is almost Gamma(3, Z)
    np.log([1e5, 2e5, 1.0]),
    [17.7, 17.7],  # the rest is far weaker than the block
    np.log([0.3] * 30),
    [3.0] * 300,
    [-576.0, 0.0],
    [-2000.0, 5.0, 900.0],  # past the range of floating-point numbers
]


def cdf_of_ceiling(log_ratio, at):
    """Integrate the density on a fine grid of log m, independently of the sampler."""
    s = np.linspace(-60, 30, 200_001)
    log = s - np.exp(s)
    for ratio in log_ratio:
        y = np.exp(np.minimum(s + ratio, 700))
        log += np.where(s + ratio < -30, s + ratio, np.log(-np.expm1(-np.maximum(y, 1e-300))))
    mass = np.cumsum(np.exp(log - log.max()))
    return np.interp(at, s, mass / mass[-1])


@pytest.mark.parametrize("log_ratio", CASES)
def test_ceiling_has_its_density(log_ratio):
    state, lines = started(3), tangents()
    draws = np.array([log_ceiling(state, np.array(log_ratio), lines) for _ in range(4000)])
    assert stats.kstest(cdf_of_ceiling(log_ratio, draws), "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    ("rates", "rest"), [([1.0, 1.0], 1.0), ([3.0, 0.4], 0.5), ([0.2, 0.5, 0.1], 0.2), ([2.0], 1.0)]
)
def test_times_are_those_of_a_block_that_came_first(rates, rest):
    rng = np.random.default_rng(1)
    free = rng.exponential(1 / np.array(rates), (400_000, len(rates)))
    first = rng.exponential(1 / rest, len(free))
    want = free[free.max(axis=1) < first]
    state, lines, actual = started(5), tangents(), np.empty((4000, len(rates)))
    for row in actual:
        assert draw_block(state, np.log(rates) - np.log(rest), row, lines) == row.max()
    actual = np.exp(actual) / rest
    for k in range(len(rates)):
        assert stats.ks_2samp(actual[:, k], want[:, k]).pvalue > 1e-3
    assert stats.ks_2samp(actual.max(axis=1), want.max(axis=1)).pvalue > 1e-3


@pytest.mark.parametrize("log_ratio", [[-2000.0, 900.0], [-2000.0, 900.0, 0.0], [-3000.0] * 3])
def test_times_are_finite_however_far_apart_strengths_are(log_ratio):
    """The strong come at about their own rate, and the weak evenly before the rest."""
    state, lines, result = started(7), tangents(), np.empty((4000, len(log_ratio)))
    for row in result:
        draw_block(state, np.array(log_ratio), row, lines)
    assert np.isfinite(result).all()
    for k in np.flatnonzero(np.array(log_ratio) > 500):
        assert stats.kstest(np.exp(result[:, k] + log_ratio[k]), stats.expon().cdf).pvalue > 1e-3
    if len(log_ratio) == 2:  # of Gamma(2, 1), as long as the ceiling is, an even part
        assert stats.kstest(np.exp(result[:, 0]), stats.expon().cdf).pvalue > 1e-3
