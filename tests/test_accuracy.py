"""Accuracies in an evaluation if every item has one true label: what is fitted, kept, and said."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from one_truth import OPTIONS, evaluated, kept, study

import dissensus as dx
from dissensus import _accuracy, _accuracy_fits
from dissensus._accuracy import majority

QUIET = {**OPTIONS, "ground_truth": None}


@cache
def without_systems():
    return dx.evaluate(study().annotations, **QUIET)


@pytest.mark.long
def test_the_group_has_draws_of_systems_and_annotators():
    found = evaluated()["accuracy"].to_dataset()
    assert found["estimated_accuracy"].dims == ("chain", "draw", "scope", "system")
    assert found["estimated_accuracy"].shape == (4, 500, 2, 2)
    assert found["annotator_accuracy"].dims == ("chain", "draw", "annotator")
    assert found["truth_mean"].dims == ("item", "label")
    np.testing.assert_allclose(found["truth_mean"].sum("label"), 1.0)
    assert found.attrs["model"] == "symmetric_confusion"
    assert evaluated().attrs["truth"] == "symmetric_confusion"


def test_accuracies_are_those_that_the_study_was_made_with():
    """Within .08, three posterior standard deviations or so, of what was put in."""
    found = kept()["accuracy"].to_dataset()
    mean = found.mean(("chain", "draw"))
    np.testing.assert_allclose(
        mean["estimated_accuracy"].sel(scope="new items"), [0.9, 0.6], atol=0.08
    )
    np.testing.assert_allclose(mean["annotator_accuracy"], [0.8, 0.7, 0.6, 0.7], atol=0.09)
    spread = found["estimated_accuracy"].std(("chain", "draw"))
    assert (spread.sel(scope="new items") > spread.sel(scope="these items")).all()
    assert float(found["above_annotators"][0]) > 0.95
    assert float(found["above_annotators"][1]) < 0.05


def test_majority_vote_charges_the_system_with_errors_of_the_annotators():
    rows = dx.summary(kept(), "accuracy")
    best = rows[(rows["name"] == "system A") & (rows["scope"] == "new items")].iloc[0]
    direct = dx.majority_vote_accuracy(study().annotations, study().predictions)
    assert best["majority"] == pytest.approx(float(direct.sel(system="system A")))
    assert best["majority"] < best["lower"]


@pytest.mark.long
def test_the_same_seed_gives_the_same_and_none_leaves_it_out():
    again = dx.evaluate(study().annotations, study().predictions, **QUIET)
    xr.testing.assert_identical(
        again["accuracy"].to_dataset(), evaluated()["accuracy"].to_dataset()
    )
    ann = dx.from_matrix([["a", "a"]] * 9 + [["b", "b"]])
    without = dx.evaluate(ann, truth=None, **QUIET)
    assert "accuracy" not in without.children
    assert without.attrs["truth"] == "none: not asked for"


@pytest.mark.long
def test_systems_that_err_alike_do_not_outvote_the_annotators():
    # Eight copies of one system that is right on 60 %: together they would pass for the truth.
    one = study().predictions.isel(system=[1])
    copies = xr.concat([one] * 8, dim="system").assign_coords(system=[f"s{k}" for k in range(8)])
    found = dx.evaluate(study().annotations, copies, **QUIET)["accuracy"].to_dataset()
    mean = found["estimated_accuracy"].sel(scope="new items").mean(("chain", "draw"))
    np.testing.assert_allclose(mean, 0.6, atol=0.08)


@pytest.mark.long
def test_a_system_with_a_label_of_its_own_is_left_out_and_the_others_are_not():
    ann, pred = study().annotations, study().predictions
    frame = pred["label"].to_numpy()[pred["label_code"].to_numpy()[..., 0]].astype(object)
    frame[0, 1] = "none of these"
    table = pd.DataFrame(frame, index=pred["item"], columns=pred["system"])
    long = table.rename_axis("item").melt(ignore_index=False, var_name="system", value_name="label")
    strange = dx.predictions(long.reset_index())
    with pytest.warns(dx.DissensusWarning, match="outside the label space"):
        result = dx.evaluate(ann, strange, **QUIET)
    found = result["accuracy"]
    assert found["system"].to_numpy().tolist() == ["system A"]
    assert "system B has no estimated accuracy" in found.attrs["notes"]
    rows = dx.summary(result, "accuracy")
    assert rows[rows["of"] == "system"]["name"].tolist() == ["system A", "system A"]
    assert dx.plots.accuracies(result).axes
    with pytest.raises(dx.PredictionError, match="none of these"):
        dx.evaluate(ann, strange, truth="symmetric_confusion", **QUIET)


@pytest.mark.long
def test_without_systems_there_are_annotators_only():
    assert "estimated_accuracy" not in without_systems()["accuracy"]
    assert set(dx.summary(without_systems(), "accuracy")["of"]) == {"annotator"}


@pytest.mark.long
def test_dawid_skene_can_be_asked_for():
    made = dx.simulate.confusion_study(
        800, ipc=0.7, n_annotators=4, system_accuracy=[0.9], random_seed=1
    )
    result = dx.evaluate(made.annotations, made.predictions, truth="dawid_skene", **QUIET)
    found = result["accuracy"]
    mean = found["estimated_accuracy"].sel(scope="new items").mean()
    assert float(mean) == pytest.approx(0.9, abs=0.05)
    assert found.attrs["settings"] == '{"pooling": "hierarchical", "difficulty": false}'


def test_annotators_are_held_against_the_majority_of_the_others():
    ann = dx.from_matrix([["x", "x", "y"], ["z", "x", "x"]])
    found = majority(ann, None)
    # 0 sees x and y tied, then x lead; 1 sees x and y, then x and z; 2 sees x lead, then x and z.
    np.testing.assert_allclose(found["annotator_majority"], [0.25, 0.5, 0.25])
    assert "majority_accuracy" not in found


def test_a_reason_that_a_reader_would_miss_is_among_the_notes():
    ann = dx.from_matrix([["x", "x"], ["y", "y"], ["x", "y"]])
    result = dx.evaluate(ann, **QUIET)
    assert "accuracy" not in result.children
    assert "Accuracies are not estimated: only 3 items" in result["agreement"].attrs["notes"]


@pytest.mark.long
def test_what_speaks_against_the_assumptions_is_kept_in_words():
    ann = dx.simulate.confusion_study(400, asymmetry=3, random_seed=1).annotations
    nominal = ann.assign_attrs(kind="nominal")
    attrs = dx.evaluate(nominal, **QUIET)["accuracy"].attrs
    assert attrs["n_against"] > 0
    assert "taken for each other" in attrs["checks"]
    assert attrs["recommendation"].startswith("Try ")
    assert "error_pairs" in attrs["against"]


@pytest.mark.long
def test_so_many_labels_are_not_checked(monkeypatch):
    monkeypatch.setattr(_accuracy, "_CELLS", 10)
    attrs = dx.evaluate(study().annotations, **QUIET)["accuracy"].attrs
    assert (attrs["checked"], attrs["n_against"]) == (0, 0)
    assert "check_assumptions" in attrs["recommendation"]


@pytest.mark.long
def test_chains_that_part_are_left_out_or_warned_of_if_the_model_was_named(monkeypatch):
    monkeypatch.setattr(_accuracy_fits, "LEAST_EFFECTIVE", 1e9)
    result = dx.evaluate(study().annotations, **QUIET)
    assert "accuracy" not in result.children
    assert "chains that agree" in result["agreement"].attrs["notes"]
    assert 'truth="symmetric_confusion" shows them' in result["agreement"].attrs["notes"]
    with pytest.raises(dx.ArgumentError, match=r"group 'accuracy'.*chains that agree"):
        dx.plots.accuracies(result)
    with pytest.warns(dx.ConvergenceWarning, match="for some accuracies"):
        asked = dx.evaluate(study().annotations, truth="symmetric_confusion", **QUIET)
    assert asked["accuracy"].attrs["n_items_poor"] == 1


@pytest.mark.long
def test_single_annotators_whose_draws_hang_together_are_a_note(monkeypatch):
    monkeypatch.setattr(_accuracy, "settled", lambda draws: _accuracy_fits.settled(draws) | {
        "n_items_poor": int("annotator" in draws.dims)})  # fmt: skip
    attrs = dx.evaluate(study().annotations, **QUIET)["accuracy"].attrs
    assert attrs["n_items_poor"] == 0
    assert "Intervals of single annotators are rough" in attrs["notes"]


@pytest.mark.long
def test_of_many_systems_the_likeliest_are_judged(monkeypatch):
    monkeypatch.setattr(_accuracy_fits, "MOST_SYSTEMS", 1)
    found = dx.evaluate(study().annotations, study().predictions, **QUIET)["accuracy"]
    assert found["system"].to_numpy().tolist() == ["system A"]
    assert "the 1 of 2 systems that agree best" in found.attrs["notes"]


@pytest.mark.long
def test_the_group_survives_a_file(tmp_path):
    kept().to_netcdf(tmp_path / "evaluation.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "evaluation.nc", engine="h5netcdf") as tree:
        again = dx.summary(tree, "accuracy")
    pd.testing.assert_frame_equal(again, dx.summary(kept(), "accuracy"))


def test_what_each_systems_fit_warns_of_is_noted_once():
    same = ["In 11% of the draws it is so.", "another", "In 12% of the draws it is so."]
    assert len(_accuracy._once(same)) == 2


def test_annotators_who_may_be_guessing_are_remembered():
    rng = np.random.default_rng(5)
    ann = dx.from_matrix(rng.choice(["n", "y"], (60, 3)).tolist(), labels=["n", "y"])
    evaluation = dx.evaluate(ann, truth="symmetric_confusion", **QUIET)
    found = evaluation["accuracy"].attrs
    assert found["near_guessing"] > 0.1
    assert found["notes"].count("no better than guessing") == 1
    assert (dx.summary(evaluation, "accuracy")["doubt"] != "").all()
