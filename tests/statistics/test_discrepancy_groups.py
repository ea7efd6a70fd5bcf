"""Discrepancy ratios in strata and pools, with missing items, undefined ones, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from small_studies import nominal, squared

import dissensus as dx
from dissensus.errors import AnnotationError, ArgumentError, DissensusWarning, PredictionError
from dissensus.statistics._sums import Undefined

LABELS = list("abcd")


def study(rng, n_items=40):
    frame = pd.DataFrame(
        {"item": np.repeat(np.arange(n_items), 5), "annotator": np.tile(np.arange(5), n_items)}
    )
    frame["label"] = rng.choice(LABELS, len(frame))
    frame["pool"] = np.where(frame["annotator"] < 3, "left", "right")
    frame["stratum"] = np.array(["x", "y", "z"])[frame["item"] % 3]
    frame = frame[rng.random(len(frame)) < 0.8]
    items = frame["item"].unique()
    pred = dx.predictions(
        {
            "item": np.tile(items, 2),
            "system": np.repeat(["s", "t"], len(items)),
            "label": rng.choice(LABELS, 2 * len(items)),
        }
    )
    return frame, pred


def read(frame, **how):
    return dx.annotations(frame, labels=LABELS, kind="nominal", **how)


def test_strata_all_weigh_the_same():
    frame, pred = study(np.random.default_rng(8))
    ratio = dx.discrepancy_ratio(read(frame, stratum="stratum"), pred, stratified=True)
    parts = [
        dx.discrepancy_ratio(read(part), pred, on_missing="drop")
        for _, part in frame.groupby("stratum")
    ]
    for name in ratio.data_vars:
        expected = sum(part[name] for part in parts) / 3
        np.testing.assert_allclose(ratio[name], expected, rtol=1e-12)


def test_each_pool_by_itself():
    frame, pred = study(np.random.default_rng(9))
    ratio = dx.discrepancy_ratio(read(frame, pool="pool"), pred, by_pool=True)
    assert ratio["annotator_discrepancy"].dims == ("pool",)
    assert ratio["discrepancy_ratio"].dims == ("system", "pool")
    for name, part in frame.groupby("pool"):
        alone = dx.discrepancy_ratio(read(part), pred, on_missing="drop")
        xr.testing.assert_allclose(ratio.sel(pool=name, drop=True), alone)
    both = dx.discrepancy_ratio(
        read(frame, pool="pool", stratum="stratum"), pred, by_pool=True, stratified=True
    )
    alone = dx.discrepancy_ratio(
        read(frame[frame["pool"] == "left"], stratum="stratum"), pred, stratified=True,
        on_missing="drop",
    )  # fmt: skip
    xr.testing.assert_allclose(both.sel(pool="left", drop=True), alone)


def test_strata_and_pools_have_to_be_there(votes):
    with pytest.raises(AnnotationError, match="stratum="):
        dx.discrepancy_ratio(*votes, stratified=True)
    with pytest.raises(AnnotationError, match="pool="):
        dx.discrepancy_ratio(*votes, by_pool=True)
    with pytest.raises(ArgumentError, match="by_pool"):
        dx.discrepancy_ratio(*votes, by_pool="pool")


def test_a_stratum_without_disagreement_is_named():
    frame = pd.DataFrame(
        {
            "item": [1, 1, 2, 2],
            "annotator": [1, 2, 1, 2],
            "label": ["a", "b", "a", "a"],
            "stratum": ["hard", "hard", "easy", "easy"],
        }
    )
    pred = dx.predictions({"item": [1, 2], "system": ["s"] * 2, "label": ["a", "a"]})
    with pytest.warns(DissensusWarning, match="no disagreement.* in stratum 'easy'"):
        ratio = dx.discrepancy_ratio(read(frame, stratum="stratum"), pred, stratified=True)
    assert np.isnan(ratio["discrepancy_ratio"]).all()
    assert ratio["annotator_discrepancy"].item() == 0.5


@pytest.mark.parametrize("how", [{}, {"stratified": True}, {"by_pool": True}])
def test_several_sets_of_weights_at_once_are_one_after_the_other(how):
    frame, pred = study(np.random.default_rng(10))
    ann = read(frame, pool="pool", stratum="stratum")
    sums = dx.statistics.get("discrepancy_ratio").sums(ann, pred, **how)
    weights = np.random.default_rng(1).exponential(size=(4, ann.sizes["item"]))
    totals = np.concatenate([sums.weighted(each).totals() for each in weights])
    together = sums.finish(totals, Undefined())
    for place, each in enumerate(weights):
        alone = dx.discrepancy_ratio(ann, pred, weights=each, **how)
        for name in alone:
            np.testing.assert_allclose(together[name][place], alone[name], rtol=1e-12)


def test_items_with_one_annotator_or_without_predictions_count_for_neither():
    ann = dx.from_matrix([["a", "b"], ["a", None], ["a", "a"]])
    pred = dx.predictions({"item": [0, 1], "system": ["s"] * 2, "label": ["a", "b"]})
    with pytest.raises(PredictionError, match="1 annotated item without predictions"):
        dx.discrepancy_ratio(ann, pred)
    ratio = dx.discrepancy_ratio(ann, pred, on_missing="drop")
    assert ratio["annotator_discrepancy"].item() == 1.0
    assert ratio["system_discrepancy"].item() == 0.5


@pytest.mark.parametrize("distance", ["nominal", "squared", "absolute", "jaccard", squared])
def test_the_same_with_items_dropped_for_every_distance(distance):
    rng = np.random.default_rng(11)
    labels = rng.integers(0, 4, size=(12, 3))
    answers = {"item": range(6), "system": ["s"] * 6, "label": rng.integers(0, 4, 6)}
    pred = dx.predictions(answers)
    whole = dx.discrepancy_ratio(dx.from_matrix(labels), pred, distance, on_missing="drop")
    part = dx.discrepancy_ratio(dx.from_matrix(labels[:6]), pred, distance)
    xr.testing.assert_allclose(whole, part)


def test_annotators_who_agree_have_no_ratio():
    ann = dx.from_matrix([["a", "a", None], ["b", "b", "b"]])
    pred = dx.predictions({"item": [0, 1], "system": ["s"] * 2, "label": ["a", "a"]})
    with pytest.warns(DissensusWarning, match="annotators agree on every item"):
        ratio = dx.discrepancy_ratio(ann, pred)
    assert np.isnan(ratio["discrepancy_ratio"]).all()
    assert ratio["annotator_discrepancy"].item() == 0.0
    assert ratio["system_discrepancy"].item() == 0.5


@pytest.mark.parametrize("distance", ["squared", "absolute", "hinge"])
def test_equal_numbers_are_exactly_0_apart(distance):
    how = {"tolerance": 0.01} if distance == "hinge" else {}
    ann = dx.from_matrix(np.repeat([[0.1], [1e9 / 3], [-7.3]], 7, axis=1))
    pred = dx.predictions({"item": [0, 1, 2], "system": ["s"] * 3, "label": [0.1, 0.2, 0.3]})
    with pytest.warns(DissensusWarning, match="annotators agree"):
        ratio = dx.discrepancy_ratio(ann, pred, distance, **how)
    assert ratio["annotator_discrepancy"].item() == 0.0


def test_equal_rankings_are_exactly_0_apart(rankings):
    lists = {i: {n: [["a"], ["c", "b"]] for n in "xyz"} for i in ("p", "q")}
    lists["p"]["z"] = [["a"], ["b", "c"]]  # the same, written the other way round
    ann = dx.from_rankings(lists, labels=list("abcdef"))
    with pytest.warns(DissensusWarning, match="annotators agree"):
        ratio = dx.discrepancy_ratio(ann, rankings[1], depth=5)
    assert ratio["annotator_discrepancy"].item() == 0.0


def test_one_annotator_everywhere():
    ann = dx.from_matrix([["a", None], [None, "b"]])
    pred = dx.predictions({"item": [0, 1], "system": ["s"] * 2, "label": ["a", "a"]})
    with pytest.warns(DissensusWarning, match="no item has labels of two annotators"):
        ratio = dx.discrepancy_ratio(ann, pred)
    assert all(np.isnan(ratio[name]).all() for name in ratio.data_vars)


def test_labels_outside_the_label_space_agree_with_nobody(votes):
    ann, _ = votes
    pred = dx.predictions({"item": list("ijk"), "system": ["s"] * 3, "label": ["z", "y", "x"]})
    for distance in ("nominal", "jaccard", nominal):
        with pytest.warns(DissensusWarning, match="outside the label space.*'z'"):
            ratio = dx.discrepancy_ratio(ann, pred, distance)
        assert ratio["system_discrepancy"].item() == pytest.approx((1 + 0 + 0.5) / 3)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"distance": "kappa"}, "distance: expected one of 'squared'"),
        ({"distance": 3}, "distance: expected one of"),
        ({"distance": "hinge"}, "tolerance: expected a number"),
        ({"distance": "hinge", "tolerance": -1}, "tolerance: expected a number"),
        ({"distance": "nominal", "tolerance": 1}, "unless distance=\"hinge\""),
        ({"depth": 2}, "unless distance=\"ranking\""),
        ({"on_missing": "ignore"}, "on_missing"),
        ({"weights": [-1, 1, 1]}, "weights"),
        ({"distance": lambda y, z: -1.0}, "0 or more"),
        ({"distance": lambda y, z: 1.0}, "0 from a label to itself"),
        ({"distance": lambda y, z: float(y < z)}, "the same in both directions"),
        ({"distance": lambda y: 0.0}, "between 'x' and '.'.*TypeError"),
        ({"distance": lambda y, z: float("nan")}, "finite"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(votes, how, says):
    with pytest.raises(ArgumentError, match=says):
        dx.discrepancy_ratio(*votes, **how)


def test_data_that_do_not_have_the_distance(votes, rankings):
    with pytest.raises(AnnotationError, match="which have distances"):
        dx.discrepancy_ratio(*votes, "squared")
    with pytest.raises(AnnotationError, match="one label or number"):
        dx.discrepancy_ratio(*rankings, "nominal")
    with pytest.raises(ArgumentError, match="depth"):
        dx.discrepancy_ratio(*rankings, depth=7)
    with pytest.raises(PredictionError, match="one label from each system"):
        dx.discrepancy_ratio(dx.from_matrix(pd.DataFrame("a", list("pq"), [1, 2])), rankings[1])
    with pytest.raises(AnnotationError, match="predictions"):
        dx.discrepancy_ratio(votes[1], votes[0])
    numbers = dx.predictions({"item": list("ijk"), "system": ["s"] * 3, "label": [0.1, 0.2, 0.3]})
    for distance in ("nominal", "jaccard"):
        with pytest.raises(PredictionError, match="numbers"):
            dx.discrepancy_ratio(votes[0], numbers, distance)


def test_ordered_numbers_take_fractions_from_systems():
    ann = dx.from_matrix([[1, 2], [2, 4]], kind="ordinal")
    pred = dx.predictions({"item": [0, 1], "system": ["s"] * 2, "label": [1.5, 3.0]})
    ratio = dx.discrepancy_ratio(ann, pred)
    assert ratio.attrs["distance"] == "squared"
    assert ratio["system_discrepancy"].item() == (0.25 + 1.0) / 2
    requested = dx.discrepancy_ratio(ann, pred, squared)
    xr.testing.assert_allclose(ratio.drop_attrs(), requested.drop_attrs())


def test_ordered_words_are_names():
    ann = dx.from_matrix([["low", "high"], ["mid", "high"]], labels=["low", "mid", "high"])
    pred = dx.predictions({"item": [0, 1], "system": ["s"] * 2, "label": ["low", "low"]})
    assert dx.discrepancy_ratio(ann, pred).attrs["distance"] == "nominal"
