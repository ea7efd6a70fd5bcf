"""One column per annotator, or per system."""

from __future__ import annotations

import pandas as pd
import pytest
import xarray as xr

import dissensus as dx

TABLE = "item,ann,bob,cat\ni1,x,y,\ni2,,y,\ni3,,,\n"


def test_cells_are_statements_and_nobody_is_lost(file, statements):
    ann = dx.read_annotations(file("a.csv", TABLE), format="wide")
    assert statements(ann) == {("i1", "ann", "x"), ("i1", "bob", "y"), ("i2", "bob", "y")}
    assert ann["item"].values.tolist() == ["i1", "i2", "i3"]
    assert ann["annotator"].values.tolist() == ["ann", "bob", "cat"]
    assert ann.attrs["format"] == "wide"
    assert dx.validate(ann) is ann


def test_it_is_the_matrix(file):
    ann = dx.read_annotations(file("a.csv", TABLE), format="wide")
    frame = pd.read_csv(file("b.csv", TABLE), index_col="item")
    xr.testing.assert_identical(ann.drop_attrs(), dx.from_matrix(frame).drop_attrs())


def test_any_ending_will_do(file, tmp_path, statements):
    expected = {(1, "ann", 0.5), (1, "bob", 1.0), (2, "bob", 2.5)}
    records = [{"item": 1, "ann": 0.5, "bob": 1}, {"item": 2, "bob": 2.5}]
    pd.DataFrame(records).to_parquet(tmp_path / "a.parquet")
    paths = [
        file("a.json", records),
        tmp_path / "a.parquet",
        file("a.csv", "item,ann,bob\n1,0.5,1\n2,,2.5\n"),
    ]
    for path in paths:
        ann = dx.read_annotations(path, format="wide")
        assert ann.attrs["kind"] == "continuous"
        names = [
            ann[role].to_numpy()[ann[f"{role}_code"].to_numpy()].tolist()
            for role in ("item", "annotator")
        ]
        assert set(zip(*names, ann["value"].values.tolist(), strict=True)) == expected


def test_columns_of_groups_are_no_annotators(file):
    text = "id,ann,patient,bob,site\n1,x,p,y,s\n2,,q,,s\n3,x,p,,t\n"
    ann = dx.read_annotations(
        file("a.csv", text), format="wide", item="id", cluster="patient", stratum="site"
    )
    assert ann["annotator"].values.tolist() == ["ann", "bob"]
    assert ann["cluster"].values[ann["cluster_code"].values].tolist() == ["p", "q", "p"]
    assert ann["stratum"].values[ann["stratum_code"].values].tolist() == ["s", "s", "t"]
    assert dx.validate(ann) is ann


def test_the_column_of_items_may_be_nameless(file, statements):
    ann = dx.read_annotations(file("a.csv", TABLE.replace("item", "", 1)), format="wide", item="")
    assert ("i1", "ann", "x") in statements(ann)


def test_label_space(file):
    ann = dx.read_annotations(
        file("a.csv", TABLE), format="wide", labels=["z", "y", "x"], kind="ordinal"
    )
    assert ann["label"].values.tolist() == ["z", "y", "x"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "id,a\n1,x\n",
            {},
            r"a.csv: column 'item'.*read as item; found the columns 'id', 'a'.*item=",
        ),
        ("item\n1\n", {}, r"a.csv: expected columns of annotators beside 'item'; found none"),
        (
            "item,a\n1,x\n2,\n1,y\n",
            {},
            r"column 'item', line 2 and line 4: expected each item in one",
        ),
        ("item,a\n1,x\n,y\n", {}, r"a.csv: column 'item', line 3: expected a value"),
        ("item,a\n1,\n2,\n", {}, "at least one label; found only missing"),
        (
            "item,a,b\n1,1,\n2,,x\n",
            {},
            r"line 2, column 'a' and line 3, column 'b'.*all numbers or",
        ),
        ("item,a,b\n1,x,y\n", {"labels": ["x"]}, "item 1, annotator 'b': expected one of labels="),
        (
            "item,a\n1,x\n",
            {"kind": "continuous"},
            "item 1, annotator 'a': expected a finite number",
        ),
        ("item,a\n1,x\n", {"cluster": "c"}, "column 'c'.*read as cluster.*cluster="),
        ("item,a,c\n1,x,\n", {"cluster": "c"}, r"a.csv: column 'c', line 2: expected a value"),
        ("item,a\n1,x\n", {"rank": "a"}, "rank=: expected no such argument with format='wide'"),
        ("item,a\n1,x\n", {"annotator": "a"}, "annotator=: expected no such argument"),
        ("item,a\n1,x\n", {"label": "a"}, "label=: expected no such argument"),
        ("item,a\n1,x\n", {"confidence": "a"}, "confidence=: expected no such argument"),
    ],
)
def test_trouble_is_located(text, options, message, file):
    with pytest.raises(dx.AnnotationError, match=message):
        dx.read_annotations(file("a.csv", text), format="wide", **options)


