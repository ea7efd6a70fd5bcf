"""Splitting the remainder: the exact Dirichlet, the same for everyone who looks."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from dissensus.kernels.random import row_keys
from dissensus.kernels.remainder import ANONYMOUS, expand, unnamed_labels

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
    found = unnamed_labels(CODES, 5, 5).tolist()
    assert found[:3] == [0, 2, 3]
    assert all(code <= ANONYMOUS for code in found[3:])
    assert len(set(found)) == 5


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
