"""What an evaluation says of the annotations as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus import statistics
from dissensus.evaluation.observed import (
    COEFFICIENTS,
    Settings,
    first_labels,
    observed,
)
from dissensus.evaluation.other_annotators import by_others, versions, widened

KINDS = ("nominal", "ordinal", "continuous", "ranking")


def settings(**changes):
    given = {"draws": 200, "random_seed": 1, "distance": None, "margin": 0.1, "on_missing": "raise"}
    return Settings(**(given | changes))


def study(kind, n_items=40, seed=1):
    rng = np.random.default_rng(seed)
    n_annotators = 4
    truth = rng.integers(1, 5, n_items)
    item, who = np.indices((n_items, n_annotators)).reshape(2, -1)
    labels = np.clip(truth[item] + rng.integers(-1, 2, len(item)), 1, 4)
    answer = np.clip(truth + rng.integers(-1, 2, n_items), 1, 4)
    if kind == "ranking":
        rows = {"item": np.repeat(item, 2), "annotator": np.repeat(who, 2)}
        rows |= {"label": np.stack([labels, labels % 4 + 1], 1).ravel(),
                 "rank": np.tile([1, 2], len(item))}  # fmt: skip
        ann = dx.annotations(rows, rank="rank", labels=range(1, 5))
    else:
        labels = labels + 0.25 if kind == "continuous" else labels
        table = {"item": item, "annotator": who, "label": labels}
        ann = dx.annotations(table, kind=kind)
    pred = dx.predictions(
        {"item": np.arange(n_items), "system": ["s"] * n_items,
         "label": answer + 0.25 if kind == "continuous" else answer},
        kind="continuous" if kind == "continuous" else "nominal",
    )  # fmt: skip
    return ann, pred


def test_every_kind_of_annotations_has_coefficients_and_all_are_registered():
    assert set(COEFFICIENTS) == {*KINDS, "set"}
    for kind, rows in COEFFICIENTS.items():
        for _, name, _ in rows:
            # Sets have distances of their own, and are tested with their evaluations.
            assert kind in (*statistics.get(name).kinds, "set")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_the_statistics(kind):
    ann, pred = study(kind)
    result = observed(ann, pred, settings())
    assert set(result) == {"agreement", "discrepancy", "statistics"}
    without = versions(ann, 1)
    for name, statistic, options in COEFFICIENTS[kind]:
        once = statistics.get(statistic).function(ann, **options)
        drawn = dx.bayesian_bootstrap(statistic, ann, draws=200, random_seed=1, **options)
        xr.testing.assert_identical(
            result["statistics"][name].drop_attrs(), once.drop_attrs().rename(name)
        )
        sums = statistics.get(statistic).sums(without.annotations, **options)
        spread = without.spread(without.values(sums))
        drawn = widened(drawn, spread, without.n_groups - 1, 1)
        np.testing.assert_array_equal(result["agreement"][name], drawn)
    # Rankings by first labels: a longer list is not an error (decision 0021).
    how = {"distance": "ranking", "depth": 1} if kind == "ranking" else {}
    ratio = dx.discrepancy_ratio(ann, pred, **how)
    np.testing.assert_array_equal(
        result["statistics"]["discrepancy_ratio"], ratio["discrepancy_ratio"]
    )
    draws = result["discrepancy"]
    boot = dx.bayesian_bootstrap("discrepancy_ratio", ann, pred, draws=200, random_seed=1, **how)
    sums = statistics.get("discrepancy_ratio").sums(
        without.annotations, without.predictions(ann, pred), **how
    )
    wider = by_others(boot, without, sums, 1)
    for name, values in wider.data_vars.items():
        np.testing.assert_array_equal(draws[name], values)
    assert draws["discrepancy_ratio"].dims == ("chain", "draw", "system")
    assert draws["annotator_discrepancy_ratio"].dims == ("chain", "draw", "annotator")
    assert draws["advantage_probability"].dims == ("chain", "draw", "system", "annotator")
    below = (draws["discrepancy_ratio"] < 1.1).mean(["chain", "draw"])
    np.testing.assert_allclose(draws["non_inferiority"], below)
    assert draws["n_items"].values.tolist() == [40] * 4


def test_whole_numbers_that_nobody_called_ordered_are_classes():
    ann, pred = study("ordinal")
    guessed = ann.assign_attrs(kind_source="inferred: the labels are whole numbers")
    result = observed(guessed, pred, settings())
    assert "krippendorff_alpha" in result["agreement"]
    assert "whole numbers" in result["agreement"].attrs["notes"]
    assert result["discrepancy"].attrs["distance"] == "nominal"
    given = observed(ann, pred, settings())
    assert "krippendorff_alpha_ordinal" in given["agreement"]
    assert given["agreement"].attrs["notes"] == ""
    assert given["discrepancy"].attrs["distance"] == "squared"


def test_annotators_with_few_items_are_left_out_and_counted():
    ann, pred = study("nominal")
    late = ann["annotator_code"].to_numpy() == 3
    few = ann.isel(annotation=~late | (ann["item_code"].to_numpy() < 5))
    result = observed(few, pred, settings())["discrepancy"]
    assert result["annotator"].values.tolist() == [0, 1, 2]
    assert result["n_items"].values.tolist() == [40] * 3
    assert "1 annotator of 4 shares fewer than 20 items" in result.attrs["notes"]
    assert result["winning_rate"].attrs["n_annotators"] == 3


def test_pairs_of_annotators_do_for_winning_rates_but_not_for_ratios_of_annotators():
    ann, pred = study("nominal")
    pairs = ann.isel(annotation=ann["annotator_code"].to_numpy() < 2)
    result = observed(pairs, pred, settings())["discrepancy"]
    assert "annotator_discrepancy_ratio" not in result
    assert "No annotator shares 20 items or more with two others" in result.attrs["notes"]
    assert result["winning_rate"].attrs["n_annotators"] == 2
    assert np.isfinite(result["discrepancy_ratio"]).all()


def test_items_without_predictions_count_for_neither_side():
    ann, pred = study("nominal")
    result = observed(ann, pred.isel(item=slice(30)), settings(on_missing="drop"))
    kept = ann.isel(annotation=ann["item_code"].to_numpy() < 30)
    points = result["statistics"]
    direct = dx.annotator_discrepancy_ratio(kept)
    np.testing.assert_allclose(points["annotator_discrepancy_ratio"], direct)
    assert "10 items of 40 without predictions are left out" in result["discrepancy"].attrs["notes"]
    assert result["discrepancy"]["n_items"].values.tolist() == [30] * 4


def test_one_annotator_an_item_says_nothing_of_agreement():
    ann = dx.annotations({"item": [1, 2], "annotator": ["a", "b"], "label": ["x", "y"]})
    assert observed(ann, None, settings()) == {}


def test_without_predictions_there_are_the_annotators_only():
    result = observed(study("nominal")[0], None, settings())
    assert set(result["discrepancy"].data_vars) == {"annotator_discrepancy_ratio", "n_items"}


def test_what_is_undefined_is_noted_and_not_warned_of():
    ann = dx.annotations(
        {"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xxxx")}, labels=["x", "y"]
    )
    result = observed(ann, None, settings())
    assert np.isnan(result["statistics"]["krippendorff_alpha"])
    assert "Krippendorff's alpha is undefined" in result["agreement"].attrs["notes"]
    assert "are few" in result["agreement"].attrs["notes"]


def test_lists_are_judged_by_their_first_label_beside_single_labels():
    ann, _ = study("nominal")
    items = np.repeat(np.arange(40), 2)
    table = {"item": items, "system": ["s"] * 80, "label": [1, 2] * 40, "rank": [1, 2] * 40}
    pred = dx.predictions(table, rank="rank")
    assert first_labels(ann, pred).sizes["position"] == 1
    once = dx.predictions({"item": np.arange(40), "system": ["s"] * 40, "label": [1] * 40},
                          kind="nominal")  # fmt: skip
    actual, expected = (observed(ann, x, settings())["statistics"] for x in (pred, once))
    np.testing.assert_array_equal(actual["discrepancy_ratio"], expected["discrepancy_ratio"])


def test_tied_first_labels_leave_systems_out_and_say_so():
    ann, _ = study("nominal")
    items = np.repeat(np.arange(40), 2)
    table = {"item": items, "system": ["s"] * 80, "label": [1, 2] * 40, "rank": [1, 1] * 40}
    pred = dx.predictions(table, rank="rank")
    result = observed(ann, pred, settings())
    assert "discrepancy_ratio" not in result["discrepancy"]
    assert "Systems have no discrepancy ratio" in result["discrepancy"].attrs["notes"]


def test_a_distance_that_was_asked_for_and_cannot_be_is_an_error():
    ann, pred = study("nominal")
    with pytest.raises(dx.AnnotationError, match="numbers"):
        observed(ann, pred, settings(distance="squared"))
    with pytest.raises(dx.ArgumentError, match="margin"):
        observed(ann, pred, settings(margin=-1.0))


@pytest.mark.long
def test_evaluation_keeps_them_through_a_file(tmp_path):
    ann, pred = study("ordinal")
    result = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False, distance="absolute")
    assert result["discrepancy"].attrs["distance"] == "absolute"
    result.to_netcdf(tmp_path / "e.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "e.nc", engine="h5netcdf") as again:
        frame = dx.summary(again, "statistics")
    pd.testing.assert_frame_equal(frame, dx.summary(result, "statistics"))
    judged = frame[frame["statistic"] == "annotator_discrepancy_ratio"]
    assert judged["annotator"].tolist() == [0, 1, 2, 3]  # whole numbers, as in the data
    assert frame.columns.tolist()[:4] == ["statistic", "system", "annotator", "observed"]
    row = frame[frame["statistic"] == "krippendorff_alpha_ordinal"].iloc[0]
    assert row["lower"] < row["observed"] < row["upper"]
    assert row["undefined"] == 0
    with pytest.raises(dx.ArgumentError, match="of"):
        dx.summary(result, "agreement")


def test_annotators_are_counted_by_clusters_where_there_are_any():
    ann, pred = study("nominal", n_items=60)
    code = np.arange(60) // 5
    clustered = ann.assign(cluster_code=("item", code)).assign_coords(cluster=range(12))
    result = observed(clustered, pred, settings())["discrepancy"]
    assert "annotator_discrepancy_ratio" not in result  # 12 clusters of five items each
    assert "No annotator shares 20 clusters or more" in result.attrs["notes"]


def test_who_shares_items_with_one_other_has_advantages_and_no_ratio():
    rng = np.random.default_rng(5)
    rows = [(i, x) for i in range(30) for x in "abc"] + [
        (i, x) for i in range(30, 90) for x in "ad"
    ]
    item, who = zip(*rows, strict=True)
    ann = dx.annotations(
        {"item": item, "annotator": who, "label": rng.choice(list("xyz"), len(rows))}
    )
    pred = dx.predictions({"item": range(90), "system": ["s"] * 90, "label": ["x"] * 90})
    result = observed(ann, pred, settings())["discrepancy"]
    assert result["annotator"].values.tolist() == list("abcd")
    assert result["n_items"].values.tolist() == [30, 30, 30, 0]
    undefined = result["annotator_discrepancy_ratio"].isnull().all(["chain", "draw"])
    assert undefined.values.tolist() == [False, False, False, True]
    assert not result["advantage_probability"].isnull().any()
    assert result["winning_rate"].attrs["n_annotators"] == 4


def test_what_is_undefined_is_noted_once_and_in_words():
    """Annotators without a distance to others: by value, and not again by draw."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"item": np.repeat(np.arange(60), 3), "annotator": list("abc") * 60,
                          "label": rng.choice(["x", "y"], 180)})  # fmt: skip
    frame.loc[frame["annotator"] != "c", "label"] = "x"
    result = observed(dx.annotations(frame), None, settings())["discrepancy"]
    notes = [line for line in result.attrs["notes"].splitlines() if "undefined" in line]
    assert len(notes) == 1
    assert "annotator_discrepancy_ratio" not in result.attrs["notes"]


def test_versions_without_annotators_repeat_no_warning():
    ann, pred = study("nominal")
    stray = dx.to_dataframe(pred).assign(
        label=lambda rows: rows["label"].where(rows["item"] > 2, 9)
    )
    result = observed(ann, dx.predictions(stray, kind="nominal"), settings())
    notes = result["discrepancy"].attrs["notes"]
    assert notes.count("predictions with them") == 1
    assert "predictions with them: 3)" in notes
