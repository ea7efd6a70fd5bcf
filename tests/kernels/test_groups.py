"""Group sums of one row against its dense form."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from dissensus.kernels.candidates import grouped_candidates
from dissensus.kernels.random import row_keys
from dissensus.kernels.remainder import expand


@njit
def _expand(theta, codes, sizes, a, key, n_labels):
    out = np.empty(n_labels)
    expand(theta, codes, sizes, a, key, out)
    return out


@pytest.mark.parametrize("a", [np.inf, 1.0, 1 / 419])
def test_groups_are_sums_of_the_expanded_row(a):
    n_labels, group = 419, np.arange(419) % 3
    codes, sizes = np.array([17, 3, -1, -2]), np.array([1, 1, 0, 417])
    theta = np.array([0.3, 0.1, 0.0, 0.6])
    for key in row_keys(np.arange(20, dtype=np.uint64), seed=1):
        dense = _expand(theta, codes, sizes, a, key, n_labels)
        found = grouped_candidates(theta, codes, sizes, a, key, group, np.zeros(3))
        np.testing.assert_allclose(found, np.bincount(group, dense), atol=1e-11)
        assert found.sum() == pytest.approx(1, abs=1e-12)


def test_a_remainder_without_mass_gives_nothing():
    codes, sizes = np.array([1, -2]), np.array([1, 4])
    args = (codes, sizes, 0.5, np.uint64(1), np.array([0, 1, 1, 1, 1]), np.zeros(2))
    assert grouped_candidates(np.array([1.0, 0.0]), *args).tolist() == [0.0, 1.0]
