"""Top labels: dense, in candidate form, few and many, always by mass and then by label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from dissensus.kernels.random import row_keys
from dissensus.kernels.remainder import NOBODY, expand, top_candidates, top_dense


@njit
def _expand(theta, codes, sizes, a, key, n_labels):
    out = np.empty(n_labels)
    expand(theta, codes, sizes, a, key, out)
    return out


def like(k):
    return np.zeros(k, dtype=np.int64)


def sorted_top(theta, k):
    places = sorted((j for j in range(len(theta)) if theta[j] > 0), key=lambda j: (-theta[j], j))
    return (places + [NOBODY] * k)[:k]


@given(
    theta=st.lists(st.integers(0, 6), min_size=1, max_size=40),
    k=st.integers(1, 40),
)
@settings(max_examples=50, deadline=None)
def test_dense_is_a_stable_sort_without_zeros(theta, k):
    values = np.array(theta, dtype=np.float64)
    assert top_dense(values, like(k)).tolist() == sorted_top(values, k)


@given(
    seed=st.integers(0, 2**31),
    n_labels=st.integers(1, 30),
    k=st.integers(1, 30),
    a=st.sampled_from([np.inf, 2.0, 0.2]),
)
@settings(max_examples=50, deadline=None)
def test_candidates_are_the_top_of_the_expanded_row(seed, n_labels, k, a):
    rng = np.random.default_rng(seed)
    n_named = rng.integers(0, n_labels + 1)
    named = rng.permutation(n_labels)[:n_named]
    codes = np.concatenate([named, [-1, -2]])
    sizes = np.concatenate([np.ones(n_named, dtype=np.int64), [0, n_labels - n_named]])
    if n_labels - n_named == 1:  # a remainder of one label is a named label
        codes[-1] = next(iter(set(range(n_labels)) - set(named)))
    theta = rng.integers(0, 4, size=len(codes)) * 1.0
    theta[sizes == 0] = 0
    key = row_keys(np.array(seed, dtype=np.uint64), seed=1)
    dense = _expand(theta, codes, sizes, a, key, n_labels)
    found = top_candidates(theta, codes, sizes, a, key, n_labels, like(k))
    assert found.tolist() == sorted_top(dense, k)


@pytest.mark.parametrize("k", [1, 3, 16, 17, 40])
def test_a_longer_look_begins_with_the_shorter_one(k):
    rng = np.random.default_rng(3)
    theta = rng.dirichlet([1.0, 1.0, 5.0], size=200)
    codes, sizes = np.array([7, 2, -2]), np.array([1, 1, 38])
    key = row_keys(np.arange(200, dtype=np.uint64), seed=2)
    long = top_candidates(theta, codes, sizes, 0.1, key, 40, like(40))
    short = top_candidates(theta, codes, sizes, 0.1, key, 40, like(k))
    np.testing.assert_array_equal(short, long[:, :k])


def test_ties_of_named_and_unnamed_labels_go_by_label():
    codes, sizes = np.array([1, -2]), np.array([1, 2])
    found = top_candidates(np.array([0.2, 0.4]), codes, sizes, np.inf, np.uint64(1), 3, like(3))
    assert found.tolist() == [0, 1, 2]


def test_labels_without_a_name_come_last_among_equals():
    codes, sizes = np.array([1, -2]), np.array([1, 2])
    found = top_candidates(np.array([0.2, 0.4]), codes, sizes, np.inf, np.uint64(1), 2, like(3))
    assert found[:2].tolist() == [0, 1]
    assert found[2] < NOBODY
