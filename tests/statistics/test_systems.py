"""Predictions brought onto the annotated items."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.data.alignment import labels_by_systems, numbers_by_systems, systems_of


def predicted(items, label, kind=None):
    frame = {"item": items, "system": ["s"] * len(items), "label": label}
    return dx.predictions(frame, kind=kind)


def test_the_order_of_predictions_does_not_matter(votes):
    ann, pred = votes
    whole = systems_of(ann, pred)
    assert whole.names.tolist() == ["good", "bad"]
    assert whole.present.all()
    labels = labels_by_systems(whole, ann["label"].values)
    assert ann["label"].values[labels].tolist() == [["x", "y"], ["y", "x"], ["x", "y"]]
    turned = systems_of(ann, pred.isel(item=[2, 0, 1]))
    np.testing.assert_array_equal(labels_by_systems(turned, ann["label"].values), labels)


def test_items_without_predictions_are_dropped_only_if_asked(votes):
    ann, pred = votes
    fewer = pred.sel(item=["k", "i"])
    with pytest.raises(dx.PredictionError, match="without predictions: 'j'"):
        systems_of(ann, fewer)
    result = systems_of(ann, fewer, "drop")
    assert result.present.tolist() == [True, False, True]
    labels = labels_by_systems(result, ann["label"].values)
    assert labels[1].tolist() == [-1, -1]
    with pytest.raises(dx.ArgumentError, match="on_missing"):
        systems_of(ann, fewer, "ignore")
    with pytest.raises(dx.PredictionError):
        systems_of(ann, ann)


def test_labels_that_annotators_could_not_give_differ_from_all(votes):
    ann, _ = votes
    result = systems_of(ann, predicted(["i", "j", "k"], ["z", "y", "w"]))
    with pytest.warns(dx.DissensusWarning, match="outside.*predictions with them: 2"):
        labels = labels_by_systems(result, ann["label"].values)[:, 0]
    assert labels[1] == ann["label"].values.tolist().index("y")
    assert min(labels[0], labels[2]) >= 2
    assert labels[0] != labels[2]
    strange = systems_of(ann, predicted(["i", "j", "k"], ["u", "v", "w"]))
    with pytest.raises(dx.PredictionError, match="no label in common"):
        labels_by_systems(strange, ann["label"].values)


def test_numbers_between_grades_are_refused():
    """Each would count as wrong: a judge with scores such as 3.22 would agree with nobody."""
    ann = dx.from_matrix([[1, 2], [3, 4], [5, 5]], kind="ordinal")
    for given in ([3.22, 4.0, 5.0], [3.5, 2.5, 1.5]):
        pred = predicted([0, 1, 2], given)
        with pytest.raises(dx.PredictionError, match=r"number.*kind=\"continuous\""):
            dx.evaluate(ann, pred)
        with pytest.raises(dx.PredictionError):
            labels_by_systems(systems_of(ann, pred), ann["label"].values)
    whole = systems_of(ann, predicted([0, 1, 2], [3.0, 4.0, 5.0]))
    assert labels_by_systems(whole, ann["label"].values)[:, 0].tolist() == [2, 3, 4]


def test_lists_and_numbers_are_no_labels(votes, rankings):
    result = systems_of(*rankings)
    with pytest.raises(dx.PredictionError, match="one label from each system and item"):
        labels_by_systems(result, rankings[0]["label"].values)
    with pytest.raises(dx.PredictionError, match="one number from each system and item"):
        numbers_by_systems(result)
    numbers = systems_of(votes[0], predicted(["i", "j", "k"], [0.5, 1.5, 2.5]))
    with pytest.raises(dx.PredictionError, match="numbers"):
        labels_by_systems(numbers, votes[0]["label"].values)
    with pytest.raises(dx.PredictionError, match="text such as"):
        numbers_by_systems(systems_of(*votes))


def test_numbers_are_values_or_labels_that_are_numbers(votes):
    ann, _ = votes
    for kind in ("continuous", None):
        result = systems_of(ann, predicted(["k", "j"], [3, 1], kind), "drop")
        np.testing.assert_array_equal(numbers_by_systems(result)[:, 0], [np.nan, 1.0, 3.0])
