"""Random weights over items and their totals: lumping equal items is exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from dissensus.statistics import _resampling
from dissensus.statistics._resampling import over_units, patterns, replicated
from dissensus.statistics._sums import Sums


def sums_of(*parts):
    n = parts[0].shape[0]
    return Sums("totals", parts, lambda totals, undefined: totals[:, 0], np.arange(n))


def drawn(sums, draws, seed=1):
    return np.concatenate(list(replicated(sums, np.random.default_rng(seed), draws)))


def few_patterns(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(5, 3))
    return rows[rng.integers(5, size=n)], rng.integers(2, size=n).astype(float)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_patterns_are_the_distinct_rows(form):
    matrix, vector = few_patterns(300)
    first, size = patterns((form(matrix), vector))
    whole = np.column_stack([matrix, vector])
    distinct, count = np.unique(whole, axis=0, return_counts=True)
    assert len(first) == len(distinct) == 10
    np.testing.assert_array_equal(np.sort(size), np.sort(count))
    for place, n in zip(first, size, strict=True):
        assert (whole == whole[place]).all(axis=1).sum() == n
        assert np.flatnonzero((whole == whole[place]).all(axis=1))[0] == place


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_small_sum_beside_a_large_one_still_tells_items_apart(form):
    # Squares of numbers around a billion, and counts: one key must not round the counts off.
    matrix = np.stack([np.full(100, 1e18), np.arange(100.0)], axis=1)
    first, size = patterns((form(matrix),))
    assert len(first) == 100
    assert (size == 1).all()
    assert len(patterns((np.full(100, 1e18), np.arange(100.0)))[0]) == 100


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-160, 1e160, 1e300])
def test_sums_of_any_size_tell_items_apart(form, size):
    # Squares of such numbers are 0 or infinite. None but the first ten items are equal.
    values = np.maximum(np.arange(100.0), 9.0) / 100
    with np.errstate(all="raise", under="ignore"):
        first, result = patterns((form(np.stack([values * size, np.ones(100)], axis=1)),))
    assert first.tolist() == [0, *range(10, 100)]
    assert result.tolist() == [10, *[1] * 90]


def test_sums_that_are_all_zero_are_one_pattern():
    first, size = patterns((np.zeros((70, 2)), np.zeros(70)))
    assert (first.tolist(), size.tolist()) == ([0], [70])


def test_totals_are_those_of_dirichlet_weights():
    # Mean n / n and covariance of n * Dirichlet(1, ..., 1): totals have the mean of the data's
    # totals, and the variance n / (n + 1) * sum of squared deviations from the mean item.
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(40, 2))
    totals = drawn(sums_of(matrix, np.ones(40)), 40_000)
    np.testing.assert_allclose(totals[:, 2], 40.0, rtol=1e-12)
    expected = matrix.sum(axis=0)
    sd = np.sqrt(40 / 41 * ((matrix - matrix.mean(axis=0)) ** 2).sum(axis=0))
    actual = totals[:, :2]
    assert (abs(actual.mean(axis=0) - expected) < 4 * sd / np.sqrt(40_000)).all()
    np.testing.assert_allclose(actual.std(axis=0), sd, rtol=0.02)


def test_lumped_items_have_the_distribution_of_single_ones(monkeypatch):
    matrix, vector = few_patterns(400)
    lumped = drawn(sums_of(matrix, vector), 6000, seed=1)
    monkeypatch.setattr(_resampling, "_FEW", 10**9)
    single = drawn(sums_of(matrix, vector), 6000, seed=2)
    for of_lumped, of_single in zip(lumped.T, single.T, strict=True):
        # Two samples of 6,000: a Kolmogorov-Smirnov p-value of .001 is not an accident of the seed.
        assert stats.ks_2samp(of_lumped, of_single).pvalue > 0.001
    np.testing.assert_allclose(np.corrcoef(lumped.T), np.corrcoef(single.T), atol=0.06)


def test_lumping_draws_one_gamma_variate_for_each_pattern():
    # An item alone in its pattern among 399 equal ones has weight 400 * Beta(1, 399).
    vector = np.zeros(400)
    vector[7] = 1.0
    totals = drawn(sums_of(vector), 5000)[:, 0]
    assert stats.kstest(totals / 400, stats.beta(1, 399).cdf).pvalue > 0.001


@pytest.mark.parametrize("n", [30, 300])
def test_sparse_and_dense_sums_have_the_same_draws(n):
    matrix = np.random.default_rng(1).poisson(0.2, size=(n, 6)).astype(float)
    dense, compressed = (drawn(sums_of(form(matrix), matrix[:, 0]), 50)
                         for form in (np.asarray, sparse.csr_array))  # fmt: skip
    np.testing.assert_allclose(compressed, dense, rtol=1e-12)


def test_draws_do_not_depend_on_threads(monkeypatch):
    sums = sums_of(np.random.default_rng(1).normal(size=(5000, 3)))
    draws = drawn(sums, 500)

    class OneThread(_resampling.ThreadPoolExecutor):
        def __init__(self):
            super().__init__(max_workers=1)

    monkeypatch.setattr(_resampling, "ThreadPoolExecutor", OneThread)
    np.testing.assert_array_equal(drawn(sums, 500), draws)
    assert len(list(replicated(sums, np.random.default_rng(1), 500))) > 1


def test_draws_come_in_blocks_and_none_is_lost():
    for draws in (1, 2, 3, 79, 80, 81, 1000):
        totals = drawn(sums_of(np.random.default_rng(1).normal(size=(5000, 1))), draws)
        assert totals.shape == (draws, 1)
        assert len(np.unique(totals)) == draws


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_units_add_up_their_items(form):
    matrix = np.random.default_rng(0).normal(size=(6, 2))
    unit = np.array([0, 2, 2, 1, 0, 2])
    actual = over_units(sums_of(form(matrix), matrix[:, 1]), unit, 3)
    first, second = actual.parts
    expected = np.stack([matrix[unit == u].sum(axis=0) for u in range(3)])
    np.testing.assert_allclose(first if form is np.asarray else first.toarray(), expected)
    np.testing.assert_allclose(second, expected[:, 1])
    np.testing.assert_allclose(actual.totals(), sums_of(matrix, matrix[:, 1]).totals())
