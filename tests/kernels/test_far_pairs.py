"""Absolute differences past a tolerance, against the pairs they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.said_by_pairs import by_annotator, pairs, random_rows

from dissensus.kernels.distances import far_pairs
from dissensus.kernels.grouped import grouped


@pytest.mark.parametrize("tolerance", [0.0, 0.4, 1.0, 50.0])
@pytest.mark.parametrize("trials", [False, True])
def test_differences_past_the_tolerance_over_all_pairs(trials, tolerance):
    def past(a, b):
        return max(0.0, abs(a - b) - tolerance)

    for seed in range(150):
        item, annotator, said, n_items = random_rows(seed, n_labels=6, trials=trials)
        values = np.random.default_rng(seed).normal(size=6)[said]
        within, own = far_pairs(grouped(item, annotator, n_items), values, tolerance)
        for i in range(n_items):
            numbers = by_annotator(item, annotator, values, i)
            assert within[i] == pytest.approx(pairs(numbers, past), abs=1e-11)
            assert own[i] == pytest.approx(pairs(numbers, past, same=True), abs=1e-11)


def test_a_difference_of_the_tolerance_is_tolerated():
    rows = grouped(np.zeros(3, int), np.arange(3), 1)
    within, own = far_pairs(rows, np.array([3.0, 1.0, 2.0]), 1.0)
    assert (within.tolist(), own.tolist()) == ([2.0], [0.0])


def test_no_rows_and_one_row():
    rows = grouped(np.array([1]), np.array([0]), 3)
    within, own = far_pairs(rows, np.array([5.0]), 0.0)
    assert within.tolist() == own.tolist() == [0.0] * 3


def test_many_numbers_on_one_item():
    n = 100_000
    values = np.random.default_rng(0).permutation(n).astype(float)
    within, _ = far_pairs(grouped(np.zeros(n, int), np.arange(n), 1), values, 0.0)
    # The mean absolute difference of 0, ..., n - 1 is (n + 1) / 3 over pairs of different ones.
    assert within[0] == pytest.approx(n * (n - 1) * (n + 1) / 3, rel=1e-12)
