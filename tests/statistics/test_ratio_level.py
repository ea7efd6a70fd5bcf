"""Distances on a ratio scale."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.statistics import _distances
from dissensus.statistics._distances import apart, ratio_disagreement
from dissensus.statistics._read import rows_of


def test_all_pairs_and_two_zeros():
    values = np.array([0.0, 0.5, 2.0])
    expected = [[0.0 if a == b else ((a - b) / (a + b)) ** 2 for b in values] for a in values]
    np.testing.assert_allclose(apart(values), expected, atol=1e-15)


def test_the_unit_does_not_matter():
    values = np.random.default_rng(0).gamma(2.0, size=20)
    np.testing.assert_allclose(apart(values), apart(1e6 * values), atol=1e-12)


def test_negative_numbers_are_refused_by_row_and_item():
    ann = dx.annotations(
        {"item": ["i", "j"], "annotator": ["a", "a"], "label": [1.5, -0.5]}, kind="continuous"
    )
    with pytest.raises(dx.AnnotationError, match=r"row 1 \(item 'j'\).*found -0\.5"):
        ratio_disagreement(ann, rows_of(ann))


def test_more_numbers_than_a_table_holds_are_refused(monkeypatch):
    monkeypatch.setattr(_distances, "TABLE", 2)
    ann = dx.from_matrix([[0.5, 1.5], [2.5, 0.5]])
    with pytest.raises(dx.AnnotationError, match=r"up to 2 distinct numbers.*found 3"):
        ratio_disagreement(ann, rows_of(ann))
