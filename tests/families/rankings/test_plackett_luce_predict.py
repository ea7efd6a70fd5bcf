"""New annotators' rankings against enumerated probabilities and an explicit remainder."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from nested_rankings import nested
from numba import njit
from scipy import stats

from dissensus.families.rankings.kernels.predict import next_log_share, predicted
from dissensus.kernels.plackett_luce import log_likelihood
from dissensus.kernels.random import row_keys, started
from dissensus.kernels.remainder import expand, next_share

N = 20_000


def splits(n, keys):
    """Keys of the streams that split the remainder, for each of n draws."""
    return row_keys(np.arange(n, dtype=np.uint64)[:, None], keys, seed=2)


def draw(rankings, theta, n_unnamed=0, a=np.inf, *, n=N, sharpness=1.0, split_keys=None):
    """Predict for one item, under the same plausibilities n times."""
    keys = np.array([7], dtype=np.uint64)
    return predicted(
        rankings, np.tile(np.asarray(theta, dtype=float), (n, 1, 1)),
        np.arange(rankings.cell_start[-1]), np.array([n_unnamed]), np.array([a], dtype=float),
        keys, splits(n, keys) if split_keys is None else split_keys, sharpness,
    )  # fmt: skip


def blocks_of(sizes):
    places = iter(range(sum(sizes)))
    return [list(itertools.islice(places, size)) for size in sizes]


def outcomes(labels, sizes):
    """All ways to fill the places, ascending within a block."""
    cuts = np.cumsum((0, *sizes))
    return sorted(
        {
            tuple(
                itertools.chain(*(sorted(order[a:b]) for a, b in itertools.pairwise(cuts)))
            )
            for order in itertools.permutations(labels, sum(sizes))
        }
    )  # fmt: skip


def matches(actual, probability):
    """Compare the rows of an array with the probabilities of all rows there can be."""
    rows, counts = np.unique(actual, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, rows.tolist()), counts, strict=True))
    assert set(seen) <= set(probability)
    want = np.array(list(probability.values()))
    assert want.sum() == pytest.approx(1)
    counts = np.array([seen.get(row, 0) for row in probability])
    assert (counts[want == 0] == 0).all()
    assert stats.chisquare(counts[want > 0], want[want > 0] * len(actual)).pvalue > 1e-3


def enumerated(strengths, labels, sizes):
    """The exact probabilities of all outcomes among some labels."""
    strengths = np.asarray(strengths, dtype=float)
    ends = np.cumsum(sizes)
    return {
        row: np.exp(log_likelihood(
            np.log(strengths), np.array([labels.index(label) for label in row]), ends
        ))
        for row in outcomes(labels, sizes)
    }  # fmt: skip


@pytest.mark.parametrize("sizes", [(1,), (1, 1), (2,), (1, 2), (2, 1), (1, 1, 1), (3, 1)])
@pytest.mark.parametrize("sharpness", [1.0, 0.4, 2.5])
def test_named_labels_come_as_often_as_enumerated(sizes, sharpness):
    theta = np.array([0.4, 0.1, 0.3, 0.2, 0.0])
    rankings = nested(([blocks_of(sizes)], 4))
    draws = draw(rankings, theta, sharpness=sharpness)
    matches(draws, enumerated(theta[:-1] ** sharpness, range(4), sizes))


@pytest.mark.parametrize("sharpness", [1.0, 0.4, 2.5])
def test_an_even_remainder_is_as_many_equal_labels(sharpness):
    """Columns 0 and 1 are named, 2 is padding, and 3 to 5 are labels of the remainder."""
    rankings = nested(([[[0], [1]]], 2))
    draws = draw(rankings, [0.3, 0.1, 0.0, 0.6], 3, sharpness=sharpness)
    strengths = np.array([0.3, 0.1, 0.2, 0.2, 0.2]) ** sharpness
    matches(draws, enumerated(strengths, [0, 1, 3, 4, 5], (1, 1)))


@pytest.mark.parametrize("sharpness", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("a", [0.1, 1.0])
def test_stick_breaking_is_an_explicit_dirichlet(a, sharpness):
    """First choices and pairs, whose probabilities given all shares are known, are averaged."""
    mass, n_unnamed = 0.7, 6
    rankings = nested(([[[0], [1]]], 2))
    draws = draw(rankings, [0.2, 0.1, mass], n_unnamed, a, sharpness=sharpness)
    shares = np.random.default_rng(61).dirichlet(np.full(n_unnamed, a), 4 * N)
    theta = np.hstack([np.tile([0.2, 0.1], (4 * N, 1)), mass * shares]) ** sharpness
    theta /= theta.sum(axis=1, keepdims=True)
    pair = theta[:, :, None] * theta[:, None, :] / np.maximum(1 - theta, 1e-300)[:, :, None]
    pair[:, range(8), range(8)] = 0
    first, second = draws.T
    unnamed = pair[:, 2:, 2:].sum(axis=(1, 2))
    for event, given in (
        (first == 0, theta[:, 0]),
        (first == 4, theta[:, 4]),
        (second == 1, pair[:, :, 1].sum(axis=1)),
        (second == 7, pair[:, :, 7].sum(axis=1)),
        ((first > 1) & (second > 1), unnamed),
        ((first > 1) & (second == 0), pair[:, 2:, 0].sum(axis=1)),
    ):
        p = given.mean()
        error = np.sqrt(p * (1 - p) / N + given.var() / len(given))
        assert abs(event.mean() - p) < 4 * error


@pytest.mark.parametrize("a", [0.1, 1.0, np.inf])
def test_annotators_of_an_item_see_the_same_split(a):
    """Two first choices are the same unnamed label with probability m^2 (a + 1) / (U a + 1)."""
    mass, n_unnamed = 0.8, 5
    first, second = draw(nested(([[[0]], [[0]]], 1)), [0.2, mass], n_unnamed, a).T
    per_label = 1 / n_unnamed if np.isinf(a) else (a + 1) / (n_unnamed * a + 1)
    for result, p in (
        ((first == second) & (first > 0), mass**2 * per_label),
        ((first == 0) & (second == 0), 0.2**2),
        ((first == 0) & (second > 0), 0.2 * mass),
    ):
        assert abs(result.mean() - p) < 4 * np.sqrt(p * (1 - p) / N)
    # All labels of the remainder are alike.
    assert stats.chisquare(np.bincount(first, minlength=6)[1:]).pvalue > 1e-3


@njit
def _expanded(theta, codes, sizes, a, keys, n_labels):
    out = np.empty((len(keys), n_labels))
    for row in range(len(keys)):
        expand(theta, codes, sizes, a, keys[row], out[row])
    return out


@pytest.mark.long
@pytest.mark.parametrize("a", [0.05, 1.0])
def test_with_the_metrics_keys_the_split_is_the_one_that_metrics_see(a):
    """At a great sharpness the first labels of a list are those that the metrics put first."""
    keys = row_keys(np.arange(300, dtype=np.uint64), seed=3)
    theta, codes, sizes = np.array([0.04, 0.01, 0.95]), np.array([3, 1, -2]), np.array([1, 1, 5])
    dense = _expanded(theta, codes, sizes, a, keys, 7)
    draws = draw(
        nested(([[[0], [1]]], 2)), theta, 5, a, n=300, sharpness=1e6, split_keys=keys[:, None]
    )
    label = np.array([3, 1, 0, 2, 4, 5, 6])[draws]  # the remainder's in the order of codes
    np.testing.assert_array_equal(label, np.argsort(-dense, axis=1)[:, :2])


@njit
def _both(key, size, a):
    first, second, pairs = started(key), started(key), np.empty((size, 2))
    labels, members = np.arange(size), np.zeros(size, np.int64)
    rest, log_rest = 1.0, 0.0
    for step in range(size):
        pairs[step, 0], rest = next_share(first, rest, step, labels, a)
        pairs[step, 1], log_rest = next_log_share(second, log_rest, step, members, a)
    return pairs, labels, members


@pytest.mark.long
@pytest.mark.parametrize("a", [1e-3, 0.3, 20.0])
def test_shares_are_those_of_the_remainder_in_logarithms(a):
    pairs, labels, members = _both(np.uint64(12), 40, a)
    np.testing.assert_array_equal(labels, members)
    known = pairs[:, 0] > 1e-290
    np.testing.assert_allclose(np.log(pairs[known, 0]), pairs[known, 1], rtol=1e-9, atol=1e-12)
    assert np.isfinite(pairs[:, 1]).all()


def test_without_mass_the_last_places_are_filled_evenly():
    """Label 1 has all; 0 and 2 are named, 4 and 5 are not, and none of them has any mass."""
    draws = draw(nested(([[[0], [1], [2]]], 3)), [0.0, 1.0, 0.0, 0.0], 2)
    assert (draws[:, 0] == 1).all()
    pairs = itertools.permutations([0, 2, 3, 4], 2)
    matches(draws[:, 1:], dict.fromkeys(pairs, 1 / 12))


def test_plausibilities_below_the_smallest_number_of_a_choice_still_count():
    """After the label that has nearly all, 1e-300 and 3e-300 are as 1 and 3."""
    draws = draw(nested(([[[0], [1]]], 3)), [1e-300, 1.0, 3e-300, 0.0])
    matches(draws, {(1, 0): 0.25, (1, 2): 0.75})


def test_closed_rankings_are_drawn_from_their_own_labels():
    rankings = nested(([[[2], [0]], [[0], [1], [2]]], 3), closed=[True, False])
    draws = draw(rankings, [0.1, 0.6, 0.3, 0.0])
    matches(draws[:, :2], {(0, 2): 0.25, (2, 0): 0.75})
    matches(draws[:, 2:], enumerated([0.1, 0.6, 0.3], range(3), (1, 1, 1)))


def test_one_label_for_all_that_are_not_named_is_chosen_once():
    draws = draw(nested(([[[0], [1], [2]]], 3)), [0.1, 0.2, 0.3, 0.4], 1, 0.3)
    matches(draws, enumerated([0.1, 0.2, 0.3, 0.4], range(4), (1, 1, 1)))
    # As no label, it is never chosen, whatever is stored for it.
    draws = draw(nested(([[[0], [1], [2]]], 3)), [0.1, 0.2, 0.3, 0.4], 0)
    matches(draws, enumerated([0.1, 0.2, 0.3], range(3), (1, 1, 1)))


@pytest.fixture(scope="module")
def several():
    """Items of unequal sizes, with ties, an annotator who says nothing, and one item of none."""
    items = (
        ([[[0], [1, 2]], []], 3),
        ([], 1),
        ([[[3, 0, 2, 1], [4]], [[2], [4]], [[0, 4]]], 5),
        ([[[0]], [[1]]], 2),
    )
    rankings = nested(*items, closed=[False, False, False, True, False, False, False])
    rng = np.random.default_rng(62)
    theta = rng.dirichlet(np.full(6, 0.3), (200, 4))
    candidate = np.concatenate([np.arange(n) for _, n in items])
    each = (np.array([4, 3, 9, 0]), np.array([0.2, 1.0, 0.01, np.inf]))
    return items, rankings, theta, candidate, *each, np.arange(4, dtype=np.uint64)


@pytest.mark.parametrize("sharpness", [1.0, 0.6])
def test_lists_have_the_shape_of_the_data(several, sharpness):
    _, rankings, theta, candidate, n_unnamed, a, keys = several
    split_keys = splits(len(theta), keys)
    result = predicted(rankings, theta, candidate, n_unnamed, a, keys, split_keys, sharpness)
    assert result.shape == (200, len(rankings.place))
    owner = np.repeat(np.arange(4), np.diff(rankings.item_start))
    for ranking, item in enumerate(owner):
        low, high = rankings.ranking_start[ranking : ranking + 2]
        mine, rank = result[:, low:high], rankings.rank[low:high]
        assert all(len(set(row)) == high - low for row in mine.tolist())
        assert (np.diff(mine, axis=1)[:, np.diff(rank) == 0] > 0).all()
        n_named = rankings.n_cells[item]
        assert ((mine < n_named) | (mine >= 5)).all()
        assert (mine < 5 + n_unnamed[item]).all()
        if rankings.closed[ranking]:
            own = set(rankings.place[low:high].tolist())
            assert all(set(row) == own for row in mine.tolist())
    assert (result >= 5).any()


def test_items_may_be_in_any_order(several):
    items, rankings, theta, candidate, n_unnamed, a, keys = several
    split_keys = splits(len(theta), keys)
    whole = predicted(rankings, theta, candidate, n_unnamed, a, keys, split_keys)
    order = [3, 2, 1, 0]
    closed = [rankings.closed[slice(*rankings.item_start[i : i + 2])] for i in order]
    turned = predicted(
        nested(*(items[i] for i in order), closed=np.concatenate(closed)),
        theta[:, order],
        np.concatenate([np.arange(items[i][1]) for i in order]),
        n_unnamed[order],
        a[order],
        keys[order],
        split_keys[:, order],
    )
    row = rankings.ranking_start[rankings.item_start]
    parts = [whole[:, row[i] : row[i + 1]] for i in order]
    np.testing.assert_array_equal(turned, np.hstack(parts))
    other = predicted(rankings, theta, candidate, n_unnamed, a, keys + np.uint64(9), split_keys)
    assert (other != whole).any()
