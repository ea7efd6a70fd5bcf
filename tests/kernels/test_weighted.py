"""Weighted sums and trends, against other packages.

- Pairs of a right and a wrong label, counted one by one.
- Lines and ranks with weights, against NumPy and SciPy.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.kernels.weighted import line, midranks, more_sure


def test_pairs_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    size = [3, 1, 5]
    start = np.array([0, 3, 4])
    right, wrong = rng.random((2, 7, 9))
    pairs, n, m = more_sure(right, wrong, start)
    for k, (first, length) in enumerate(zip(start, size, strict=True)):
        cells = range(first, first + length)
        expected = sum(
            right[:, i] * wrong[:, j] * ((i > j) + 0.5 * (i == j)) for i in cells for j in cells
        )
        np.testing.assert_allclose(pairs[:, k], expected, rtol=1e-12)
        np.testing.assert_allclose(n[:, k], right[:, cells].sum(axis=1))
        np.testing.assert_allclose(m[:, k], wrong[:, cells].sum(axis=1))


RNG = np.random.default_rng(1)
X = RNG.integers(0, 4, (1, 40)).astype(float)
Y = RNG.normal(size=(5, 40)).round(1)
WEIGHTS = RNG.dirichlet(np.ones(40), 5)


def test_line_is_weighted_least_squares():
    slope, intercept, r = line(X, Y, WEIGHTS)
    for row in range(5):
        fitted = np.polyfit(X[0], Y[row], 1, w=np.sqrt(WEIGHTS[row]))
        np.testing.assert_allclose([slope[row], intercept[row]], fitted, rtol=1e-9)
        cov = np.cov(X[0], Y[row], aweights=WEIGHTS[row])
        assert r[row] == pytest.approx(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))


def test_equal_weights_make_it_spearman():
    equal = np.full((5, 40), 1 / 40)
    r = line(midranks(X, equal), midranks(Y, equal), equal)[2]
    expected = [stats.spearmanr(X[0], y).statistic for y in Y]
    np.testing.assert_allclose(r, expected, rtol=1e-12)


def test_midranks_are_those_of_the_definition():
    ranks = midranks(Y, WEIGHTS)
    for row in range(5):
        values = Y[row]
        below = (values[None] < values[:, None]) + 0.5 * (values[None] == values[:, None])
        np.testing.assert_allclose(ranks[row], below @ WEIGHTS[row], rtol=1e-12)


def test_whole_weights_are_repeats():
    times = np.array([[2, 1, 3, 1]])
    x, y = np.array([[1.0, 2, 3, 4]]), np.array([[0.0, 2, 1, 5]])
    repeated = [np.repeat(values, times[0], axis=1) for values in (x, y)]
    actual = line(x, y, times / 7)
    expected = line(*repeated, np.full((1, 7), 1 / 7))
    np.testing.assert_allclose(actual, expected)


def test_nothing_that_varies_has_no_line():
    same = np.full((1, 3), 0.1)
    weights = np.full((1, 3), 1 / 3)
    vary = np.array([[1.0, 2.0, 3.0]])
    assert np.isnan(line(same, vary, weights)).all()
    slope, intercept, r = line(vary, same, weights)
    assert (slope[0], intercept[0]) == (0.0, pytest.approx(0.1))
    assert np.isnan(r[0])
