"""Labels that nobody named, and the labels that lead.

- Splitting the remainder: the exact Dirichlet, the same for everyone who looks.
- Top labels: dense, in candidate form, few and many, always by mass and then by label.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import stats

from dissensus.kernels.random import row_keys
from dissensus.kernels.remainder import (
    ANONYMOUS,
    NOBODY,
    expand,
    top_candidates,
    top_dense,
    unnamed_labels,
)

CODES = np.array([4, 1, -1, -2])
SIZES = np.array([1, 1, 0, 5])


@njit
def _split(theta, codes, sizes, a, keys, n_labels):
    out = np.empty((len(keys), n_labels))
    for row in range(len(keys)):
        expand(theta, codes, sizes, a, keys[row], out[row])
    return out


def keys(n, seed=1):
    return row_keys(np.arange(n, dtype=np.uint64), seed=seed)


def shares(a, n=20_000, size=5):
    """Parts of a whole among ``size`` labels that nobody named."""
    codes, sizes = np.array([-2]), np.array([size])
    return _split(np.array([1.0]), codes, sizes, a, keys(n), size)


@pytest.mark.long
def test_expand_puts_named_labels_in_their_places():
    theta = np.array([0.5, 0.2, 0.0, 0.3])
    out = _split(theta, CODES, SIZES, np.inf, keys(1), 7)[0]
    np.testing.assert_allclose(out, [0.06, 0.2, 0.06, 0.06, 0.5, 0.06, 0.06], atol=1e-15)
    # An even split is the same number for each, to the last bit: labels then tie, as they should.
    assert len(set(out[[0, 2, 3, 5, 6]])) == 1
    out = _split(theta, CODES, SIZES, 0.7, keys(1), 7)[0]
    assert out[4] == 0.5
    assert out[1] == 0.2
    assert out.sum() == pytest.approx(1)
    assert (out > 0).all()


@pytest.mark.parametrize("a", [0.02, 0.3, 1.0, 8.0])
def test_shares_are_a_symmetric_dirichlet(a):
    drawn = shares(a)
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    assert (drawn[:, 0] >= 0).all()
    # Each share is Beta(a, 4a). Of what is below 1e-300 only the probability is compared.
    for label in (0, 3):
        positive = np.maximum(drawn[:, label], 1e-300)
        floor = stats.beta.cdf(1e-300, a, 4 * a)
        spread = np.random.default_rng(label).random(len(positive))
        probability = np.where(
            positive > 1e-300, stats.beta.cdf(positive, a, 4 * a), floor * spread
        )
        assert stats.kstest(probability, "uniform").pvalue > 1e-3
    # The share of one of two in their sum is Beta(a, a), and independent of that sum. (Of the
    # smaller one: numbers are dense near 0, and the large shares round to 1.)
    smaller, pair = drawn[:, 1:3].min(axis=1), drawn[:, 1:3].sum(axis=1)
    known = (pair > 1e-100) & (smaller > 1e-300)
    ratio = smaller[known] / pair[known]
    low = 2 * stats.beta.cdf(1e-300 / pair[known], a, a)
    probability = (2 * stats.beta.cdf(ratio, a, a) - low) / (1 - low)
    assert stats.kstest(probability, "uniform").pvalue > 1e-3
    assert abs(stats.spearmanr(probability, pair[known]).statistic) < 4 / np.sqrt(known.sum())


@pytest.mark.parametrize("a", [0.05, 1.0])
def test_the_largest_share_is_that_of_an_explicit_dirichlet(a):
    explicit = np.random.default_rng(4).dirichlet(np.full(5, a), size=20_000)
    drawn = shares(a)
    assert stats.ks_2samp(drawn.max(axis=1), explicit.max(axis=1)).pvalue > 1e-3
    counts = np.bincount(drawn.argmax(axis=1), minlength=5)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_tiny_concentration_gives_nearly_all_to_one_label_and_loses_none():
    drawn = shares(1e-4, n=2000)
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    assert np.mean(drawn.max(axis=1) > 0.999) > 0.98


def test_unnamed_labels_of_a_space_that_is_not_known_have_codes_of_their_own():
    assert unnamed_labels(CODES, 5, 7).tolist() == [0, 2, 3, 5, 6]
    result = unnamed_labels(CODES, 5, 5).tolist()
    assert result[:3] == [0, 2, 3]
    assert all(code <= ANONYMOUS for code in result[3:])
    assert len(set(result)) == 5


def test_keys_hang_on_names_and_seed():
    chain = np.array([3, 1], dtype=np.uint64)[:, None]
    item = np.array([10, 2**63, 7], dtype=np.uint64)
    both = row_keys(chain, item, seed=5)
    assert both.shape == (2, 3)
    assert both.dtype == np.uint64
    np.testing.assert_array_equal(row_keys(chain[1:], item[[2, 0]], seed=5), both[1:][:, [2, 0]])
    assert not np.intersect1d(row_keys(chain, item, seed=6), both).size
    assert row_keys(seed=2**40).shape == ()
    many = row_keys(np.arange(300, dtype=np.uint64)[:, None], item[:1], seed=0)
    swapped = row_keys(item[:1], np.arange(300, dtype=np.uint64)[:, None], seed=0)
    assert len(np.unique(np.concatenate([many, swapped]))) >= 599


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
    candidates = top_candidates(theta, codes, sizes, a, key, n_labels, like(k))
    assert candidates.tolist() == sorted_top(dense, k)


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
    candidates = top_candidates(
        np.array([0.2, 0.4]), codes, sizes, np.inf, np.uint64(1), 3, like(3)
    )
    assert candidates.tolist() == [0, 1, 2]


def test_labels_without_a_name_come_last_among_equals():
    codes, sizes = np.array([1, -2]), np.array([1, 2])
    candidates = top_candidates(
        np.array([0.2, 0.4]), codes, sizes, np.inf, np.uint64(1), 2, like(3)
    )
    assert candidates[:2].tolist() == [0, 1]
    assert candidates[2] < NOBODY
