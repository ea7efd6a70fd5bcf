"""Majorities, against all tables of labels.

- Accuracy of a majority, against all tables of labels, and how many annotators it takes.
- How often x right votes win, against fractions of whole numbers and all tables of votes.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb, factorial, lgamma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dissensus.kernels.majority import (
    annotators_for_target,
    in_all,
    majority_alike,
    majority_unlike,
    winning_chances,
)

some = settings(deadline=None, max_examples=30)
label_counts = st.integers(2, 6)


def tables(accuracies, n_labels):
    """Add up the chances of all tables in which label 0, the right one, wins, and its part."""
    total = 0.0
    for labels in itertools.product(range(n_labels), repeat=len(accuracies)):
        chance = 1.0
        for label, p in zip(labels, accuracies, strict=True):
            chance *= p if label == 0 else (1 - p) / (n_labels - 1)
        count = [labels.count(label) for label in range(n_labels)]
        if count[0] == max(count):
            total += chance / count.count(count[0])
    return total


@pytest.mark.parametrize(
    ("annotators", "n_labels"), list(itertools.product(range(1, 7), (2, 3, 4)))
)
def test_is_the_sum_over_all_tables(annotators, n_labels):
    rng = np.random.default_rng([annotators, n_labels])
    for _ in range(3):
        p = rng.random(annotators)
        assert abs(majority_unlike(p, n_labels) - tables(p, n_labels)) < 1e-12
        expected = tables([p[0]] * annotators, n_labels)
        assert abs(majority_alike(p[0], annotators, n_labels) - expected) < 1e-12


def test_is_what_the_source_says():
    # Cabitza et al. (2020), Figure 2: majorities of annotators with .85, "approximately eight
    # percentage points" more with three. Binomial tails, by hand for three: p^3 + 3 p^2 (1 - p).
    result = [majority_alike(0.85, k, 2) for k in (3, 5, 7, 9)]
    np.testing.assert_allclose(result, [0.939, 0.973, 0.988, 0.994], atol=5e-4)
    assert result[0] == pytest.approx(0.85**3 + 3 * 0.85**2 * 0.15)


@given(st.floats(0, 1), st.integers(1, 400))
@some
def test_an_even_panel_of_two_labels_is_as_good_as_the_odd_one_below(p, half):
    odd = majority_alike(p, 2 * half - 1, 2)
    assert majority_alike(p, 2 * half, 2) == odd
    if half < 20:
        alike = [majority_unlike(np.full(k, p), 2) for k in (2 * half - 1, 2 * half)]
        np.testing.assert_allclose(alike, odd, atol=1e-12)


@given(st.floats(0, 1), st.integers(1, 60), label_counts)
@some
def test_equal_accuracies_are_a_case_of_unequal_ones(p, annotators, n_labels):
    result = majority_unlike(np.full(annotators, p), n_labels)
    assert result == pytest.approx(float(majority_alike(p, annotators, n_labels)), abs=1e-12)


@given(st.floats(0, 1), st.integers(1, 60), label_counts)
@some
def test_more_annotators_better_than_chance_never_do_harm(above, annotators, n_labels):
    p = 1 / n_labels + above * (1 - 1 / n_labels)
    more = majority_alike(p, annotators + 1, n_labels)
    assert more >= majority_alike(p, annotators, n_labels) - 1e-12
    assert more >= p - 1e-12


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1), label_counts)
@some
def test_a_better_annotator_makes_a_better_majority(accuracies, better, n_labels):
    result = majority_unlike(accuracies, n_labels)
    improved = [max(accuracies[0], better), *accuracies[1:]]
    assert majority_unlike(improved, n_labels) >= result - 1e-12
    assert majority_unlike(accuracies[::-1], n_labels) == pytest.approx(float(result), abs=1e-12)


@given(st.integers(1, 300), label_counts)
@some
def test_ends_of_the_scale(annotators, n_labels):
    result = majority_alike([0.0, 1 / n_labels, 1.0, np.nan], annotators, n_labels)
    np.testing.assert_allclose(result, [0, 1 / n_labels, 1, np.nan], atol=1e-10)


def test_rows_of_annotators_are_taken_one_by_one():
    p = np.random.default_rng(1).random((2, 3, 5))
    p[1, 2, 0] = np.nan
    result = majority_unlike(p, 3)
    assert result.shape == (2, 3)
    assert np.isnan(result[1, 2])
    assert result[0, 1] == pytest.approx(tables(p[0, 1], 3))


@pytest.mark.long
@given(st.floats(0, 1), st.floats(0.5, 0.999), label_counts)
@some
def test_is_the_least_number_that_reaches_the_target(above, target, n_labels):
    p = 1 / n_labels + 0.05 + above * (1 - 1 / n_labels - 0.05)
    result = annotators_for_target(p, target, n_labels)
    assert result >= 1
    if n_labels == 2:
        assert result % 2 == 1
    if not np.isfinite(result):  # rare: six labels, just above chance
        assert majority_alike(p, 999, n_labels) < target
        return
    assert majority_alike(p, int(result), n_labels) >= target * (1 - 1e-12)
    if result > 1:
        assert majority_alike(p, int(result) - 1 - (n_labels == 2), n_labels) < target


def test_no_number_will_do_at_chance():
    p = [0.0, 0.3, 0.5, 1.0, np.nan]
    np.testing.assert_array_equal(
        annotators_for_target(p, 0.9, 2), [np.inf, np.inf, np.inf, 1, np.nan]
    )
    np.testing.assert_array_equal(annotators_for_target([1 / 3, 0.34], 0.9, 3), [np.inf, np.inf])
    assert annotators_for_target(0.3, 0.2, 2) == 1  # one of them is enough, though more are worse


@pytest.mark.parametrize("above", [1e-2, 1e-4, 1e-6])
def test_two_labels_near_chance_take_what_the_normal_limit_says(above):
    # (z / 2 above)^2 annotators, as the variance of a vote is 1/4.
    result = annotators_for_target(0.5 + above, 0.95, 2)
    assert result == pytest.approx((norm.ppf(0.95) / (2 * above)) ** 2, rel=2e-3)
    assert result % 2 == 1
    assert annotators_for_target(0.5 + 1e-9, 0.95, 2) == np.inf


def test_many_draws_are_bracketed_together():
    p = np.random.default_rng(1).uniform(0.3, 1.0, size=(2, 40))
    result = annotators_for_target(p, 0.9, 4)
    for count, accuracy in zip(result.ravel(), p.ravel(), strict=True):
        assert count == annotators_for_target(accuracy, 0.9, 4)


def test_annotators_who_err_together_are_worth_fewer():
    """Brute force: the first number of correlated errors that is worth as many independent ones."""
    for alone in (1, 3, 7, 15):
        for correlation in (0.0, 0.05, 0.1, 0.3):
            worth = [n / (1 + (n - 1) * correlation) for n in range(1, 2000)]
            enough = [n for n, equivalent in enumerate(worth, 1) if equivalent >= alone - 1e-9]
            expected = enough[0] if enough else np.inf
            assert in_all(np.array(float(alone)), np.array(correlation)) == expected


def exactly(x, votes, n_labels):
    """Count sequences of wrong votes in fractions, by how many labels are level with x."""
    rest, wrong = votes - x, n_labels - 1
    result = Fraction(0)
    for level in range(min(wrong, rest // x) + 1):
        left = rest - level * x
        ways = [Fraction(1)] + [Fraction(0)] * left  # of votes below x, over their factorials
        for _ in range(wrong - level):
            ways = [
                sum((ways[m - k] / factorial(k) for k in range(min(x - 1, m) + 1)), Fraction(0))
                for m in range(left + 1)
            ]
        result += (
            Fraction(comb(wrong, level), level + 1)
            * ways[left]
            * Fraction(factorial(rest), factorial(x) ** level)
        )
    return float(result / Fraction(wrong) ** rest)


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
    chances = winning_chances(votes, n_labels)
    expected = [0.0, *(exactly(x, votes, n_labels) for x in range(1, votes + 1))]
    np.testing.assert_allclose(chances, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("votes", "n_labels"), [(150, 3), (300, 10), (400, 419), (999, 5001)])
def test_large_panels_and_many_labels_stay_on_the_scale(votes, n_labels):
    # With 5001 labels sums over the number of ties lose all their digits: terms of 1e30 cancel.
    chances = winning_chances(votes, n_labels)
    assert chances.min() >= 0
    assert chances.max() == 1
    assert np.diff(chances).min() > -1e-11
    assert (chances[votes // 2 + 1 :] == 1).all()
    # All labels are alike: if the right one is as probable as any other, it wins 1 in L times.
    x = np.arange(votes + 1)
    log_ways = np.array([_log_comb(votes, k) for k in x])
    chance = np.exp(log_ways - x * np.log(n_labels) + (votes - x) * np.log1p(-1 / n_labels))
    assert chance @ chances == pytest.approx(1 / n_labels, rel=1e-9)


def test_what_is_kept_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        winning_chances(5, 3)[0] = 1.0


def _log_comb(n, k):
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
