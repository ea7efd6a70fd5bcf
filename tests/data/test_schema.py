"""The written form, re-checked: by hand-made errors, and after a journey through a file."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data import schema
from dissensus.data.rows import ranking_code
from dissensus.data.schema import validate


def made(**more):
    table = {
        "item": ["i1", "i1", "i2"],
        "annotator": ["ann", "bob", "ann"],
        "label": ["x", "y", "x"],
    }
    return dx.annotations({**table, **more}, **{role: role for role in more})


def ranked():
    return dx.from_rankings({"i": {"ann": [["a"], ["b", "c"]], "bob": [["c"]]}}, labels="abcd")


def continuous():
    return dx.annotations({"item": [1, 2], "annotator": ["a", "a"], "label": [0.5, 1.5]})


EVERYTHING = {
    "plain": made,
    "integers": lambda: dx.annotations({"item": [7], "annotator": [8], "label": [9]}),
    "full": lambda: made(
        confidence=[0, 0.5, 1],
        pool=["p", "q", "p"],
        cluster=["c", "c", "d"],
        stratum=[1, 1, 2],
        trial=["one", "one", "two"],
    ),
    "unicode": lambda: dx.annotations({"item": ["日本"], "annotator": ["é"], "label": ["😀 x"]}),
    "continuous": continuous,
    "ranking": ranked,
    "label space": lambda: dx.annotations(
        {"item": [1], "annotator": ["a"], "label": ["x"]}, labels=["z", "y", "x"], kind="ordinal"
    ),
}


@pytest.mark.parametrize("engine", ["h5netcdf"])
@pytest.mark.parametrize("name", EVERYTHING)
def test_annotations_survive_a_file(name, engine, tmp_path):
    ann = EVERYTHING[name]()
    ann.to_netcdf(tmp_path / "ann.nc", engine=engine)
    with xr.open_dataset(tmp_path / "ann.nc", engine=engine) as back:
        assert validate(back) is back
        xr.testing.assert_identical(back.load(), ann)


PREDICTIONS = {
    "nominal": lambda: dx.predictions({"item": ["a", "b"], "system": ["m"] * 2, "label": [1, 2]}),
    "scores": lambda: dx.predictions(
        {"item": ["a", "a", "b"], "system": ["m"] * 3, "label": ["x", "y", "y"], "s": [0.2, 1, 0]},
        score="s",
    ),
    "ranks": lambda: dx.predictions(
        {"item": [1, 1, 2], "system": ["é"] * 3, "label": ["x", "y", "y"], "r": [1, 1, 1]}, rank="r"
    ),
    "continuous": lambda: dx.predictions({"item": [1, 2], "system": ["m"] * 2, "label": [0.5, 2]}),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predictions_are_valid_and_survive_a_file(name, tmp_path):
    pred = PREDICTIONS[name]()
    assert validate(pred) is pred
    pred.to_netcdf(tmp_path / "pred.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "pred.nc", engine="h5netcdf") as back:
        assert validate(back) is back
        xr.testing.assert_identical(back.load(), pred)


def changed(ann, name, row, value):
    values = ann[name].to_numpy().copy()
    values[row] = value
    return ann.assign({name: (ann[name].dims, values)})


BROKEN = {
    "no Dataset": (lambda: {"item": [1]}, "annotations: expected an xarray.Dataset.*found dict"),
    "no kind": (lambda: made().drop_attrs(), r"attrs\['kind'\].*found None"),
    "strange kind": (lambda: made().assign_attrs(kind="votes"), r"attrs\['kind'\].*found 'votes'"),
    "no label codes": (
        lambda: made().drop_vars("label_code"),
        "expected the variables item_code.*no label_code",
    ),
    "no ranks": (lambda: ranked().drop_vars("rank"), "found no rank"),
    "no values": (lambda: continuous().drop_vars("value"), "found no value"),
    "no names": (lambda: made().drop_vars("item"), "item_code.*index coordinate 'item'"),
    "doubled names": (
        lambda: made().assign_coords(annotator=["ann", "ann"]),
        "coordinate 'annotator'.*distinct names.*'ann' more than once",
    ),
    "missing name": (
        lambda: made().assign_coords(item=np.array(["i1", None], dtype=object)),
        "coordinate 'item'.*none missing.*a missing name",
    ),
    "code too large": (
        lambda: changed(made(), "item_code", 1, 2),
        "coordinate 'item': expected a name for each code in 'item_code', up to 2; found 2 names",
    ),
    "items selected": (
        lambda: made().isel(item=slice(1)),
        r"coordinate 'item'.*A subset taken with isel or sel over 'item'.*\['item'\]\.isin",
    ),
    "code negative": (
        lambda: changed(made(), "label_code", 0, -1),
        "label_code, row 0: expected a code from 0 to 1; found -1",
    ),
    "codes no integers": (
        lambda: made().assign(item_code=("annotation", [0.0, 0.0, 1.0])),
        "item_code: expected integer codes; found float64",
    ),
    "codes elsewhere": (
        lambda: made(cluster=["c", "c", "d"]).assign(cluster_code=("annotation", [0, 0, 0])),
        "cluster_code: expected codes along 'item'",
    ),
    "value elsewhere": (
        lambda: continuous().drop_vars("value").assign(value=("item", [1.0, 2.0])),
        "value: expected one value along 'annotation'.*'item'",
    ),
    "value is text": (
        lambda: continuous().assign(value=("annotation", ["a", "b"])),
        "label: expected numbers",
    ),
    "value is missing": (
        lambda: changed(continuous(), "value", 1, np.nan),
        r"label, row 1 \(item 2, annotator 'a'\): expected a finite number; found nan",
    ),
    "rank is a fraction": (
        lambda: ranked().assign(rank=("annotation", [1.0, 2.0, 2.0, 1.0])),
        "rank: expected whole numbers; found float64",
    ),
    "rank is zero": (
        lambda: changed(ranked(), "rank", 0, 0),
        r"rank, row 0 \(item 'i', annotator 'ann', label 'a'\): expected 1 for the first.*found 0",
    ),
    "rank leaves a gap": (
        lambda: changed(ranked(), "rank", 3, 2),
        r"rank, row 3 \(item 'i', annotator 'bob', label 'c'\).*a step from 0 to 2",
    ),
    "confidence in percent": (
        lambda: changed(made(confidence=[0, 0.5, 1]), "confidence", 2, 70),
        r"confidence, row 2 \(item 'i2', annotator 'ann', label 'x'\).*0 to 1; found 70.*\[0, 1\]",
    ),
    "said twice": (
        lambda: changed(made(), "annotator_code", 1, 0),
        r"columns 'item' and 'annotator', rows 0 and 1 \(item 'i1', annotator 'ann'.*'x', 'y'",
    ),
    "ranked twice": (
        lambda: changed(ranked(), "label_code", 1, 0),
        r"columns 'item' and 'label', rows 0 and 1.*each label once in a ranking.*ranks 1, 2",
    ),
    "no rows": (lambda: made().isel(annotation=[]), "annotations: expected at least one row"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_breach_is_named(name):
    make, message = BROKEN[name]
    with pytest.raises(dx.AnnotationError, match=message):
        validate(make())


BROKEN_PREDICTIONS = {
    "no kind": (lambda p: p.drop_attrs(), r"attrs\['kind'\]"),
    "kind of annotations": (lambda p: p.assign_attrs(kind="ordinal"), "found 'ordinal'"),
    "no blocks": (lambda p: p.drop_vars("block"), "block: expected a variable with dims"),
    "other dims": (lambda p: p.isel(position=0), r"label_code.*found dims \('item', 'system'\)"),
    "no names": (lambda p: p.drop_vars("system"), "coordinate 'system'.*found none"),
    "doubled names": (lambda p: p.assign_coords(item=["a", "a"]), "'a' more than once"),
    "code too large": (
        lambda p: changed(p, "label_code", (1, 0, 0), 2),
        "label_code, item 'b', system 'm': expected a code from 0 to 1",
    ),
    "empty list": (
        lambda p: changed(changed(p, "label_code", (1, 0, 0), -1), "block", (1, 0, 0), 0),
        "label_code, item 'b', system 'm': expected at least one label",
    ),
    "label without block": (
        lambda p: changed(p, "block", (0, 0, 1), 0),
        "block, item 'a', system 'm': expected a block for each label",
    ),
    "block skipped": (
        lambda p: changed(p, "block", (0, 0, 1), 3),
        r"block, item 'a', system 'm': expected blocks that count 1, 1, 2.*\[1 3\]",
    ),
    "first block not 1": (
        lambda p: changed(p, "block", (1, 0, 0), 2),
        "block, item 'b', system 'm': expected blocks that count",
    ),
    "label twice": (
        lambda p: changed(p, "label_code", (0, 0, 1), 1),
        "label_code, item 'a', system 'm': expected each label once",
    ),
    "several labels": (
        lambda p: p.assign_attrs(kind="nominal"),
        "label_code, item 'a', system 'm': expected one label in each list",
    ),
    "codes no integers": (
        lambda p: p.assign(label_code=p["label_code"].astype(float)),
        "label_code: expected whole numbers; found float64",
    ),
    "no items": (lambda p: p.isel(item=[]), "at least one item and one system; found 0 items"),
}


@pytest.mark.parametrize("name", BROKEN_PREDICTIONS)
def test_a_breach_in_predictions_is_named(name):
    change, message = BROKEN_PREDICTIONS[name]
    with pytest.raises(dx.PredictionError, match=message):
        validate(change(PREDICTIONS["scores"]()))


def test_a_missing_number_in_predictions_is_named():
    pred = changed(PREDICTIONS["continuous"](), "value", (1, 0), np.nan)
    with pytest.raises(dx.PredictionError, match="value, item 2, system 'm': expected a finite"):
        validate(pred)


def test_order_of_dims_does_not_matter():
    for make in PREDICTIONS.values():
        pred = make()
        validate(pred.transpose(*reversed(list(pred.dims))))


def test_ranking_code_counts_items_annotators_and_trials():
    assert ranking_code(ranked()).tolist() == [0, 0, 0, 1]
    ann = made(trial=[1, 1, 1])
    assert len(set(ranking_code(ann).tolist())) == 3


@pytest.mark.parametrize("kind", [np.array([]), np.array(["nominal", "ordinal"]), ["nominal"]])
def test_a_kind_that_is_no_text_is_refused(kind):
    ann = dx.annotations({"item": [1], "annotator": ["a"], "label": ["x"]})
    pred = dx.predictions({"item": [1], "system": ["s"], "label": ["x"]})
    for data in (ann, pred):
        data.attrs["kind"] = kind
        with pytest.raises(dx.AnnotationError, match="kind"):
            validate(data)


def test_a_dataset_is_checked_once_while_that_is_asked_for(monkeypatch):
    ann = dx.annotations({"item": [1, 1], "annotator": ["a", "b"], "label": ["x", "y"]})
    same = ann.copy()
    seen = []
    check = schema.check_annotations
    monkeypatch.setattr(schema, "check_annotations", lambda *given: seen.append(1) or check(*given))
    with schema.checked_once():
        for data in (ann, ann, same, ann, same):
            assert dx.validate(data) is data
    assert len(seen) == 2  # equal, but not known to be
    dx.validate(ann)
    assert len(seen) == 3  # as ever, afterwards


def test_what_is_wrong_is_not_taken_for_checked():
    ann = dx.annotations({"item": [1, 1], "annotator": ["a", "b"], "label": ["x", "y"]})
    wrong = ann.assign(label_code=("annotation", [0, 7]))
    with schema.checked_once():
        for _ in range(2):
            with pytest.raises(dx.AnnotationError, match="label_code"):
                dx.validate(wrong)
