"""Which model of one true label an evaluation fits, and why none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dissensus as dx
from dissensus.evaluation.accuracy import plan


def study(n_items=30, n_annotators=3, n_labels=4, **more):
    rng = np.random.default_rng(1)
    item, who = np.indices((n_items, n_annotators)).reshape(2, -1)
    label = (item + (rng.random(len(item)) < 0.3)) % n_labels
    table = {"item": item, "annotator": who, "label": [f"l{k:02}" for k in label]}
    names = [f"l{k:02}" for k in range(n_labels)]
    return dx.annotations(table, **{"labels": names, "kind": "nominal"} | more)


def systems(n_items=30, **more):
    table = {"item": range(n_items), "system": ["s"] * n_items, "label": ["l00"] * n_items}
    return dx.predictions(table, **more)


def settings_of(result):
    return {candidate.model: candidate.settings for candidate in result.candidates}


def test_names_have_equal_errors_and_ordered_labels_graded_ones():
    result = plan(study(n_items=200), systems(200), "auto", None)
    assert [x.model for x in result.candidates] == ["dawid_skene", "symmetric_confusion"]
    assert settings_of(result) == {
        "dawid_skene": {"pooling": "none"},
        "symmetric_confusion": {"accuracy": "annotator", "errors": "equal"},
    }
    assert not result.by_name
    assert result.remarks == ()
    ordered = plan(study(kind="ordinal"), None, "auto", None)
    assert settings_of(ordered)["symmetric_confusion"]["errors"] == "graded"


def test_matrices_take_a_hundred_labels_for_each():
    assert list(settings_of(plan(study(), None, "auto", None))) == ["symmetric_confusion"]
    requested = plan(study(), None, "dawid_skene", None)
    assert list(settings_of(requested)) == ["dawid_skene"]


def test_whole_numbers_that_nobody_called_ordered_are_classes():
    item, who = np.indices((9, 3)).reshape(2, -1)
    ann = dx.annotations({"item": item, "annotator": who, "label": (item + who) % 4})
    result = plan(ann, None, "auto", None)
    assert settings_of(result)["symmetric_confusion"]["errors"] == "equal"


def test_known_labels_stand_in_for_a_second_annotator():
    alone = study(n_annotators=1)
    known = dict.fromkeys(range(10), "l00")
    assert "no item has two" in plan(alone, None, "auto", None).text
    assert plan(alone, None, "auto", None, known).candidates
    with pytest.raises(dx.ArgumentError, match="truth: expected None: no item has two"):
        plan(alone, None, "auto", None, {0: "l00"})
    with pytest.raises(dx.ArgumentError, match="truth: expected None with truth_model=None"):
        plan(study(), None, None, None, known)
    with pytest.raises(dx.ArgumentError, match="expected labels of items of the annotations"):
        plan(study(), None, "auto", None, {99: "l00"})


def test_annotators_whom_nobody_knows_again_have_one_accuracy():
    ann = study()
    n = ann.sizes["annotation"]
    alone = ann.drop_dims("annotator").assign(annotator_code=("annotation", np.arange(n)))
    alone = alone.assign_coords(annotator=np.arange(n))
    result = plan(alone, None, "auto", None)
    assert settings_of(result)["symmetric_confusion"]["accuracy"] == "common"
    assert "No annotator labelled two items" in result.remarks[0]
    requested = plan(alone, None, "dawid_skene", None)
    assert settings_of(requested)["dawid_skene"]["pooling"] == "complete"


@pytest.mark.parametrize(
    ("annotations", "threshold", "reason", "noted"),
    [
        (lambda: study(n_annotators=1), None, "no item has two annotators", False),
        (lambda: study(n_items=4), None, "only 4 items have two annotators", True),
        (lambda: study(n_items=40, n_labels=31), None, "there are 31 labels", True),
        (lambda: study(n_labels=1), None, "one label only", False),
        (lambda: study(kind="ordinal"), 1.0, "labels from a threshold", False),
        (lambda: dx.from_matrix([[0.5, 1.5]] * 9), None, "numbers are not right", False),
        (lambda: dx.simulate.study(n_items=9, random_seed=1).annotations, None, "rankings", False),
    ],
)
def test_what_has_no_one_true_label_says_why(annotations, threshold, reason, noted):
    result = plan(annotations(), None, "auto", threshold)
    assert reason in result.text
    assert result.noted == noted


def test_a_model_that_is_asked_for_is_taken_or_refused():
    assert plan(study(), None, None, None).text == "not asked for"
    many = plan(study(n_items=40, n_labels=31), None, "symmetric_confusion", None)
    assert many.by_name
    assert list(settings_of(many)) == ["symmetric_confusion"]
    with pytest.raises(dx.ArgumentError, match="truth_model: expected None or 'auto': rankings"):
        ann = dx.simulate.study(n_items=9, random_seed=1).annotations
        plan(ann, None, "symmetric_confusion", None)
    with pytest.raises(dx.ArgumentError, match="truth_model: expected 'auto'"):
        plan(study(), None, "kappa", None)


def test_lists_count_with_their_first_labels():
    rows = [(i, "s", label, rank) for i in range(30) for rank, label in enumerate(("l01", "l02"))]
    frame = pd.DataFrame(rows, columns=["item", "system", "label", "rank"])
    frame["rank"] += 1
    result = plan(study(), dx.predictions(frame, rank="rank"), "auto", None)
    assert result.predictions.sizes["position"] == 1
    frame["rank"] = 1
    tied = plan(study(), dx.predictions(frame, rank="rank"), "auto", None)
    assert tied.predictions is None
    assert "up to 2 labels tied in first place" in tied.remarks[0]


def test_clusters_are_noted():
    item, who = np.indices((9, 3)).reshape(2, -1)
    table = {"item": item, "annotator": who, "label": list("ab") * 13 + ["a"], "c": item // 3}
    result = plan(dx.annotations(table, cluster="c"), None, "auto", None)
    assert "items of a cluster as independent" in result.remarks[-1]
