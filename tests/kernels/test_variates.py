"""Random variates, against SciPy's distribution functions.

- Binomial variates against SciPy, in both branches, and how they are scattered over cells.
- Gamma variates of the small streams, and their logarithms, against known distributions.
- Normal variates, whole and cut off, against SciPy's distribution functions.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats
from scipy.special import gammaln

from dissensus.kernels.random import started
from dissensus.kernels.variates import (
    LEAST,
    binomial,
    gamma_variate,
    log_gamma_variate,
    normal,
    normal_between,
    scatter,
)


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.3), (5, 0.5), (20, 0.1), (1000, 0.002), (30, 0.4), (50, 0.9), (200, 0.5), (5000, 0.01),
     (10**6, 0.3)],
)  # fmt: skip
def test_frequencies_are_binomial(n, p):
    """Fewer than 10 successes are counted one by one, more come from rejection."""
    state = started(n)
    result = np.array([binomial(state, n, p) for _ in range(20_000)])
    law = stats.binom(n, p)
    edges = np.unique(law.ppf(np.linspace(0.02, 0.98, 25)))
    cells = np.diff(law.cdf(np.concatenate([[-1], edges, [n]])))
    seen = np.bincount(np.searchsorted(edges, result), minlength=len(cells))
    kept = cells > 1e-6
    assert seen[~kept].sum() == 0
    assert stats.chisquare(seen[kept], cells[kept] / cells[kept].sum() * len(result)).pvalue > 1e-3


@pytest.mark.parametrize("p", [0.0, -1e-17, 5e-324, 1e-300, 1e-20, 1e-18])
def test_what_cannot_be_does_not_happen(p):
    state = started(1)
    assert {binomial(state, 100, p) for _ in range(50)} == {0}
    assert {binomial(state, 100, 1.0 - p) for _ in range(50)} == {100}


def test_none_of_none_and_all_where_rounding_went_over_1():
    state = started(1)
    assert binomial(state, 0, 0.5) == 0
    assert binomial(state, 7, 1.0 + 1e-15) == 7


@pytest.mark.parametrize("n", [1, 2, 50])
def test_scatter_is_multinomial(n):
    weight = np.array([0.2, 0.0, 1.0, 0.5, 0.3, 0.0])
    state, result = started(n), np.empty(6, dtype=np.int64)
    total, square = np.zeros(6), np.zeros((6, 6))
    for _ in range(20_000):
        scatter(state, n, weight, weight.sum(), result)
        assert result.sum() == n
        total += result
        square += np.outer(result, result)
    p = weight / weight.sum()
    assert (total[weight == 0] == 0).all()
    np.testing.assert_allclose(total / 20_000, n * p, atol=4.5 * np.sqrt(n / 80_000))
    covariance = square / 20_000 - np.outer(total, total) / 20_000**2
    np.testing.assert_allclose(
        covariance, n * (np.diag(p) - np.outer(p, p)), atol=0.05 * max(n, 1) ** 0.5 + 0.006 * n
    )


@pytest.mark.parametrize("n", [1, 1000])
def test_nothing_goes_where_nothing_can_go_even_if_the_total_is_rounded(n):
    """What rounding leaves over falls to the last cell of weight, not to the last one."""
    weight = np.array([0.1, 0.2, 0.3, 0.0])
    state, result = started(3), np.empty(4, dtype=np.int64)
    for _ in range(300):
        scatter(state, n, weight, weight.sum() * (1 + 1e-3), result)
        assert result.sum() == n
        assert result[3] == 0


def test_one_cell():
    result = np.empty(1, dtype=np.int64)
    scatter(started(1), 5, np.array([1e-300]), 1e-300, result)
    assert result.tolist() == [5]


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


def test_the_same_key_gives_the_same_variates():
    first, second = (_many(started(np.uint64(9)), 5) for _ in range(2))
    assert first.tolist() == second.tolist()
    other = _many(started(np.uint64(10)), 5)
    assert set(other).isdisjoint(first)


def test_an_interval_without_width_is_its_point():
    assert normal_between(started(np.uint64(1)), 1.5, 1.5) == 1.5
    assert normal_between(started(np.uint64(1)), -50.0, -50.0) == -50.0
