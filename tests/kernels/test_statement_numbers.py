"""Distances of numbers by statement, where digits are easily lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.kernels.grouped import grouped
from dissensus.kernels.statements import excess_apart, squares_apart, statements_of


def item_of(values):
    rows = grouped(np.zeros(len(values), int), np.arange(len(values)), 1)
    return rows, statements_of(rows), np.array(values, dtype=float)


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=9),
    st.integers(0, 300),
    st.floats(-1e6, 1e6),
)
@settings(max_examples=30)
def test_equal_the_loop_over_pairs_wherever_numbers_lie(whole, tolerance, shift):
    values = np.array(whole, dtype=float)
    rows, statements, given_values = item_of(values + np.round(shift))
    gap = np.abs(values[:, None] - values[None, :])
    n = len(values)
    apart, left = squares_apart(*statements[:2], given_values)
    np.testing.assert_allclose(apart, (gap**2).sum(axis=1) / (n - 1), rtol=1e-12, atol=1e-9)
    if n > 2:
        total = (gap**2).sum()
        rest = [total - 2 * (gap[v] ** 2).sum() for v in range(n)]
        np.testing.assert_allclose(left, np.array(rest) / ((n - 1) * (n - 2)), atol=1e-6)
    excess = np.maximum(gap - tolerance, 0)
    actual, without = excess_apart(*statements[:2], rows.share, given_values, float(tolerance))
    np.testing.assert_allclose(actual, excess.sum(axis=1) / (n - 1), rtol=1e-12, atol=1e-9)
    if n > 2:
        rest = [np.delete(np.delete(excess, v, 0), v, 1).sum() for v in range(n)]
        np.testing.assert_allclose(without, np.array(rest) / ((n - 1) * (n - 2)), atol=1e-9)


def test_what_is_left_without_a_wild_number_is_exact():
    _, statements, values = item_of([1.0, 1.5, 2.5, 1e12])
    _, left = squares_apart(*statements[:2], values)
    assert left[3] == pytest.approx(2 * (0.25 + 1.0 + 2.25) / 6, rel=1e-14)
    rows, statements, values = item_of([1.0, 1e15, 1.5, 2.5])
    left = excess_apart(*statements[:2], rows.share, values, 0.0)[1]
    assert left[1] == pytest.approx(2 * (0.5 + 1.0 + 1.5) / 6, rel=1e-14)
    assert excess_apart(*statements[:2], rows.share, values, 2.0)[1][1] == 0.0


def test_who_repeats_is_left_out_with_all_they_said():
    # Statements {1, 1e14}, {2}, {4, 5}, {3}: without the first, distances are 5 / 2, 1 and 3 / 2.
    rows = grouped(np.zeros(6, int), np.array([0, 0, 1, 2, 2, 3]), 1)
    numbers = np.array([1.0, 1e14, 2.0, 4.0, 5.0, 3.0])
    left = excess_apart(*statements_of(rows)[:2], rows.share, numbers, 0.0)[1]
    assert left[0] == pytest.approx(2 * 5.0 / 6, rel=1e-14)


@pytest.mark.parametrize("value", [0.1, 1e15 / 3, -7.3])
def test_equal_numbers_are_exactly_0_apart(value):
    rows, statements, values = item_of([value] * 7)
    apart, left = squares_apart(*statements[:2], values)
    assert (apart == 0).all()
    assert (left == 0).all()
    assert (np.array(excess_apart(*statements[:2], rows.share, values, 0.0)) == 0).all()


def test_a_voice_alone_has_no_distance():
    rows, statements, values = item_of([3.0])
    apart, left = squares_apart(*statements[:2], values)
    assert np.isnan([apart, left, *excess_apart(*statements[:2], rows.share, values, 0.0)]).all()
