"""What the source proves of concordance, its settings, and undefined values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from concordance_reference import as_annotations, study

import dissensus as dx


def test_a_majority_of_two_or_less_is_slim():
    def of(*votes):
        ann = dx.from_matrix([list(votes)], labels=["x", "y", "z"])
        return float(dx.concordance(ann, slim_majority=0.0))

    assert of("x", "x", "y") == of("x", "x", "x", "y") == of("x", "x") == of("x", "y", "z") == 0.0
    assert of("x", "x", "x") == 1.0
    assert of("x", "x", "x", "x", "y") == pytest.approx(0.6)
    only = dx.from_matrix([["x", "x"]], labels=["x"])  # nothing else can be said
    assert float(dx.concordance(only, slim_majority=0.0)) == 1.0


@pytest.mark.parametrize("chance", ["uniform", "empirical"])
def test_without_confidence_it_is_percent_agreement_and_says_so(chance):
    items = study(np.random.default_rng(1), items=9, missing=0.1, trials=True)
    result = dx.concordance(as_annotations(items, sure=False), chance=chance)
    np.testing.assert_allclose(result, dx.percent_agreement(as_annotations(items)), rtol=1e-13)
    assert result.attrs["confidence"] == "none given: 1 everywhere"
    assert dx.concordance(as_annotations(items)).attrs["confidence"] == "as given"


def test_full_confidence_and_agreement_are_one_whatever_the_labels():
    # Theorem 1 of the source: one label for all, where kappa and alpha are undefined.
    for labels in (["x"], ["x", "y"]):
        answers = ["x", "x", "x", *labels[-1:] * 2]
        frame = {"item": [0, 0, 0, 1, 1], "annotator": [0, 1, 2, 0, 2], "label": answers}
        ann = dx.annotations({**frame, "sure": np.ones(5)}, confidence="sure")
        for chance in ("uniform", "empirical"):
            assert float(dx.concordance(ann, chance=chance)) == 1.0
    agreed = dx.from_matrix([["x", "x"], ["x", "x"]], labels=["x", "y"])
    for kappa in (dx.fleiss_kappa, dx.krippendorff_alpha):
        with pytest.warns(dx.DissensusWarning, match="undefined"):
            assert np.isnan(kappa(agreed))
    assert float(dx.concordance(agreed)) == 1.0


def test_rankings_agree_by_what_they_have_in_common():
    lists = {"i": {"ann": [["a"], ["b"]], "bob": [["b"], ["a"]]},
             "j": {"ann": [["a"]], "bob": [["a"]]}}  # fmt: skip
    ann = dx.from_rankings(lists, labels=list("abcde"))
    # Mean average overlap of ab and ba at depth 2 is 1/2: see `rank_distance`.
    np.testing.assert_allclose(dx.concordance(ann, per_item=True), [0.5, 1.0])
    assert dx.concordance(ann).attrs["distance"] == "ranking"
    rows = {"item": ["i"] * 4, "annotator": ["r", "r", "s", "s"], "label": list("abab"),
            "rank": [1, 2, 1, 2], "sure": [0.5, 0.5, 1.0, 1.0]}  # fmt: skip
    sure = dx.annotations(rows, rank="rank", confidence="sure", labels=list("abcde"))
    assert float(dx.concordance(sure, chance=1.0)) == pytest.approx(0.5)
    with pytest.raises(dx.ArgumentError, match="chance: expected a number"):
        dx.concordance(sure)
    rows["sure"] = [0.5, 0.4, 1.0, 1.0]
    mixed = dx.annotations(rows, rank="rank", confidence="sure")
    with pytest.raises(dx.AnnotationError, match="one confidence for all labels of a ranking"):
        dx.concordance(mixed, chance=1.0)


def test_numbers_on_a_scale_agree_by_distance():
    ann = dx.from_matrix([[0.0, 1.0, 4.0]], kind="continuous")
    # Distances 1, 4 and 3 of 4 at most; of 10, if that is the scale.
    assert float(dx.concordance(ann, distance="absolute")) == pytest.approx((0.75 + 0 + 0.25) / 3)
    result = dx.concordance(ann, distance="absolute", max_distance=10)
    assert float(result) == pytest.approx((0.9 + 0.6 + 0.7) / 3)
    assert float(dx.concordance(ann)) == 0.0
    same = dx.from_matrix([[2.0, 2.0]], kind="continuous")
    assert float(dx.concordance(same, distance="squared")) == 1.0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"chance": "random"}, "chance: expected 'uniform', 'empirical', a number"),
        ({"chance": 0.0}, "chance: expected"),
        ({"chance": {"x": 0.5}}, "a share above 0 for every label that was given; found none for"),
        ({"chance": {"x": 0.0, "y": 1.0}}, "found none for 'x'"),
        ({"chance": {"x": 0.9, "y": 0.9}}, "shares with a sum of at most 1; found 1.8"),
        ({"chance": {"x": np.nan, "y": 0.5}}, "label 'x': expected a share from 0 to 1"),
        ({"distance": "jaccard"}, "distance: expected one of"),
        ({"distance": "ranking"}, "distance: expected a distance of labels"),
        ({"max_distance": 2.0}, "max_distance: expected None"),
        ({"distance": "absolute", "max_distance": 0}, "max_distance: expected a number above 0"),
        ({"slim_majority": 1.5}, "slim_majority: expected a number from 0 to 1"),
        ({"per_item": True, "weights": [1, 1]}, "weights: expected None with per_item=True"),
    ],
)
def test_settings_that_make_no_sense_are_refused(more, words):
    ann = dx.from_matrix([["x", "y"], ["y", "y"]])
    with pytest.raises(dx.DissensusError, match=words):
        dx.concordance(ann, **more)


def test_shares_may_come_in_a_series_and_of_labels_that_are_numbers():
    items = [{0: [(0, 0.5)], 1: [(0, 1.0)]}, {0: [(1, 0.5)], 1: [(1, 1.0)]}]
    ann = as_annotations(items, 2)
    expected = (0.5 / (0.5 + 0.5 * 0.2) + 0.5 / (0.5 + 0.5 * 0.8)) / 2
    for chance in (pd.Series([0.2, 0.8]), {0: 0.2, 1: 0.8}, {"0": 0.2, "1": 0.8}):
        assert float(dx.concordance(ann, chance=chance)) == pytest.approx(expected)


def test_settings_without_labels_to_count_are_refused():
    ann = dx.annotations(
        {"item": [0, 0], "annotator": [0, 1], "label": [0.5, 0.7], "sure": [0.5, 1.0]},
        kind="continuous", confidence="sure",
    )  # fmt: skip
    for chance in ("uniform", "empirical", {0.5: 0.5, 0.7: 0.5}):
        with pytest.raises(dx.ArgumentError, match="whose labels cannot be counted"):
            dx.concordance(ann, chance=chance)
    assert float(dx.concordance(ann, chance=0.1)) == 0.0
    with pytest.raises(
        dx.ArgumentError, match="slim_majority: expected 1, since these labels have no"
    ):
        dx.concordance(ann, chance=0.1, slim_majority=0.5)


def test_items_with_one_annotator_are_left_out_or_undefined():
    ann = dx.from_matrix([["x", "x"], ["y", None]])
    assert float(dx.concordance(ann)) == 1.0
    with pytest.warns(dx.DissensusWarning, match="1 of 2 values: fewer than two annotators"):
        result = dx.concordance(ann, per_item=True)
    np.testing.assert_array_equal(result, [1.0, np.nan])
    alone = dx.from_matrix([["x", None], ["y", None]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of two annotators"):
        assert np.isnan(dx.concordance(alone))


def test_warnings_are_of_the_line_that_asked():
    lone = dx.from_matrix([["a", None], ["b", "b"]])
    for per_item in (True, False):
        with pytest.warns(dx.DissensusWarning, match="undefined") as caught:
            dx.concordance(lone if per_item else lone.isel(annotation=[0]), per_item=per_item)
        assert caught[0].filename == __file__
