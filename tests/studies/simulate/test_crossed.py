"""Who labels what: designs exact, sets of annotators equally likely; labels as their laws say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from dissensus.studies.simulate import _replication as replication


@pytest.mark.parametrize(("size", "each"), [(1, 1), (7, 1), (7, 3), (7, 6), (7, 7), (2000, 5)])
def test_nobody_is_drawn_twice(size, each):
    sets = replication.subsets(500, size, each, np.random.default_rng(1))
    assert sets.shape == (500, each)
    assert sets.min() >= 0
    assert sets.max() < size
    assert (np.diff(sets, axis=1) > 0).all()


@pytest.mark.parametrize(("size", "each"), [(5, 2), (5, 3), (6, 5)])
def test_every_set_is_equally_likely(size, each):
    n = 20_000
    sets = replication.subsets(n, size, each, np.random.default_rng(1))
    _, counts = np.unique(sets @ size ** np.arange(each), return_counts=True)
    assert len(counts) == special.comb(size, each)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(
    ("overlap", "alone"), [(1.0, [0, 0, 0]), (0.5, [4, 3, 3]), (0.0, [7, 7, 6])]
)
def test_items_are_for_all_pools_or_for_one(overlap, alone):
    seen = replication.seen_by(20, 3, overlap, np.random.default_rng(1))
    pools = seen.sum(1)
    assert (pools == 3).sum() == 20 * overlap
    assert seen[pools == 1].sum(0).tolist() == alone


def test_rows_come_item_by_item_and_pool_by_pool():
    seen = np.array([[True, True], [False, True], [True, False]])
    rows = replication.who_labels(seen, [4, 2], [3, 2], np.random.default_rng(1))
    assert rows.item.tolist() == [0] * 5 + [1] * 2 + [2] * 3
    assert rows.pool.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]
    assert (rows.annotator[rows.pool == 0] < 4).all()
    assert rows.annotator[rows.pool == 1].tolist() == [4, 5, 4, 5]


@pytest.mark.parametrize("between", [-0.4, 0.0, 0.8, 1.0])
def test_item_effects_have_the_covariance_asked_for(between):
    n, sigma = 20_000, np.array([0.5, 1.0, 2.0])
    correlation = np.where(np.eye(3, dtype=bool), 1.0, between)
    effects = replication.item_effects(n, sigma, correlation, np.random.default_rng(1))
    want = np.outer(sigma, sigma) * correlation
    # Variance of a sample covariance of normals: (c_ij^2 + c_ii c_jj) / n.
    error = np.sqrt((want**2 + np.outer(np.diag(want), np.diag(want))) / n)
    assert (np.abs(np.cov(effects.T) - want) < 4 * error).all()
    assert (np.abs(effects.mean(0)) < 4 * sigma / np.sqrt(n)).all()


@pytest.mark.parametrize("eta", [-2.0, 0.3, 1.5])
def test_labels_have_their_probabilities(eta):
    n, rng = 20_000, np.random.default_rng(1)
    many, cutpoint = np.full(n, eta), np.array([-1.0, 0.2, 0.8])
    share = np.bincount(replication.grades(many, cutpoint, rng), minlength=4) / n
    want = np.diff(stats.norm.cdf([-np.inf, *(cutpoint - eta), np.inf]))
    assert (np.abs(share - want) < 4 * np.sqrt(want * (1 - want) / n)).all()
    chance = special.expit(eta)
    said = replication.yes(many, rng).mean()
    assert abs(said - chance) < 4 * np.sqrt(chance * (1 - chance) / n)
    numbers = replication.numbers(many, np.full(n, 0.7), rng)
    assert abs(numbers.mean() - eta) < 4 * 0.7 / np.sqrt(n)
    assert abs(numbers.std() / 0.7 - 1) < 4 / np.sqrt(2 * n)
