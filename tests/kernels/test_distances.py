"""Distances between numbers, sets and rankings, by their definitions.

- Absolute differences, against the pairs they stand for.
- Distances of lists, against sets and the average overlap of two rankings at a time.
"""

from __future__ import annotations

import numpy as np
import pytest
from kernels.said_by_pairs import by_annotator, pairs, random_rows

import dissensus as dx
from dissensus.kernels.distances import far_pairs, lists_of, rank_distance, set_distance
from dissensus.kernels.grouped import grouped


@pytest.mark.parametrize("trials", [False, True])
def test_absolute_differences_over_all_pairs(trials):
    def apart(a, b):
        return abs(a - b)

    for seed in range(150):
        item, annotator, labels, n_items = random_rows(seed, n_labels=6, trials=trials)
        values = np.random.default_rng(seed).normal(size=6)[labels]
        within, own = far_pairs(grouped(item, annotator, n_items), values)
        for i in range(n_items):
            numbers = by_annotator(item, annotator, values, i)
            assert within[i] == pytest.approx(pairs(numbers, apart), abs=1e-11)
            assert own[i] == pytest.approx(pairs(numbers, apart, same=True), abs=1e-11)


def test_many_numbers_on_one_item():
    n = 100_000
    values = np.random.default_rng(0).permutation(n).astype(float)
    within, _ = far_pairs(grouped(np.zeros(n, int), np.arange(n), 1), values)
    # The mean absolute difference of 0, ..., n - 1 is (n + 1) / 3 over pairs of different ones.
    assert within[0] == pytest.approx(n * (n - 1) * (n + 1) / 3, rel=1e-12)


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
    first, lists = random_lists(rng, 15, 7)
    second, others = random_lists(rng, 15, 7)
    left, right = (grid.ravel() for grid in np.indices((15, 15)))
    actual = rank_distance(lists, others, left, right, n_labels=7, depth=depth)
    expected = [
        1 - dx.mean_average_overlap(first[a], second[b], depth=depth, n_labels=7)
        for a, b in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(actual, expected, atol=1e-14)


def test_rankings_alike_down_to_the_depth_are_exactly_0_apart():
    """Even if one lists what the other leaves to the last place."""
    full = lists_of(np.zeros(4, int), np.arange(4), np.array([1, 2, 3, 4]), 1)
    part = lists_of(np.zeros(3, int), np.arange(3), np.array([1, 2, 3]), 1)
    zero = np.zeros(1, int)
    for depth in (1, 2, 3, 4):
        assert rank_distance(full, part, zero, zero, n_labels=4, depth=depth)[0] == 0.0


def test_jaccard_of_sets():
    rng = np.random.default_rng(1)
    first, lists = random_lists(rng, 12, 6)
    second, others = random_lists(rng, 12, 6)
    left, right = (grid.ravel() for grid in np.indices((12, 12)))
    actual = set_distance(lists, others, left, right, "jaccard")
    sets = [
        [{code for block in blocks for code in block} for blocks in side]
        for side in (first, second)
    ]
    expected = [
        1 - len(sets[0][a] & sets[1][b]) / len(sets[0][a] | sets[1][b])
        for a, b in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(actual, expected, rtol=1e-15)


def test_a_list_of_nothing_has_no_entries():
    lists = lists_of(np.array([2, 0]), np.array([1, 1]), np.array([1, 1]), 4)
    assert lists.start.tolist() == [0, 1, 1, 2, 2]
