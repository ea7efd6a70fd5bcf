"""Concordance against its definition, and what the source proves of it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from concordance_reference import (
    as_annotations,
    empirical,
    item_value,
    mean,
    quietly,
    slim,
    study,
    value,
    weights_for,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import seeds

import dissensus as dx

SEEDS = st.integers(0, 2**31)
few = settings(max_examples=15, deadline=None)


def shares(rng, items, weights, labels=3):
    """Return a kind of chance, and the share of each label it stands for."""
    own = (rng.dirichlet(np.ones(labels)) * 0.9 + 0.02).tolist()
    return [
        ("uniform", [1 / labels] * labels),
        ("empirical", empirical(items, labels, weights)),
        (dict(enumerate(own)), own),
        (0.3, [0.3] * labels),
    ][int(rng.integers(4))]


@pytest.mark.unit(12, long=60)
@pytest.mark.parametrize("seed", range(300))
def test_it_is_what_its_definition_gives(seed):
    rng = np.random.default_rng([7, seed])
    items = study(rng, trials=bool(seed % 2), sure=("any", "extreme", None)[seed % 3])
    ann = as_annotations(items, kind=("nominal", "ordinal")[seed % 2])
    weights = weights_for(rng, len(items))
    chance, share = shares(rng, items, weights)
    expected = value(items, share, weights)
    found = quietly(dx.concordance, ann, chance=chance, weights=weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    if chance == "empirical":
        share = empirical(items, 3, np.ones(len(items)))
    each = quietly(dx.concordance, ann, chance=chance, per_item=True)
    expected = [item_value(said, share) for said in items]
    np.testing.assert_allclose(each, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.unit(6, long=36)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("power", [1, 2, "callable"])
def test_graded_agreement_is_what_its_definition_gives(seed, power):
    rng = np.random.default_rng([8, seed])
    items = study(rng, trials=bool(seed % 2), labels=4)
    ann = as_annotations(items, 4)
    farthest = None if seed % 3 else 2.5
    p = 1 if power == "callable" else power
    distance = {1: "absolute", 2: "squared"}.get(power, lambda one, two: abs(one - two))
    weights = weights_for(rng, len(items))
    largest = farthest or 3.0**p  # labels 0 to 3

    def close(a, b):
        return max(0.0, 1.0 - abs(a - b) ** p / largest)

    chance, share = shares(rng, items, weights, 4)
    expected = value(items, share, weights, close=close)
    more = {"distance": distance, "max_distance": farthest, "chance": chance}
    found = quietly(dx.concordance, ann, weights=weights, **more)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert found.attrs["max_distance"] == largest


@pytest.mark.parametrize("seed", seeds(60))
def test_slim_majorities_are_found_by_trying_every_change(seed):
    rng = np.random.default_rng([9, seed])
    items = study(rng, trials=bool(seed % 2), missing=0.1, annotators=6)
    ann = as_annotations(items)
    plain = quietly(dx.concordance, ann, per_item=True)
    found = quietly(dx.concordance, ann, per_item=True, slim_majority=0.25)
    factor = [0.25 if slim(said, 3) else 1.0 for said in items]
    np.testing.assert_allclose(found, plain * factor, rtol=1e-12, atol=1e-15)
    weights = weights_for(rng, len(items))
    found = quietly(dx.concordance, ann, slim_majority=0.25, weights=weights)
    np.testing.assert_allclose(found, mean(plain * factor, weights), rtol=1e-12, atol=1e-15)


def test_a_majority_of_two_or_less_is_slim():
    def of(*votes):
        ann = dx.from_matrix([list(votes)], labels=["x", "y", "z"])
        return float(dx.concordance(ann, slim_majority=0.0))

    assert of("x", "x", "y") == of("x", "x", "x", "y") == of("x", "x") == of("x", "y", "z") == 0.0
    assert of("x", "x", "x") == 1.0
    assert of("x", "x", "x", "x", "y") == pytest.approx(0.6)
    only = dx.from_matrix([["x", "x"]], labels=["x"])  # nothing else can be said
    assert float(dx.concordance(only, slim_majority=0.0)) == 1.0


@given(seed=SEEDS)
@few
def test_more_confidence_is_never_less_concordance(seed):
    rng = np.random.default_rng(seed)
    items = study(rng, trials=bool(seed % 2))
    surer = [
        {r: [(y, c + (1 - c) * rng.random() * rng.integers(2)) for y, c in given]
         for r, given in said.items()} for said in items
    ]  # fmt: skip
    how = [{}, {"chance": "empirical"}, {"distance": "absolute"}][seed % 3]
    less, more = (quietly(dx.concordance, as_annotations(s), **how) for s in (items, surer))
    assert np.isnan(less) or float(more) >= float(less) - 1e-14


@given(seed=SEEDS, chance=st.sampled_from(["uniform", "empirical", 0.2]))
@few
def test_it_is_between_zero_and_agreement(seed, chance):
    rng = np.random.default_rng(seed)
    items = study(rng, trials=bool(seed % 2))
    ann = as_annotations(items)
    found, agreed = (
        quietly(of, ann, **more)
        for of, more in ((dx.concordance, {"chance": chance}), (dx.percent_agreement, {}))
    )
    assert np.isnan(found) or -1e-15 <= float(found) <= float(agreed) + 1e-14


@given(seed=SEEDS)
@few
def test_without_confidence_it_is_percent_agreement_and_says_so(seed):
    items = study(np.random.default_rng(seed), trials=bool(seed % 2))
    ann = as_annotations(items, sure=False)
    found = quietly(dx.concordance, ann, chance=("uniform", "empirical")[seed % 2])
    np.testing.assert_allclose(found, quietly(dx.percent_agreement, ann), rtol=1e-13)
    assert found.attrs["confidence"] == "none given: 1 everywhere"
    assert quietly(dx.concordance, as_annotations(items)).attrs["confidence"] == "as given"


def test_full_confidence_and_agreement_are_one_whatever_the_labels():
    # Theorem 1 of the source: one label for all, where kappa and alpha are undefined.
    for labels in (["x"], ["x", "y"]):
        said = ["x", "x", "x", *labels[-1:] * 2]
        frame = {"item": [0, 0, 0, 1, 1], "annotator": [0, 1, 2, 0, 2], "label": said}
        ann = dx.annotations({**frame, "sure": np.ones(5)}, confidence="sure")
        for chance in ("uniform", "empirical"):
            assert float(dx.concordance(ann, chance=chance)) == 1.0
    one = dx.from_matrix([["x", "x"], ["x", "x"]], labels=["x", "y"])
    for kappa in (dx.fleiss_kappa, dx.krippendorff_alpha):
        with pytest.warns(dx.DissensusWarning, match="undefined"):
            assert np.isnan(kappa(one))
    assert float(dx.concordance(one)) == 1.0


@given(seed=SEEDS)
@few
def test_it_is_zero_if_and_only_if_no_agreeing_pair_is_confident(seed):
    # The source's proof says: if and only if all confidences are 0, which is not so.
    rng = np.random.default_rng(seed)
    items = study(rng, sure="extreme" if seed % 2 else "any")
    found = quietly(dx.concordance, as_annotations(items), per_item=True)
    for said, sigma in zip(items, found.values, strict=True):
        some = any(
            y == z and c > 0 and d > 0
            for r in said for s in said if r < s for y, c in said[r] for z, d in said[s]
        )  # fmt: skip
        assert math.isnan(sigma) if len(said) < 2 else (sigma > 0) == some


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
    found = dx.concordance(ann, distance="absolute", max_distance=10)
    assert float(found) == pytest.approx((0.9 + 0.6 + 0.7) / 3)
    assert float(dx.concordance(ann)) == 0.0
    same = dx.from_matrix([[2.0, 2.0]], kind="continuous")
    assert float(dx.concordance(same, distance="squared")) == 1.0


@pytest.mark.long
def test_the_bootstrap_takes_chance_along_with_its_weights():
    items = study(np.random.default_rng(3), items=40, annotators=3, missing=0.1)
    while len(items) < 25:
        items += items
    ann = as_annotations(items)
    for chance in ("uniform", "empirical"):
        draws = dx.bayesian_bootstrap(dx.concordance, ann, chance=chance, draws=200, random_seed=1)
        assert draws.dims == ("chain", "draw")
        slow = dx.bayesian_bootstrap(
            lambda ann, weights, chance=chance: dx.concordance(ann, chance=chance, weights=weights),
            ann, draws=200, random_seed=1,
        )  # fmt: skip
        assert float(draws.mean()) == pytest.approx(float(slow.mean()), abs=0.03)
        assert float(draws.std()) == pytest.approx(float(slow.std()), rel=0.3)
        cluster = np.arange(len(items)) // 1
        again = dx.bayesian_bootstrap(
            dx.concordance, ann, chance=chance, draws=50, cluster=cluster, random_seed=1
        )
        assert float(again.mean()) == pytest.approx(float(draws.mean()), abs=0.03)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"chance": "random"}, "chance: expected 'uniform', 'empirical', a number"),
        ({"chance": 0.0}, "chance: expected"),
        ({"chance": {"x": 0.5}}, "a share above 0 for every label that was given; found none for"),
        ({"chance": {"x": 0.0, "y": 1.0}}, "found none for 'x'"),
        ({"chance": {"x": 0.9, "y": 0.9}}, "shares that come to 1 at most; found 1.8"),
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
        with pytest.raises(dx.ArgumentError, match="have no labels to count"):
            dx.concordance(ann, chance=chance)
    assert float(dx.concordance(ann, chance=0.1)) == 0.0
    with pytest.raises(dx.ArgumentError, match="slim_majority: expected 1, where no label can"):
        dx.concordance(ann, chance=0.1, slim_majority=0.5)


def test_items_with_one_annotator_are_left_out_or_undefined():
    ann = dx.from_matrix([["x", "x"], ["y", None]])
    assert float(dx.concordance(ann)) == 1.0
    with pytest.warns(dx.DissensusWarning, match="1 of 2 values: fewer than two annotators"):
        found = dx.concordance(ann, per_item=True)
    np.testing.assert_array_equal(found, [1.0, np.nan])
    alone = dx.from_matrix([["x", None], ["y", None]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of two annotators"):
        assert np.isnan(dx.concordance(alone))


def test_warnings_are_of_the_line_that_asked():
    lone = dx.from_matrix([["a", None], ["b", "b"]])
    for per_item in (True, False):
        with pytest.warns(dx.DissensusWarning, match="undefined") as caught:
            dx.concordance(lone if per_item else lone.isel(annotation=[0]), per_item=per_item)
        assert caught[0].filename == __file__
