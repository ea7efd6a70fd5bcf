"""Amounts of labels looked up, and labels that lead."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.grouped import grouped, label_shares
from dissensus.kernels.labels import amounts_at, leaders


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
        said = rng.integers(-1, n_labels + 2, size=(n_items, 3))
        table = np.pad(dense(shares, shares.amount, n_items, n_labels), ((0, 0), (0, 3)))
        expected = np.take_along_axis(table, said, axis=1)  # -1 is the last column, of zeros
        np.testing.assert_array_equal(amounts_at(shares, shares.amount, said, n_labels), expected)


def test_leaders_share_one():
    rng = np.random.default_rng(2)
    for _ in range(100):
        shares, n_items, n_labels = drawn(rng)
        table = dense(shares, shares.amount, n_items, n_labels)
        top = (table > table.max(axis=1, keepdims=True) - 1e-9) & (table > 0)
        expected = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
        found = dense(shares, leaders(shares), n_items, n_labels)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
