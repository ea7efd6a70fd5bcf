"""Fleiss' kappa against its definition, statsmodels, and printed values."""

from __future__ import annotations

import numpy as np
import pytest
from agreement_reference import agrees, as_annotations, fleiss, study, weights_for
from seeds import over_seeds
from statsmodels.stats.inter_rater import fleiss_kappa as by_statsmodels

import dissensus as dx


@pytest.mark.parametrize("trials", [False, True])
@over_seeds(200)
def test_is_its_definition(trials, seeds):
    rng = np.random.default_rng(1)
    defined = 0
    for _ in seeds:
        labels = int(rng.integers(1, 5))
        items = study(rng, labels=labels, trials=trials)
        weights = weights_for(rng, items)
        ann = as_annotations(items, labels, kind=("nominal", "ordinal")[labels % 2])
        expected = fleiss(items, weights, labels)
        defined += agrees(
            lambda ann=ann, weights=weights: dx.fleiss_kappa(ann, weights=weights), expected
        )
    assert defined > len(seeds) / 2


@over_seeds(60)
def test_agrees_with_statsmodels_where_all_labels_are_there(seeds):
    rng = np.random.default_rng(2)
    for _ in seeds:
        items, annotators, labels = rng.integers(2, [40, 7, 6])
        given = rng.integers(labels, size=(items, annotators))
        if len(np.unique(given)) < 2:
            continue
        table = np.zeros((items, labels))
        np.add.at(table, (np.arange(items)[:, None], given), 1)
        found = float(dx.fleiss_kappa(dx.from_matrix(given.tolist())))
        np.testing.assert_allclose(found, by_statsmodels(table), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "expected", "digits"),
    [
        ("fleiss1971_diagnoses", 0.430, 3),  # Fleiss (1971)
        ("fleiss1971_diagnoses", 0.43024, 5),  # irrCAC 0.4.4, README of the folder; as the next
        ("gwet_raw4raters", 0.76117, 5),  # also in the documentation of the R package irrCAC
        ("gwet_raw5observers", 0.45762, 5),
    ],
)
def test_printed_values(name, expected, digits, shared):
    ann = dx.read_annotations(shared / "textbook_reliability" / f"{name}.csv")
    assert round(float(dx.fleiss_kappa(ann)), digits) == expected


@pytest.mark.parametrize(("group", "expected"), [("g1", 0.1976), ("g2", 0.7781), ("g3", 0.1476)])
def test_printed_values_of_annotation_paradigms(group, expected, shared):
    """Röttger et al. (2022): .20, .78, .15; to four digits by statsmodels in the README."""
    path = shared / "annotation_paradigms" / "ratings.csv.gz"
    ann = dx.read_annotations(path, pool="group")
    theirs = ann["pool"].to_numpy()[ann["pool_code"].to_numpy()] == group
    ann = ann.isel(annotation=theirs)
    assert ann.sizes["annotation"] == 4000
    assert round(float(dx.fleiss_kappa(ann)), 4) == expected


def test_items_with_one_annotator_count_among_the_shares():
    """By hand: p_a = 1/2; shares 5/6 and 1/6 of three items."""
    ann = dx.from_matrix([["x", "x"], ["x", "y"], ["x", None]])
    chance = (5 / 6) ** 2 + (1 / 6) ** 2
    assert float(dx.fleiss_kappa(ann)) == pytest.approx((0.5 - chance) / (1.0 - chance))


def test_numbers_count_as_labels():
    ann = dx.from_matrix([[0.5, 0.5], [1.5, 0.5]], kind="continuous")
    same = dx.from_matrix([["x", "x"], ["y", "x"]])
    assert float(dx.fleiss_kappa(ann)) == pytest.approx(float(dx.fleiss_kappa(same)))


def test_undefined_is_nan_with_the_reason():
    same = dx.from_matrix([["x", "x"], ["x", "x"]], labels=["x", "y"])
    with pytest.warns(dx.DissensusWarning, match="all labels are the same"):
        assert np.isnan(dx.fleiss_kappa(same))
    alone = dx.from_matrix([["x", None], [None, "x"]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of two annotators") as said:
        assert np.isnan(dx.fleiss_kappa(alone))
    assert "all labels" not in str(said[0].message)


def test_one_label_used_by_all_is_undefined_under_any_weights():
    ann = dx.from_matrix([["x", "x", None], ["x", "x", "x"]] * 5, labels=["x", "y"])
    weights = np.random.default_rng(3).random(10)
    with pytest.warns(dx.DissensusWarning, match="all labels are the same"):
        assert np.isnan(dx.fleiss_kappa(ann, weights=weights))


def test_has_a_posterior(votes):
    with pytest.warns(dx.DissensusWarning):
        drawn = dx.bayesian_bootstrap("fleiss_kappa", votes[0], draws=20, random_seed=1)
    assert drawn.name == "fleiss_kappa"
    assert np.isfinite(drawn).all()
