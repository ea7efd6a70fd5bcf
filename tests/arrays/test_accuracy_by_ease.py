"""Accuracies on items of one ease: their mean over all is what they came from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from dissensus.arrays.accuracy_by_ease import accuracy_by_ease
from dissensus.arrays.truth_parameters import fifths


@pytest.mark.parametrize("spread", [0.0, 0.5, 2.0, 8.0, 40.0])
def test_the_mean_over_kinds_of_items_is_the_accuracy(spread):
    accuracy = np.array([[0.0, 0.01, 0.5, 0.77, 0.999, 1.0]])
    for who in range(accuracy.shape[1]):
        weight = np.eye(accuracy.shape[1])[who]
        found = accuracy_by_ease(accuracy, weight, np.array([spread]), fifths())
        assert found.mean() == pytest.approx(accuracy[0, who], abs=1e-9)
        assert (np.diff(found[0]) >= 0).all()


def test_logits_are_found_again():
    """Brute force: accuracies made from logits by the formula itself."""
    rng = np.random.default_rng(1)
    ease, spread = fifths(), rng.uniform(0, 3, 20)
    logit = rng.normal(1, 1, (20, 7))
    each = expit(logit[..., None] + spread[:, None, None] * ease)
    weight = rng.dirichlet(np.ones(7))
    found = accuracy_by_ease(each.mean(-1), weight, spread, ease)
    np.testing.assert_allclose(found, np.einsum("dje,j->de", each, weight), atol=1e-8)
