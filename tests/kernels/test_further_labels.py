"""Counts of further labels, and in how many orders they come, by going through sequences."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from dissensus.kernels.formulas import counts_of, n_counts, orders, right_after, right_after_alike


@pytest.mark.parametrize("n_labels", [1, 2, 3, 5])
@pytest.mark.parametrize("further", [1, 2, 4])
def test_counts_are_those_of_all_sequences(n_labels, further):
    sequences = itertools.product(range(n_labels), repeat=further)
    seen = Counter(tuple(np.bincount(one, minlength=n_labels).tolist()) for one in sequences)
    counts = counts_of(n_labels, further)
    found = dict(zip(map(tuple, counts.tolist()), orders(counts).tolist(), strict=True))
    assert found == seen
    assert len(counts) == n_counts(n_labels, further)


@pytest.mark.parametrize("further", [1, 3, 40])
def test_errors_that_are_all_alike_are_a_confusion_matrix(further):
    rng = np.random.default_rng(further)
    n_labels = 3 if further < 40 else 2
    truth = rng.dirichlet(np.ones(n_labels), size=(6, 4))
    right = rng.random(6)
    response = np.repeat((1 - right)[:, None] / (n_labels - 1), n_labels * n_labels, axis=1)
    response = response.reshape(6, n_labels, n_labels)
    response[:, np.arange(n_labels), np.arange(n_labels)] = right[:, None]
    alike = right_after_alike(truth, np.repeat(right[:, None], 4, axis=1), further)
    np.testing.assert_allclose(alike, right_after(truth, response, further), rtol=1e-11)


def test_answers_that_are_impossible_are_no_nan():
    truth = np.array([[[0.5, 0.5]]])
    certain = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    assert right_after(truth, certain, 2) == pytest.approx(1.0)
    assert right_after_alike(truth, np.ones((1, 1)), 2) == pytest.approx(1.0)
