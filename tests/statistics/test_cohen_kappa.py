"""Cohen's kappa against its definition, two other packages, and printed values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from agreement_reference import (
    absolute,
    agrees,
    as_annotations,
    cohen,
    nominal,
    squared,
    study,
    weights_for,
)
from seeds import over_seeds
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

import dissensus as dx

WEIGHTINGS = {None: nominal, "linear": absolute, "quadratic": squared}


def crossed(path):
    """Two annotators from a table of what the first said against what the second said."""
    table = pd.read_csv(path)
    rows = table.loc[table.index.repeat(table["n"]), ["rater1", "rater2"]]
    return dx.from_matrix(rows.to_numpy().tolist(), labels=list(dict.fromkeys(table["rater1"])))


@pytest.mark.unit(6, long=3)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("trials", [False, True])
@over_seeds(150, unit=20)
def test_is_its_definition(weighting, trials, seeds):
    rng = np.random.default_rng(1)
    defined = 0
    for number in seeds:
        labels = int(rng.integers(1, 5))
        items = study(rng, labels=labels, annotators=3, trials=trials)
        items.append({0: [0], 1: [0]})  # so that both are known by name
        weights = weights_for(rng, items)
        ann = as_annotations(items, labels)
        pair = ((0, 1), (1, 0))[number % 2]
        expected = cohen(items, weights, labels, WEIGHTINGS[weighting], *pair)
        defined += agrees(
            lambda ann=ann, pair=pair, weights=weights: dx.cohen_kappa(
                ann, weighting, pair, weights=weights
            ),
            expected,
        )
    assert defined > 0.47 * len(seeds)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@over_seeds(60)
def test_agrees_with_scikit_learn_and_statsmodels(weighting, seeds):
    rng = np.random.default_rng(2)
    for _ in seeds:
        labels = int(rng.integers(2, 7))
        given = rng.integers(labels, size=(int(rng.integers(5, 60)), 2))
        table = np.zeros((labels, labels))
        np.add.at(table, tuple(given.T), 1)
        if len(np.unique(given)) < 2:
            continue
        ann = dx.from_matrix(given.tolist(), kind="ordinal", labels=range(labels))
        found = float(dx.cohen_kappa(ann, weighting))
        by_sklearn = cohen_kappa_score(*given.T, weights=weighting, labels=range(labels))
        np.testing.assert_allclose(found, by_sklearn, rtol=0, atol=1e-10)
        by_statsmodels = cohens_kappa(table, wt=weighting, return_results=False)
        np.testing.assert_allclose(found, by_statsmodels, rtol=0, atol=1e-10)


def test_weights_are_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    given, weights = rng.integers(4, size=(40, 2)), rng.random(40)
    ann = dx.from_matrix(given.tolist(), kind="ordinal")
    expected = cohen_kappa_score(*given.T, weights="linear", sample_weight=weights)
    found = float(dx.cohen_kappa(ann, "linear", weights=weights))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_printed_values_of_a_contingency_table(shared):
    """Cohen's kappa .7964094: vignette "overview" of the R package irrCAC 1.0."""
    ann = crossed(shared / "textbook_reliability" / "gwet_3x3_abstractors.csv")
    assert ann.sizes["item"] == 100
    assert round(float(dx.cohen_kappa(ann)), 7) == 0.7964094


def test_printed_values_of_pandalm(shared):
    """README of PandaLM .85, .88, .86; to four digits in the README of the shared folder."""
    ann = dx.read_annotations(shared / "pandalm" / "ratings.csv")
    pairs = [(1, 2), (1, 3), (2, 3)]
    names = ann["annotator"].to_numpy()
    found = [float(dx.cohen_kappa(ann, annotators=names[np.subtract(pair, 1)])) for pair in pairs]
    np.testing.assert_allclose(found, [0.8520, 0.8789, 0.8617], rtol=0, atol=5e-5)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", ["irr_anxiety", "irr_video"])
def test_textbook_tables_agree_with_scikit_learn(name, weighting, shared):
    path = shared / "textbook_reliability" / f"{name}.csv"
    table = pd.read_csv(path).pivot(index="item", columns="annotator", values="label")
    labels = range(1, 7)
    ann = dx.read_annotations(path, kind="ordinal", labels=labels)
    for one, two in [(0, 1), (0, 2), (1, 2)]:
        expected = cohen_kappa_score(
            table.iloc[:, one], table.iloc[:, two], weights=weighting, labels=labels
        )
        found = dx.cohen_kappa(ann, weighting, list(table.columns[[one, two]]))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_labels_nobody_used_have_a_place():
    given = [[1, 2], [2, 1], [3, 3], [1, 1]]
    narrow = dx.from_matrix(given, kind="ordinal", labels=[1, 2, 3])
    wide = dx.from_matrix(given, kind="ordinal", labels=[1, 9, 2, 3, 10])
    assert float(dx.cohen_kappa(narrow)) == pytest.approx(float(dx.cohen_kappa(wide)))
    expected = cohen_kappa_score(*zip(*given, strict=True), weights="linear", labels=[1, 9, 2, 3])
    assert float(dx.cohen_kappa(wide, "linear")) == pytest.approx(expected)
    assert float(dx.cohen_kappa(wide, "linear")) != pytest.approx(
        float(dx.cohen_kappa(narrow, "linear"))
    )


