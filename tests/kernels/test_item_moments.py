"""Moments of numbers by item, against the pairs they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.said_by_pairs import by_annotator, pairs, random_rows

from dissensus.kernels.grouped import around, centre_of, grouped, moments, squared_pairs


def far(a, b):
    return (a - b) ** 2


@pytest.mark.parametrize("centre", [0.0, -1.7])
@pytest.mark.parametrize("trials", [False, True])
def test_squared_differences_over_all_pairs(trials, centre):
    for seed in range(200):
        item, annotator, said, n_items = random_rows(seed, trials=trials)
        values = np.random.default_rng(seed).normal(size=4)[said]
        rows = grouped(item, annotator, n_items)
        found = moments(rows, values)
        total, squared = around(found, rows.voices, centre)
        within = squared_pairs(found, rows.voices)
        for i in range(n_items):
            numbers = by_annotator(item, annotator, values, i)
            means = [np.mean(one) - centre for one in numbers]
            squares = [np.mean((np.array(one) - centre) ** 2) for one in numbers]
            assert total[i] == pytest.approx(sum(means), abs=1e-12)
            assert squared[i] == pytest.approx(sum(squares), abs=1e-12)
            assert numbers == [] or found.centre[i] in np.concatenate(numbers)
            assert within[i] == pytest.approx(pairs(numbers, far), abs=1e-11)
            own = 2 * (found.squares[i] - found.squared_means[i])
            assert own == pytest.approx(pairs(numbers, far, same=True), abs=1e-11)


def test_numbers_far_from_zero_keep_their_digits():
    # Powers of two, so that the numbers are the same ones around 0 and around a billion.
    values = np.array([1, 2, 4, 7, 3, 5]) / 16
    rows = grouped(np.array([0, 0, 0, 1, 1, 1]), np.arange(6), 2)
    near, distant = (
        squared_pairs(moments(rows, numbers), rows.voices) for numbers in (values, values + 2.0**30)
    )
    np.testing.assert_array_equal(near, distant)


def test_the_centre_is_one_of_the_numbers():
    assert centre_of(np.array([1.0, 2.0, 9.0])) == 2.0
    assert centre_of(np.array([1.0, 1e9, 2.0, 1.5])) == 1.5  # one wild number does not move it
    assert centre_of(np.full(7, 0.1)) == 0.1
    assert centre_of(np.zeros(0)) == 0.0


def test_equal_numbers_are_exactly_alike():
    values = np.full(7, 0.1)
    rows = grouped(np.zeros(7, int), np.arange(7), 1)
    assert squared_pairs(moments(rows, values), rows.voices).tolist() == [0.0]


def test_items_keep_their_digits_however_far_apart_they_are():
    # Powers of two again: the second item is the first one, 2 ** 40 further up.
    values = np.array([1, 2, 4, 7]) / 16
    rows = grouped(np.repeat([0, 1], 4), np.tile(np.arange(4), 2), 2)
    found = squared_pairs(moments(rows, np.concatenate([values, values + 2.0**40])), rows.voices)
    expected = 2 * sum(far(a, b) for a in values for b in values) / 2
    np.testing.assert_array_equal(found, [expected, expected])
