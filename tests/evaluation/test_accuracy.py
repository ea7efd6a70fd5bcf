"""Accuracies in an evaluation if every item has one true label: what is fitted, kept, and said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from one_truth import OPTIONS, kept, study
from scipy import stats

import dissensus as dx
from dissensus.evaluation import accuracy
from dissensus.evaluation.observed import of_majority

QUIET = {**OPTIONS, "ground_truth": None, "truth_model": "symmetric_confusion"}


def test_the_group_has_draws_of_systems_and_annotators():
    result = kept()["accuracy"].to_dataset()
    assert result["estimated_accuracy"].dims == ("chain", "draw", "scope", "system")
    assert result["estimated_accuracy"].shape == (4, 500, 2, 2)
    assert result["annotator_accuracy"].dims == ("chain", "draw", "annotator")
    assert result["truth_mean"].dims == ("item", "label")
    np.testing.assert_allclose(result["truth_mean"].sum("label"), 1.0)
    assert result["majority_correct"].dims == result["error_correlation"].dims == ("chain", "draw")
    assert result.attrs["model"] == kept().attrs["truth_model"] == "symmetric_confusion"
    assert "an accuracy for each annotator predicts labels better than" in result.attrs["notes"]


def test_intervals_hold_what_the_study_was_made_with():
    """Errors are independent there, which labels cannot tell: intervals are wide."""
    result = kept()["accuracy"].to_dataset()
    truth = study().truth["system_correct"].to_numpy()
    these = result["estimated_accuracy"].sel(scope="these items")
    low, high = these.quantile([0.055, 0.945], ("chain", "draw")).to_numpy()
    assert ((low < truth) & (truth < high)).all()
    spread = result["estimated_accuracy"].std(("chain", "draw"))
    assert (spread.sel(scope="new items") > spread.sel(scope="these items")).all()
    assert float(result["above_annotators"][0]) > 0.9
    assert float(result["above_annotators"][1]) < 0.7


@pytest.mark.long
def test_so_many_known_labels_make_an_interval_as_narrow_as_was_said():
    needed = int(kept()["accuracy"]["known_items"][0])
    truth = study().truth["truth_label"].to_series().sample(needed, random_state=1)
    chosen = QUIET | {"truth_model": "auto"}
    evaluation = dx.evaluate(study().annotations, study().predictions, truth=truth, **chosen)[
        "accuracy"
    ]
    these = evaluation["estimated_accuracy"].sel(scope="these items", system="system A")
    low, high = these.quantile([0.055, 0.945]).to_numpy()
    assert 0.04 < high - low < 0.11


def test_the_design_effect_of_copies_is_their_number():
    """Kish (1965): with k copies of each of n items, variances are k times as large."""
    n, k = 50, 4
    right = np.repeat(np.random.default_rng(1).random(n) < 0.7, k)
    names = [f"i{j}" for j in range(n * k)]
    truth = np.eye(2)[np.where(right, 0, 1)]
    fit = xr.DataTree.from_dict({
        "observed_data": xr.Dataset({"system_label_code": (("item", "system"),
            np.zeros((n * k, 1), dtype=int))}, {"item": names, "system": ["m"]}),
        "constant_data": xr.Dataset({"truth_mean": (("item", "label"), truth)}, {"item": names}),
    })  # fmt: skip
    ann = xr.Dataset({"cluster_code": ("item", np.repeat(np.arange(n), k)[::-1])},
                     {"item": names[::-1]})  # fmt: skip
    value = float(accuracy.design_effect(fit, ann).sel(system="m"))
    assert value == pytest.approx(k * n / (n - 1))
    alone = ann.assign(cluster_code=("item", np.arange(n * k)))
    assert float(accuracy.design_effect(fit, alone)[0]) == pytest.approx(1.0, abs=0.01)


@pytest.mark.long
def test_copies_of_items_say_nothing_more_of_new_ones():
    """Five copies of each item of a patient: without patients the interval is less than half."""
    ann, pred, truth = (study().annotations, study().predictions, study().truth["truth_label"])
    items = ann["item"].to_numpy()[:40]
    rows = ann["label"].to_numpy()[ann["label_code"]], ann["annotator"].to_numpy()[
        ann["annotator_code"]]  # fmt: skip
    frame = pd.DataFrame({"item": ann["item"].to_numpy()[ann["item_code"]], "label": rows[0],
                          "annotator": rows[1]}).query("item in @items")  # fmt: skip
    labels = pred["label"].to_numpy()[pred["label_code"].isel(position=0)]
    given = pd.DataFrame(labels, pred["item"].to_numpy(), pred["system"].to_numpy()).loc[items]
    given = given.stack().rename_axis(["item", "system"]).rename("label").reset_index()

    def width(copies, cluster):
        def copied(table):
            each = [table.assign(item=table["item"].astype(str) + f"_{c}", patient=table["item"])
                    for c in range(copies)]  # fmt: skip
            return pd.concat(each)

        data = dx.annotations(copied(frame), cluster=cluster)
        known = {name: truth.sel(item=int(name.rsplit("_", 1)[0])).item() for name in
                 data["item"].to_numpy()}  # fmt: skip
        evaluation = dx.evaluate(data, dx.predictions(copied(given)), truth=known, **QUIET)
        new = evaluation["accuracy"]["estimated_accuracy"].sel(scope="new items", system="system B")
        return float(np.diff(new.quantile([0.055, 0.945]))[0])

    once = width(1, None)
    assert width(5, "patient") == pytest.approx(once, rel=0.15)
    assert width(5, None) < 0.55 * once


@pytest.mark.long
def test_known_labels_narrow_what_is_said():
    truth = study().truth["truth_label"].to_series().iloc[:60]
    known = dx.evaluate(study().annotations, study().predictions, truth=truth, **QUIET)
    assert known["accuracy"].attrs["n_known"] == 60
    assert known["answers"].attrs["question"] == "truth"
    wide, narrow = (
        tree["accuracy"]["estimated_accuracy"].sel(scope="these items").std(("chain", "draw"))
        for tree in (kept(), known)
    )
    assert (narrow < 0.75 * wide).all()
    right = study().truth["system_correct"].to_numpy()
    mean = known["accuracy"]["estimated_accuracy"].sel(scope="these items").mean(("chain", "draw"))
    np.testing.assert_allclose(mean, right, atol=0.06)


def test_majority_vote_charges_the_system_with_errors_of_the_annotators():
    rows = dx.summary(kept(), "accuracy")
    best = rows[(rows["name"] == "system A") & (rows["scope"] == "new items")].iloc[0]
    direct = dx.majority_vote_accuracy(study().annotations, study().predictions)
    assert best["majority"] == pytest.approx(float(direct.sel(system="system A")))
    assert best["majority"] < float(study().truth["system_correct"][0])


@pytest.mark.long
def test_a_system_is_judged_as_if_there_were_no_other():
    system = study().predictions.isel(system=[1])
    copies = xr.concat([system] * 8, dim="system").assign_coords(system=[f"s{k}" for k in range(8)])
    evaluation = dx.evaluate(study().annotations, copies, **QUIET)["accuracy"].to_dataset()
    alone = kept()["accuracy"]["estimated_accuracy"].isel(system=1)
    mean = evaluation["estimated_accuracy"].mean(("chain", "draw"))
    for copy in mean.transpose("system", "scope").to_numpy():
        np.testing.assert_allclose(copy, alone.mean(("chain", "draw")), atol=0.02)


@pytest.mark.long
def test_a_label_of_its_own_is_wrong_and_the_system_stays():
    ann, pred = study().annotations, study().predictions
    frame = pred["label"].to_numpy()[pred["label_code"].to_numpy()[..., 0]].astype(object)
    frame[:100, 1] = "none of these"
    table = pd.DataFrame(frame, index=pred["item"], columns=pred["system"])
    long = table.rename_axis("item").melt(ignore_index=False, var_name="system", value_name="label")
    strange = dx.predictions(long.reset_index())
    with pytest.warns(dx.DissensusWarning, match="outside the label space"):
        result = dx.evaluate(ann, strange, **QUIET)
    actual = result["accuracy"]["estimated_accuracy"].sel(scope="these items")
    assert actual["system"].to_numpy().tolist() == ["system A", "system B"]
    assert float(actual.sel(system="system B").max()) <= 0.5  # of the other hundred items


@pytest.mark.long
def test_without_systems_there_are_annotators_only():
    result = dx.evaluate(study().annotations, **QUIET)
    assert "estimated_accuracy" not in result["accuracy"]
    assert set(dx.summary(result, "accuracy")["of"]) == {"annotator"}


@pytest.mark.long
def test_dawid_skene_can_be_asked_for():
    made = dx.simulate.confusion_study(
        800, ipc=0.7, n_annotators=4, system_accuracy=[0.9], random_seed=1
    )
    requested = QUIET | {"truth_model": "dawid_skene"}
    result = dx.evaluate(made.annotations, made.predictions, **requested)
    actual = result["accuracy"]
    low, high = (
        actual["estimated_accuracy"].sel(scope="these items").quantile([0.055, 0.945]).to_numpy()
    )
    assert low < made.truth["system_correct"].item() < high
    assert actual.attrs["settings"] == '{"pooling": "none"}'


@pytest.mark.long
def test_how_much_errors_hang_together_can_be_said():
    mild, strong = (
        dx.evaluate(study().annotations, error_correlation=correlation, **QUIET)["accuracy"]
        for correlation in (0.05, 1.0)
    )
    assert (mild["error_correlation"] == 0.05).all()
    assert float(mild["majority_correct"].mean()) > float(strong["majority_correct"].mean()) + 0.03
    with pytest.raises(dx.ArgumentError, match="error_correlation: expected a number above 0"):
        dx.evaluate(study().annotations, error_correlation=0, **QUIET)


def patients(n=120):
    """Labels of two kinds by five readers, predictions of a one-sided system, and the truth."""
    rng = np.random.default_rng(4)
    ill = rng.random(n) < 0.4

    def read(sensitivity, specificity):
        return np.where(ill, rng.random(n) < sensitivity, rng.random(n) >= specificity)

    names = np.array(["well", "ill"])
    ann = dx.from_matrix(
        np.stack([names[read(0.8, 0.9).astype(int)] for _ in range(5)], axis=1).tolist(),
        labels=names.tolist(), kind="nominal",
    )  # fmt: skip
    label = names[read(0.95, 0.7).astype(int)]
    pred = dx.predictions({"item": np.arange(n), "system": ["A"] * n, "label": label})
    return ann, pred, pd.Series(names[ill.astype(int)]), label


RATES = ("sensitivity", "specificity")


def test_known_labels_give_the_rates_of_a_table_with_four_cells():
    ann, pred, truth, label = patients()
    given = QUIET | {"truth": truth, "positive": "ill", "question": "truth"}
    evaluation = dx.evaluate(ann, pred, **given)
    result = evaluation["accuracy"].to_dataset()
    assert result.attrs["positive"] == "ill"
    rows = dx.summary(evaluation, "accuracy").set_index(["of", "scope"])
    for rate, side in zip(RATES, ("ill", "well"), strict=True):
        right = int(((truth == side) & (label == side)).sum())
        n = int((truth == side).sum())
        draws = result[f"estimated_{rate}"].sel(system="A")
        np.testing.assert_allclose(draws.sel(scope="these items"), right / n)
        new = draws.sel(scope="new items").to_numpy().ravel()
        assert stats.kstest(new, stats.beta(right + 0.5, n - right + 0.5).cdf).pvalue > 1e-3
        row = rows.loc[f"system {rate}", "new items"]
        assert row["mean"] == pytest.approx(new.mean())
        assert row["name"] == "A"
    assert rows.loc["system"].shape[0] == 2  # rows of accuracies are as without a positive label


@pytest.mark.long
def test_rates_are_of_the_truth_and_not_of_the_panel():
    ann, pred, truth, label = patients(400)
    given = QUIET | {"truth": truth[::2], "question": "truth", "truth_model": "dawid_skene"}
    evaluation = dx.evaluate(ann, pred, positive="ill", **given)
    data = evaluation["accuracy"].to_dataset().sel(system="A", scope="these items")
    right = pd.Series(label) == truth
    for rate, side in zip(RATES, ("ill", "well"), strict=True):
        low, high = data[f"estimated_{rate}"].quantile([0.055, 0.945]).to_numpy()
        assert low < right[truth == side].mean() < high
    # Both rates, weighted by the prevalence, are nearly the accuracy.
    mean = data.mean(("chain", "draw"))
    share = (truth == "ill").mean()
    both = share * mean["estimated_sensitivity"] + (1 - share) * mean["estimated_specificity"]
    assert float(both) == pytest.approx(float(mean["estimated_accuracy"]), abs=0.015)
    turned = dx.evaluate(ann, pred, positive="well", **given)["accuracy"].to_dataset()
    np.testing.assert_allclose(
        turned["estimated_sensitivity"].sel(system="A", scope="these items"),
        data["estimated_specificity"],
    )
    unnamed = dx.evaluate(ann, pred, **given)["accuracy"].to_dataset()
    assert "positive" not in unnamed.attrs
    assert not {f"estimated_{rate}" for rate in RATES} & set(unnamed)
    xr.testing.assert_equal(unnamed["estimated_accuracy"].sel(system="A", scope="these items"),
                            data["estimated_accuracy"])  # fmt: skip


def test_answers_that_annotators_cannot_give_are_wrong_for_both_labels():
    """All true labels are known: of the ill, half are found, and of the others a third."""
    truth = pd.Series(["ill"] * 20 + ["well"] * 30)
    rng = np.random.default_rng(1)
    given = np.where(rng.random((50, 3)) < 0.8, truth.to_numpy()[:, None], "ill")
    ann = dx.from_matrix(given, kind="nominal")
    label = ["ill"] * 10 + ["unsure"] * 10 + ["well"] * 10 + ["unsure"] * 15 + ["ill"] * 5
    pred = dx.predictions({"item": range(50), "system": ["A"] * 50, "label": label})
    with pytest.warns(dx.DissensusWarning, match="count as wrong"):
        evaluation = dx.evaluate(ann, pred, positive="ill", truth=truth, question="truth", **QUIET)
    data = evaluation["accuracy"].to_dataset().sel(system="A", scope="these items")
    np.testing.assert_allclose(data["estimated_sensitivity"], 1 / 2)
    np.testing.assert_allclose(data["estimated_specificity"], 1 / 3)
    np.testing.assert_allclose(data["estimated_accuracy"], 20 / 50)


def test_annotators_are_held_against_the_majority_of_the_others():
    ann = dx.from_matrix([["x", "x", "y"], ["z", "x", "x"]])
    result = of_majority(ann, None)
    # 0 sees x and y tied, then x lead; 1 sees x and y, then x and z; 2 sees x lead, then x and z.
    np.testing.assert_allclose(result["annotator_majority"], [0.25, 0.5, 0.25])
    assert "majority_accuracy" not in result


@pytest.mark.long
def test_chains_that_part_are_left_out_or_warned_of_if_the_model_was_named(monkeypatch):
    monkeypatch.setattr(accuracy, "LEAST_EFFECTIVE", 1e9)
    result = dx.evaluate(study().annotations, **QUIET | {"truth_model": "auto"})
    assert "accuracy" not in result.children
    assert "chains that agree" in result["agreement"].attrs["notes"]
    assert 'truth_model="dawid_skene" shows them' in result["agreement"].attrs["notes"]
    with pytest.raises(dx.ArgumentError, match=r"group 'accuracy'.*chains that agree"):
        dx.plots.accuracies(result)
    with pytest.warns(dx.ConvergenceWarning, match="for some accuracies"):
        requested = dx.evaluate(study().annotations, **QUIET)
    assert requested["accuracy"].attrs["n_items_poor"] == 1


@pytest.mark.long
def test_a_model_whose_chains_part_is_left_out_in_words(monkeypatch):
    settled, least = accuracy._require_settled, accuracy.LEAST_EFFECTIVE

    def refused(draws, plan, candidate):
        with pytest.MonkeyPatch.context() as patch:
            required = least if candidate.model == "dawid_skene" else 1e9
            patch.setattr(accuracy, "LEAST_EFFECTIVE", required)
            settled(draws, plan, candidate)

    monkeypatch.setattr(accuracy, "_require_settled", refused)
    result = dx.evaluate(study().annotations, **QUIET | {"truth_model": "auto"})
    notes = result["accuracy"].attrs["notes"]
    assert "is left out because of chains that differ (minimum" in notes
    assert "annotations: expected" not in notes


@pytest.mark.long
def test_single_annotators_whose_draws_hang_together_are_a_note(monkeypatch):
    settled = accuracy.settled
    monkeypatch.setattr(accuracy, "settled", lambda draws: settled(draws) | {
        "n_items_poor": int("annotator" in draws.dims)})  # fmt: skip
    attrs = dx.evaluate(study().annotations, **QUIET)["accuracy"].attrs
    assert attrs["n_items_poor"] == 0
    assert "Intervals of single annotators have few effective draws" in attrs["notes"]


@pytest.mark.long
def test_the_group_survives_a_file(tmp_path):
    kept().to_netcdf(tmp_path / "evaluation.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "evaluation.nc", engine="h5netcdf") as tree:
        again = dx.summary(tree, "accuracy")
    pd.testing.assert_frame_equal(again, dx.summary(kept(), "accuracy"))


@pytest.mark.long
def test_annotators_who_may_be_guessing_are_remembered():
    rng = np.random.default_rng(5)
    ann = dx.from_matrix(rng.choice(["n", "y"], (60, 3)).tolist(), labels=["n", "y"])
    evaluation = dx.evaluate(ann, **QUIET)
    result = evaluation["accuracy"].attrs
    assert result["near_guessing"] > 0.1
    assert result["notes"].count("hardly better than guessing") == 1
    assert (dx.summary(evaluation, "accuracy")["doubt"] != "").all()


def test_sections_that_are_left_out_say_why():
    ann = dx.from_matrix([[1, 2], [2, 2], [3, 1]])
    options = {"draws": 20, "reliability": (1,), "random_seed": 1, "progressbar": False}
    notes = dx.evaluate(ann, **options)["agreement"].attrs["notes"]
    assert "Accuracies are not estimated: only 3 items" in notes
    assert "There is no ICC: whole numbers without a stated order" in notes
    none = {"truth_model": None, "ground_truth": None, "components": None}
    attrs = dx.evaluate(ann, **none, **options).attrs
    assert {attrs[name] for name in none} == {"none: not asked for"}
