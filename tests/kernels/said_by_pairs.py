"""Random rows for the kernels that count pairs of annotators, and sums over the pairs by hand."""

from __future__ import annotations

import numpy as np


def random_rows(seed, n_labels=4, trials=True):
    """Rows of a few items, some of them empty; with trials, annotators may repeat themselves."""
    rng = np.random.default_rng(seed)
    n_items, n_annotators = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    n_rows = int(rng.integers(0, 40)) if trials else int(rng.integers(0, n_items * n_annotators))
    if trials:
        cell = rng.integers(n_items * n_annotators, size=n_rows)
    else:
        cell = rng.permutation(n_items * n_annotators)[:n_rows]
    item, annotator = np.divmod(cell, n_annotators)
    return item, annotator, rng.integers(n_labels, size=n_rows), n_items


def by_annotator(item, annotator, label, i):
    """Return the labels of each annotator of an item, in lists."""
    of_item = item == i
    return [label[of_item & (annotator == r)].tolist() for r in np.unique(annotator[of_item])]


def pairs(labels, distance, same=False):
    """Sum the mean distance over ordered pairs of annotators: different ones, or the same."""
    return sum(
        np.mean([distance(a, b) for a in own for b in other])
        for r, own in enumerate(labels)
        for s, other in enumerate(labels)
        if (r == s) == same
    )
