"""Arrival times of tied labels, against quadrature and against plain rejection."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.arrays.stream import started
from dissensus.arrays.tied_arrivals import draw_block, draw_ceiling

CASES = [
    ([1.0, 1.0], 1.0),
    ([0.2, 0.5, 0.1], 0.2),
    ([1e-5, 1e-5], 1.0),  # the block is far weaker than the rest: m is almost Gamma(3, Z)
    ([1e5, 2e5, 1.0], 1.0),
    ([0.5, 0.5], 1e-8),  # the rest is far weaker than the block
    ([0.03] * 30, 0.1),
    ([1e-250, 0.5], 0.5),
]


def cdf_of_ceiling(rates, rest, at):
    """Integrate the density on a fine grid of log m, independently of the sampler."""
    s = np.linspace(-60, 60, 400_001)
    m = np.exp(s)
    with np.errstate(divide="ignore"):
        log = s - rest * m + sum(np.log(-np.expm1(-rate * m)) for rate in rates)
    mass = np.cumsum(np.exp(log - log.max()))
    return np.interp(np.log(at), s, mass / mass[-1])


@pytest.mark.parametrize(("rates", "rest"), CASES)
def test_ceiling_has_its_density(rates, rest):
    state = started(3)
    draws = np.array([draw_ceiling(state, np.array(rates), rest) for _ in range(4000)])
    assert stats.kstest(cdf_of_ceiling(rates, rest, draws), "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("rates", "rest"), [CASES[0], CASES[1], ([2.0], 1.0)])
def test_times_are_those_of_a_block_that_came_first(rates, rest):
    rng = np.random.default_rng(1)
    free = rng.exponential(1 / np.array(rates), (400_000, len(rates)))
    first = rng.exponential(1 / rest, len(free))
    want = free[free.max(axis=1) < first]
    state, found = started(5), np.empty((4000, len(rates)))
    for row in found:
        assert draw_block(state, np.array(rates), rest, row) == row.max()
    for k in range(len(rates)):
        assert stats.ks_2samp(found[:, k], want[:, k]).pvalue > 1e-3
    assert stats.ks_2samp(found.max(axis=1), want.max(axis=1)).pvalue > 1e-3


def test_a_block_with_nothing_left_says_nothing():
    state, found = started(7), np.empty((4000, 2))
    for row in found:
        draw_block(state, np.array([1.0, 3.0]), 0.0, row)
    assert stats.kstest(found[:, 0], stats.expon().cdf).pvalue > 1e-3
    assert stats.kstest(found[:, 1], stats.expon(scale=1 / 3).cdf).pvalue > 1e-3
