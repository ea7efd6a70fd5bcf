"""Counts, pairs and leading labels of items, by hand.

- Amounts of labels looked up, and labels that lead.
- Pairs of different labels by item: any distance summed over them is its sum over annotators.
- The label that leads among the others, one annotator at a time.
- Slim majorities of parts of votes.
"""

from __future__ import annotations

import numpy as np
import pytest
from kernels.said_by_pairs import by_annotator, pairs, random_rows

from dissensus.errors import AnnotationError
from dissensus.kernels.grouped import grouped, label_shares
from dissensus.kernels.labels import (
    amounts_at,
    label_pairs,
    leaders,
    leading_label_by_annotator,
    leading_label_named,
    slim_majority,
)


def drawn(rng):
    n_items, n_labels, n = (int(rng.integers(1, high)) for high in (6, 5, 40))
    item, who, code = (rng.integers(high, size=n) for high in (n_items, 6, n_labels))
    return label_shares(grouped(item, who, n_items), code, n_labels), n_items, n_labels


def dense(shares, amount, n_items, n_labels):
    table = np.zeros((n_items, n_labels))
    table[np.repeat(np.arange(n_items), np.diff(shares.start)), shares.label] = amount
    return table


def test_looks_up_every_label_and_none_that_is_not_there():
    rng = np.random.default_rng(1)
    for _ in range(100):
        shares, n_items, n_labels = drawn(rng)
        labels = rng.integers(-1, n_labels + 2, size=(n_items, 3))
        table = np.pad(dense(shares, shares.amount, n_items, n_labels), ((0, 0), (0, 3)))
        expected = np.take_along_axis(table, labels, axis=1)  # -1 is the last column, of zeros
        actual = amounts_at(shares.start, shares.label, shares.amount, labels, n_labels)
        np.testing.assert_array_equal(actual, expected)


def test_leaders_share_one():
    rng = np.random.default_rng(2)
    for _ in range(100):
        shares, n_items, n_labels = drawn(rng)
        table = dense(shares, shares.amount, n_items, n_labels)
        top = (table > table.max(axis=1, keepdims=True) - 1e-9) & (table > 0)
        expected = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
        actual = dense(shares, leaders(shares.start, shares.amount), n_items, n_labels)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


def listed(item, annotator, labels, n_items, n_labels=4):
    rows = grouped(item, annotator, n_items)
    shares = label_shares(rows, labels, n_labels)
    return label_pairs(rows, shares, labels, n_labels, np.ones(len(rows.n_annotators)))


@pytest.mark.parametrize("trials", [False, True])
def test_any_distance_is_a_sum_over_the_pairs(trials):
    for seed in range(200):
        item, annotator, answers, n_items = random_rows(seed, trials=trials)
        table = np.random.default_rng(seed).random((4, 4))
        table = (table + table.T) * (1 - np.eye(4))
        actual = listed(item, annotator, answers, n_items)
        places = np.divmod(actual.cell, 4)
        assert (places[0] <= places[1]).all()
        for i in range(n_items):
            entries = slice(actual.start[i], actual.start[i + 1])
            low, high, amount = (x[entries] for x in (*places, actual.amount))
            labels = by_annotator(item, annotator, answers, i)
            expected = pairs(labels, table.item)
            assert amount @ table[low, high] == pytest.approx(expected, abs=1e-12)
            # What annotators contradict themselves by stands apart, with a negative sign.
            own = pairs(labels, table.item, same=True)
            assert -np.minimum(amount, 0) @ table[low, high] == pytest.approx(own, abs=1e-12)


def test_equal_labels_are_no_pair():
    result = listed(np.zeros(4, int), np.arange(4), np.full(4, 2), 1)
    assert result.start.tolist() == [0, 0]
    again = listed(np.zeros(4, int), np.zeros(4, int), np.full(4, 2), 1)
    assert again.amount.sum() == 0


def test_memory_grows_with_distinct_labels_and_not_with_rows():
    labels = np.tile(np.arange(5), 20_000)
    result = listed(np.zeros(len(labels), int), np.arange(len(labels)), labels, 1, 5)
    assert len(result.amount) == 10
    assert result.amount.tolist() == [2.0 * 20_000**2] * 10


def test_more_pairs_than_memory_holds_are_refused():
    labels = np.arange(100_000)
    with pytest.raises(AnnotationError, match=r"pairs of different labels.*4,999,950,000.*Round"):
        listed(np.zeros(len(labels), int), labels, labels, 1, len(labels))


def test_rounding_does_not_part_what_is_tied():
    """Three times .1 is not .3 to the bit."""
    who, code = np.array([0, 0, 0, 1, 2]), np.array([0, 0, 0, 1, 1])
    weight = np.array([0.1, 0.1, 0.1, 0.3, 0.05])
    rows = grouped(np.zeros(5, dtype=int), who, 1)
    # 0 sees label 1 lead and 1 sees label 0; 2 sees both tied, and names one of them.
    np.testing.assert_allclose(leading_label_named(rows, weight, code, 2)[0], [0.5 / 3])
    any_tied, _ = leading_label_named(rows, weight, code, 2, any_tied=True)
    np.testing.assert_allclose(any_tied, [1 / 3])


def test_each_annotator_has_the_mean_over_his_items():
    rng = np.random.default_rng(2)
    for _ in range(100):
        n, n_items, n_labels = (int(rng.integers(1, high)) for high in (60, 6, 8))
        item, who, code = (rng.integers(high, size=n) for high in (n_items, 6, n_labels))
        weight = 1.0 / rng.integers(1, 4, size=n)
        rows = grouped(item, who, n_items)
        actual = leading_label_by_annotator(rows, weight, code, n_labels, who, 7)
        expected = np.full(7, np.nan)
        for r in range(7):
            credit = []
            for i in np.unique(item[who == r]):
                others = (item == i) & (who != r)
                if others.any():
                    score = np.bincount(code[others], weight[others])
                    leading = np.flatnonzero(score >= score.max() - 1e-9)
                    credit.append(np.isin(leading, code[(item == i) & (who == r)]).mean())
            expected[r] = np.mean(credit) if credit else np.nan
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


def slim(who, labels):
    rows = grouped(np.zeros(len(who), int), who, 1)
    return slim_majority(rows.start, rows.own, rows.share, labels, 2)[0]


def test_parts_of_a_vote_are_added_up_to_rounding():
    # Three annotators said x three times over, one x and y: 3 1/2 to 1/2. He of the two labels
    # changes to y: 3 to 1. One of the others: 2 1/2 to 1 1/2. So it stands.
    who = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3])
    labels = np.array([0] * 10 + [1])
    assert not slim(who, labels)
    # Two times x in thirds against one y: changed by one it is 1 to 2.
    assert slim(who[[0, 1, 2, 3, 4, 5, 9]], labels[[0, 1, 2, 3, 4, 5, 10]])
    assert not slim(np.zeros(0, int), np.zeros(0, int))
