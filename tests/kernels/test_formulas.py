"""Closed forms against enumeration.

- Counts of further labels, and in how many orders they come, by going through sequences.
- Stepping reliabilities up and back, against simulated means and by search.
- From the reliability of pairs back to accuracies, against all answers of two annotators.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.kernels.formulas import (
    accuracy_from_concordance,
    accuracy_from_rho,
    counts_of,
    labels_needed,
    n_counts,
    orders,
    right_after,
    right_after_alike,
    stepped_up,
)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 5])
@pytest.mark.parametrize("further", [1, 2, 4])
def test_counts_are_those_of_all_sequences(n_labels, further):
    sequences = itertools.product(range(n_labels), repeat=further)
    seen = Counter(tuple(np.bincount(labels, minlength=n_labels).tolist()) for labels in sequences)
    counts = counts_of(n_labels, further)
    result = dict(zip(map(tuple, counts.tolist()), orders(counts).tolist(), strict=True))
    assert result == seen
    assert len(counts) == n_counts(n_labels, further)


@pytest.mark.parametrize("further", [1, 3, 40])
def test_errors_that_are_all_alike_are_a_confusion_matrix(further):
    rng = np.random.default_rng(further)
    n_labels = 3 if further < 40 else 2
    truth = rng.dirichlet(np.ones(n_labels), size=(6, 4))
    right = rng.random(6)
    response = np.repeat((1 - right)[:, None] / (n_labels - 1), n_labels * n_labels, axis=1)
    response = response.reshape(6, n_labels, n_labels)
    response[:, np.arange(n_labels), np.arange(n_labels)] = right[:, None]
    alike = right_after_alike(truth, np.repeat(right[:, None], 4, axis=1), further)
    np.testing.assert_allclose(alike, right_after(truth, response, further), rtol=1e-11)


def test_answers_that_are_impossible_are_no_nan():
    truth = np.array([[[0.5, 0.5]]])
    certain = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    assert right_after(truth, certain, 2) == pytest.approx(1.0)
    assert right_after_alike(truth, np.ones((1, 1)), 2) == pytest.approx(1.0)


some = settings(deadline=None, max_examples=50)
reliabilities = st.floats(1e-6, 1)
targets = st.floats(0.01, 0.999)


def test_is_the_reliability_of_a_mean():
    # Correlation of the means of two groups of 4 labels each, all pairs correlated by .3.
    covariance = np.full((8, 8), 0.3) + 0.7 * np.eye(8)
    means = np.kron(np.eye(2), np.full(4, 0.25))
    both = means @ covariance @ means.T
    assert stepped_up(0.3, 4) == pytest.approx(both[0, 1] / both[0, 0])


@given(reliabilities, targets)
@some
def test_is_the_least_number_that_reaches_the_target(reliability, target):
    count = labels_needed(reliability, target)
    assert count >= 1
    assert count == np.rint(count)
    assert stepped_up(reliability, count) >= target * (1 - 1e-12)
    if count > 1:
        assert stepped_up(reliability, count - 1) < target


@given(reliabilities, st.integers(1, 5000))
@some
def test_stepping_up_and_back_is_where_one_was(reliability, count):
    target = float(stepped_up(reliability, count))
    if target < 1 - 1e-9:  # so near 1, rounding moves the target further than a label does
        assert labels_needed(reliability, target) == count


@given(reliabilities, st.floats(0.1, 50), st.floats(0.1, 50))
@some
def test_stepping_up_twice_is_stepping_up_once(reliability, j, k):
    twice = stepped_up(stepped_up(reliability, j), k)
    assert twice == pytest.approx(float(stepped_up(reliability, j * k)))


def test_round_numbers_are_not_rounded_up():
    # 1/5, 1/10, ... are not binary fractions: .2 of reliability reach .5 with four labels.
    for k in range(1, 200):
        assert labels_needed(1 / (k + 1), 0.5) == k


def test_rounding_does_not_leave_the_scale():
    # k r / (1 + (k - 1) r) of r = -1 / (2 k - 1) is -1; what lies well below it is not rounding.
    k = np.arange(2, 500)
    result = stepped_up(-1 / (2 * k - 1), k)
    assert result.min() == -1.0
    np.testing.assert_allclose(result, -1.0, rtol=1e-12)
    assert stepped_up(-0.2, 3) == -1.0
    assert stepped_up(-0.25, 3) == pytest.approx(-1.5)
    assert stepped_up(-0.2 - 1e-9, 3) < -1


def test_ends_of_the_scale():
    result = labels_needed([1.0, 0.0, -0.3, np.nan, 1e-320], 0.9)
    np.testing.assert_array_equal(result[:4], [1, np.inf, np.inf, np.nan])
    assert result[4] > 1e300
    np.testing.assert_array_equal(
        stepped_up([0.0, 1.0, -0.5], [[1], [3]]), [[0, 1, -0.5], [0, 1, np.nan]]
    )
    assert stepped_up(0.3, 1) == pytest.approx(0.3)


def pair(p, n_labels):
    """Return the chance that two annotators agree, and that times P(correct), Equations 6-7."""
    wrong = (1 - p) / (n_labels - 1)
    chance = [p] + [wrong] * (n_labels - 1)
    agree = sum(chance[a] * chance[b] for a, b in itertools.product(range(n_labels), repeat=2)
                if a == b)  # fmt: skip
    correct = p * p / (p * p + (1 - p) ** 2 / (n_labels - 1))  # errors="uniform"; "printed" with 2
    return agree, agree * correct


@pytest.mark.parametrize("n_labels", [2, 3, 7])
@pytest.mark.parametrize("genuine", [1.0, 0.8])
def test_returns_the_accuracy_that_the_pair_had(n_labels, genuine):
    for p in np.linspace(1 / n_labels, 1, 13):
        sigma, rho = pair(p, n_labels)
        result = accuracy_from_concordance(genuine**2 * sigma, genuine, n_labels)
        assert result == pytest.approx(p, abs=1e-7)  # a double root at chance
        assert accuracy_from_rho(genuine**2 * rho, genuine) == pytest.approx(p)


def test_what_no_annotators_have_is_nan():
    result = accuracy_from_rho([0.0, 0.81, 0.82, np.nan], 0.9)
    np.testing.assert_allclose(result, [0, 1, np.nan, np.nan])
    result = accuracy_from_concordance([0.3, 1 / 3, 1.0, np.nan], 1.0, 3)
    np.testing.assert_allclose(result, [np.nan, 1 / 3, 1, np.nan], atol=1e-6)
    assert np.isnan(accuracy_from_concordance(0.65, 0.8, 2))


def test_rounding_does_not_make_full_agreement_undefined():
    for confidence in np.linspace(0.05, 1, 200):
        assert accuracy_from_rho(confidence**2, confidence) == pytest.approx(1.0)
        assert accuracy_from_concordance(confidence**2, confidence, 4) == pytest.approx(1.0)
