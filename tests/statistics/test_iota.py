"""Iota against its definition, what it is equal to in special cases, and printed values."""

from __future__ import annotations

import numpy as np
import pytest
from agreement_reference import (
    absolute,
    agrees,
    as_annotations,
    iota,
    nominal,
    squared,
    study,
    weights_for,
)
from seeds import over_seeds

import dissensus as dx
from dissensus.statistics._iota import sums

DISTANCES = {"nominal": nominal, "squared": squared, "absolute": absolute, "callable": squared}


def crooked(a, b):
    """A distance that no space has: 0 between neighbours only."""
    return float(max(0, abs(a - b) - 1)) + 0.5 * (a + b == 3) * (a != b)


@pytest.mark.unit(10, long=4)
@pytest.mark.parametrize("name", [*DISTANCES, "crooked"])
@pytest.mark.parametrize("trials", [False, True])
@over_seeds(120)
def test_is_its_definition(name, trials, seeds):
    rng = np.random.default_rng(1)
    distance = DISTANCES.get(name, crooked)
    given = distance if name in ("callable", "crooked") else name
    defined = 0
    for _ in seeds:
        labels = int(rng.integers(1, 6))
        items = study(rng, labels=labels, trials=trials)
        weights = weights_for(rng, items)
        ann = as_annotations(items, labels)
        expected = iota(items, weights, distance)
        defined += agrees(
            lambda ann=ann, weights=weights: dx.iota(ann, given, weights=weights), expected
        )
    assert defined > (60 if len(seeds) == 120 else 3)


@pytest.mark.parametrize("distance", ["squared", "absolute", "nominal"])
@over_seeds(40)
def test_numbers_on_a_continuous_scale(distance, seeds):
    rng = np.random.default_rng(2)
    for _ in seeds:
        values = np.round(rng.normal(size=5), 2) + 1e4
        items = [
            {r: [values[k] for k in given] for r, given in said.items()}
            for said in study(rng, labels=5)
        ]
        rows = [(i, r, said[r][0]) for i, said in enumerate(items) for r in said]
        table = dict(zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True))
        ann = dx.annotations(table, kind="continuous")
        expected = iota(items, np.ones(len(items)), DISTANCES[distance])
        if np.isfinite(expected):
            np.testing.assert_allclose(dx.iota(ann, distance), expected, rtol=0, atol=1e-9)


def test_no_distance_is_squared_for_numbers_and_nominal_for_all_else():
    rng = np.random.default_rng(3)
    given = rng.integers(4, size=(12, 3)).tolist()
    ordinal = dx.from_matrix(given, kind="ordinal")
    assert float(dx.iota(ordinal)) == float(dx.iota(ordinal, "nominal"))
    numbers = dx.from_matrix(given, kind="continuous")
    assert float(dx.iota(numbers)) == float(dx.iota(numbers, "interval"))
    assert float(dx.iota(numbers)) == pytest.approx(float(dx.iota(ordinal, "squared")))


@pytest.mark.parametrize(
    ("weighting", "distance"),
    [(None, "nominal"), ("linear", "absolute"), ("quadratic", "squared")],
)
@over_seeds(20)
def test_of_two_annotators_is_cohens_kappa(weighting, distance, seeds):
    rng = np.random.default_rng(4)
    for _ in seeds:
        given = rng.integers(4, size=(30, 2)).astype(object)
        given[rng.random((30, 2)) < 0.2] = None
        ann = dx.from_matrix(given.tolist(), kind="ordinal", labels=range(4))
        kappa = float(dx.cohen_kappa(ann, weighting))
        assert float(dx.iota(ann, distance)) == pytest.approx(kappa, abs=1e-12)


def test_printed_value_of_congers_kappa(shared):
    """.44181: "conger", irrCAC 0.4.4 (README of the folder). The same for complete labels."""
    ann = dx.read_annotations(shared / "textbook_reliability" / "fleiss1971_diagnoses.csv")
    assert round(float(dx.iota(ann)), 5) == 0.44181


@over_seeds(30)
def test_is_congers_kappa_where_all_labels_are_there(seeds):
    """1 - sum_k (A p_k^2 - s_k^2) / A with s_k^2 the sample variance of shares (Conger 1980)."""
    rng = np.random.default_rng(5)
    for _ in seeds:
        items, annotators, labels = rng.integers(2, [30, 7, 5])
        given = rng.integers(labels, size=(items, annotators))
        if len(np.unique(given)) < 2:
            continue
        share = np.stack([(given == label).mean(axis=0) for label in range(labels)])
        chance = (share.mean(axis=1) ** 2 - share.var(axis=1, ddof=1) / annotators).sum()
        ann = dx.from_matrix(given.tolist())
        agreed = float(dx.percent_agreement(ann))
        expected = (agreed - chance) / (1.0 - chance)
        np.testing.assert_allclose(dx.iota(ann), expected, rtol=0, atol=1e-12)


