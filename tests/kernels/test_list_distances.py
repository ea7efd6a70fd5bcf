"""Distances of lists, against sets and the average overlap of two rankings at a time."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.kernels.distances import jaccard, lists_of, rank_distance


def random_lists(rng, count, n_labels):
    """Return blocks of label codes, and the same laid out."""
    out = []
    for _ in range(count):
        named = rng.permutation(n_labels)[: rng.integers(1, n_labels + 1)]
        cuts = np.flatnonzero(rng.random(len(named) - 1) < 0.6) + 1
        out.append([block.tolist() for block in np.split(named, cuts)])
    rows = [
        (n, code, rank)
        for n, blocks in enumerate(out)
        for rank, block in enumerate(blocks)
        for code in block
    ]
    order = rng.permutation(len(rows))
    number, code, block = np.array(rows)[order].T
    return out, lists_of(number, code, block, count)


@pytest.mark.parametrize("depth", [1, 2, 4, 7])
def test_rank_distance_is_one_minus_the_mean_average_overlap(depth):
    rng = np.random.default_rng(depth)
    one, lists = random_lists(rng, 15, 7)
    two, others = random_lists(rng, 15, 7)
    left, right = (grid.ravel() for grid in np.indices((15, 15)))
    found = rank_distance(lists, others, left, right, n_labels=7, depth=depth)
    expected = [
        1 - dx.mean_average_overlap(one[a], two[b], depth=depth, n_labels=7)
        for a, b in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_rankings_alike_down_to_the_depth_are_exactly_0_apart():
    """Also where one lists what the other leaves to the last place."""
    full = lists_of(np.zeros(4, int), np.arange(4), np.array([1, 2, 3, 4]), 1)
    part = lists_of(np.zeros(3, int), np.arange(3), np.array([1, 2, 3]), 1)
    zero = np.zeros(1, int)
    for depth in (1, 2, 3, 4):
        assert rank_distance(full, part, zero, zero, n_labels=4, depth=depth)[0] == 0.0


def test_jaccard_of_sets():
    rng = np.random.default_rng(1)
    one, lists = random_lists(rng, 12, 6)
    two, others = random_lists(rng, 12, 6)
    left, right = (grid.ravel() for grid in np.indices((12, 12)))
    found = jaccard(lists, others, left, right)
    sets = [
        [{code for block in blocks for code in block} for blocks in side] for side in (one, two)
    ]
    expected = [
        1 - len(sets[0][a] & sets[1][b]) / len(sets[0][a] | sets[1][b])
        for a, b in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_a_list_of_nothing_has_no_entries():
    lists = lists_of(np.array([2, 0]), np.array([1, 1]), np.array([1, 1]), 4)
    assert lists.start.tolist() == [0, 1, 1, 2, 2]
