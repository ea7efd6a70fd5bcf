"""Counting of sets, and the statement of errors, on codes made by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.kernels.candidates import modal_share, set_codes


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
    for i, one in enumerate(sets):
        for j, other in enumerate(sets):
            assert (codes[i] == codes[j]) == (set(one) == set(other))


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
