"""Normal variates, whole and cut off, against SciPy's distribution functions."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from dissensus.kernels.random import started
from dissensus.kernels.variates import normal, normal_between

N = 20_000
INF = np.inf
BETWEEN = [
    (-INF, INF), (-INF, 0.0), (0.0, INF), (-INF, 2.0), (-3.0, INF),
    # Either side of where one way of drawing takes over from another.
    (0.29, INF), (0.31, INF), (0.29, 1.78), (0.29, 1.8), (0.31, 1.30), (0.31, 1.32),
    (-0.7, 0.79), (-0.7, 0.81), (-0.9, 1.2), (-5.0, 5.1), (-5.0, 0.2), (2.0, 2.49), (2.0, 2.51),
    # Narrow, and far out.
    (1.0, 1.0 + 1e-6), (-1e-9, 1e-9), (5.0, 5.5), (8.0, INF), (-INF, -8.0), (30.0, 30.001),
    (35.0, INF), (-INF, -35.0), (-40.0, -39.0), (-2.0, -1.9), (100.0, 101.0),
]  # fmt: skip


@njit
def _many(state, n):
    out = np.empty(n)
    for k in range(n):
        out[k] = normal(state)
    return out


@njit
def _many_between(state, low, high, n):
    out = np.empty(n)
    for k in range(n):
        out[k] = normal_between(state, low, high)
    return out


@pytest.fixture(scope="module")
def whole():
    return _many(started(np.uint64(1)), 1_000_000)


def log_tail(x):
    return stats.norm.logsf(x)


def test_whole_variates_are_normal(whole):
    assert stats.kstest(whole, "norm").pvalue > 1e-3


def test_their_moments_are_right(whole):
    for power, mean, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)]:
        away = (whole**power).mean() - mean
        assert abs(away) < 4 * np.sqrt(variance / len(whole))


def test_the_sign_says_nothing_of_the_size(whole):
    assert stats.ks_2samp(whole[whole > 0], -whole[whole < 0]).pvalue > 1e-3


def test_neighbours_are_independent(whole):
    for lag in (1, 2, 3):
        for part in (np.sign, np.abs, np.square):
            x = part(whole)
            assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 4 / np.sqrt(len(x))


def test_every_layer_and_the_tail_have_their_share(whole):
    """Two hundred bins of equal probability, and what lies beyond the last layer, at 3.4426."""
    counts = np.histogram(whole, stats.norm.ppf(np.linspace(0, 1, 201)))[0]
    assert stats.chisquare(counts).pvalue > 1e-3
    tail = np.abs(whole[np.abs(whole) > 3.442619855899])
    assert stats.binomtest(len(tail), len(whole), 2 * stats.norm.sf(3.442619855899)).pvalue > 1e-3
    assert stats.kstest(tail, stats.truncnorm(3.442619855899, INF).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("low", "high"), BETWEEN)
def test_cut_off_variates(low, high):
    """By probabilities of what lies farther out, which keep their digits in the far tail."""
    draws = _many_between(started(np.uint64(2)), low, high, N)
    assert (draws >= low).all()
    assert (draws <= high).all()
    assert len(np.unique(draws)) > 0.99 * N
    flip = low < -high
    a, b, x = (-high, -low, -draws) if flip else (low, high, draws)
    # P(X > x | a < X < b), from ratios of tails.
    over = np.exp(log_tail(b) - log_tail(a))
    places = (np.exp(log_tail(x) - log_tail(a)) - over) / (1 - over)
    if b - a < 1e-5:  # ... which are lost here, where the density is flat
        places = (b - x) / (b - a)
    assert stats.kstest(places, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("low", [-8.0, -1.0, 0.0, 0.5, 4.0, 50.0])
def test_moments_of_a_tail(low):
    """Mean and variance by the inverse Mills ratio."""
    draws = _many_between(started(np.uint64(3)), low, INF, 100_000)
    mills = np.exp(stats.norm.logpdf(low) - log_tail(low))
    variance = 1 + low * mills - mills**2 if low < 20 else 1 / low**2
    assert abs(draws.mean() - mills) < 4 * np.sqrt(variance / len(draws))
    if low < 20:
        spread = np.sqrt((((draws - mills) ** 2).var()) / len(draws))
        assert abs(draws.var() - variance) < 4 * spread


def test_the_same_key_gives_the_same_variates():
    first, second = (_many(started(np.uint64(9)), 5) for _ in range(2))
    assert first.tolist() == second.tolist()
    other = _many(started(np.uint64(10)), 5)
    assert set(other).isdisjoint(first)


def test_an_interval_without_width_is_its_point():
    assert normal_between(started(np.uint64(1)), 1.5, 1.5) == 1.5
    assert normal_between(started(np.uint64(1)), -50.0, -50.0) == -50.0
