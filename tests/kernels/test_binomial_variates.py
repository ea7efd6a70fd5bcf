"""Binomial variates against SciPy, in both branches, and how they are scattered over cells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.kernels.random import started
from dissensus.kernels.variates import binomial, scatter


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.3), (5, 0.5), (20, 0.1), (1000, 0.002), (30, 0.4), (50, 0.9), (200, 0.5), (5000, 0.01),
     (10**6, 0.3)],
)  # fmt: skip
def test_frequencies_are_binomial(n, p):
    """Fewer than 10 successes are counted one by one, more come from rejection."""
    state = started(n)
    found = np.array([binomial(state, n, p) for _ in range(20_000)])
    law = stats.binom(n, p)
    edges = np.unique(law.ppf(np.linspace(0.02, 0.98, 25)))
    cells = np.diff(law.cdf(np.concatenate([[-1], edges, [n]])))
    seen = np.bincount(np.searchsorted(edges, found), minlength=len(cells))
    kept = cells > 1e-6
    assert seen[~kept].sum() == 0
    assert stats.chisquare(seen[kept], cells[kept] / cells[kept].sum() * len(found)).pvalue > 1e-3


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
    state, found = started(n), np.empty(6, dtype=np.int64)
    total, square = np.zeros(6), np.zeros((6, 6))
    for _ in range(20_000):
        scatter(state, n, weight, weight.sum(), found)
        assert found.sum() == n
        total += found
        square += np.outer(found, found)
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
    state, found = started(3), np.empty(4, dtype=np.int64)
    for _ in range(300):
        scatter(state, n, weight, weight.sum() * (1 + 1e-3), found)
        assert found.sum() == n
        assert found[3] == 0


def test_one_cell():
    found = np.empty(1, dtype=np.int64)
    scatter(started(1), 5, np.array([1e-300]), 1e-300, found)
    assert found.tolist() == [5]
