"""The prior behind rankings, held against sums over a grid: closed forms, and the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from families.rankings.ranking_reference import probability
from nested_rankings import nested
from scipy.special import gammaln

from dissensus.families.rankings.kernels.learned_prior import (
    Leaning,
    around_first_counts,
    draw_hyperparameters,
    draw_strengths,
    log_density,
)
from dissensus.families.rankings.kernels.nested_choices import (
    draw_counts,
    informative_choices,
    no_counts,
)

GRID = np.linspace(-3.0, 4.0, 71)


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
    around = around_first_counts(rankings, lean)
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
        labels = rng.choice(50, 3, p=rng.dirichlet(np.full(50, 3.0 / 50)))
        named, count = np.unique(labels, return_counts=True)
        places = np.searchsorted(named, labels).tolist()
        items.append(([[[place]] for place in places], len(named) + 1))
        counts.append(count)
    rankings = nested(*items)
    size = np.concatenate([[1.0] * len(times) + [50.0 - len(times)] for times in counts])
    kappa = np.exp(GRID)
    logs = -0.5 * (GRID / 1.5) ** 2 - 40 * (gammaln(kappa + 3) - gammaln(kappa))
    for times in np.concatenate(counts):
        logs += gammaln(kappa / 50 + times) - gammaln(kappa / 50)
    (mean,), (sd,) = moments(np.exp(logs - logs.max()), GRID)
    draws = drawn(rankings, leaning(rankings, size))[:, 0]
    assert draws.mean() == pytest.approx(mean, abs=0.03)
    assert draws.std() == pytest.approx(sd, rel=0.08)


@pytest.mark.long
@pytest.mark.parametrize(
    "blocks",
    [[[[0], [1]], [[1]]], [[[0, 1]], [[2], [0]]], [[[0, 1, 2]], [[1], [0]], [[0], [2, 1]]]],
    ids=["in order", "tied", "three tied"],
)
def test_of_lists_it_is_what_weighting_shares_gives(blocks):
    """Twelve items that were said the same of, with the first cell predicted of half of them.

    For each pair of concentration and weight, 4,000 shares from the prior and the first choices,
    weighted by the likelihood as it is defined.
    """
    n = 1 + max(cell for ranking in blocks for block in ranking for cell in block)
    rankings = nested(*[(blocks, n + 1)] * 12)
    predicted = [0, 1] * 6
    size = [1.0] * n + [20.0 - n]
    logs, weights = np.linspace(-4.0, 4.0, 17), np.linspace(-4.0, 7.0, 23)
    labels = np.zeros(n + 1)
    for first in (ranking[0] for ranking in blocks):
        labels[first] += 1 / len(first)
    density = np.empty((len(logs), len(weights)))
    for (j, log), (k, weight) in itertools.product(enumerate(logs), enumerate(weights)):
        total = -0.5 * ((log / 1.5) ** 2 + (weight / 1.5) ** 2)
        for which in (0, 1):
            own = np.array(size)
            own[which] *= np.exp(weight)
            shape = np.exp(log) * own / own.sum()
            theta = np.random.default_rng(3).dirichlet(shape + labels, 4000)
            likely = np.prod([probability(theta, b) for b in blocks], axis=0)
            likely /= np.prod(theta[:, :n] ** labels[:n], axis=1)
            norm = gammaln(shape + labels) - gammaln(shape)
            norm = norm.sum() - gammaln(shape.sum() + labels.sum()) + gammaln(shape.sum())
            total += 6 * (np.log(likely.mean()) + norm)
        density[j, k] = total
    at = np.meshgrid(logs, weights, indexing="ij")
    means, sds = moments(np.exp(density - density.max()), *at)
    draws = drawn(rankings, leaning(rankings, np.tile(size, 12), predicted))
    np.testing.assert_allclose(draws.mean(axis=0), means, atol=0.12)
    np.testing.assert_allclose(draws.std(axis=0), sds, rtol=0.12)


@pytest.mark.long
@pytest.mark.parametrize("blocks", [[[0]], [[0], [1]], [[0, 1]], [[0], [1, 2]]], ids=str)
def test_one_ranking_an_item_says_nothing_of_the_concentration(blocks):
    """All labels alike: whatever the concentration, each order is as likely as any other."""
    rankings = nested(*[([blocks], 4)] * 30)
    draws = drawn(rankings, leaning(rankings, [1.0, 1.0, 1.0, 7.0] * 30))[:, 0]
    assert draws.mean() == pytest.approx(0.0, abs=0.1)
    assert draws.std() == pytest.approx(1.5, abs=0.1)


def test_labels_have_weights_of_their_own():
    """Label 0 is said of most items, and label 2 of none."""
    rankings = nested(*[([[[0]], [[0], [1]]], 3)] * 20, *[([[[1]], [[0]]], 3)] * 5)
    draws = drawn(rankings, leaning(rankings, np.ones(75), labels=[0, 1, 2] * 25), 500)
    weight = draws[:, 1:].mean(axis=0)
    assert weight[0] > weight[1] > weight[2]


@pytest.mark.long
def test_tied_labels_change_places_as_often_as_the_definition_says():
    """Of strengths 3 and 1 with 2 left over: 3 first in (1/3) / (1/3 + 1/5) of all draws."""
    rankings = nested(([[[0, 1]]], 3))
    choices, counts = informative_choices(rankings), no_counts(rankings)
    state, order, first = np.array([3], dtype=np.uint64), rankings.place.copy(), 0
    for _ in range(20_000):
        draw_counts(state, rankings, choices, order, np.log([3.0, 1.0, 2.0]), counts)
        first += order[0] == 0
    assert first / 20_000 == pytest.approx((1 / 3) / (1 / 3 + 1 / 5), abs=0.012)


@pytest.mark.parametrize(
    ("blocks", "n"),
    [([[[0]]] * 4, 2), ([[[0], [1], [2]]] * 3, 3), ([[[0, 1, 2]]], 3), ([[[0], [1]]] * 4, 3)],
    ids=["one label", "all in order", "all tied", "pairs"],
)
@pytest.mark.parametrize("closed", [False, True])
def test_where_all_agree_strengths_are_farther_apart_than_numbers_go(blocks, n, closed):
    rankings = nested(*[(blocks, n)] * 100, closed=closed)
    lean = leaning(rankings, np.ones(100 * n), labels=list(range(n)) * 100)
    assert np.isfinite(drawn(rankings, lean, 50)).all()


def counted(rankings, strength, seed=3):
    state, counts = np.array([seed], dtype=np.uint64), no_counts(rankings)
    draw_counts(
        state, rankings, informative_choices(rankings), rankings.place, np.log(strength), counts
    )
    return counts


def test_sets_from_which_annotators_chose_nest_where_they_agree_on_what_came_before():
    """0 > 1 > 2, 1 > 0 > 3 and 0 > 3: without 0 twice, without 0 and 1 twice, without 1 once."""
    rankings = nested(([[[0], [1], [2]], [[1], [0], [3]], [[0], [3]]], 5))
    counts = counted(rankings, np.ones(5))
    assert counts.n_levels.tolist() == [2]
    assert counts.level.tolist() == [0, 1, 2, 2, 2]
    assert counts.parent.tolist() == [0, 1, 2, 0, 0, 2, 0, 1]
    assert counts.exact.tolist() == [True, True, True, True, False, True, True, True]
    again = counts.given[1] - 2  # 1 was listed twice; more often where 0 was chosen after it
    np.testing.assert_allclose(counts.given, [3, 2 + again, 1, 2, 0])
    np.testing.assert_allclose(counts.drawn[:3], [4 + again, 2, 2])
    np.testing.assert_allclose(counts.passed[:3], [0, 1 + again, 1])


@pytest.mark.long
@pytest.mark.parametrize("closed", [False, True])
def test_what_was_passed_over_is_geometric(closed):
    """Of strengths 6, 3, 1 and 8, 1 was listed, and another after it.

    0 > 2 is said twice, so all but 0 are a set of their own, and other choices are completed to
    choices from all. Open, a choice without 1 passes over 1 with odds 3 to 15. Closed, the choice
    of 1 from 0 and 1 passes over 2 and 3 with odds 1 and 8 to 9.
    """
    third = [[1], [0]] if closed else [[1], [2]]
    rankings = nested(([[[0], [2]], [[0], [2]], third], 4), closed=[False, False, closed])
    chosen = [2, 1, 2 if closed else 3, 0]
    over = [counted(rankings, [6.0, 3.0, 1.0, 8.0], seed).given - chosen for seed in range(4000)]
    expected = [0, 0, 1 / 9, 8 / 9] if closed else [0, 3 / 15, 0, 0]
    np.testing.assert_allclose(np.mean(over, axis=0), expected, atol=0.06)


def test_shares_given_counts_are_those_of_the_sets():
    """Nested sets, two levels: means of Beta variates by hand."""
    rankings = nested(([[[0], [1], [2]], [[0], [2]], [[1], [2]]], 4))
    counts = counted(rankings, [1.0, 1e-12, 1.0, 1.0])  # 1 is never drawn again
    lean, state = leaning(rankings, np.ones(4)), np.array([7], dtype=np.uint64)
    log, shares = np.empty(4), np.empty((4000, 4))
    for draw in range(4000):
        draw_strengths(state, np.array([np.log(4.0)]), rankings, lean, counts, log)
        shares[draw] = np.exp(log)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # Of all were chosen 0, 0, 1 and 2 (after 1); without 0, 1 and 2.
    assert shares[:, 0].mean() == pytest.approx((1 + 2) / (4 + 4), abs=0.01)
    without = shares[:, 1] / (1 - shares[:, 0])
    assert without.mean() == pytest.approx((1 + 2) / (3 + 2 + 2), abs=0.01)


def test_numbers_of_draws_that_digits_do_not_reach_count_as_large_ones():
    """Differences between concentrations: a draw more or less of very many does not matter."""
    rankings = nested(([[[0], [1]], [[1], [0]]], 3))
    lean, result = leaning(rankings, np.ones(3)), []
    for many in (1e7, 1e9, 1e12, 1e200):
        counts = counted(rankings, np.ones(3))
        counts.given[:], counts.drawn[:2] = [2, many, 0], [many, 0]
        both = [log_density(np.array([x]), lean.spreads(), rankings, lean, counts)
                for x in (0.0, 1.0)]  # fmt: skip
        result.append(both[1] - both[0] + (np.e - 1) * 2 / 3 * np.log(many))
    np.testing.assert_allclose(result, result[0], atol=1e-5)


@pytest.mark.long
def test_a_last_label_that_is_all_that_is_left_says_nothing():
    rng = np.random.default_rng(2)
    orders = [[rng.permutation(3).tolist() for _ in range(2)] for _ in range(60)]
    whole = nested(*[([[[k] for k in order] for order in item], 3) for item in orders])
    short = nested(*[([[[k] for k in order[:2]] for order in item], 3) for item in orders])
    both = [drawn(data, leaning(data, np.ones(180)), 2000)[:, 0] for data in (whole, short)]
    assert both[0].mean() == pytest.approx(both[1].mean(), abs=0.08)
    assert both[0].std() == pytest.approx(both[1].std(), rel=0.15)
