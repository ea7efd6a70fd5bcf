"""Label counts by item with every annotator counted once, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.said_by_pairs import by_annotator, pairs, random_rows

from dissensus.kernels.grouped import grouped, label_shares


@pytest.mark.parametrize("trials", [False, True])
def test_amounts_and_agreeing_pairs(trials):
    for seed in range(200):
        item, annotator, said, n_items = random_rows(seed, trials=trials)
        found = label_shares(grouped(item, annotator, n_items), said, 4)
        for i in range(n_items):
            labels = by_annotator(item, annotator, said, i)
            entries = slice(found.start[i], found.start[i + 1])
            amount = {k: sum(np.mean(np.array(one) == k) for one in labels) for k in range(4)}
            seen = {k: n for k, n in amount.items() if n > 0}
            assert len(set(found.label[entries].tolist())) == len(found.label[entries])
            assert dict(
                zip(found.label[entries].tolist(), found.amount[entries].tolist(), strict=True)
            ) == pytest.approx(seen, abs=1e-12)
            same = pairs(labels, lambda a, b: float(a == b))
            assert found.agreement[i] == pytest.approx(same, abs=1e-12)
            own = pairs(labels, lambda a, b: float(a == b), same=True)
            assert found.own[i] == pytest.approx(own, abs=1e-12)


def test_counts_are_exact_where_nobody_repeats():
    item, annotator, said, n_items = random_rows(1, trials=False)
    found = label_shares(grouped(item, annotator, n_items), said, 4)
    for array in (found.amount, found.agreement, found.own):
        np.testing.assert_array_equal(array, np.rint(array))


def test_no_rows_and_one_label():
    none = label_shares(grouped(np.zeros(0, int), np.zeros(0, int), 2), np.zeros(0, int), 3)
    assert none.start.tolist() == [0, 0, 0]
    assert none.agreement.tolist() == none.own.tolist() == [0.0, 0.0]
    rows = grouped(np.zeros(5, int), np.arange(5), 1)
    one = label_shares(rows, np.zeros(5, int), 1)
    assert (one.amount.tolist(), one.agreement.tolist(), one.own.tolist()) == ([5], [20], [5])


def test_a_large_label_space_costs_nothing_per_item():
    n = 20_000
    rows = grouped(np.repeat(np.arange(n), 2), np.tile([0, 1], n), n)
    found = label_shares(rows, np.repeat(np.arange(n), 2)[::-1], n)
    assert len(found.label) == n
    assert (found.amount == 2).all()
    assert (found.agreement == 2).all()


def test_many_labels_on_one_item():
    rng = np.random.default_rng(2)
    said = rng.integers(5, size=100_000)
    found = label_shares(grouped(np.zeros(len(said), int), np.arange(len(said)), 1), said, 5)
    count = np.bincount(said).astype(float)
    assert found.agreement[0] == (count**2).sum() - len(said)
