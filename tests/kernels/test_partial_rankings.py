"""Depth membership against the running sum of the expected permutation matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dissensus.kernels.overlap import average_overlap, depth_membership


@pytest.mark.parametrize("blocks", [[], [[2]], [[1, 3]], [[0], [2, 3]], [[3, 1, 0], [2]], [[0, 1]]])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_is_the_share_of_orders(blocks, depth):
    rest = sorted(set(range(4)) - {label for block in blocks for label in block})
    parts = [*blocks, rest] if rest else blocks
    counts, n_orders = np.zeros((depth, 4)), 0
    for orders in itertools.product(*(itertools.permutations(part) for part in parts)):
        order = [label for part in orders for label in part]
        n_orders += 1
        for d in range(depth):
            counts[d, order[: d + 1]] += 1
    np.testing.assert_allclose(depth_membership(blocks, 4, depth), counts / n_orders)


def test_rows_sum_to_their_depth():
    found = depth_membership([[4], [0, 1]], n_labels=9, depth=9)
    np.testing.assert_allclose(found.sum(axis=1), np.arange(1, 10))


def test_average_overlap_of_disjoint_lists_is_zero():
    one, other = depth_membership([[0, 1]], 4, 2), depth_membership([[2, 3]], 4, 2)
    assert average_overlap(one, other) == 0
