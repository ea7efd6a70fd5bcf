"""Stepping reliabilities up and back, against simulated means and by search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.kernels.formulas import labels_needed, stepped_up

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
    # 1/5, 1/10, ... are no binary fractions: .2 of reliability reach .5 with four labels.
    for k in range(1, 200):
        assert labels_needed(1 / (k + 1), 0.5) == k


def test_rounding_does_not_leave_the_scale():
    # k r / (1 + (k - 1) r) of r = -1 / (2 k - 1) is -1; what lies well below it is no rounding.
    k = np.arange(2, 500)
    found = stepped_up(-1 / (2 * k - 1), k)
    assert found.min() == -1.0
    np.testing.assert_allclose(found, -1.0, rtol=1e-12)
    assert stepped_up(-0.2, 3) == -1.0
    assert stepped_up(-0.25, 3) == pytest.approx(-1.5)
    assert stepped_up(-0.2 - 1e-9, 3) < -1


def test_ends_of_the_scale():
    found = labels_needed([1.0, 0.0, -0.3, np.nan, 1e-320], 0.9)
    np.testing.assert_array_equal(found[:4], [1, np.inf, np.inf, np.nan])
    assert found[4] > 1e300
    np.testing.assert_array_equal(
        stepped_up([0.0, 1.0, -0.5], [[1], [3]]), [[0, 1, -0.5], [0, 1, np.nan]]
    )
    assert stepped_up(0.3, 1) == pytest.approx(0.3)
