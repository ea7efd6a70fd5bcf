"""Predictions from tables: labels, lists, scores and numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx

TABLE = {
    "item": [1, 2, 1, 2],
    "system": ["m", "m", "n", "n"],
    "label": ["a", "b", "b", "c"],
}
LISTS = {
    "case": ["p", "p", "p", "q"],
    "model": ["m"] * 4,
    "condition": ["a", "b", "c", "a"],
    "p": [0.2, 0.5, 0.2, 0.9],
    "place": [2, 1, 2, 1],
}
NAMES = ("case", "model", "condition")


def test_one_label_each():
    pred = dx.predictions(TABLE)
    assert dict(pred.sizes) == {"item": 2, "system": 2, "position": 1, "label": 3}
    assert pred.attrs == {"kind": "nominal"}
    label = pred["label"].to_numpy()[pred["label_code"].to_numpy()]
    assert label[..., 0].tolist() == [["a", "b"], ["b", "c"]]
    assert dx.validate(pred) is pred


def test_lists_are_ordered_by_falling_score_with_ties_as_blocks():
    pred = dx.predictions(LISTS, *NAMES, score="p")
    assert pred["label_code"].sel(item="p", system="m").values.tolist() == [1, 0, 2]
    assert pred["block"].sel(item="p", system="m").values.tolist() == [1, 2, 2]
    assert pred["score"].sel(item="p", system="m").values.tolist() == [0.5, 0.2, 0.2]
    assert pred["label_code"].sel(item="q", system="m").values.tolist() == [0, -1, -1]
    assert pred["block"].sel(item="q", system="m").values.tolist() == [1, 0, 0]
    assert np.isnan(pred["score"].sel(item="q", system="m").values[1:]).all()


def test_ranks_say_the_same_as_scores():
    by_rank = dx.predictions(LISTS, *NAMES, rank="place")
    by_score = dx.predictions(LISTS, *NAMES, score="p").drop_vars("score")
    xr.testing.assert_identical(by_rank, by_score)


def test_a_set_has_one_block():
    pred = dx.predictions({**LISTS, "place": [1] * 4}, *NAMES, rank="place")
    assert pred["block"].sel(item="p", system="m").values.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("labels", "options", "kind"),
    [
        (["a", "b"], {}, "nominal"),
        ([1, 2], {}, "nominal"),
        ([1.0, 2.0], {}, "nominal"),
        ([1.5, 2], {}, "continuous"),
        ([1, 2], {"kind": "continuous"}, "continuous"),
        (["1.5", "2"], {"kind": "continuous"}, "continuous"),
        ([1.5, 2], {"kind": "nominal"}, "nominal"),
    ],
)
def test_kinds(labels, options, kind):
    pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": labels}, **options)
    assert pred.attrs["kind"] == kind
    assert ("value" in pred) == (kind == "continuous")


def test_ordered_categories_keep_their_order():
    label = pd.Categorical(["hi", "lo"], categories=["lo", "mid", "hi"], ordered=True)
    pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": label})
    assert pred["label"].values.tolist() == ["lo", "mid", "hi"]


def test_items_that_some_system_lacks_are_dropped_on_demand_and_counted():
    table = {"item": [1, 2, 1, 3, 3], "system": list("mmnmn"), "label": list("abbaa")}
    pred = dx.predictions(table, on_missing="drop")
    assert pred["item"].values.tolist() == [1, 3]
    assert pred.attrs["items_dropped"] == 1
    assert "items_dropped" not in dx.predictions(TABLE, on_missing="drop").attrs


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from("pq"), st.sampled_from("abcd"), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=1, unique_by=lambda row: row[:2],
    ),
    st.data(),
)  # fmt: skip
def test_the_order_of_rows_changes_nothing_that_is_said(rows, data):
    def read(rows):
        table = dict(zip(("item", "label", "s"), zip(*rows, strict=True), strict=True))
        return dx.predictions({**table, "system": ["m"] * len(rows)}, score="s").sortby("item")

    first, second = read(rows), read(data.draw(st.permutations(rows)))
    xr.testing.assert_identical(first, second)
    assert dx.validate(first) is first


NAN = float("nan")
BAD = {
    "missing column": (
        {"item": [1], "label": ["a"]},
        {},
        "column 'system': expected a column of this name to read as system; found the columns",
    ),
    "missing score column": (TABLE, {"score": "p"}, "column 'p': expected a column.*read as score"),
    "missing item": (
        {**TABLE, "item": [1, None, 1, 2]},
        {},
        "column 'item', row 1: expected a value",
    ),
    "two rows for one": (
        {**TABLE, "item": [1, 1, 1, 2]},
        {},
        r"columns 'item' and 'system', rows 0 and 1 \(item 1, system 'm'\): expected one.*score=",
    ),
    "listed twice": (
        {**TABLE, "item": [1, 1, 1, 2], "label": list("aabc"), "s": [1, 2, 1, 1]},
        {"score": "s"},
        r"rows 0 and 1 \(item 1, system 'm'\): expected each label once in a list; found 'a'",
    ),
    "score missing": (
        {**TABLE, "s": [1, NAN, 1, 1]},
        {"score": "s"},
        "column 's', row 1: expected a value",
    ),
    "score text": ({**TABLE, "s": ["hi"] * 4}, {"score": "s"}, "column 's', row 0.*found 'hi'"),
    "rank gap": (
        {**TABLE, "item": [1, 1, 1, 1], "label": list("abab"), "r": [1, 3, 1, 2]},
        {"rank": "r"},
        r"column 'r', row 1 \(item 1, system 'm'\): expected whole ranks.*found 3 after 1",
    ),
    "rank zero": ({**TABLE, "r": [1, 1, 0, 1]}, {"rank": "r"}, "column 'r', row 2.*0 as the first"),
    "rank negative": ({**TABLE, "r": [1, 1, -1, 1]}, {"rank": "r"}, "row 2.*-1 as the first"),
    "rank fraction": ({**TABLE, "r": [1, 1, 1.5, 1]}, {"rank": "r"}, "row 2.*1.5 as the first"),
    "score and rank": (
        TABLE,
        {"score": "s", "rank": "r"},
        "score and rank: expected one of the two",
    ),
    "ordinal": (TABLE, {"kind": "ordinal"}, "found 'ordinal'. Grades are kind=\"nominal\" here"),
    "unknown kind": (TABLE, {"kind": "grade"}, "kind: expected one of .*found 'grade'$"),
    "ranking without order": (TABLE, {"kind": "ranking"}, "kind: expected score= or rank="),
    "order without ranking": (
        {**TABLE, "s": [1] * 4},
        {"kind": "nominal", "score": "s"},
        'kind: expected kind="ranking"',
    ),
    "scores of sets": (
        {**TABLE, "s": [1] * 4},
        {"kind": "set", "score": "s"},
        "kind: expected sets of labels, without score= or rank=.*dissensus.set_score",
    ),
    "unknown on_missing": (TABLE, {"on_missing": "skip"}, "on_missing: expected 'raise' or 'drop'"),
    "lacking": (
        {"item": [1, 2, 1, 3], "system": list("mmnm"), "label": list("abba")},
        {},
        r"a prediction of every system for every item; found 2 items without one: 2, 3 "
        r"\(system 'n' lacks 2\).*on_missing",
    ),
    "nothing in common": (
        {"item": [1, 2], "system": ["m", "n"], "label": ["a", "b"]},
        {"on_missing": "drop"},
        "an item for which every system has a prediction; found none among 2",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_column_place_expected_and_found(name):
    frame, options, message = BAD[name]
    with pytest.raises(dx.PredictionError, match=message):
        dx.predictions(frame, **options)


def plausibility(items, labels="ab"):
    return xr.DataArray(
        np.full((1, 1, len(items), 2), 0.5),
        dims=("chain", "draw", "item", "label"),
        coords={"item": items, "label": list(labels)},
        name="plausibility",
    )


def test_items_of_one_side_only_are_named_and_counted_both_ways():
    pred = dx.predictions({"item": [1, 2, 3], "system": ["m"] * 3, "label": list("aba")})
    with pytest.raises(dx.PredictionError) as caught:
        dx.top_k_accuracy(plausibility([2, 3, 4, 5]), pred)
    assert "2 annotated items without predictions: 4, 5" in str(caught.value)
    assert "1 predicted item without annotations: 1" in str(caught.value)
    with pytest.raises(dx.PredictionError, match="no item in common, but 1, 2, 3"):
        dx.top_k_accuracy(plausibility([7, 8]), pred)


def test_columns_that_are_needed_and_kinds_are_checked():
    table = {"item": [1], "system": ["s"], "label": ["x"]}
    with pytest.raises(dx.PredictionError, match="system=: expected the name of a column"):
        dx.predictions(table, system=None)
    with pytest.raises(dx.PredictionError, match="kind: expected one of"):
        dx.predictions(table, kind=np.array(["nominal", "ranking"]))


def test_ranks_with_an_imaginary_part_are_refused():
    rows = {"item": ["a", "a"], "system": ["s", "s"], "label": ["x", "y"], "rank": [1, 1 + 2j]}
    with pytest.raises(dx.PredictionError, match=r"column 'rank', row 1: expected a finite number"):
        dx.predictions(rows, rank="rank")


WIDE = {
    "item": [1, 2, 1, 2], "system": list("ssxx"),
    "b": [0.2, 0.5, 0.1, 0.0], "a": [0.7, 0.5, 0.1, 1.0], "c": [0.1, 0.0, 0.8, 0.0],
}  # fmt: skip


def test_a_wide_table_of_probabilities_says_what_a_long_one_does():
    rows = [
        (WIDE["item"][k], WIDE["system"][k], label, WIDE[label][k])
        for k in range(4) for label in "bac"
    ]  # fmt: skip
    names = ("item", "system", "label", "probability")
    long = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    xr.testing.assert_identical(dx.predictions(WIDE), dx.predictions(long, score="probability"))
    wide = dx.predictions(pd.DataFrame(WIDE))
    assert wide["label"].to_numpy().tolist() == ["a", "b", "c"]
    xr.testing.assert_identical(dx.predictions(WIDE, score="probability"), wide)


def test_a_wide_table_whose_rows_do_not_add_up_is_refused():
    with pytest.raises(dx.PredictionError) as caught:
        dx.predictions(WIDE | {"d": [0.0, 0.0, 0.2, 0.0]})
    assert "row 2: expected a column 'label', or probabilities of all labels" in str(caught.value)
    assert "with the sum 1.2 (such rows: 1)" in str(caught.value)
    with pytest.raises(dx.PredictionError, match="column 'label': expected a column of this name"):
        dx.predictions({"item": [1], "system": ["s"], "answer": ["x"]})


def test_a_wide_table_with_a_number_that_is_no_probability_names_it():
    table = {"item": [1, 2], "system": ["s", "s"], "x": [0.2, 1.2], "y": [0.8, -0.2]}
    with pytest.raises(dx.PredictionError, match=r"row 1: .*found 1\.2 for 'x' \(such rows: 1\)"):
        dx.predictions(table)
