"""Pairs of different labels by item: any distance summed over them is its sum over annotators."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.said_by_pairs import by_annotator, pairs, random_rows

from dissensus.errors import AnnotationError
from dissensus.kernels.grouped import grouped, label_shares
from dissensus.kernels.labels import label_pairs


def listed(item, annotator, said, n_items, n_labels=4):
    rows = grouped(item, annotator, n_items)
    shares = label_shares(rows, said, n_labels)
    return label_pairs(rows, shares, said, n_labels, np.ones(len(rows.voices)))


@pytest.mark.parametrize("trials", [False, True])
def test_any_distance_is_a_sum_over_the_pairs(trials):
    for seed in range(200):
        item, annotator, said, n_items = random_rows(seed, trials=trials)
        table = np.random.default_rng(seed).random((4, 4))
        table = (table + table.T) * (1 - np.eye(4))
        found = listed(item, annotator, said, n_items)
        places = np.divmod(found.cell, 4)
        assert (places[0] <= places[1]).all()
        for i in range(n_items):
            entries = slice(found.start[i], found.start[i + 1])
            low, high, amount = (x[entries] for x in (*places, found.amount))
            labels = by_annotator(item, annotator, said, i)
            expected = pairs(labels, table.item)
            assert amount @ table[low, high] == pytest.approx(expected, abs=1e-12)
            # What annotators contradict themselves by stands apart, with a negative sign.
            own = pairs(labels, table.item, same=True)
            assert -np.minimum(amount, 0) @ table[low, high] == pytest.approx(own, abs=1e-12)


def test_equal_labels_are_no_pair():
    found = listed(np.zeros(4, int), np.arange(4), np.full(4, 2), 1)
    assert found.start.tolist() == [0, 0]
    again = listed(np.zeros(4, int), np.zeros(4, int), np.full(4, 2), 1)
    assert again.amount.sum() == 0


def test_memory_grows_with_distinct_labels_and_not_with_rows():
    said = np.tile(np.arange(5), 20_000)
    found = listed(np.zeros(len(said), int), np.arange(len(said)), said, 1, 5)
    assert len(found.amount) == 10
    assert found.amount.tolist() == [2.0 * 20_000**2] * 10


def test_no_rows():
    assert listed(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), 2).start.tolist() == [0] * 3


def test_more_pairs_than_memory_holds_are_refused():
    said = np.arange(100_000)
    with pytest.raises(AnnotationError, match=r"pairs of different labels.*4,999,950,000.*Round"):
        listed(np.zeros(len(said), int), said, said, 1, len(said))