SYSTEMS = "item,m,n\n1,x,y\n2,y,y\n"


def answers(pred):
    return pred["label"].to_numpy()[pred["label_code"].to_numpy()][..., 0].tolist()


def test_systems_in_columns_are_recognised_and_it_is_said(file):
    path = file("p.csv", SYSTEMS)
    pred = dx.read_predictions(path)
    assert pred["system"].values.tolist() == ["m", "n"]
    assert answers(pred) == [["x", "y"], ["y", "y"]]
    assert pred.attrs["format"] == (
        "wide (recognised: no column 'system' or 'label'; the systems are the columns m, n)"
    )
    named = dx.read_predictions(path, format="wide")
    assert named.attrs["format"] == "wide"
    xr.testing.assert_identical(named.drop_attrs(), pred.drop_attrs())
    assert dx.validate(pred) is pred


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (SYSTEMS, {"system": "model"}),
        (SYSTEMS, {"label": "verdict"}),
        (SYSTEMS, {"score": "m"}),
        (SYSTEMS, {"rank": "m"}),
        ("item,system,verdict\n1,m,x\n", {}),
        ("item,model,label\n1,m,x\n", {}),
        ("id,m,n\n1,x,y\n", {}),
        ("item\n1\n", {}),
    ],
)
def test_nothing_is_recognised_where_another_reading_was_meant(text, options, file):
    with pytest.raises(
        dx.FormatError, match=r"expected (a column of this name|columns of these names)"
    ):
        dx.read_predictions(file("p.csv", text), **options)


def test_answers_may_mix_numbers_and_text(file):
    pred = dx.read_predictions(file("p.csv", "item,m,n\n1,2,Tie\n2,1,1\n"))
    assert answers(pred) == [["2", "Tie"], ["1", "1"]]


def test_numbers_with_fractions(file):
    pred = dx.read_predictions(file("p.csv", "item,m,n\n1,2,0.5\n2,1,1\n"))
    assert pred.attrs["kind"] == "continuous"
    assert pred["value"].values.tolist() == [[2, 0.5], [1, 1]]


def test_empty_cells_are_missing_predictions(file):
    path = file("p.csv", "item,m,n\n1,x,y\n2,y,\n3,,\n")
    with pytest.raises(dx.PredictionError) as caught:
        dx.read_predictions(path)
    message = str(caught.value)
    assert "p.csv: column 'n', line 3 (item 2): expected a prediction of every system" in message
    assert "an empty cell (3 in all)" in message
    pred = dx.read_predictions(path, on_missing="drop")
    assert pred["item"].values.tolist() == [1]
    assert pred.attrs["items_dropped"] == 2


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("item,m\n1,\n", {"on_missing": "drop"}, "found none among 1"),
        (
            "item,m\n1,x\n1,y\n",
            {},
            "column 'item', line 2 and line 3: expected each item in one row",
        ),
        ("item,m\n1,x\n", {"on_missing": "maybe"}, "on_missing: expected 'raise' or 'drop'"),
        (
            "item,m\n1,x\n",
            {"kind": "continuous"},
            r"p.csv: column 'label', line 2, column 'm': exp",
        ),
    ],
)
def test_trouble_with_predictions_is_located(text, options, message, file):
    with pytest.raises(dx.PredictionError, match=message):
        dx.read_predictions(file("p.csv", text), format="wide", **options)


@pytest.mark.parametrize("options", [{}, {"score": "probability"}])
@pytest.mark.parametrize("name", ["p.csv", "p.json"])
def test_a_column_of_probabilities_for_each_label_is_read_as_from_memory(file, name, options):
    table = {"case": ["1", "2"], "model": ["s", "s"], "x": [0.25, 0], "y": [0.75, 1]}
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    text = "case,model,x,y\n1,s,0.25,0.75\n2,s,0,1\n"
    path = file(name, text if name == "p.csv" else rows)
    pred = dx.read_predictions(path, item="case", system="model", **options)
    assert pred.attrs.pop("format").endswith("each label has a column of probabilities)")
    xr.testing.assert_identical(pred, dx.predictions(table, item="case", system="model"))


def test_columns_of_numbers_that_are_no_probabilities_are_refused(file):
    path = file("p.csv", "item,system,x,y\n1,s,0.2,0.9\n")
    with pytest.raises(dx.PredictionError, match=r"p\.csv.*with the sum 1\.1"):
        dx.read_predictions(path)
    path = file("q.csv", "item,system,x,y\n1,s,0.2,0.8\n2,s,0.2,oops\n")
    with pytest.raises(dx.PredictionError, match=r"column 'y'.*found 'oops'"):
        dx.read_predictions(path)