def test_text_in_an_order_is_weighted_by_place():
    given = [["low", "high"], ["mid", "mid"], ["high", "mid"], ["low", "low"]]
    ann = dx.from_matrix(given, kind="ordinal", labels=["low", "mid", "high"])
    places = [[("low", "mid", "high").index(label) for label in row] for row in given]
    expected = cohen_kappa_score(*zip(*places, strict=True), weights="quadratic")
    assert float(dx.cohen_kappa(ann, "quadratic")) == pytest.approx(expected)


def test_numbers_count_as_labels():
    ann = dx.from_matrix([[0.5, 0.5], [1.5, 0.5], [2.5, 2.5]], kind="continuous")
    expected = cohen_kappa_score(["a", "b", "c"], ["a", "a", "c"])
    assert float(dx.cohen_kappa(ann)) == pytest.approx(expected)


def test_labels_without_an_order_cannot_be_weighted():
    ann = dx.from_matrix([["x", "y"], ["y", "y"]])
    with pytest.raises(dx.AnnotationError, match="labels in an order"):
        dx.cohen_kappa(ann, "linear")
    ann = dx.from_matrix([[0.5, 1.5], [1.0, 1.0]], kind="continuous")
    with pytest.raises(dx.AnnotationError, match=r'iota\(..., distance="squared"\)'):
        dx.cohen_kappa(ann, "quadratic")


@pytest.mark.parametrize("weighting", ["squared", 2, ["linear"]])
def test_an_unknown_weighting_is_refused(weighting):
    ann = dx.from_matrix([[1, 2], [2, 2]], kind="ordinal")
    with pytest.raises(dx.ArgumentError, match="weighting: expected None or 'linear'"):
        dx.cohen_kappa(ann, weighting)


def test_two_annotators_have_to_be_named_among_more(votes):
    ann = votes[0]
    with pytest.raises(dx.ArgumentError, match=r"None, with 3 annotators \('ann', 'bob', 'cat'\)"):
        dx.cohen_kappa(ann)
    with pytest.raises(dx.ArgumentError, match="'zoe', which none of them has"):
        dx.cohen_kappa(ann, annotators=("ann", "zoe"))
    with pytest.raises(dx.ArgumentError, match="two different annotators; found 'ann', 'ann'"):
        dx.cohen_kappa(ann, annotators=("ann", "ann"))
    for wrong in ("ab", ("ann",), ("ann", "bob", "cat"), [["ann", "bob"]] * 2, [["ann"], []], 7):
        with pytest.raises(dx.ArgumentError, match="annotators: expected two names"):
            dx.cohen_kappa(ann, annotators=wrong)


def test_one_annotator_is_not_a_pair():
    ann = dx.annotations({"item": [1, 2], "annotator": ["a", "a"], "label": ["x", "y"]})
    with pytest.raises(dx.AnnotationError, match="two annotators; found only 'a'"):
        dx.cohen_kappa(ann)


def test_who_said_nothing_is_not_counted_among_them(votes):
    ann = votes[0]
    of_two = ann.isel(annotation=ann["annotator_code"].to_numpy() != 2)
    named = dx.cohen_kappa(ann, annotators=("ann", "bob"))
    assert float(dx.cohen_kappa(of_two)) == pytest.approx(float(named))
    with pytest.warns(dx.DissensusWarning, match="no item has labels of both annotators"):
        assert np.isnan(dx.cohen_kappa(of_two, annotators=("ann", "cat")))


def test_repeated_rows_are_named_as_the_caller_knows_them(votes):
    again = votes[0].isel(annotation=[2, 0, 1, 0])
    with pytest.raises(dx.AnnotationError, match="rows 1 and 3"):
        dx.cohen_kappa(again, annotators=("ann", "bob"))


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_two_who_said_nothing_are_undefined(weighting):
    table = {"item": [1, 1, 2, 2], "annotator": list("abcd"), "label": [1, 2, 1, 2]}
    ann = dx.annotations(table, kind="ordinal").isel(annotation=[0, 1])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of both annotators"):
        assert np.isnan(dx.cohen_kappa(ann, weighting, ("c", "d")))


def test_undefined_is_nan_with_the_reason():
    same = dx.from_matrix([["x", "x"], ["x", "x"]], labels=["x", "y"])
    with pytest.warns(dx.DissensusWarning, match="all labels are the same"):
        assert np.isnan(dx.cohen_kappa(same))
    apart = dx.from_matrix([["x", None], [None, "y"]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of both annotators") as said:
        assert np.isnan(dx.cohen_kappa(apart))
    assert "all labels" not in str(said[0].message)
    # Each uses one label, not the same: they disagree, and could not but disagree.
    never = dx.from_matrix([["x", "y"], ["x", "y"]])
    assert float(dx.cohen_kappa(never)) == 0.0


def test_opposite_annotators_reach_minus_one():
    ann = dx.from_matrix([["x", "y"], ["y", "x"]])
    assert float(dx.cohen_kappa(ann)) == pytest.approx(-1.0)


def test_has_a_posterior(votes):
    with pytest.warns(dx.DissensusWarning):
        drawn = dx.bayesian_bootstrap(
            dx.cohen_kappa, votes[0], annotators=("ann", "bob"), draws=20, random_seed=1
        )
    assert drawn.name == "cohen_kappa"
    assert dict(drawn.sizes) == {"chain": 1, "draw": 20}
    assert np.isfinite(drawn).all()
