"""Leading labels, groups of labels and patterns of items, by hand.

- Counting of sets, and the statement of errors, on codes made by hand.
- Group sums of one row against its dense form.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from dissensus.kernels.candidates import (
    distinct,
    find_patterns,
    grouped_candidates,
    merged,
    modal_share,
    set_codes,
)
from dissensus.kernels.random import row_keys
from dissensus.kernels.remainder import expand


@given(
    sets=st.lists(
        st.lists(st.integers(-12, 419), min_size=3, max_size=3, unique=True),
        min_size=1,
        max_size=30,
    )
)
@settings(max_examples=30, deadline=None)
def test_equal_sets_and_only_they_have_equal_codes(sets):
    codes = set_codes(np.array(sets))
    for i, labels in enumerate(sets):
        for j, other_labels in enumerate(sets):
            assert (codes[i] == codes[j]) == (set(labels) == set(other_labels))


@given(codes=st.lists(st.integers(0, 5), min_size=4, max_size=24))
@settings(max_examples=30, deadline=None)
def test_modal_share_counts(codes):
    codes = np.array(codes[: len(codes) // 2 * 2]).reshape(2, -1)
    share, mcse, bias = modal_share(codes)
    assert share == max(Counter(codes.ravel().tolist()).values()) / codes.size
    assert mcse >= 0
    assert np.isnan(bias) if codes.shape[1] == 1 else 0 <= bias <= 1
    # What number a code has must not matter, or items would depend on each other.
    np.testing.assert_array_equal(modal_share(97 - 3 * codes), [share, mcse, bias])


def test_unanimous_draws_have_no_error_and_no_bias():
    assert modal_share(np.full((4, 25), 7)) == (1.0, 0.0, 0.0)


def test_bias_compares_the_halves_of_each_chain():
    # Each half has a leader of its own with 2 of 3; the whole has one with 3 of 6.
    codes = np.array([[1, 1, 2, 2, 2, 1]])
    share, _, bias = modal_share(codes)
    assert share == 0.5
    np.testing.assert_allclose(bias, 0.5 - 2 / 6)


@njit
def _expand(theta, codes, sizes, a, key, n_labels):
    out = np.empty(n_labels)
    expand(theta, codes, sizes, a, key, out)
    return out


@pytest.mark.parametrize("a", [np.inf, 1.0, 1 / 419])
def test_groups_are_sums_of_the_expanded_row(a):
    n_labels, group = 419, np.arange(419) % 3
    codes, sizes = np.array([17, 3, -1, -2]), np.array([1, 1, 0, 417])
    theta = np.array([0.3, 0.1, 0.0, 0.6])
    for key in row_keys(np.arange(20, dtype=np.uint64), seed=1):
        dense = _expand(theta, codes, sizes, a, key, n_labels)
        result = grouped_candidates(theta, codes, sizes, a, key, group, np.zeros(3))
        np.testing.assert_allclose(result, np.bincount(group, dense), atol=1e-11)
        assert result.sum() == pytest.approx(1, abs=1e-12)


def test_a_remainder_without_mass_gives_nothing():
    codes, sizes = np.array([1, -2]), np.array([1, 4])
    args = (codes, sizes, 0.5, np.uint64(1), np.array([0, 1, 1, 1, 1]), np.zeros(2))
    assert grouped_candidates(np.array([1.0, 0.0]), *args).tolist() == [0.0, 1.0]


few = settings(max_examples=50, deadline=None)
SEEDS = st.integers(0, 2**31)


def items(seed):
    rng = np.random.default_rng(seed)
    shape = (rng.integers(1, 30), rng.integers(1, 5))
    return [rng.integers(0, 3, shape).astype(float), rng.choice([0.0, 0.5, 1.0], shape)]


def counted(patterns):
    """Patterns as collections of cells, and how often each occurs."""
    return {
        tuple(map(tuple, patterns.cells[row].tolist())): times
        for row, times in zip(patterns.rows, patterns.times.tolist(), strict=True)
    }


@given(seed=SEEDS)
@few
def test_counts_items_that_are_alike_but_for_the_names_of_labels(seed):
    columns = items(seed)
    expected = Counter(tuple(sorted(map(tuple, rows))) for rows in np.stack(columns, 2).tolist())
    assert counted(find_patterns(columns)) == expected


@given(seed=SEEDS)
@few
def test_parts_come_to_the_same_as_the_whole(seed):
    columns = items(seed)
    whole, n = find_patterns(columns), len(columns[0])
    cut = np.random.default_rng(seed).integers(0, n + 1)
    parts = [find_patterns([c[part] for c in columns]) for part in (slice(cut), slice(cut, n))]
    for actual in (merged(parts), merged(parts[::-1]), merged([whole])):
        for of_parts, of_whole in zip(actual, whole, strict=True):
            np.testing.assert_array_equal(of_parts, of_whole)


def test_probabilities_of_labels_that_are_alike_are_summed():
    result = find_patterns([np.array([[1.0, 0.0, 1.0], [2.0, 0.0, 1.0]])])
    cell, probability = distinct(result, np.array([[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]))
    assert result.cells.ravel().tolist() == [0, 1, 2]
    assert cell.tolist() == [[0, 1, 0], [0, 1, 2]]
    np.testing.assert_allclose(probability, [[0.2, 0.8, 0], [0.1, 0.2, 0.7]])
