"""Agreement that is not by chance, by hand.

- Sums over pairs who agree, where digits are easily lost.
- How probably two who agree are right, and its sums over pairs.
"""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.grouped import grouped
from dissensus.kernels.reliability import (
    Pairs,
    agreeing,
    both_right,
    genuine,
    right_by_annotators,
    right_by_item,
    right_under_weights,
)


def test_a_small_amount_beside_large_ones_is_not_lost_and_nothing_stays_behind():
    rows = grouped(np.zeros(3, int), np.arange(3), 1)
    assert (
        agreeing(rows.start, rows.own, np.array([0, 0, 1]), np.array([1.0, 1e-30, 1.0]), 2)[0]
        == 1e-30
    )
    assert agreeing(rows.start, rows.own, np.array([0, 1, 2]), np.ones(3), 3)[0] == 0.0
    again = grouped(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 2)
    np.testing.assert_array_equal(
        agreeing(again.start, again.own, np.zeros(4, int), np.ones(4), 1), [1.0, 1.0]
    )


def test_confidence_is_certain_or_none_whatever_the_chance():
    np.testing.assert_array_equal(genuine(np.array([0.0, 1.0]), np.zeros(2)), [0.0, 1.0])
    # By hand: .5 / (.5 + .5 / 4); the source's Eq. 1.
    assert genuine(np.array([0.5]), np.array([0.25]))[0] == pytest.approx(0.8)
    rising = genuine(np.linspace(0, 1, 50), np.full(50, 0.2))
    assert (np.diff(rising) > 0).all()
    np.testing.assert_allclose(genuine(np.linspace(0, 1, 5), np.ones(5)), np.linspace(0, 1, 5))


def by_enumeration(a, b, n):
    """P(both right | they agree) over all pairs of labels, the truth being the first of n."""
    first = [a] + [(1 - a) / (n - 1)] * (n - 1)
    second = [b] + [(1 - b) / (n - 1)] * (n - 1)
    return first[0] * second[0] / sum(p * q for p, q in zip(first, second, strict=True))


@pytest.mark.parametrize("n", [2, 3, 7])
def test_it_is_bayes_with_errors_that_fall_on_all_others_alike(n):
    rng = np.random.default_rng(n)
    first, second = rng.random((2, 20)) * 0.98 + 0.01
    expected = [by_enumeration(a, b, n) for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(both_right(first, second, n - 1.0), expected, rtol=1e-13)


def test_extremes():
    first, second = np.array([1.0, 0.0, 1.0, 1.0, 1e-200]), np.array([1.0, 0.0, 0.3, 0.0, 1e-200])
    np.testing.assert_array_equal(both_right(first, second, 1.0), [1.0, 0.0, 1.0, np.nan, 0.0])
    assert np.isnan(both_right(np.array([0.5]), np.array([0.5]), np.nan)[0])


def test_three_ways_of_adding_up_are_one():
    rng = np.random.default_rng(4)
    # Three items of two pairs each, of rows 0 to 5: rows 2x and 2x + 1 are of annotators x, x + 1.
    start, left, right = np.array([0, 2, 2, 4]), np.array([0, 2, 4, 0]), np.array([1, 3, 5, 3])
    amount, weights = rng.random(4), rng.random((2, 3))
    who = np.array([0, 1, 1, 2, 2, 3])
    accuracy = rng.random((5, 4))
    pairs = Pairs(start, left, right, amount)
    each = right_by_item(*pairs, accuracy, who, 2.0)
    assert (each[:, 1] == 0).all()
    which, draw = np.divmod(np.arange(10), 5)
    expected = (weights @ each.T).ravel()
    item = np.array([0, 0, 2, 2])
    totals = weights[:, item] * amount
    actual = right_by_annotators(totals, who[left], who[right], accuracy, which, draw, 2.0)
    np.testing.assert_allclose(actual, expected, rtol=1e-13)
    how = (weights, accuracy, who, which, draw, 2.0)
    sure, labels = np.ones(6), np.zeros(6, dtype=np.int64)
    actual = right_under_weights(pairs, sure, labels, np.ones((2, 1)), *how)
    np.testing.assert_allclose(actual, expected, rtol=1e-13)
    # Chance of 1 leaves confidence as it is: pairs count its products.
    sure = rng.random(6)
    meant = Pairs(start, left, right, amount * sure[left] * sure[right])
    expected = (weights @ right_by_item(*meant, accuracy, who, 2.0).T).ravel()
    actual = right_under_weights(pairs, sure, labels, np.ones((2, 1)), *how)
    np.testing.assert_allclose(actual, expected, rtol=1e-13)
