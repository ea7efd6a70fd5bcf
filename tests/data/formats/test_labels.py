"""Which labels of a file of text are numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dissensus as dx
from dissensus.data.formats._table import ReadOptions, typed_labels

ANNOTATIONS = {"item": "item", "annotator": "annotator", "label": "label"}
PREDICTIONS = {"item": "item", "system": "system", "label": "label"}


def typed(cells, columns=ANNOTATIONS, **options):
    return typed_labels(
        pd.Series(cells, dtype=object), "label", ReadOptions(columns, **options)
    ).tolist()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0.5", "1.5"], [0.5, 1.5]),
        (["1.0", "2"], [1.0, 2.0]),
        (["-0.25", "1e-05", ".5", "3E2"], [-0.25, 1e-05, 0.5, 300.0]),
        (["0.50", "0.25"], [0.5, 0.25]),
        (["-0.0", "0.0"], [0.0, 0.0]),
        (["1", "2"], ["1", "2"]),  # whole numbers are recognised later, for all columns
        (["01.5", "0.5"], ["01.5", "0.5"]),
        (["1.", "+2"], ["1.", "+2"]),
        (["1.2.3", "v1.2"], ["1.2.3", "v1.2"]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_numbers_if_nothing_is_lost(labels, expected):
    assert typed(labels) == expected
    assert typed(labels, PREDICTIONS) == expected


@pytest.mark.parametrize("columns", [ANNOTATIONS, PREDICTIONS])
def test_names_that_are_all_whole_numbers_with_a_point_become_whole_numbers(columns):
    """Other programs write 3 as 3.0 where cells of the column are missing."""
    for labels in (["3.0", "1.0", None], ["0.0", "-2.0"]):
        expected = [np.nan if text is None else float(text) for text in labels]
        np.testing.assert_array_equal(typed(labels, columns, kind="nominal"), expected)
    for labels in (["3.0", "2.5"], ["3.0", "4"], ["3.00"], ["03.0"], ["3.0", "x"]):
        assert typed(labels, columns, kind="nominal") == labels


def test_missing_ones_stay_missing():
    result = typed(["0.5", None])
    assert result[0] == 0.5
    assert np.isnan(result[1])


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "nominal"},
        {"labels": ["0.5", "1.5"]},
        {"columns": {**ANNOTATIONS, "rank": "rank"}},
        {"columns": {**PREDICTIONS, "score": "score"}},
        {"kind": "continuous"},  # read as numbers by the next in line, who names what is none
    ],
)
def test_text_stays_text_where_the_caller_says_so(options):
    assert typed(["0.5", "1.5"], **options) == ["0.5", "1.5"]


def test_a_label_space_of_numbers_makes_numbers():
    assert typed(["0.5", "1.0"], labels=[0.5, 1.0]) == [0.5, 1.0]
    assert typed(["0.5", "1.0"], kind="ordinal") == [0.5, 1.0]


@pytest.mark.parametrize("labels", [["1", "x"], ["x", "0.5"], ["007", "8", "x"], ["1", "2", "n/a"]])
def test_numbers_among_text_are_refused_for_annotations(labels):
    with pytest.raises(dx.AnnotationError, match=r"column 'label', rows.*all numbers or all text"):
        typed(labels)
    assert typed(labels, PREDICTIONS) == labels  # a system may answer anything
    assert typed(labels, kind="nominal") == labels
    assert typed(labels, labels=labels) == labels


@pytest.mark.parametrize("labels", [["1.1", "1.10"], ["1", "1.0"]])
def test_two_spellings_of_one_number_are_a_question(labels):
    for columns in (ANNOTATIONS, PREDICTIONS):
        with pytest.raises(dx.AnnotationError, match=r"one spelling for each number.*kind="):
            typed(labels, columns)
    assert typed(labels, kind="nominal") == labels
    assert len(set(typed(labels, kind="ordinal"))) == 1


CSV = "item,annotator,label\n1,a,{}\n\n2,a,{}\n"


@pytest.mark.parametrize(
    ("cells", "options", "kind"),
    [
        (("0.5", "1.5"), {}, "continuous"),
        (("1.0", "2.0"), {}, "ordinal"),
        (("1", "2"), {}, "ordinal"),
        (("1", "2"), {"kind": "continuous"}, "continuous"),
        (("1.1", "1.10"), {"kind": "nominal"}, "nominal"),
    ],
)
def test_kinds_of_files_are_those_of_tables(cells, options, kind, file):
    ann = dx.read_annotations(file("a.csv", CSV.format(*cells)), **options)
    assert ann.attrs["kind"] == kind


def test_mixtures_are_located_in_the_file(file):
    with pytest.raises(dx.AnnotationError) as caught:
        dx.read_annotations(file("a.csv", CSV.format("x", "0.5")))
    message = str(caught.value)
    assert message.startswith(
        "a.csv: column 'label', line 4 and line 2: expected all numbers or all"
    )
    assert "found a number ('0.5') and text ('x')" in message
    assert 'kind="nominal"' in message


def test_what_is_no_number_is_located_in_the_file(file):
    with pytest.raises(dx.AnnotationError, match=r"a.csv: column 'label', line 4: .*found 'x'"):
        dx.read_annotations(file("a.csv", CSV.format("0.5", "x")), kind="continuous")
