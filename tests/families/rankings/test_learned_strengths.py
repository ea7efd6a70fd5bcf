"""The prior behind rankings, held against sums over a grid: closed forms, and the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from dissensus.families.rankings.kernels.learned_prior import (
    Leaning,
    around_first_choices,
    draw_hyperparameters,
    draw_times,
    log_density_of_roots,
    telling,
)
from dissensus.kernels.rankings import Rankings

GRID = np.linspace(-3.0, 4.0, 71)


def laid_out(items):
    """Lay out items, each a list of rankings (lists of blocks of cells) and a number of cells."""
    start, ranking, place, rank, cells = [0], [0], [], [], [0]
    for said, n in items:
        for blocks in said:
            for level, block in enumerate(blocks, 1):
                place.extend(block)
                rank.extend([level] * len(block))
            ranking.append(len(place))
        start.append(len(ranking) - 1)
        cells.append(cells[-1] + n)
    arrays = (np.array(one) for one in (start, ranking, place, rank, cells))
    return Rankings(*arrays, np.zeros(len(ranking) - 1, dtype=bool))


def leaning(rankings, size, predicted=None, labels=None):
    """Cells of so many labels each; a predicted cell (item) or none; labels with weights."""
    n = len(size)
    word = np.zeros(n, dtype=np.int64)
    if predicted is not None:
        word[rankings.cell_start[:-1] + np.array(predicted)] = 1
    spoken = np.concatenate([[0], np.cumsum(word)])
    feature = np.zeros(spoken[-1], dtype=np.int64)
    label = np.full(n, -1) if labels is None else np.array(labels)
    return Leaning(
        rankings.cell_start, np.array(size, float), label, spoken, feature, np.ones(len(feature)),
        0 if labels is None else max(labels) + 1, int(predicted is not None),
    )  # fmt: skip


def drawn(rankings, lean, draws=4000):
    around = around_first_choices(rankings, lean)
    return draw_hyperparameters(around, rankings, lean, draws, 300, 5)[:, :-1]


def moments(weights, *values):
    weights = weights / weights.sum()
    means = [float((weights * value).sum()) for value in values]
    sds = [float((weights * (value - m) ** 2).sum()) ** 0.5
           for value, m in zip(values, means, strict=True)]  # fmt: skip
    return means, sds


@pytest.mark.long
def test_of_single_labels_it_is_the_dirichlet_multinomial():
    """Fifty labels of one kind, forty items of three labels: the density is known, on a grid."""
    rng = np.random.default_rng(1)
    items, counts = [], []
    for _ in range(40):
        said = rng.choice(50, 3, p=rng.dirichlet(np.full(50, 3.0 / 50)))
        named, count = np.unique(said, return_counts=True)
        items.append(([[[int(np.flatnonzero(named == one)[0])]] for one in said], len(named) + 1))
        counts.append(count)
    rankings = laid_out(items)
    size = np.concatenate([[1.0] * len(one) + [50.0 - len(one)] for one in counts])
    kappa = np.exp(GRID)
    logs = -0.5 * (GRID / 1.5) ** 2 - 40 * (gammaln(kappa + 3) - gammaln(kappa))
    for one in np.concatenate(counts):
        logs += gammaln(kappa / 50 + one) - gammaln(kappa / 50)
    (mean,), (sd,) = moments(np.exp(logs - logs.max()), GRID)
    found = drawn(rankings, leaning(rankings, size))[:, 0]
    assert found.mean() == pytest.approx(mean, abs=0.03)
    assert found.std() == pytest.approx(sd, rel=0.08)


def enumerated(theta, blocks):
    """Sum over all orders that a partial ranking allows; theta (sample, cell), the last a rest."""
    total = 0.0
    for orders in itertools.product(*(itertools.permutations(block) for block in blocks)):
        left, p = list(range(theta.shape[1])), 1.0
        for cell in itertools.chain(*orders):
            p = p * theta[:, cell] / np.maximum(theta[:, left].sum(axis=1), 1e-300)
            left.remove(cell)
        total = total + p
    return total


@pytest.mark.long
@pytest.mark.parametrize(
    "blocks",
    [[[[0], [1]], [[1]]], [[[0, 1]], [[2], [0]]], [[[0, 1, 2]], [[1], [0]], [[0], [2, 1]]]],
    ids=["in order", "tied", "three tied"],
)
def test_of_lists_it_is_what_weighting_shares_gives(blocks):
    """Twelve items that were said the same of, with the first cell predicted of half of them.

    For each pair of concentration and weight, 6,000 shares from the prior and the first choices,
    weighted by the likelihood as it is defined.
    """
    n = 1 + max(cell for ranking in blocks for block in ranking for cell in block)
    rankings = laid_out([(blocks, n + 1)] * 12)
    predicted = [0, 1] * 6
    size = [1.0] * n + [20.0 - n]
    logs, weights = np.linspace(-4.0, 4.0, 25), np.linspace(-4.0, 7.0, 34)
    said = np.zeros(n + 1)
    for first in (ranking[0] for ranking in blocks):
        said[first] += 1 / len(first)
    density = np.empty((len(logs), len(weights)))
    for (j, log), (k, weight) in itertools.product(enumerate(logs), enumerate(weights)):
        total = -0.5 * ((log / 1.5) ** 2 + (weight / 1.5) ** 2)
        for which in (0, 1):
            own = np.array(size)
            own[which] *= np.exp(weight)
            shape = np.exp(log) * own / own.sum()
            theta = np.random.default_rng(3).dirichlet(shape + said, 6000)
            likely = np.prod([enumerated(theta, one) for one in blocks], axis=0)
            likely /= np.prod(theta[:, :n] ** said[:n], axis=1)
            norm = gammaln(shape + said) - gammaln(shape)
            norm = norm.sum() - gammaln(shape.sum() + said.sum()) + gammaln(shape.sum())
            total += 6 * (np.log(likely.mean()) + norm)
        density[j, k] = total
    at = np.meshgrid(logs, weights, indexing="ij")
    means, sds = moments(np.exp(density - density.max()), *at)
    found = drawn(rankings, leaning(rankings, np.tile(size, 12), predicted))
    np.testing.assert_allclose(found.mean(axis=0), means, atol=0.12)
    np.testing.assert_allclose(found.std(axis=0), sds, rtol=0.12)


@pytest.mark.long
def test_one_ranking_an_item_says_nothing_of_the_concentration():
    """All labels alike: whatever the concentration, each order is as likely as any other."""
    rankings = laid_out([([[[0]]], 2)] * 30)
    found = drawn(rankings, leaning(rankings, [1.0, 9.0] * 30))[:, 0]
    assert found.mean() == pytest.approx(0.0, abs=0.1)
    assert found.std() == pytest.approx(1.5, abs=0.1)


def test_labels_have_weights_of_their_own():
    """Label 0 is said of most items, and label 2 of none."""
    rankings = laid_out([([[[0]], [[0], [1]]], 3)] * 20 + [([[[1]], [[0]]], 3)] * 5)
    found = drawn(rankings, leaning(rankings, np.ones(75), labels=[0, 1, 2] * 25), 500)
    weight = found[:, 1:].mean(axis=0)
    assert weight[0] > weight[1] > weight[2]


@pytest.mark.long
def test_tied_labels_change_places_as_often_as_the_definition_says():
    """Of strengths 3 and 1 with 2 left over: 3 first in (1/3) / (1/3 + 1/5) of all draws."""
    rankings = laid_out([([[[0, 1]]], 3)])
    state, order, first = np.array([3], dtype=np.uint64), rankings.place.copy(), 0
    for _ in range(20_000):
        strength, rate = np.log([3.0, 1.0, 2.0]), np.empty(3)
        draw_times(state, rankings, telling(rankings), order, strength, rate)
        first += order[0] == 0
    assert first / 20_000 == pytest.approx((1 / 3) / (1 / 3 + 1 / 5), abs=0.012)


@pytest.mark.parametrize(
    ("blocks", "n"),
    [([[[0]]] * 4, 2), ([[[0], [1], [2]]] * 3, 3), ([[[0, 1, 2]]], 3), ([[[0], [1]]] * 4, 3)],
    ids=["one label", "all in order", "all tied", "pairs"],
)
@pytest.mark.parametrize("closed", [False, True])
def test_where_all_agree_strengths_are_farther_apart_than_numbers_go(blocks, n, closed):
    rankings = laid_out([(blocks, n)] * 100)
    rankings = rankings._replace(closed=np.full(len(rankings.closed), closed))
    lean = leaning(rankings, np.ones(100 * n), labels=list(range(n)) * 100)
    assert np.isfinite(drawn(rankings, lean, 50)).all()


def test_times_of_strengths_that_numbers_do_not_reach_are_those_of_larger_ones():
    """The same random numbers: of labels e^-100 and e^-700 as strong, only the unit is another."""
    rankings, rate = laid_out([([[[0], [1], [2]]] * 5, 4)]), {}
    for step in (-100.0, -700.0):
        state, rate[step] = np.array([3], dtype=np.uint64), np.empty(4)
        strength = step * np.array([0.0, 1.0, 2.0, 2.0])
        draw_times(state, rankings, telling(rankings), rankings.place, strength, rate[step])
    assert rate[-100.0][2] == pytest.approx(200.0, abs=5)
    np.testing.assert_allclose(rate[-700.0] - rate[-100.0], [0, 600, 1200, 1200], atol=1e-9)


@pytest.mark.parametrize("step", [-1.0, -100.0, -700.0])
@pytest.mark.parametrize("closed", [False, True])
def test_the_density_of_orders_is_that_of_the_definition(step, closed):
    rankings = laid_out([([[[0], [1], [2]], [[3], [0]]], 4), ([[[1], [0]], [[1]]], 3)])
    rankings = rankings._replace(closed=np.full(len(rankings.closed), closed))
    lean = leaning(rankings, np.ones(7))
    x, spread = np.array([0.3]), lean.spreads()
    shape = np.exp(x[0]) / np.array([4.0] * 4 + [3.0] * 3)
    log = step * np.array([1.0, 2.0, 0.0, 0.5, 0.1, 0.0, 3.0])
    found = log_density_of_roots(
        x, spread, lean, rankings, telling(rankings), rankings.place, log * shape
    )
    expected = -0.5 * (x[0] / spread[0]) ** 2 - np.exp(log).sum() - gammaln(shape + 1).sum()
    for cells, n, low in (([0, 1, 2], 4, 0), ([3, 0], 4, 0), ([1, 0], 3, 4), ([1], 3, 4)):
        left = list(cells) if closed else list(range(n))
        for cell in cells:
            expected += log[low + cell] - logsumexp(log[[low + one for one in left]])
            left.remove(cell)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.long
def test_a_last_label_that_is_all_that_is_left_says_nothing():
    rng = np.random.default_rng(2)
    orders = [[rng.permutation(3).tolist() for _ in range(2)] for _ in range(60)]
    whole = laid_out([([[[k] for k in one] for one in item], 3) for item in orders])
    short = laid_out([([[[k] for k in one[:2]] for one in item], 3) for item in orders])
    both = [drawn(one, leaning(one, np.ones(180)), 2000)[:, 0] for one in (whole, short)]
    assert both[0].mean() == pytest.approx(both[1].mean(), abs=0.08)
    assert both[0].std() == pytest.approx(both[1].std(), rel=0.15)
