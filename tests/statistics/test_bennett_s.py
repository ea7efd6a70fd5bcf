"""Bennett's S against its definition, statsmodels, and printed values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from agreement_reference import (
    absolute,
    agrees,
    as_annotations,
    bennett,
    nominal,
    squared,
    study,
    weights_for,
)
from seeds import over_seeds
from statsmodels.stats.inter_rater import fleiss_kappa as by_statsmodels

import dissensus as dx
from dissensus.statistics._chance import blind_distance

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
        expected = bennett(items, weights, labels, WEIGHTINGS[weighting])
        defined += agrees(
            lambda ann=ann, weights=weights: dx.bennett_s(ann, weighting, weights=weights), expected
        )
    assert defined > 0.47 * len(seeds)


@over_seeds(60)
def test_agrees_with_statsmodels_where_all_labels_are_there(seeds):
    """There it is called Randolph's kappa."""
    rng = np.random.default_rng(2)
    for _ in seeds:
        items, annotators, labels = rng.integers(2, [40, 7, 6])
        given = rng.integers(labels, size=(items, annotators))
        table = np.zeros((items, labels))
        np.add.at(table, (np.arange(items)[:, None], given), 1)
        ann = dx.from_matrix(given.tolist(), labels=range(labels))
        expected = by_statsmodels(table, method="randolph")
        np.testing.assert_allclose(float(dx.bennett_s(ann)), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fleiss1971_diagnoses", 0.44444),  # "brennan-prediger", irrCAC 0.4.4, README of the folder
        ("gwet_raw4raters", 0.77273),
        ("gwet_raw5observers", 0.48741),
    ],
)
def test_printed_values(name, expected, shared):
    ann = dx.read_annotations(shared / "textbook_reliability" / f"{name}.csv")
    assert round(float(dx.bennett_s(ann)), 5) == expected


def test_printed_value_of_a_contingency_table(shared):
    """Brennan-Prediger .835: vignette "overview" of the R package irrCAC 1.0."""
    table = pd.read_csv(shared / "textbook_reliability" / "gwet_3x3_abstractors.csv")
    rows = table.loc[table.index.repeat(table["n"]), ["rater1", "rater2"]]
    ann = dx.from_matrix(rows.to_numpy().tolist())
    assert float(dx.bennett_s(ann)) == pytest.approx(0.835, abs=1e-12)


@pytest.mark.parametrize("n_labels", range(1, 9))
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_closed_form_of_chance_is_the_mean_over_the_table(n_labels, weighting):
    distance, longest = WEIGHTINGS[weighting], max(n_labels - 1, 1)
    unit = {None: 1, "linear": longest, "quadratic": longest**2}[weighting]
    total = sum(distance(a, b) for a in range(n_labels) for b in range(n_labels))
    assert blind_distance(n_labels, weighting) == pytest.approx(total / n_labels**2 / unit)


def test_labels_nobody_used_raise_it():
    given = [["x", "y"], ["y", "y"], ["x", "x"]]
    two, four = dx.from_matrix(given), dx.from_matrix(given, labels=list("wxyz"))
    assert float(dx.bennett_s(two)) == pytest.approx(1 - (1 / 3) / (1 / 2))
    assert float(dx.bennett_s(four)) == pytest.approx(1 - (1 / 3) / (3 / 4))


def test_one_label_used_by_all_of_several_is_perfect_agreement():
    ann = dx.from_matrix([["x", "x"], ["x", "x"]], labels=["x", "y"])
    assert float(dx.bennett_s(ann)) == 1.0


def test_undefined_is_nan_with_the_reason():
    same = dx.from_matrix([["x", "x"], ["x", "x"]])
    with pytest.warns(dx.DissensusWarning, match="only one label to give"):
        assert np.isnan(dx.bennett_s(same))
    alone = dx.from_matrix([["x", None], [None, "y"]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of two annotators"):
        assert np.isnan(dx.bennett_s(alone))


def test_what_has_no_labels_or_no_order_is_refused():
    numbers = dx.from_matrix([[0.5, 1.5], [1.0, 1.0]], kind="continuous")
    with pytest.raises(dx.AnnotationError, match="bennett_s depends on how many there are"):
        dx.bennett_s(numbers)
    names = dx.from_matrix([["x", "y"], ["y", "y"]])
    with pytest.raises(dx.AnnotationError, match="labels in an order"):
        dx.bennett_s(names, "quadratic")


def test_has_a_posterior(votes):
    with pytest.warns(dx.DissensusWarning):
        drawn = dx.bayesian_bootstrap("bennett_s", votes[0], draws=20, random_seed=1)
    assert drawn.name == "bennett_s"
    assert np.isfinite(drawn).all()
