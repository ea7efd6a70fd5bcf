"""True labels as people give them: of some items by name, of all by name or by place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.known_labels import codes_of_all, known_codes, recorded

ANN = dx.annotations(
    {"item": ["i", "i", "j", "k"], "annotator": [1, 2, 1, 1], "label": [0, 1, 1, 0]}, kind="nominal"
)
ITEMS, LABELS = ANN["item"].to_numpy(), ANN["label"].to_numpy()


@pytest.mark.parametrize(
    "truth",
    [
        {"j": 1, "i": 0},
        {"j": "1", "i": "0"},
        {"j": True, "i": False},
        pd.Series([0, 1, None], index=["i", "j", "k"]),
        xr.DataArray([1, 0], dims="item", coords={"item": ["j", "i"]}),
        pd.DataFrame({"item": ["i", "j"], "label": [0, 1], "who": "me"}),
        {"item": ["j", "i"], "label": [1, 0]},
    ],
)
def test_some_labels_are_found_by_name(truth):
    np.testing.assert_array_equal(known_codes(ANN, truth), [0, 1, -1])


@pytest.mark.parametrize(
    "names", [pd.date_range("2020-05-01 10:00", periods=3, freq="12h").tolist(), [True, False]]
)
def test_items_are_named_as_in_the_caller_s_table(names):
    ann = dx.annotations(pd.DataFrame({"item": names, "annotator": 1, "label": "y"}), labels="xy")
    first, columns = names[:1], {"item": names[:1], "label": ["x"]}
    expected = [0, *[-1] * (len(names) - 1)]
    for truth in (
        {names[0]: "x"},
        pd.Series(["x"], index=first),
        xr.DataArray(["x"], dims="item", coords={"item": first}),
        columns,
        pd.DataFrame(columns),
        pl.DataFrame(columns),
    ):
        np.testing.assert_array_equal(known_codes(ann, truth), expected)
        assert known_codes(ann, recorded(truth)).tolist() == expected


@pytest.mark.parametrize(
    "truth",
    [
        [0, 1, 0],
        [False, True, False],
        {"k": 0, "j": 1, "i": 0, "other": 9},
        np.array(["0", "1", "0"]),
        pd.Series([0, 1, 0]),
    ],
)
def test_all_labels_are_found_by_place_or_by_name(truth):
    np.testing.assert_array_equal(codes_of_all(truth, ITEMS, LABELS, closed=True), [0, 1, 0])


def test_labels_that_are_none_are_refused_by_both():
    for truth in ({"i": [0], "j": [1], "k": [0, 1]}, {"i": 0, "j": 1, "k": object()}):
        with pytest.raises(dx.ArgumentError, match="truth: expected"):
            known_codes(ANN, truth)
        with pytest.raises(dx.ArgumentError, match="truth"):
            codes_of_all(truth, ITEMS, LABELS, closed=True)
    assert codes_of_all([0.5, 1, 0], ITEMS, LABELS, closed=False).tolist() == [-1, 1, 0]


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (pd.DataFrame({"id": ["i"], "label": [0]}), "truth: expected a table with the columns"),
        ({"i": [0, 1], "j": [0, 1]}, "truth: expected"),
        (pd.Series([0], index=pd.MultiIndex.from_tuples([("i", 1)])), "truth: expected a mapping"),
        ({"z": 0}, "other items: 'z'. Leave these items out, or"),
        ({"i": "x", "j": "x"}, "found 'x'"),
    ],
)
def test_what_is_wrong_with_known_labels_is_said(truth, words):
    with pytest.raises(dx.ArgumentError, match=words):
        known_codes(ANN, truth)


def test_a_known_label_in_another_spelling_is_named():
    ann = dx.annotations({"item": [1, 2], "annotator": [1, 1], "label": ["Cat", "dog"]})
    with pytest.raises(dx.ArgumentError, match=r"'cat ' is 'Cat' except for capitals or blanks"):
        known_codes(ann, {1: "cat "})
    with pytest.raises(dx.ArgumentError, match="the whole label space"):
        known_codes(ann, {1: "cow"})


def test_what_is_written_down_are_the_labels_that_are_known():
    given = pd.Series(["n", pd.NA, "y"], index=list("ijk"), dtype="string")
    assert recorded(given) == {"i": "n", "k": "y"}
    assert recorded(None) is None


def test_one_label_for_all_items_is_refused_with_the_mapping_that_says_it():
    ann = dx.from_matrix([[1, 0], [1, 1]])
    with pytest.raises(dx.ArgumentError, match=r'dict.fromkeys\(annotations\["item"\].values, 1\)'):
        dx.models.rasch.build(ann, truth=1)
    dx.models.rasch.build(ann, truth=dict.fromkeys(ann["item"].values, 1))