def test_a_constant_shift_between_annotators_counts_less_than_in_alpha():
    rng = np.random.default_rng(6)
    first = rng.integers(5, size=100)
    ann = dx.from_matrix(np.stack([first, first + 2], axis=1).tolist(), kind="continuous")
    assert float(dx.krippendorff_alpha(ann)) < float(dx.iota(ann)) < 1.0


def test_undefined_is_nan_with_the_reason():
    same = dx.from_matrix([["x", "x", None], ["x", "x", "x"]], labels=["x", "y"])
    with pytest.warns(dx.DissensusWarning, match="all labels are the same"):
        assert np.isnan(dx.iota(same))
    alone = dx.from_matrix([["x", None], [None, "y"]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of two annotators") as said:
        assert np.isnan(dx.iota(alone))
    assert "all labels" not in str(said[0].message)


@pytest.mark.parametrize("distance", ["squared", "absolute", "nominal"])
def test_one_number_far_from_0_is_undefined_under_any_weights(distance):
    ann = dx.from_matrix([[1e7 + 0.1] * 3] * 20, kind="continuous")
    weights = np.random.default_rng(7).random(20)
    with pytest.warns(dx.DissensusWarning, match="all labels are the same"):
        assert np.isnan(dx.iota(ann, distance, weights=weights))


def test_no_distance_between_annotators_is_undefined_even_if_each_varies():
    """One says 1 or 3, the other 2: nearer than what the distance sees, whatever the weights."""
    ann = dx.from_matrix([[1, 2], [3, 2]] * 10, kind="ordinal")
    weights = np.random.default_rng(8).random(20)
    with pytest.warns(dx.DissensusWarning, match="is undefined"):
        assert np.isnan(dx.iota(ann, lambda a, b: max(0, abs(a - b) - 1), weights=weights))


def test_a_callable_is_asked_once_for_each_pair():
    asked = []

    def distance(a, b):
        asked.append((a, b))
        return abs(a - b)

    dx.iota(dx.from_matrix([[1, 2, 3], [2, 2, 3]], kind="ordinal"), distance)
    assert len(asked) == len(set(asked)) == 9


def test_an_unknown_distance_is_refused():
    ann = dx.from_matrix([[1, 2], [2, 2]], kind="ordinal")
    with pytest.raises(dx.ArgumentError, match="distance: expected one of 'nominal'"):
        dx.iota(ann, "cosine")
    with pytest.raises(dx.AnnotationError, match="numbers"):
        dx.iota(dx.from_matrix([["x", "y"], ["y", "y"]]), "squared")


@pytest.mark.parametrize("distance", ["nominal", "squared", "absolute", absolute])
def test_sums_do_not_grow_with_annotators_times_labels(distance):
    """500 annotators with 2 labels each, 800 labels: no sum for what did not occur."""
    rng = np.random.default_rng(9)
    table = {
        "item": np.repeat(np.arange(500), 2),
        "annotator": rng.permutation(np.repeat(np.arange(500), 2)),
        "label": rng.integers(800, size=1000),
    }
    kept = ~np.array(
        [a == b for a, b in zip(table["annotator"], np.roll(table["annotator"], 1), strict=True)]
    )
    ann = dx.annotations({k: v[kept] for k, v in table.items()}, kind="ordinal")
    parts = sums(ann, distance).parts
    assert sum(part.shape[1] for part in parts if part.ndim > 1) <= 3300
    assert all(part.nnz <= 3300 for part in parts if not isinstance(part, np.ndarray))


def test_has_a_posterior(votes):
    with pytest.warns(dx.DissensusWarning):
        drawn = dx.bayesian_bootstrap("iota", votes[0], draws=20, random_seed=1)
    assert drawn.name == "iota"
    assert np.isfinite(drawn).all()


def test_numbers_without_pairs_take_no_digits_however_far_away():
    # Most labels lie a billion away, on items that one annotator alone labelled: those are left
    # out, and the sums of each annotator must not be around them.
    near = [[0.0, 1.5], [1.25, 2.0], [0.0, 2.75]]
    far = [[1e9 + n, np.nan] for n in range(9)]
    expected = float(dx.iota(dx.from_matrix(near), distance="squared"))
    found = dx.iota(dx.from_matrix(near + far), distance="squared")
    assert float(found) == pytest.approx(expected, rel=1e-12)
