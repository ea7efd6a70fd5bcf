"""Sums over rows by item and annotator, against sums by hand.

- Rows by item and annotator, against grouping by hand.
- Moments of numbers by item, against the pairs they stand for.
- Label counts by item with every annotator counted once, against counting by hand.
- Pairing draws of two kinds of uncertainty, rank by rank.
"""

from __future__ import annotations

import numpy as np
import pytest
from kernels.said_by_pairs import by_annotator, pairs, random_rows

from dissensus.kernels.grouped import (
    around,
    centre_of,
    grouped,
    label_shares,
    matched,
    moments,
    squared_pairs,
)


@pytest.mark.parametrize("n_annotators", [1, 3, 60])
def test_every_annotator_of_an_item_is_a_run_of_rows(n_annotators):
    for seed in range(60):
        rng = np.random.default_rng([seed, n_annotators])
        n_items = int(rng.integers(1, 6))
        n_rows = int(rng.integers(0, 200))
        item, annotator = (
            rng.integers(n_items, size=n_rows),
            rng.integers(n_annotators, size=n_rows),
        )
        rows = grouped(item, annotator, n_items)
        # Items, then annotators, then the order in which the rows came.
        np.testing.assert_array_equal(rows.order, np.lexsort((np.arange(n_rows), annotator, item)))
        np.testing.assert_array_equal(np.diff(rows.start), np.bincount(item, minlength=n_items))
        statements = [len(set(annotator[item == i].tolist())) for i in range(n_items)]
        assert rows.n_annotators.tolist() == statements
        for place, row in enumerate(rows.order):
            same = (item == item[row]) & (annotator == annotator[row])
            assert rows.share[place] == 1.0 / same.sum()
            last = np.flatnonzero(same[rows.order])[-1]
            assert rows.own[place] == last + 1


def test_items_without_rows_have_no_voices():
    rows = grouped(np.array([3, 1]), np.array([0, 0]), 5)
    assert rows.n_annotators.tolist() == [0, 1, 0, 1, 0]
    assert rows.start.tolist() == [0, 0, 1, 1, 2, 2]
    none = grouped(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), 2)
    assert none.start.tolist() == [0, 0, 0]
    assert none.n_annotators.tolist() == [0, 0]


def test_small_integers_serve_as_codes():
    item, annotator = np.array([1, 0, 1], dtype=np.int8), np.array([2, 0, 1], dtype=np.uint16)
    result = grouped(item, annotator, 2)
    for of_small, of_int in zip(
        result, grouped(item.astype(int), annotator.astype(int), 2), strict=True
    ):
        np.testing.assert_array_equal(of_small, of_int)


def test_an_item_with_many_rows_is_sorted_too():
    rng = np.random.default_rng(4)
    annotator = rng.permutation(100_000)
    rows = grouped(np.zeros(100_000, dtype=int), annotator, 1)
    np.testing.assert_array_equal(annotator[rows.order], np.arange(100_000))
    assert rows.n_annotators.tolist() == [100_000]


def far(a, b):
    return (a - b) ** 2


@pytest.mark.parametrize("centre", [0.0, -1.7])
@pytest.mark.parametrize("trials", [False, True])
def test_squared_differences_over_all_pairs(trials, centre):
    for seed in range(200):
        item, annotator, labels, n_items = random_rows(seed, trials=trials)
        values = np.random.default_rng(seed).normal(size=4)[labels]
        rows = grouped(item, annotator, n_items)
        computed_moments = moments(rows, values)
        total, squared = around(computed_moments, rows.n_annotators, centre)
        within = squared_pairs(computed_moments, rows.n_annotators)
        for i in range(n_items):
            numbers = by_annotator(item, annotator, values, i)
            means = [np.mean(x) - centre for x in numbers]
            squares = [np.mean((np.array(x) - centre) ** 2) for x in numbers]
            assert total[i] == pytest.approx(sum(means), abs=1e-12)
            assert squared[i] == pytest.approx(sum(squares), abs=1e-12)
            assert numbers == [] or computed_moments.centre[i] in np.concatenate(numbers)
            assert within[i] == pytest.approx(pairs(numbers, far), abs=1e-11)
            own = 2 * (computed_moments.squares[i] - computed_moments.squared_means[i])
            assert own == pytest.approx(pairs(numbers, far, same=True), abs=1e-11)


