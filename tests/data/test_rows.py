"""Labels that are sorted within items: their annotators are places in a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dissensus as dx
from dissensus.data.rows import sorted_items

RNG = np.random.default_rng(1)
GRADES = RNG.integers(3, size=(60, 4))
SCORES = RNG.normal(size=(30, 3))


def by_frequency(row):
    """Return a row with the most frequent labels first."""
    return sorted(row, key=lambda label: (-np.sum(row == label), label))


def with_gaps(table):
    """Return a table in which every other item has three labels only."""
    table = table.astype(float)
    table[::2, 3:] = np.nan
    return table


@pytest.mark.unit(14)
@pytest.mark.parametrize(
    ("table", "kind", "is_sorted"),
    [
        (GRADES, "nominal", False),
        (np.sort(GRADES), "nominal", True),
        (np.sort(GRADES)[:, ::-1], "nominal", True),
        (np.array([2, 0, 1])[np.sort(GRADES)], "nominal", True),  # in an order of the table's own
        (np.apply_along_axis(by_frequency, 1, GRADES), "nominal", True),
        (with_gaps(np.sort(GRADES)), "ordinal", True),
        (np.sort(GRADES[:, :2]), "nominal", False),  # one of two may be stricter
        (np.sort(GRADES[:12]), "nominal", False),
        (np.sort(GRADES)[:, [0, 2, 1, 3]], "nominal", False),
        (np.ones((60, 4)), "nominal", False),
        (SCORES, "continuous", False),
        (np.sort(SCORES), "continuous", True),
        (np.sort(SCORES)[:, ::-1], "continuous", True),
        (np.sort(SCORES)[:, [0, 2, 1]], "continuous", False),
    ],
)
def test_labels_are_found_to_be_sorted(table, kind, is_sorted):
    actual = sorted_items(dx.from_matrix(table, kind=kind))
    if not is_sorted:
        assert actual == 0
        return
    differ = [len(set(row[~np.isnan(row)])) > 1 for row in table.astype(float)]
    assert actual == sum(differ)


def test_labels_of_people_are_not_and_one_exception_is_enough():
    table = np.sort(GRADES)
    table[7] = [0, 1, 0, 0]
    assert sorted_items(dx.from_matrix(table, kind="nominal")) == 0


REAL = [
    ("anesthesia/ratings.csv", False), ("pandalm/ratings.csv", False),
    ("weather_sentiment_amt/ratings.csv", False), ("wax/annotations.csv", False),
    ("cad_radiologists/ratings.csv", False), ("nflx_video_quality/ratings.csv", False),
    # Others diagnosed each patient (Fleiss 1971): the six places hold counts of diagnoses.
    ("textbook_reliability/fleiss1971_diagnoses.csv", True),
]  # fmt: skip


@pytest.mark.unit(len(REAL))
@pytest.mark.parametrize(("path", "is_sorted"), REAL)
def test_of_real_sets_only_counts_are_sorted(shared, path, is_sorted):
    frame = pd.read_csv(shared / path).drop_duplicates(["item", "annotator"])
    assert (sorted_items(dx.annotations(frame)) > 0) == is_sorted
