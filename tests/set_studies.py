"""A small study of sets of labels, whose true sets are known."""

from __future__ import annotations

import numpy as np

import dissensus as dx

NAMES = np.array(["joy", "love", "fear"])


def words(held):
    return [";".join(NAMES[row]) or "none" for row in held]


def study(n=40, annotators=4, seed=1, rare_share=0.2):
    """Annotators right about nine of ten labels, two systems, and the sets that are right."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 3)) < [0.5, 0.4, rare_share]

    def labels(right):
        return words(np.where(rng.random((n, 3)) < right, truth, ~truth))

    rows = {"item": np.tile(np.arange(n), annotators),
            "annotator": np.repeat(np.arange(annotators), n),
            "label": [label for _ in range(annotators) for label in labels(0.9)]}  # fmt: skip
    predicted = {"item": np.tile(np.arange(n), 2), "system": np.repeat(["good", "poor"], n),
                 "label": labels(0.95) + labels(0.7)}  # fmt: skip
    return rows, predicted, truth


def read(rows, predicted=None):
    how = {"kind": "set", "separator": ";", "none": "none"}
    ann = dx.annotations(rows, labels=list(NAMES), **how)
    return ann, None if predicted is None else dx.predictions(predicted, **how)
