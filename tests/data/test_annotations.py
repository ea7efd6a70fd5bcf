"""Annotations from tables: what is said is kept, what cannot be meant is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from data.formats.conftest import statements
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx

TABLE = {
    "item": ["i1", "i1", "i2", "i2", "i3"],
    "annotator": ["ann", "bob", "ann", "bob", "bob"],
    "label": ["x", "y", "y", "y", "z"],
}


def labelled(values, **options):
    """One item for each label, all by one annotator."""
    rows = len(values)
    return dx.annotations(
        {"item": np.arange(rows), "annotator": ["a"] * rows, "label": values}, **options
    )


def test_rows_become_codes_into_names():
    ann = dx.annotations(TABLE)
    assert dict(ann.sizes) == {"annotation": 5, "item": 3, "annotator": 2, "label": 3}
    assert statements(ann) == set(zip(*TABLE.values(), strict=True))
    assert list(ann.data_vars) == ["item_code", "annotator_code", "label_code"]
    assert all(ann[name].dtype == np.int64 for name in ann.data_vars)


def test_columns_can_have_any_names():
    frame = {"case": TABLE["item"], "reader": TABLE["annotator"], "grade": TABLE["label"]}
    named = dx.annotations(frame, "case", "reader", "grade")
    xr.testing.assert_identical(named, dx.annotations(TABLE))


ROWS = st.dictionaries(
    st.tuples(st.sampled_from("pqrst"), st.integers(0, 4)),
    st.sampled_from(["no", "yes", "maybe"]),
    min_size=1,
)


@settings(deadline=None, max_examples=30)
@given(rows=ROWS, data=st.data())
def test_the_order_of_rows_changes_nothing_that_is_said(rows, data):
    listed = [(*pair, label) for pair, label in rows.items()]
    shuffled = data.draw(st.permutations(listed))

    def read(rows):
        return dx.annotations(dict(zip(TABLE, zip(*rows, strict=True), strict=True)))

    first, second = read(listed), read(shuffled)
    assert statements(first) == statements(second) == set(listed)
    assert first.attrs == second.attrs
    assert first["label"].values.tolist() == second["label"].values.tolist()
    assert dx.validate(first) is first


@pytest.mark.parametrize(
    ("values", "options", "kind", "source"),
    [
        (["a", "b"], {}, "nominal", "inferred: the labels are text"),
        (["1", "3"], {}, "ordinal", "inferred: the labels are whole numbers"),
        ([1, 3], {}, "ordinal", "inferred: the labels are whole numbers"),
        ([1.0, 3.0], {}, "ordinal", "inferred: the labels are whole numbers"),
        (range(20), {}, "ordinal", "inferred: the labels are whole numbers"),
        (range(21), {}, "continuous", "inferred: the labels are more than 20"),
        ([1.5, 3], {}, "continuous", "inferred: the labels are numbers with fractions"),
        ([True, False], {}, "nominal", "inferred: the labels are true or false, written 1 and 0"),
        (np.array([True]), {}, "nominal", "inferred: the labels are true or false"),
        (pd.array([True, False], dtype="boolean"), {}, "nominal", "inferred: the labels are true"),
        (pd.Categorical([True, False]), {}, "nominal", "inferred: the labels are true"),
        (pd.Categorical(["a"], ordered=True), {}, "ordinal", "inferred: the labels are an ordered"),
        (pd.Categorical(["a"]), {}, "nominal", "inferred: the labels are text"),
        ([0, 1], {"labels": range(101)}, "ordinal", "inferred: the labels are numbers from"),
        ([0, 1], {"kind": "nominal"}, "nominal", "given"),
        ([0, 1], {"kind": "continuous"}, "continuous", "given"),
        (["0.5", "1"], {"kind": "continuous"}, "continuous", "given"),
        (["a"], {"kind": "ordinal", "labels": ["b", "a"]}, "ordinal", "given"),
    ],
)
def test_the_kind_is_inferred_and_the_reason_stated(values, options, kind, source):
    ann = labelled(values, **options)
    assert ann.attrs["kind"] == kind
    assert ann.attrs["kind_source"].startswith(source)
    assert ("value" in ann) == (kind == "continuous")


def test_label_space_is_kept_whole_and_in_order():
    ann = dx.annotations(TABLE, labels=["z", "never", "y", "x"])
    assert ann["label"].values.tolist() == ["z", "never", "y", "x"]
    assert statements(ann) == statements(dx.annotations(TABLE))
    numbers = labelled(["3", "1"], labels=["1", "2", "3"])
    assert numbers["label"].values.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "items", [["i0", "i2", "i1", "i3"], pd.Index(["i0", "i2", "i1", "i3"]),
              xr.DataArray(["i0", "i2", "i1", "i3"], dims="item"),
              dict.fromkeys(["i0", "i2", "i1", "i3"]).keys()],
    ids=["list", "index", "array", "keys"],
)  # fmt: skip
def test_items_without_annotations_are_kept_if_all_are_named(items):
    ann = dx.annotations(TABLE, items=items)
    assert ann["item"].values.tolist() == ["i0", "i2", "i1", "i3"]
    assert statements(ann) == set(zip(*TABLE.values(), strict=True))
    numbers = dx.annotations({**TABLE, "item": [1, 1, 2, 2, 3]}, items=["0", "1", "2", "3"])
    assert numbers["item_code"].values.tolist() == [1, 1, 2, 2, 3]
    some = dx.annotations(TABLE)
    assert float(dx.krippendorff_alpha(ann)) == float(dx.krippendorff_alpha(some))


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (["i1", "i3"], r"items=: expected all items of the column 'item'; found 1 of them "
                       r"missing: 'i2'"),
        ("i1", "items=: expected a sequence of names of items; found 'i1'"),
        (3, "items=: expected a sequence of names of items; found 3"),
        (b"i1", "items=: expected a sequence"),
        (dx.predictions({"item": ["i1"], "system": ["m"], "label": ["x"]}),
         r'found Dataset. For the items of predictions use items=pred\["item"\]'),
        ([["i1", "i2", "i3"]], "column 'items=', row 0: expected text, numbers"),
        (["i1", None], "column 'items=', row 1: expected a value"),
    ],
)  # fmt: skip
def test_senseless_items_are_refused(items, words):
    with pytest.raises(dx.AnnotationError, match=words):
        dx.annotations(TABLE, items=items)


def test_sets_of_a_wide_table_have_strata_from_a_table_of_items():
    wide = {"item": [1, 2], "annotator": ["a", "a"], "x": [1, 0], "y": [1, 1]}
    every = {"item": [1, 2, 3], "of": ["s", "t", "s"]}
    ann = dx.annotations(wide, kind="set", items=every, stratum="of")
    assert ann["element"].values.tolist() == ["x", "y"]
    assert ann["stratum"].values[ann["stratum_code"].values].tolist() == ["s", "t", "s"]


EVERY = {"item": ["i0", "i2", "i1", "i3"], "place": list("pqpq")}


@pytest.mark.parametrize(
    "items",
    [
        EVERY,
        pd.DataFrame(EVERY),
        pl.DataFrame(EVERY),
        pl.DataFrame(EVERY).to_arrow(),
        pd.DataFrame(EVERY).to_dict("records"),
    ],
    ids=["mapping", "pandas", "polars", "arrow", "rows"],
)
@pytest.mark.parametrize("role", ["cluster", "stratum"])
@pytest.mark.parametrize("own", [False, True], ids=["apart", "in both"])
def test_a_table_of_items_has_groups_of_items_without_a_row(items, role, own):
    places = {"place": ["p" if item == "i1" else "q" for item in TABLE["item"]]}
    ann = dx.annotations(TABLE | (places if own else {}), items=items, **{role: "place"})
    assert ann["item"].values.tolist() == EVERY["item"]
    assert ann[role].values[ann[f"{role}_code"].values].tolist() == EVERY["place"]
    assert statements(ann) == statements(dx.annotations(TABLE))


@pytest.mark.parametrize(
    ("frame", "items", "words"),
    [
        ({}, ["i1", "i2"], r"items=: expected a table with the columns 'item' and 'place', since "
                           r"cluster= is given; found list"),
        ({}, {"item": ["i1", "i2", "i3"]}, r"items=: column 'place': expected a column of this "
                                           r"name to read as cluster"),
        ({}, {"item": ["i1", "i2", "i3", "i1"], "place": list("pqpq")},
         r"column 'items=: place', row 0 \(item 'i1'\): expected the same value in every row of "
         r"one item; found 'p' here and 'q' elsewhere"),
        ({}, {"item": ["i1", "i2", "i3"], "place": ["p", None, "q"]},
         r"column 'items=: place', row 1: expected a value"),
        ({"place": ["p", "p", None, "q", "q"]}, EVERY, r"column 'place', row 2: expected a value"),
        ({}, {"item": [], "place": []}, r"items=: expected at least one row"),
        ({"place": ["p", "q", "q", "q", "q"]}, EVERY, r"column 'place', row 1 \(item 'i1'\): "),
        ({}, {"item": ["i1", "i2"], "place": list("pq")}, r"found 1 of them missing: 'i3'"),
    ],
)  # fmt: skip
def test_senseless_tables_of_items_are_refused(frame, items, words):
    with pytest.raises(dx.AnnotationError, match=words):
        dx.annotations(TABLE | frame, cluster="place", items=items)


def test_equal_numbers_of_different_types_are_one_label():
    assert labelled([1, 1.0, 2])["label"].values.tolist() == [1, 2]


def test_labels_that_look_alike_stay_apart():
    # Composed and decomposed letters, capitals and blanks may be meant; nothing is guessed.
    assert labelled(["é", "e\u0301", "E", " e", "e"]).sizes["label"] == 5


def test_ids_beyond_64_bits_do_not_merge():
    ann = dx.annotations({"item": [2**64, 2**64 + 1], "annotator": ["a", "a"], "label": ["x", "y"]})
    assert ann["item"].values.tolist() == ["18446744073709551616", "18446744073709551617"]


def test_groups():
    ann = dx.annotations(
        {**TABLE, "p": list("qqpqq"), "c": [5, 5, 4, 4, 4], "s": list("aaabb"), "t": [1] * 5},
        pool="p", cluster="c", trial="t",
    )  # fmt: skip
    assert ann["pool"].values.tolist() == ["p", "q"]
    assert ann["pool_code"].values.tolist() == [1, 1, 0, 1, 1]
    assert ann["cluster"].values[ann["cluster_code"].values].tolist() == [5, 4, 4]
    assert ann["cluster_code"].dims == ("item",)
    assert ann["trial"].values.tolist() == [1] * 5


def test_groups_without_members_are_none():
    pool = pd.Categorical(["b"] * 5, categories=["a", "b"], ordered=True)
    assert dx.annotations({**TABLE, "pool": pool}, pool="pool")["pool"].values.tolist() == ["b"]


def test_repetitions_are_told_apart_by_trial():
    twice = {name: values * 2 for name, values in TABLE.items()}
    ann = dx.annotations({**twice, "t": [1] * 5 + [2] * 5}, trial="t")
    assert ann.sizes["annotation"] == 10
    with pytest.raises(dx.AnnotationError, match="once in each trial"):
        dx.annotations({**twice, "t": [1] * 10}, trial="t")


RANKED = {"case": ["c"] * 3, "reader": ["r"] * 3, "dx": ["a", "b", "c"], "place": [1, 2, 2]}


def ranking(**changes):
    return dx.annotations({**RANKED, **changes}, "case", "reader", "dx", rank="place")


def test_ranks_with_ties():
    ann = ranking()
    assert ann.attrs["kind"] == "ranking"
    assert statements(ann) == {("c", "r", "a", 1), ("c", "r", "b", 2), ("c", "r", "c", 2)}
    assert ann["rank"].dtype == np.int64
    xr.testing.assert_identical(ranking(place=["1", "2", "2"]), ann)
    xr.testing.assert_identical(ranking(place=[1.0, 2.0, 2.0]), ann)


BAD_RANKS = {
    "gap": (
        [1, 2, 4],
        r"column 'place', row 2 \(item 'c', annotator 'r', label 'c'\): expected rank 3",
    ),
    "gap after a tie": ([1, 1, 3], "column 'place', row 2.*a step from 1 to 3"),
    "no first": ([2, 3, 3], "column 'place', row 0.*a step from 0 to 2"),
    "zero": ([0, 1, 2], "column 'place', row 0.*1 for the first choice.*found 0"),
    "negative": ([1, -1, 2], "column 'place', row 1.*found -1"),
    "no number that a computer counts to": ([1, 1e30, 2], "row 1: expected whole.*found 1e.30"),
    "fraction": ([1, 1.5, 2], "column 'place', row 1: expected whole numbers.*found 1.5"),
}


@pytest.mark.parametrize("name", BAD_RANKS)
def test_bad_ranks_name_column_row_and_item(name):
    place, message = BAD_RANKS[name]
    with pytest.raises(dx.AnnotationError, match=message):
        ranking(place=place)


def test_one_label_at_two_ranks_is_named():
    message = (
        r"columns 'case' and 'dx', rows 0 and 1 \(item 'c', annotator 'r', label 'a'\).*ranks 1, 2"
    )
    with pytest.raises(dx.AnnotationError, match=message):
        ranking(dx=["a", "a", "b"])


def bad(**changes):
    return {**TABLE, **changes}


NAN = float("nan")
BAD = {
    "missing column": (
        {"item": [1], "annotator": [1], "verdict": [1]},
        {},
        "column 'label': expected a column of this name to read as label; found the columns "
        "'item', 'annotator', 'verdict'. Name it with label=",
    ),
    "missing optional column": (
        TABLE,
        {"confidence": "sure"},
        "column 'sure': expected a column of this name to read as conf",
    ),
    "NaN item": (bad(item=["i", "i", NAN, "j", "j"]), {}, "column 'item', row 2: expected a value"),
    "None annotator": (
        bad(annotator=["a", None, "b", "a", None]),
        {},
        r"column 'annotator', row 1: expected a value; found a missing value \(2 of 5 rows\)",
    ),
    "said twice": (
        bad(annotator=["ann", "ann", "bob", "cat", "ann"]),
        {},
        r"columns 'item' and 'annotator', rows 0 and 1 \(item 'i1', annotator 'ann', label 'y'\): "
        "expected one label for each item and annotator; found the labels 'x', 'y'.*trial=",
    ),
    "stored twice": (
        {name: values + values[:1] for name, values in TABLE.items()},
        {},
        r"rows 0 and 5 .*found the labels 'x', 'x' \(repeated rows: 1\).*stored twice",
    ),
    "outside labels": (
        TABLE,
        {"labels": ["x", "y"]},
        r"column 'label', row 4: expected one of labels= \('x', 'y'\); found 'z'",
    ),
    "doubled labels": (TABLE, {"labels": ["x", "y", "z", "x"]}, "labels: expected distinct labels"),
    "no labels": (
        TABLE,
        {"labels": []},
        "labels: expected None, or the labels in order; found none",
    ),
    "labels for numbers": (
        bad(label=[1, 2, 3, 4, 5]),
        {"kind": "continuous", "labels": [1, 5]},
        "labels: expected None",
    ),
    "words without order": (
        TABLE,
        {"kind": "ordinal"},
        "labels: expected the labels in order.*For example labels=",
    ),
    "confidence in percent": (
        bad(sure=[0, 1, 0.5, 70, 1]),
        {"confidence": "sure"},
        r"column 'sure', row 3 \(item 'i2', annotator 'bob', label 'y'\): expected a number from 0 "
        "to 1; found 70.0",
    ),
    "confidence below 0": (
        bad(sure=[0, 1, 0.5, -0.1, 1]),
        {"confidence": "sure"},
        "column 'sure', row 3.*found -0.1",
    ),
    "confidence in words": (
        bad(sure=["high"] * 5),
        {"confidence": "sure"},
        "column 'sure', row 0.*found 'high'.*map words or percentages",
    ),
    "one item in two clusters": (
        bad(patient=["p", "q", "p", "p", "p"]),
        {"cluster": "patient"},
        r"column 'patient', row 0 \(item 'i1'\): expected the same value in every row of one item; "
        "found 'p' here and 'q' elsewhere",
    ),
    "unknown kind": (TABLE, {"kind": "votes"}, "kind: expected one of .*found 'votes'"),
    "ranking without ranks": (
        TABLE,
        {"kind": "ranking"},
        "kind: expected.*found kind='ranking' and rank=None",
    ),
    "ranks without ranking": (
        bad(r=[1] * 5),
        {"kind": "nominal", "rank": "r"},
        'kind: expected kind="ranking"',
    ),
    "labels are a number": (TABLE, {"labels": 3}, "^labels: expected a list of labels in order"),
    "labels are a set": (TABLE, {"labels": {"x"}}, "^labels: expected a list of labels in order"),
    "no column of labels": (TABLE, {"label": None}, "label=: expected the name of a column"),
    "kind is an array": (TABLE, {"kind": np.array(["nominal", "x"])}, "kind: expected one of"),
    "a label beside numbers": (
        bad(label=[0.5] * 5),
        {"kind": "continuous", "labels": 0.5},
        r"labels: expected None with .*; found 0.5",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_column_place_expected_and_found(name):
    frame, options, message = BAD[name]
    with pytest.raises(dx.AnnotationError, match=message) as caught:
        dx.annotations(frame, **options)
    assert isinstance(caught.value, ValueError)
    assert caught.value.expected
    assert caught.value.found


def test_a_bad_entry_of_the_label_space_is_no_row_of_the_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,annotator,label\n1,a,x\n")
    with pytest.raises(dx.AnnotationError, match="labels, entry 1: "):
        dx.read_annotations(path, labels=["x", None])


def test_one_person_may_label_an_item_in_two_pools():
    """The same people with two tools; in one pool it is a repetition, which trial= must name."""
    table = {"item": [1, 1], "annotator": ["ann", "ann"], "label": ["x", "y"], "tool": ["a", "b"]}
    ann = dx.annotations(table, pool="tool")
    assert ann.sizes["annotation"] == 2
    with pytest.raises(
        dx.AnnotationError, match=r"one label for each item and annotator.*in each pool"
    ):
        dx.annotations({**table, "tool": ["a", "a"]}, pool="tool")


@pytest.mark.parametrize("ranks", [[1, 1, 3], [1.5, 1.5, 3]])
def test_ranks_with_gaps_are_refused_with_the_remedy(ranks):
    table = {"item": [1] * 3, "annotator": ["a"] * 3, "label": list("xyz"), "rank": ranks}
    remedy = r'table.groupby\(\["item", "annotator"\]\)\["rank"\].rank\("dense"\)'
    with pytest.raises(dx.AnnotationError, match=remedy):
        dx.annotations(table, rank="rank")
    frame = pd.DataFrame(table)
    frame["rank"] = frame.groupby(["item", "annotator"])["rank"].rank("dense")
    assert dx.annotations(frame, rank="rank")["rank"].to_numpy().tolist() == [1, 1, 2]
    given = {"item": [1] * 3, "system": ["s"] * 3, "label": list("xyz"), "rank": ranks}
    with pytest.raises(dx.PredictionError, match=r'groupby\(\["item", "system"\]\)'):
        dx.predictions(given, rank="rank")
