"""Rows by item and annotator, against grouping by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.grouped import grouped


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
        voices = [len(set(annotator[item == i].tolist())) for i in range(n_items)]
        assert rows.voices.tolist() == voices
        for place, row in enumerate(rows.order):
            same = (item == item[row]) & (annotator == annotator[row])
            assert rows.share[place] == 1.0 / same.sum()
            last = np.flatnonzero(same[rows.order])[-1]
            assert rows.own[place] == last + 1


def test_items_without_rows_have_no_voices():
    rows = grouped(np.array([3, 1]), np.array([0, 0]), 5)
    assert rows.voices.tolist() == [0, 1, 0, 1, 0]
    assert rows.start.tolist() == [0, 0, 1, 1, 2, 2]
    none = grouped(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), 2)
    assert none.start.tolist() == [0, 0, 0]
    assert none.voices.tolist() == [0, 0]


def test_small_integers_serve_as_codes():
    item, annotator = np.array([1, 0, 1], dtype=np.int8), np.array([2, 0, 1], dtype=np.uint16)
    found = grouped(item, annotator, 2)
    for one, other in zip(found, grouped(item.astype(int), annotator.astype(int), 2), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_item_with_many_rows_is_sorted_too():
    rng = np.random.default_rng(4)
    annotator = rng.permutation(100_000)
    rows = grouped(np.zeros(100_000, dtype=int), annotator, 1)
    np.testing.assert_array_equal(annotator[rows.order], np.arange(100_000))
    assert rows.voices.tolist() == [100_000]
