"""From the reliability of pairs back to accuracies, against all answers of two annotators."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dissensus.kernels.formulas import accuracy_from_concordance, accuracy_from_rho


def pair(p, n_labels):
    """Return the chance that two annotators agree, and that times P(correct), Equations 6-7."""
    wrong = (1 - p) / (n_labels - 1)
    chance = [p] + [wrong] * (n_labels - 1)
    agree = sum(chance[a] * chance[b] for a, b in itertools.product(range(n_labels), repeat=2)
                if a == b)  # fmt: skip
    correct = p * p / (p * p + (1 - p) ** 2 / (n_labels - 1))  # errors="uniform"; "printed" with 2
    return agree, agree * correct


@pytest.mark.parametrize("n_labels", [2, 3, 7])
@pytest.mark.parametrize("genuine", [1.0, 0.8])
def test_returns_the_accuracy_that_the_pair_had(n_labels, genuine):
    for p in np.linspace(1 / n_labels, 1, 13):
        sigma, rho = pair(p, n_labels)
        found = accuracy_from_concordance(genuine**2 * sigma, genuine, n_labels)
        assert found == pytest.approx(p, abs=1e-7)  # a double root at chance
        assert accuracy_from_rho(genuine**2 * rho, genuine) == pytest.approx(p)


def test_what_no_annotators_have_is_nan():
    found = accuracy_from_rho([0.0, 0.81, 0.82, np.nan], 0.9)
    np.testing.assert_allclose(found, [0, 1, np.nan, np.nan])
    found = accuracy_from_concordance([0.3, 1 / 3, 1.0, np.nan], 1.0, 3)
    np.testing.assert_allclose(found, [np.nan, 1 / 3, 1, np.nan], atol=1e-6)
    assert np.isnan(accuracy_from_concordance(0.65, 0.8, 2))


def test_rounding_does_not_make_full_agreement_undefined():
    for confidence in np.linspace(0.05, 1, 200):
        assert accuracy_from_rho(confidence**2, confidence) == pytest.approx(1.0)
        assert accuracy_from_concordance(confidence**2, confidence, 4) == pytest.approx(1.0)
