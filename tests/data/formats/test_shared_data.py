"""Real files, with no special code. Numbers are those of the folders' README files."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
import xarray as xr

import dissensus as dx


@pytest.mark.parametrize(
    ("name", "rows", "items", "annotators", "predicted", "systems"),
    [
        ("cebab_aspects", 4032, 1008, 10, 6048, 6),
        ("mtbench", 246, 120, 3, 720, 6),
        ("wax", 1380, 246, 8, 1476, 6),
    ],
)
def test_long_tables(name, rows, items, annotators, predicted, systems, shared):
    ann = dx.read_annotations(shared / name / "annotations.csv")
    pred = dx.read_predictions(shared / name / "predictions.csv")
    assert (ann.sizes["annotation"], ann.sizes["item"], ann.sizes["annotator"]) == (
        rows, items, annotators,
    )  # fmt: skip
    assert ann.attrs["kind"] == "nominal"
    assert pred.sizes["item"] * pred.sizes["system"] == predicted
    assert pred.sizes["system"] == systems
    assert set(pred["item"].values) == set(ann["item"].values)
    assert dx.validate(ann) is ann
    assert dx.validate(pred) is pred


def test_systems_in_columns(shared):
    ann = dx.read_annotations(shared / "pandalm" / "ratings.csv")
    pred = dx.read_predictions(shared / "pandalm" / "predictions.csv")
    assert dict(ann.sizes) == {"annotation": 2997, "item": 999, "annotator": 3, "label": 3}
    count = np.bincount(ann["label_code"].values)
    majority = np.zeros((999, 3), dtype=int)
    np.add.at(majority, (ann["item_code"].values, ann["label_code"].values), 1)
    assert count.sum() == 2997
    assert np.bincount(majority.argmax(axis=1)).tolist() == [105, 422, 472]
    assert pred["system"].values.tolist() == ["gpt35", "pandalm7b"]
    assert pred["label"].values.tolist() == ["0", "1", "2", "Tie", "garbage"]
    assert pred.attrs["format"].startswith("wide (recognised")
    # Accuracy against the majority: .6977 and .6677. "Tie" is read as it stands; as the README
    # counts it, it is 0.
    labels = pred["label"].values[pred["label_code"].values][..., 0]
    labels = np.where(labels == "Tie", "0", labels)
    right = labels == majority.argmax(axis=1).astype(str)[:, None]
    np.testing.assert_allclose(right.mean(axis=0), [0.6977, 0.6677], atol=5e-5)


def test_counts(shared):
    path = shared / "ferplus_counts" / "counts.csv"
    ann = dx.read_annotations(path, format="counts")
    assert ann.sizes["item"] == 3589
    assert ann.sizes["annotation"] == 35890
    votes = np.zeros((3589, 10))
    np.add.at(votes, (ann["item_code"].values, ann["label_code"].values), 1)
    assert (votes.sum(axis=1) == 10).all()
    # An absolute majority exists for .8013 of the items.
    assert np.isclose((votes.max(axis=1) > 5).mean(), 0.8013, atol=5e-5)
    assert ann["label"].values[[0, -1]].tolist() == ["neutral", "not_a_face"]
    with pytest.raises(dx.FormatError, match='format="counts"'):
        dx.read_annotations(path)


def test_rankings(shared):
    folder = shared / "dermatology"
    ann = dx.read_annotations(folder / "rankings.csv", label="class", rank="rank")
    assert (ann.sizes["item"], ann.sizes["annotator"], ann.sizes["label"]) == (600, 3035, 189)
    assert ann.attrs["kind"] == "ranking"
    whole = dx.read_annotations(
        folder / "rankings.csv", label="class", rank="rank", labels=range(419)
    )
    assert whole.sizes["label"] == 419


def test_rankings_in_a_table_say_what_the_nested_lists_say(shared):
    folder = shared / "dermatology"
    nested = json.loads((folder / "dermatology_selectors_first600.json").read_text())
    table = dx.read_annotations(folder / "rankings.csv", label="class", rank="rank")
    cases = nested if isinstance(nested, list) else list(nested.values())
    named = {
        f"case{number:04d}": {
            f"case{number:04d}_{reader}": blocks for reader, blocks in enumerate(case, start=1)
        }
        for number, case in enumerate(cases)
    }
    ann = dx.from_rankings(named)

    def rows_of(data):
        keys = [
            data[role].values[data[f"{role}_code"].values].tolist()
            for role in ("item", "annotator", "label")
        ]
        return set(zip(*keys, data["rank"].values.tolist(), strict=True))

    assert rows_of(ann) == rows_of(table)


def test_a_typed_table_says_what_the_nested_lists_say(tmp_path):
    """The same in a bare clone: two cases, ties, and a reader who names one label only."""
    path = tmp_path / "rankings.csv"
    path.write_text(
        "item,annotator,class,rank\n"
        "c1,r1,7,1\nc1,r1,3,2\nc1,r1,9,2\nc1,r2,3,1\nc2,r1,0,1\nc2,r2,9,1\nc2,r2,0,2\n"
    )
    table = dx.read_annotations(path, label="class", rank="rank", labels=range(12))
    nested = {"c1": {"r1": [[7], [3, 9]], "r2": [[3]]}, "c2": {"r1": [[0]], "r2": [[9], [0]]}}
    ann = dx.from_rankings(nested, labels=range(12))
    assert table.attrs["kind"] == "ranking"
    assert (table.sizes["item"], table.sizes["annotator"], table.sizes["label"]) == (2, 2, 12)
    assert ranks(table) == ranks(ann)
    assert ranks(table)["c1", "r1", 9] == ranks(table)["c1", "r1", 3] == 2
    alone = dx.read_annotations(path, label="class", rank="rank")
    assert alone["label"].values.tolist() == [0, 3, 7, 9]  # what somebody named
    assert ranks(alone) == ranks(table)


def test_typed_long_tables(file, statements, tmp_path):
    """One annotator, or system, after another, with columns that nobody asks for."""
    rows = "dept,item,annotator,label\n2,q2,w1,good\n1,q1,w1,bad\n1,q1,w2,good\n3,q3,w2,bad\n"
    ann = dx.read_annotations(file("ratings.csv.gz", gzip.compress(rows.encode())))
    answers = [("q3", "m", "bad"), ("q1", "m", "good"), ("q2", "m", "neither"),
               ("q2", "n", "good"), ("q3", "n", "good"), ("q1", "n", "bad")]  # fmt: skip
    text = "item,system,label\n" + "".join(",".join(row) + "\n" for row in answers)
    pred = dx.read_predictions(file("predictions.csv", text))
    assert statements(ann) == {
        ("q2", "w1", "good"), ("q1", "w1", "bad"), ("q1", "w2", "good"), ("q3", "w2", "bad"),
    }  # fmt: skip
    assert ann.attrs["kind"] == "nominal"
    item, system = pred["item"].values.tolist(), pred["system"].values.tolist()
    label = pred["label"].values[pred["label_code"].values[..., 0]]
    assert {(item[i], system[s], y) for (i, s), y in np.ndenumerate(label)} == set(answers)
    for data in (ann, pred):
        assert dx.validate(data) is data
        data.to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
        with xr.open_dataset(tmp_path / "data.nc", engine="h5netcdf") as back:
            xr.testing.assert_identical(dx.validate(back).load(), data)


def test_typed_systems_in_columns(file):
    """Three people name 0, 1 or 2; answers that are none are wrong."""
    given = [(0, 0, 1), (1, 1, 1), (2, 1, 2), (2, 2, 0)]
    rows = [f"{i},p{who},{k}" for i, three in enumerate(given) for who, k in enumerate(three)]
    ann = dx.read_annotations(file("ratings.csv", "\n".join(["item,annotator,label", *rows])))
    assert ann["label"].values.tolist() == [0, 1, 2]
    pred = dx.read_predictions(file("p.csv", "item,m,n\n0,0,Tie\n1,1,1\n2,1,2\n3,2,garbage\n"))
    assert pred["label"].values.tolist() == ["0", "1", "2", "Tie", "garbage"]
    with pytest.warns(dx.DissensusWarning, match="outside the label space.*'Tie'"):
        right = dx.majority_vote_accuracy(ann, pred)
    # Votes are 0, 1, 2 and 2: of m three are right, of n two.
    np.testing.assert_allclose(right.sel(system=["m", "n"]), [0.75, 0.5])


def ranks(data):
    """Return ranks by item, annotator and label."""
    keys = [
        data[role].values[data[f"{role}_code"].values].tolist()
        for role in ("item", "annotator", "label")
    ]
    return dict(zip(zip(*keys, strict=True), data["rank"].values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "rows"),
    [("dices350", 43050), ("insteval", 73421), ("vcc2018_mos", 54040), ("mlqe_pe_da", 39000)],
)
def test_packed_tables(name, rows, shared):
    ann = dx.read_annotations(shared / name / "ratings.csv.gz")
    assert ann.sizes["annotation"] == rows


def test_survive_a_file(shared, tmp_path):
    for name in ("cebab_aspects", "wax"):
        for data in (
            dx.read_annotations(shared / name / "annotations.csv"),
            dx.read_predictions(shared / name / "predictions.csv"),
        ):
            data.to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
            with xr.open_dataset(tmp_path / "data.nc", engine="h5netcdf") as back:
                xr.testing.assert_identical(dx.validate(back).load(), data)
