"""Pairs of a right and a wrong label, counted one by one."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.weighted import more_sure


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
