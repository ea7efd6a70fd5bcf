"""Small Cholesky factors, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.special import backwards, factorised, forwards, inverted


def positive(n, seed=1):
    a = np.random.default_rng(seed).normal(size=(n, n + 1))
    return a @ a.T


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_all_equal_numpy(n):
    a, v = positive(n), np.random.default_rng(2).normal(size=n)
    factor, inverse = a.copy(), np.empty((n, n))
    assert factorised(factor, n)
    root = np.linalg.cholesky(a)
    np.testing.assert_allclose(np.tril(factor), root, rtol=1e-10)
    down, up = v.copy(), v.copy()
    forwards(factor, n, down)
    backwards(factor, n, up)
    np.testing.assert_allclose(down, np.linalg.solve(root, v), rtol=1e-9)
    np.testing.assert_allclose(up, np.linalg.solve(root.T, v), rtol=1e-9)
    log_det = inverted(factor, n, inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=1e-8, atol=1e-10)
    assert log_det == pytest.approx(np.linalg.slogdet(a)[1], rel=1e-10)


def test_rows_beyond_the_leading_ones_are_left_alone():
    a, inverse = positive(4), np.full((4, 4), 7.0)
    factor = a.copy()
    assert factorised(factor, 2)
    np.testing.assert_allclose(np.tril(factor[:2, :2]), np.linalg.cholesky(a[:2, :2]))
    assert (factor[2:] == a[2:]).all()
    inverted(factor, 2, inverse)
    np.testing.assert_allclose(inverse[:2, :2], np.linalg.inv(a[:2, :2]), rtol=1e-9)
    assert (inverse[2:] == 7.0).all()


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.0]], [[-1.0]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]],
        # Of three correlations, each possible, that do not go together.
        [[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]],
        [[np.nan]],
    ],
)  # fmt: skip
def test_what_is_not_positive_definite_is_refused(matrix):
    a = np.array(matrix)
    assert not factorised(a, len(a))


def test_scales_far_apart_lose_nothing():
    scale = np.array([1e-120, 1.0, 1e120])
    a = positive(3) * scale * scale[:, None]
    factor = a.copy()
    assert factorised(factor, 3)
    root = np.linalg.cholesky(positive(3)) * scale[:, None]
    np.testing.assert_allclose(np.tril(factor), root, rtol=1e-10)
