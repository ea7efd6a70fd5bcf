"""How often x right votes win, against fractions of whole numbers and all tables of votes."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb, factorial, lgamma

import numpy as np
import pytest

from dissensus.kernels.majority import winning_chances


def exactly(x, votes, n_labels):
    """Count sequences of wrong votes in fractions, by how many labels are level with x."""
    rest, wrong = votes - x, n_labels - 1
    found = Fraction(0)
    for level in range(min(wrong, rest // x) + 1):
        left = rest - level * x
        ways = [Fraction(1)] + [Fraction(0)] * left  # of votes below x, over their factorials
        for _ in range(wrong - level):
            ways = [
                sum((ways[m - k] / factorial(k) for k in range(min(x - 1, m) + 1)), Fraction(0))
                for m in range(left + 1)
            ]
        found += (
            Fraction(comb(wrong, level), level + 1)
            * ways[left]
            * Fraction(factorial(rest), factorial(x) ** level)
        )
    return float(found / Fraction(wrong) ** rest)


@pytest.mark.parametrize(
    ("votes", "n_labels"),
    [
        (1, 2),
        (8, 2),
        (9, 2),
        (7, 3),
        (12, 3),
        (12, 4),
        (20, 3),
        (13, 7),
        (10, 12),
        (24, 5),
        (6, 60),
    ],
)
def test_is_the_count_in_fractions(votes, n_labels):
    found = winning_chances(votes, n_labels)
    expected = [0.0, *(exactly(x, votes, n_labels) for x in range(1, votes + 1))]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("votes", "n_labels"), [(5, 3), (6, 4), (4, 5)])
def test_is_the_share_of_tables_won(votes, n_labels):
    for x in range(votes + 1):
        won = Fraction(0)
        for others in itertools.product(range(1, n_labels), repeat=votes - x):
            count = [x, *(others.count(label) for label in range(1, n_labels))]
            won += Fraction(int(x == max(count)), count.count(max(count)))
        expected = float(won / (n_labels - 1) ** (votes - x))
        assert winning_chances(votes, n_labels)[x] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("votes", "n_labels"), [(150, 3), (300, 10), (400, 419), (999, 5001)])
def test_large_panels_and_many_labels_stay_on_the_scale(votes, n_labels):
    # With 5001 labels sums over the number of ties lose all their digits: terms of 1e30 cancel.
    found = winning_chances(votes, n_labels)
    assert found.min() >= 0
    assert found.max() == 1
    assert np.diff(found).min() > -1e-11
    assert (found[votes // 2 + 1 :] == 1).all()
    # All labels are alike: if the right one is as probable as any other, it wins 1 in L times.
    x = np.arange(votes + 1)
    log_ways = np.array([_log_comb(votes, k) for k in x])
    chance = np.exp(log_ways - x * np.log(n_labels) + (votes - x) * np.log1p(-1 / n_labels))
    assert chance @ found == pytest.approx(1 / n_labels, rel=1e-9)


def test_what_is_kept_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        winning_chances(5, 3)[0] = 1.0


def _log_comb(n, k):
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