def test_the_centre_is_one_of_the_numbers():
    assert centre_of(np.array([1.0, 2.0, 9.0])) == 2.0
    assert centre_of(np.array([1.0, 1e9, 2.0, 1.5])) == 1.5  # one wild number does not move it
    assert centre_of(np.full(7, 0.1)) == 0.1
    assert centre_of(np.zeros(0)) == 0.0


def test_equal_numbers_are_exactly_alike():
    values = np.full(7, 0.1)
    rows = grouped(np.zeros(7, int), np.arange(7), 1)
    assert squared_pairs(moments(rows, values), rows.n_annotators).tolist() == [0.0]


def test_items_keep_their_digits_however_far_apart_they_are():
    # Powers of two again: the second item is the first one, 2 ** 40 further up.
    values = np.array([1, 2, 4, 7]) / 16
    rows = grouped(np.repeat([0, 1], 4), np.tile(np.arange(4), 2), 2)
    sums = moments(rows, np.concatenate([values, values + 2.0**40]))
    actual = squared_pairs(sums, rows.n_annotators)
    expected = 2 * sum(far(a, b) for a in values for b in values) / 2
    np.testing.assert_array_equal(actual, [expected, expected])


@pytest.mark.parametrize("trials", [False, True])
def test_amounts_and_agreeing_pairs(trials):
    for seed in range(200):
        item, annotator, answers, n_items = random_rows(seed, trials=trials)
        shares = label_shares(grouped(item, annotator, n_items), answers, 4)
        for i in range(n_items):
            labels = by_annotator(item, annotator, answers, i)
            entries = slice(shares.start[i], shares.start[i + 1])
            amount = {k: sum(np.mean(np.array(label) == k) for label in labels) for k in range(4)}
            seen = {k: n for k, n in amount.items() if n > 0}
            assert len(set(shares.label[entries].tolist())) == len(shares.label[entries])
            assert dict(
                zip(shares.label[entries].tolist(), shares.amount[entries].tolist(), strict=True)
            ) == pytest.approx(seen, abs=1e-12)
            same = pairs(labels, lambda a, b: float(a == b))
            assert shares.agreement[i] == pytest.approx(same, abs=1e-12)
            own = pairs(labels, lambda a, b: float(a == b), same=True)
            assert shares.own[i] == pytest.approx(own, abs=1e-12)


def test_counts_are_exact_where_nobody_repeats():
    item, annotator, labels, n_items = random_rows(1, trials=False)
    shares = label_shares(grouped(item, annotator, n_items), labels, 4)
    for array in (shares.amount, shares.agreement, shares.own):
        np.testing.assert_array_equal(array, np.rint(array))


def test_a_large_label_space_costs_nothing_per_item():
    n = 20_000
    rows = grouped(np.repeat(np.arange(n), 2), np.tile([0, 1], n), n)
    shares = label_shares(rows, np.repeat(np.arange(n), 2)[::-1], n)
    assert len(shares.label) == n
    assert (shares.amount == 2).all()
    assert (shares.agreement == 2).all()


@pytest.mark.parametrize(("draws", "sets"), [(40, 40), (40, 100), (100, 40), (1, 7), (7, 1)])
def test_ranks_go_together_and_no_draw_is_used_twice_before_all_are(draws, sets):
    rng = np.random.default_rng(draws)
    first, second = rng.normal(size=draws), rng.normal(size=sets)
    result = matched(first, second, rng)
    assert (np.diff(first[result[np.argsort(second)]]) >= 0).all()
    times = np.bincount(result, minlength=draws)
    assert times.max() - times.min() <= 1


def test_equal_ones_are_paired_at_random():
    rng = np.random.default_rng(1)
    result = [matched(np.arange(2.0), np.zeros(2), rng)[0] for _ in range(400)]
    assert 150 < sum(result) < 250
