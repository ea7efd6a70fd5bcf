"""Accuracy against one annotator, and against the majority vote."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from small_studies import study

import dissensus as dx


def naive(given, said):
    return float(np.mean([np.mean([label == said for label in labels]) for labels in given]))


def majority(given, said):
    votes: Counter = Counter()
    for labels in given:
        for label in labels:
            votes[label] += Fraction(1, len(labels))
    leaders = [label for label, n in votes.items() if n == max(votes.values())]
    return (said in leaders) / len(leaders)


CASES = {"naive_accuracy": naive, "majority_vote_accuracy": majority}
each_accuracy = pytest.mark.parametrize("name", CASES)


@each_accuracy
def test_is_its_definition(name):
    for seed in range(10):
        kind, trials = ("nominal", "ordinal")[seed % 2], seed % 4 > 1
        made = study(seed, kind, n_annotators=1 + seed % 6, n_labels=2 + seed % 4, trials=trials)
        said = made.said()
        rng = np.random.default_rng(seed)
        weights = {item: float(rng.random()) for item in said}
        found = getattr(dx, name)(made.annotations(), made.predictions(), weights=weights)
        for system in "st":
            each = [CASES[name](list(by.values()), made.predicted[item, system])
                    for item, by in said.items()]  # fmt: skip
            expected = np.average(each, weights=list(weights.values()))
            np.testing.assert_allclose(found.sel(system=system), expected, rtol=0, atol=1e-12)


def test_by_hand(votes):
    """Items: i is x, x, y; j is y, y, y; k is x, y. The good system says x, y, x."""
    ann, pred = votes
    one, vote = dx.naive_accuracy(ann, pred), dx.majority_vote_accuracy(ann, pred)
    assert float(one.sel(system="good")) == pytest.approx((2 / 3 + 1 + 1 / 2) / 3)
    assert float(vote.sel(system="good")) == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert float(vote.sel(system="bad")) == pytest.approx((0 + 0 + 1 / 2) / 3)
    assert one.dims == vote.dims == ("system",)


def test_naive_accuracy_falls_in_a_line_with_noise_and_the_vote_holds_out():
    """Lovchinsky et al. (2020), Figure 1a and b: ten labels, 9 annotators, the true labels.

    With a label kept with probability 1 - p and else any of ten, accuracy is 1 - .9 p.
    """
    rng = np.random.default_rng(1)
    truth = rng.integers(10, size=4000)
    pred = dx.predictions({"item": range(4000), "system": ["right"] * 4000, "label": truth})
    for p in (0.1, 0.3, 0.5):
        noisy = rng.random((4000, 9)) < p
        given = np.where(noisy, rng.integers(10, size=(4000, 9)), truth[:, None])
        ann = dx.from_matrix(given.tolist(), kind="nominal", labels=range(10))
        assert float(dx.naive_accuracy(ann, pred)[0]) == pytest.approx(1 - 0.9 * p, abs=0.01)
        assert float(dx.majority_vote_accuracy(ann, pred)[0]) > 0.94


@each_accuracy
def test_items_that_only_one_side_has_can_be_dropped(name):
    ann = dx.from_matrix([["x", "x"], ["y", "y"], ["x", "y"]])
    pred = dx.predictions({"item": [0, 2, 3], "system": ["m"] * 3, "label": ["x", "x", "y"]})
    with pytest.raises(dx.PredictionError, match="on_missing"):
        getattr(dx, name)(ann, pred)
    assert float(getattr(dx, name)(ann, pred, on_missing="drop")[0]) == 0.75


@each_accuracy
def test_labels_nobody_could_give_are_wrong_and_said_to_be(name):
    ann = dx.from_matrix([["x", "x"], ["y", "y"]])
    pred = dx.predictions({"item": [0, 1], "system": ["m"] * 2, "label": ["x", "z"]})
    with pytest.warns(dx.DissensusWarning, match="outside the label space"):
        assert float(getattr(dx, name)(ann, pred)[0]) == 0.5


@each_accuracy
def test_is_undefined_where_weighted_items_lack_predictions(name):
    ann = dx.from_matrix([["x", "x"], ["y", "y"]])
    pred = dx.predictions({"item": [0], "system": ["m"], "label": ["x"]})
    with pytest.warns(dx.DissensusWarning, match="no item has a label and a prediction"):
        found = getattr(dx, name)(ann, pred, on_missing="drop", weights=[0, 1])
    assert np.isnan(found).all()
