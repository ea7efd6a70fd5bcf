"""How numbers and names are written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus import wording


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(max_size=60), max_size=6), st.integers(4, 40))
def test_short_names_are_safe_short_and_distinct(names, width):
    result = wording.short_names(names, width)
    assert len(set(result)) == len(names)
    assert all(len(name) <= width + 4 for name in result)
    assert not any(unicodedata.category(x) in {"Cc", "Cs"} for name in result for x in name)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, ".00"), (0.996, "1.00"), (1.5, "1.50"), (-0.001, ".00"), (float("inf"), "n/a")],
)
def test_shares(value, written):
    assert wording.share(value) == written


def test_numbers_keep_their_sign():
    assert wording.number(-0.25) == wording.MINUS + ".25"
    assert wording.share(-0.25) == wording.MINUS + ".25"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("top_3_accuracy", "top-3 accuracy"),
        ("annotation_certainty", "annotation certainty"),
        ("kendall_tau", "Kendall's tau"),
        ("my_own_metric", "my own metric"),
    ],
)
def test_metric_titles(name, title):
    assert wording.metric_title(name) == title
