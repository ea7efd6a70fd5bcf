"""Sums over pairs who agree, against loops over pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from seeds import seeds

from dissensus.kernels.grouped import grouped
from dissensus.kernels.reliability import agreeing, genuine


@pytest.mark.parametrize("seed", seeds(30))
def test_pairs_who_agree_are_added_up_as_if_one_by_one(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    item, who = rng.integers(5, size=n), rng.integers(4, size=n)
    said, amount = rng.integers(3, size=n), rng.random(n)
    rows = grouped(item, who, 5)
    expected = np.zeros(5)
    for a, b in itertools.combinations(range(n), 2):
        if item[a] == item[b] and who[a] != who[b] and said[a] == said[b]:
            expected[item[a]] += amount[a] * amount[b]
    found = agreeing(rows, said[rows.order], amount[rows.order], 3)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_small_amount_beside_large_ones_is_not_lost_and_nothing_stays_behind():
    rows = grouped(np.zeros(3, int), np.arange(3), 1)
    assert agreeing(rows, np.array([0, 0, 1]), np.array([1.0, 1e-30, 1.0]), 2)[0] == 1e-30
    assert agreeing(rows, np.array([0, 1, 2]), np.ones(3), 3)[0] == 0.0
    again = grouped(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 2)
    np.testing.assert_array_equal(agreeing(again, np.zeros(4, int), np.ones(4), 1), [1.0, 1.0])


def test_confidence_is_certain_or_none_whatever_the_chance():
    np.testing.assert_array_equal(genuine(np.array([0.0, 1.0]), np.zeros(2)), [0.0, 1.0])
    # By hand: .5 / (.5 + .5 / 4); the source's Eq. 1.
    assert genuine(np.array([0.5]), np.array([0.25]))[0] == pytest.approx(0.8)
    rising = genuine(np.linspace(0, 1, 50), np.full(50, 0.2))
    assert (np.diff(rising) > 0).all()
    np.testing.assert_allclose(genuine(np.linspace(0, 1, 5), np.ones(5)), np.linspace(0, 1, 5))
