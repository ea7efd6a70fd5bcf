"""What an evaluation says of its ground truth: from whose accuracies, and what it is then worth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from one_truth import OPTIONS, kept, study

import dissensus as dx
from dissensus.evaluation import ground_truth
from dissensus.evaluation.ground_truth import plan


def judged(annotations, **options):
    result = dx.evaluate(annotations, truth_model=None, **{**OPTIONS, **options})
    return result["weighted_reliability"].to_dataset()


def test_draws_of_annotators_are_those_of_the_model_of_one_true_label():
    result = kept()["weighted_reliability"].to_dataset()
    people = kept()["accuracy"].to_dataset()
    assert result.attrs["accuracy"] == kept().attrs["ground_truth"] == "symmetric_confusion"
    np.testing.assert_allclose(
        result["label_accuracy"], people["annotator_accuracy"].mean("annotator"), atol=1e-9
    )  # as all of them labelled all items
    assert all(result[name].shape[:2] == (4, 500) for name in result.data_vars)


def test_the_majority_is_as_often_right_as_the_fit_says():
    result = kept()["weighted_reliability"].to_dataset()
    people = kept()["accuracy"].to_dataset()
    np.testing.assert_array_equal(result["truth_accuracy"], people["majority_correct"])
    alone = dx.annotators_for_truth(result["label_accuracy"], n_labels=result.attrs["n_labels"])
    needed, enough = (
        result[name].to_numpy() for name in ("annotators_for_truth", "truth_accuracy")
    )
    enough = enough >= result.attrs["target"]
    assert (needed[~enough] >= alone.to_numpy()[~enough]).all()
    assert (needed[enough] <= result.attrs["n_annotators"]).all()
    limit = 1 / people["error_correlation"].to_numpy()
    finite = (alone.to_numpy() < limit) | (alone.to_numpy() == 1) | enough
    np.testing.assert_array_equal(np.isfinite(needed), finite)


@pytest.mark.long
def test_the_majority_is_as_good_as_in_the_study_it_was_made_with():
    """Of 200 items the majority label is right on so many, by the known truth."""
    ann, truth = study().annotations, study().truth
    vote = dx.majority_vote_accuracy(ann, _answers(truth["truth_label"]))
    # Errors are independent there, which labels cannot tell: it has to be said.
    options = {"truth_model": "symmetric_confusion", "error_correlation": 0.01}
    evaluation = dx.evaluate(ann, **options, **OPTIONS)["weighted_reliability"]["truth_accuracy"]
    low, high = evaluation.quantile([0.01, 0.99]).to_numpy()
    assert low < float(vote[0]) < high


def _answers(labels):
    table = {"item": labels["item"].to_numpy(), "label": labels.to_numpy(), "system": "truth"}
    return dx.predictions(pd.DataFrame(table), kind="nominal")


def test_a_number_gives_what_the_nomograms_give():
    ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None], ["a", "a", "a"]] * 4)
    result = judged(ann, ground_truth=0.8)
    assert result.attrs["accuracy"] == "given"
    two, three = dx.majority_accuracy([2, 3], 0.8)
    np.testing.assert_allclose(result["truth_accuracy"], (two + 2 * three) / 3)
    np.testing.assert_array_equal(result["annotators_for_truth"], dx.annotators_for_truth(0.8))
    np.testing.assert_allclose(
        result["weighted_reliability"] / result["concordance"], 0.64 / 0.68, rtol=0.2
    )
    direct = dx.weighted_reliability(ann, accuracy=0.8, errors="uniform")
    spread = float(result["weighted_reliability"].std())
    assert abs(float(result["weighted_reliability"].mean() - direct)) < spread / 3


def test_accuracies_by_name_count_as_often_as_their_labels():
    ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]] * 6)
    result = judged(ann, ground_truth={0: 0.9, 1: 0.8, 2: 0.6})
    np.testing.assert_allclose(result["label_accuracy"], (2 * 0.9 + 2 * 0.8 + 0.6) / 5)


def test_a_majority_is_that_of_those_who_labelled_the_item(monkeypatch):
    """By hand: .95 x .9 + .95 x .1 x .4 + .05 x .9 x .4 = .911; of two, ties at random, .925."""
    ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]] * 6)
    accuracy = {0: 0.95, 1: 0.9, 2: 0.4}
    result = judged(ann, ground_truth=accuracy)
    np.testing.assert_allclose(result["truth_accuracy"], (0.911 + 0.925) / 2)
    assert result["truth_accuracy"].sizes == result["label_accuracy"].sizes
    monkeypatch.setattr(ground_truth, "_STEPS", 10)  # too many to go through them all
    rough = judged(ann, ground_truth=accuracy)["truth_accuracy"]
    mean = (2 * 0.95 + 2 * 0.9 + 0.4) / 5
    np.testing.assert_allclose(rough, np.mean(dx.majority_accuracy([2, 3], mean)))


@pytest.mark.long
def test_without_a_fit_it_is_the_majority_of_the_others():
    ann = study().annotations
    result = dx.evaluate(ann, truth_model=None, **OPTIONS)
    actual = result["weighted_reliability"].to_dataset()
    assert result.attrs["ground_truth"] == "majority"
    np.testing.assert_array_equal(
        actual["label_accuracy"], result["agreement"]["leave_one_out_agreement"]
    )
    requested = dx.evaluate(
        ann, study().predictions, ground_truth="majority", truth_model="symmetric_confusion",
        **OPTIONS,
    )  # fmt: skip
    assert requested["weighted_reliability"].attrs["accuracy"] == "majority"
    assert "accuracy" in requested.children


def test_confidence_is_in_the_concordance_and_its_absence_is_said():
    rows = {"item": np.repeat(range(8), 2), "annotator": [0, 1] * 8, "label": list("aabb") * 4}
    sure = judged(dx.annotations(rows), ground_truth=0.8)
    assert sure.attrs["confidence"] == "none given: 1 everywhere"
    assert sure.attrs["typical_confidence"] == 1
    half = judged(dx.annotations(rows | {"c": [0.5] * 16}, confidence="c"), ground_truth=0.8)
    assert half.attrs["confidence"] == "as given"
    assert half.attrs["typical_confidence"] == pytest.approx(0.5)
    np.testing.assert_allclose(half["concordance"], (2 / 3) ** 2)  # c^ = .5 / (.5 + .5 * .5)


def test_many_labels_take_fewer_draws(monkeypatch):
    monkeypatch.setattr(ground_truth, "FEW_LABELS", 10)
    monkeypatch.setattr(ground_truth, "LEAST_DRAWS", 20)
    result = judged(study().annotations, ground_truth=0.7)
    assert result.sizes["draw"] == 60


@pytest.mark.long
@pytest.mark.parametrize(
    ("annotations", "threshold", "reason"),
    [
        (lambda: dx.from_matrix([["a", None], [None, "b"]] * 9), None, "no item has two"),
        (lambda: dx.from_matrix([["a", "b"]] * 4), None, "only 4 items have two annotators"),
        (lambda: dx.from_matrix([["a", "a"]] * 9), None, "one label only"),
        (lambda: dx.from_matrix([[0.5, 1.5]] * 9), None, "numbers are not right"),
        (lambda: dx.from_matrix([[1, 2]] * 9, kind="ordinal"), 1.5, "labels from a threshold"),
        (lambda: dx.simulate.study(n_items=9, random_seed=1).annotations, None, "rankings"),
    ],
)
def test_what_has_no_ground_truth_says_why(annotations, threshold, reason):
    result = plan(annotations(), "auto", threshold)
    assert reason in result.text
    if "only 4" not in reason:
        with pytest.raises(dx.ArgumentError, match=f"^ground_truth: .*{reason}"):
            plan(annotations(), 0.8, threshold)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (1.2, "numbers from 0 to 1"), ("most", "'auto', None, or accuracies of annotators"),
        ({0: 0.5}, "every annotator.*known to be true go to"),
        (np.full((4, 200), 0.7), "accuracies by item"),
        (xr.DataTree(), "found a DataTree without posterior"),
    ],
)  # fmt: skip
def test_accuracies_that_are_none_are_refused_before_anything_is_fitted(given, words):
    with pytest.raises(dx.ArgumentError, match=rf"^ground_truth.*{words}"):
        dx.evaluate(study().annotations, ground_truth=given, **OPTIONS)


def test_there_is_no_nomogram_without_the_section():
    without = dx.evaluate(dx.from_matrix([["a", "b"]] * 3), truth_model=None, ground_truth=None,
                          **OPTIONS)  # fmt: skip
    with pytest.raises(dx.ArgumentError, match="none: not asked for"):
        dx.plots.truth_nomogram(without)
