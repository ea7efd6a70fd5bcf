"""Back to tables: what was read can be read again, and is the same."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx

KINDS = ("nominal", "ordinal", "ranking", "continuous")


def annotations_of(kind):
    if kind in ("nominal", "ranking"):
        return dx.simulate.study(n_items=8, kind=kind, random_seed=1).annotations
    family = "ordinal" if kind == "ordinal" else "gaussian"
    return dx.simulate.replication_study(8, 4, 3, family=family, random_seed=1).annotations


@pytest.mark.parametrize("kind", KINDS)
def test_annotations_are_read_again_as_they_were(kind):
    ann = annotations_of(kind)
    table = dx.to_dataframe(ann)
    assert len(table) == ann.sizes["annotation"]
    again = dx.annotations(
        table, rank="rank" if kind == "ranking" else None, kind=kind,
        labels=None if kind == "continuous" else ann["label"].values.tolist(),
    )  # fmt: skip
    xr.testing.assert_identical(again.drop_attrs(), ann.drop_attrs())


def test_columns_beside_names_come_along():
    rows = {
        "item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xyxx"),
        "confidence": [0.5, 0.6, 0.7, 0.8], "pool": list("pqpq"), "cluster": [7, 7, 8, 8],
        "stratum": list("uuvv"), "trial": [1, 2, 1, 2],
    }  # fmt: skip
    names = {name: name for name in rows if name not in ("item", "annotator", "label")}
    ann = dx.annotations(rows, **names)
    pd.testing.assert_frame_equal(
        dx.to_dataframe(ann)[list(rows)], pd.DataFrame(rows), check_dtype=False
    )
    assert dx.annotations(dx.to_dataframe(ann), **names).identical(ann)


def test_ordered_labels_stay_in_order_without_being_told():
    ann = dx.annotations(
        {"item": [1, 2], "annotator": ["a", "a"], "label": ["mid", "low"]},
        kind="ordinal", labels=["low", "mid", "high"],
    )  # fmt: skip
    again = dx.annotations(dx.to_dataframe(ann))
    assert again["label"].values.tolist() == ["low", "mid", "high"]
    assert again.attrs["kind"] == "ordinal"


@pytest.mark.parametrize("kind", ["nominal", "ranking"])
def test_predictions_are_read_again_as_they_were(kind):
    pred = dx.simulate.study(n_items=8, kind=kind, random_seed=1).predictions
    table = dx.to_dataframe(pred)
    again = dx.predictions(table, rank="rank" if kind == "ranking" else None)
    xr.testing.assert_identical(again, pred.drop_vars("score", errors="ignore"))


def test_predicted_numbers_are_read_again_as_they_were():
    rows = {"item": [1, 1, 2, 2], "system": list("abab"), "label": [0.5, 1.5, 2.5, 3.25]}
    pred = dx.predictions(rows)
    pd.testing.assert_frame_equal(dx.to_dataframe(pred), pd.DataFrame(rows), check_dtype=False)


def test_draws_have_a_row_for_each_place():
    draws = xr.DataArray(
        np.arange(12.0).reshape(2, 3, 2), dims=("chain", "draw", "system"), name="accuracy",
        coords={"system": ["a", "b"]},
    )  # fmt: skip
    table = dx.to_dataframe(draws)
    assert list(table) == ["chain", "draw", "system", "accuracy"]
    assert table["accuracy"].tolist() == list(range(12))
    beside = xr.Dataset({"accuracy": draws, "beyond": draws.mean(("chain", "draw"))})
    assert list(dx.to_dataframe(beside)) == list(table)  # what has no draws is not repeated


def test_draws_of_systems_are_no_predictions():
    study = dx.simulate.study(n_items=8, kind="nominal", random_seed=1)
    fit = dx.models.dirichlet.fit(study.annotations, draws=5, chains=2, random_seed=1)
    draws = dx.top_k_accuracy(fit, study.predictions, per_item=True)
    assert len(dx.to_dataframe(draws)) == draws.size


def test_what_is_none_of_these_is_refused():
    ann = dx.simulate.study(n_items=4, kind="nominal", random_seed=1).annotations
    fit = dx.models.dirichlet.fit(ann, draws=5, random_seed=1)
    with pytest.raises(dx.ArgumentError, match=r"found DataTree. .*use dissensus.summary"):
        dx.to_dataframe(fit)
    with pytest.raises(dx.ArgumentError, match="found dims 'item'"):
        dx.to_dataframe(dx.annotation_certainty(fit))
