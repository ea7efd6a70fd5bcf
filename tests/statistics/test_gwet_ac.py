"""Gwet's AC1 and AC2 against their definitions, and printed values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from agreement_reference import (
    absolute,
    agrees,
    as_annotations,
    gwet,
    nominal,
    squared,
    study,
    weights_for,
)
from seeds import over_seeds

import dissensus as dx

WEIGHTINGS = {None: nominal, "linear": absolute, "quadratic": squared}


@pytest.mark.unit(6, long=3)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("trials", [False, True])
@over_seeds(150)
def test_is_its_definition(weighting, trials, seeds):
    rng = np.random.default_rng(1)
    defined = 0
    for _ in seeds:
        labels = int(rng.integers(1, 6))
        items = study(rng, labels=labels, trials=trials)
        weights = weights_for(rng, items)
        ann = as_annotations(items, labels)
        expected = gwet(items, weights, labels, WEIGHTINGS[weighting])
        defined += agrees(
            lambda ann=ann, weights=weights: dx.gwet_ac(ann, weighting, weights=weights), expected
        )
    assert defined > 0.47 * len(seeds)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fleiss1971_diagnoses", 0.44788),  # irrCAC 0.4.4, README of the folder; as the next
        ("gwet_raw4raters", 0.77544),  # also in the documentation of the R package irrCAC
        ("gwet_raw5observers", 0.49662),
    ],
)
def test_printed_values(name, expected, shared):
    ann = dx.read_annotations(shared / "textbook_reliability" / f"{name}.csv")
    assert round(float(dx.gwet_ac(ann)), 5) == expected


def test_printed_value_of_a_contingency_table(shared):
    """AC1 .8493305: vignette "overview" of the R package irrCAC 1.0."""
    table = pd.read_csv(shared / "textbook_reliability" / "gwet_3x3_abstractors.csv")
    rows = table.loc[table.index.repeat(table["n"]), ["rater1", "rater2"]]
    ann = dx.from_matrix(rows.to_numpy().tolist())
    assert round(float(dx.gwet_ac(ann)), 7) == 0.8493305


def test_weighted_is_the_formula_on_a_table():
    """AC2 of two annotators from the table, by the formula of Gwet (2014) and none of our sums."""
    table = np.array([[10, 3, 1], [2, 8, 4], [0, 1, 6]]) / 35
    given = [[a, b] for a in range(3) for b in range(3) for _ in range(round(table[a, b] * 35))]
    weight = 1.0 - np.subtract.outer(range(3), range(3)) ** 2 / 4.0
    share = (table.sum(axis=0) + table.sum(axis=1)) / 2.0
    chance = weight.sum() / 6.0 * (share * (1.0 - share)).sum()
    expected = ((weight * table).sum() - chance) / (1.0 - chance)
    ann = dx.from_matrix(given, kind="ordinal")
    assert float(dx.gwet_ac(ann, "quadratic")) == pytest.approx(expected)


def test_weightings_of_two_labels_are_none():
    rng = np.random.default_rng(4)
    ann = dx.from_matrix(rng.integers(2, size=(20, 3)).tolist(), kind="ordinal")
    plain = float(dx.gwet_ac(ann))
    assert float(dx.gwet_ac(ann, "linear")) == pytest.approx(plain)
    assert float(dx.gwet_ac(ann, "quadratic")) == pytest.approx(plain)


def test_one_label_used_by_all_of_several_is_perfect_agreement():
    ann = dx.from_matrix([["x", "x"], ["x", "x"]], labels=["x", "y"])
    assert float(dx.gwet_ac(ann)) == 1.0


def test_undefined_is_nan_with_the_reason():
    same = dx.from_matrix([["x", "x"], ["x", "x"]])
    with pytest.warns(dx.DissensusWarning, match="only one label to give"):
        assert np.isnan(dx.gwet_ac(same))
    alone = dx.from_matrix([["x", None], [None, "y"]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of two annotators"):
        assert np.isnan(dx.gwet_ac(alone))


def test_what_has_no_labels_or_no_order_is_refused():
    numbers = dx.from_matrix([[0.5, 1.5], [1.0, 1.0]], kind="continuous")
    with pytest.raises(dx.AnnotationError, match="gwet_ac depends on how many there are"):
        dx.gwet_ac(numbers)
    names = dx.from_matrix([["x", "y"], ["y", "y"]])
    with pytest.raises(dx.AnnotationError, match="labels in an order"):
        dx.gwet_ac(names, "linear")
    with pytest.raises(dx.ArgumentError, match="weighting: expected None"):
        dx.gwet_ac(names, "ordinal")


@over_seeds(50)
def test_lies_above_the_coefficients_that_guess_more(votes, seeds):
    """p_e is at least 1/K for Fleiss' kappa and at most 1/K for AC1."""
    rng = np.random.default_rng(5)
    for _ in seeds:
        items = [*study(rng, labels=3, items=12), {0: [0], 1: [1]}]
        ann = as_annotations(items, 3)
        low, middle, high = (float(f(ann)) for f in (dx.fleiss_kappa, dx.bennett_s, dx.gwet_ac))
        assert low <= middle + 1e-12
        assert middle <= high + 1e-12


def test_has_a_posterior(votes):
    with pytest.warns(dx.DissensusWarning):
        drawn = dx.bayesian_bootstrap("gwet_ac", votes[0], draws=20, random_seed=1)
    assert drawn.name == "gwet_ac"
    assert np.isfinite(drawn).all()
