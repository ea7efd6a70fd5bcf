"""Annotations from nested rankings and from matrices."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from data.formats.conftest import statements
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx


def test_nameless_readers_are_nobody_else():
    ann = dx.from_rankings({"p": [[["a"]], [["b"]]], "q": [[["a"]]]})
    assert ann["annotator"].values.tolist() == ["p: 1", "p: 2", "q: 1"]


def test_the_kind_is_given_by_the_function():
    ann = dx.from_rankings({"p": [[["a"]]]})
    assert (ann.attrs["kind"], ann.attrs["kind_source"]) == ("ranking", "given")


def test_empty_rankings_keep_their_item_and_annotator():
    ann = dx.from_rankings({"p": {"ann": []}, "q": {"bob": [["a"]]}, "r": {}})
    assert ann["item"].values.tolist() == ["p", "q", "r"]
    assert ann["annotator"].values.tolist() == ["ann", "bob"]
    assert statements(ann) == {("q", "bob", "a", 1)}
    assert dx.validate(ann) is ann


def test_blocks_may_be_sets_tuples_or_generators():
    ann = dx.from_rankings({1: {2: iter([{"b", "a"}, ("c",), (label for label in "de")])}})
    assert statements(ann) == {
        (1, 2, "a", 1), (1, 2, "b", 1), (1, 2, "c", 2), (1, 2, "d", 3), (1, 2, "e", 3),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ([[["a"]]], "rankings: expected a mapping from item to rankings; found list"),
        ({"p": "ab"}, "rankings, item 'p': expected a list of rankings.*found 'ab'"),
        ({"p": None}, "rankings, item 'p'.*found None"),
        ({"p": {"ann": "ab"}}, "item 'p', annotator 'ann': expected a list of blocks.*found 'ab'"),
        ({"p": {"ann": None}}, "item 'p', annotator 'ann'.*found None"),
        ({"p": {"ann": [["a"], "b"]}}, "item 'p', annotator 'ann', block 2: expected a list.*'b'"),
        ({"p": {"ann": [["a"], []]}}, r"item 'p', annotator 'ann', block 2.*found \[\]"),
        (
            {"p": {"ann": [["a"], ["b", "a"]]}},
            r"item 'p', annotator 'ann', block 2: expected each label.*\['b', 'a'\] after \['a'\]",
        ),
        ({"p": {"ann": [["a", "a"]]}}, "block 1: expected each label once"),
        (
            {"p": {"ann": [["a"], [None]]}},
            "column 'label', item 'p', annotator 'ann': expected a val",
        ),
        (
            {"p": {"ann": [["a"]], "bob": [[1]]}},
            "item 'p', annotator 'ann' and item 'p', annot.*bob",
        ),
        ({"p": {"ann": [[["a"]]]}}, "item 'p', annotator 'ann'.*values of type list"),
        ({"p": {"ann": []}}, "at least one ranked label; found only empty rankings"),
        ({}, "at least one ranked label"),
    ],
)
def test_bad_rankings_name_item_annotator_and_block(rankings, message):
    with pytest.raises(dx.AnnotationError, match=message):
        dx.from_rankings(rankings)


def test_labels_outside_the_space_are_named_with_their_item():
    with pytest.raises(
        dx.AnnotationError, match="item 'p', annotator 'ann': expected one of labels"
    ):
        dx.from_rankings({"p": {"ann": [["x"]]}}, labels="abc")


@settings(deadline=None, max_examples=30)
@given(
    st.dictionaries(
        st.sampled_from("pqr"),
        st.dictionaries(
            st.integers(0, 3),
            st.permutations("abcd").flatmap(
                lambda order: st.lists(st.integers(1, 2), max_size=3).map(
                    lambda sizes: [
                        order[start : start + size]
                        for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False)
                        if order[start : start + size]
                    ]
                )
            ),
        ),
    )
)
def test_every_statement_and_no_other_is_read(rankings):
    expected = {
        (item, annotator, label, rank)
        for item, people in rankings.items()
        for annotator, blocks in people.items()
        for rank, block in enumerate(blocks, start=1)
        for label in block
    }
    if not expected:
        return
    ann = dx.from_rankings(rankings, labels="abcd")
    assert statements(ann) == expected
    assert ann.sizes["item"] == len(rankings)
    assert dx.validate(ann) is ann


MATRIX = [[1, 2, None], [None, 3, None], [None, None, None]]


@pytest.mark.parametrize(
    "matrix",
    [
        MATRIX,
        np.array(MATRIX, dtype=float),
        np.array(MATRIX, dtype=object),
        np.ma.masked_invalid(np.array(MATRIX, dtype=float)),
        pd.DataFrame(MATRIX),
        pd.DataFrame(MATRIX).astype("Int64"),
        xr.DataArray(np.array(MATRIX, dtype=float)),
    ],
    ids=["lists", "floats", "objects", "masked", "pandas", "nullable", "xarray"],
)
def test_matrices_of_all_sorts(matrix):
    ann = dx.from_matrix(matrix)
    assert statements(ann) == {(0, 0, 1), (0, 1, 2), (1, 1, 3)}
    assert ann["item"].values.tolist() == [0, 1, 2]  # an item nobody labelled is kept
    assert ann["annotator"].values.tolist() == [0, 1, 2]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_column_names_are_annotators(library):
    ann = dx.from_matrix(library({"ann": ["x", "y"], "bob": ["y", None]}))
    assert statements(ann) == {(0, "ann", "x"), (0, "bob", "y"), (1, "ann", "y")}


def test_row_and_coordinate_names_are_items():
    frame = pd.DataFrame({"ann": [0.5, 1]}, index=["i", "j"])
    ann = dx.from_matrix(frame)
    assert ann["item"].values.tolist() == ["i", "j"]
    assert ann.attrs["kind"] == "continuous"
    array = frame.stack().to_xarray()
    xr.testing.assert_identical(dx.from_matrix(array), ann)


def test_ordered_categories_stay_ordered():
    kind = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"ann": ["high", "low"], "bob": ["low", None]}).astype(kind)
    ann = dx.from_matrix(frame)
    assert ann.attrs["kind"] == "ordinal"
    assert ann["label"].values.tolist() == ["low", "mid", "high"]
    assert statements(ann) == {(0, "ann", "high"), (0, "bob", "low"), (1, "ann", "low")}


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        ([1, 2], {}, r"matrix: expected two dimensions.*\(2,\)"),
        ([[1, 2], [3]], {}, r"matrix: expected two dimensions"),
        (np.zeros((2, 2, 2)), {}, r"\(2, 2, 2\)"),
        ([[None, None]], {}, "matrix: expected at least one label; found only missing"),
        ([[1, "a"]], {}, r"item 0, annotator 0 and item 0, annotator 1.*a number \(1\) and text"),
        ([["a", ""]], {}, "column 'label', item 0, annotator 1.*nothing but blanks"),
        ([[1, 2], [3, None]], {"labels": [1, 2]}, "item 1, annotator 0: expected one of labels="),
        ([["lo"]], {"kind": "ordinal"}, "labels: expected the labels in order"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "column names.*'a' more than once"),
        (pd.DataFrame([[1], [2]], index=["i", "i"]), {}, "row names.*'i' more than once"),
        (3, {}, "expected a dataframe.*found int"),
    ],
)
def test_bad_matrices_name_item_and_annotator(matrix, options, message):
    with pytest.raises(dx.AnnotationError, match=message):
        dx.from_matrix(matrix, **options)


@pytest.mark.parametrize("bad", [{}, pd.DataFrame({"a": []}), xr.Dataset({"x": ("y", [1])})])
def test_a_matrix_without_cells_is_refused(bad):
    with pytest.raises(dx.AnnotationError, match=r"^matrix: "):
        dx.from_matrix(bad)


def test_a_dataset_is_no_mapping_of_rankings():
    with pytest.raises(dx.AnnotationError, match=r"rankings: .*found Dataset"):
        dx.from_rankings(xr.Dataset({"x": 1}))


def test_a_label_without_a_hash_is_refused_in_words():
    with pytest.raises(dx.AnnotationError, match=r"item 1, annotator 'ann'.*a missing value"):
        dx.from_rankings({1: {"ann": [[Decimal("sNaN")], ["a"]]}})


def test_a_decimal_that_signals_is_no_label_of_a_matrix():
    ann = dx.from_matrix([[Decimal("sNaN"), Decimal(1)], [Decimal(2), None]])
    assert ann.sizes["annotation"] == 2


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"item": [1, 2], "a": [1, 2], "b": [1, 1]}),
        pd.DataFrame({"case": [f"c{n}" for n in range(5)], "a": list("xyxyx"), "b": ["x"] * 5}),
    ],
)
def test_a_column_of_items_is_no_annotator(frame):
    name = frame.columns[0]
    with pytest.raises(dx.AnnotationError, match=rf"frame\.set_index\('{name}'\)"):
        dx.from_matrix(frame)
    assert dx.from_matrix(frame.set_index(name)).sizes["annotator"] == 2


def test_an_annotator_may_give_each_item_another_label():
    assert dx.from_matrix([[*"ax"], [*"bx"], [*"cy"], [*"dy"], [*"ez"]]).sizes["annotator"] == 2
    texts = pd.DataFrame({"a": ["k", "l", "m", "n", "o"], "b": ["K"] * 5}, index=list("vwxyz"))
    assert dx.from_matrix(texts).sizes["annotator"] == 2
    words = pd.DataFrame({"a": list("vwxyz"), "b": list("vvwxy")})
    assert dx.from_matrix(words).sizes["annotator"] == 2
    scores = pd.DataFrame({"a": [0.1, 0.2, 0.3, 0.4, 0.5], "b": [0.9, 0.8, 0.7, 0.6, 0.55]})
    assert dx.from_matrix(scores).sizes["annotator"] == 2
