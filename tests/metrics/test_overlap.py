"""Overlaps against their definitions, and rank correlations against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

import dissensus as dx

SEEDS = st.integers(0, 2**31)


def overlap(order, true, k):
    size = min(k, len(order))
    return len(set(order[:size]) & set(true[:size])) / size


def rank_biased(order, true, p):
    """RBO_EXT, Eq. 30 of Webber, Moffat & Zobel (2010), evaluated at the list's own length."""
    depth = len(order)
    common = [len(set(order[:d]) & set(true[:d])) for d in range(1, depth + 1)]
    total = sum(x / d * p**d for d, x in enumerate(common, start=1))
    return common[-1] / depth * p**depth + (1 - p) / p * total


def averaged(order, true, depth):
    return np.mean([overlap(order, true, k) for k in range(1, depth + 1)])


def same_set(order, true, k):
    size = min(k or len(order), len(order))
    return set(order[:size]) == set(true[:size])


DEPTHS = st.integers(1, 7)
DEFINITIONS = {
    "top_k_accuracy": (lambda order, true, k: true[0] in order[:k], "k", DEPTHS),
    "set_accuracy": (same_set, "k", st.none() | DEPTHS),
    "overlap": (overlap, "k", DEPTHS),
    "average_overlap": (averaged, "depth", DEPTHS),
    "rank_biased_overlap": (rank_biased, "p", st.floats(0.05, 0.95)),
}


@pytest.mark.parametrize("metric", DEFINITIONS)
@given(data=st.data(), seed=SEEDS, zeros=st.booleans())
@settings(max_examples=10, deadline=None)
def test_each_is_its_definition(make, metric, data, seed, zeros):
    definition, name, values = DEFINITIONS[metric]
    value = data.draw(values)
    plausibility = make.theta(seed, zeros=zeros)
    predictions = make.lists(seed, plausibility)
    expected = make.by_enumeration(plausibility, predictions, lambda o, t: definition(o, t, value))
    actual = getattr(dx, metric)(plausibility, predictions, **{name: value}, per_item=True)
    np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_rank_biased_overlap_of_one_order_with_itself_is_one(make):
    plausibility = make.theta(3, n_items=1, draws=1, chains=1)
    true = make.true_order(plausibility.values[0, 0, 0], list(plausibility["label"].values))
    table = {"item": ["i0"] * 5, "system": ["s"] * 5, "label": true, "rank": np.arange(1, 6)}
    predictions = dx.predictions(table, rank="rank")
    assert dx.rank_biased_overlap(plausibility, predictions).item() == pytest.approx(1, abs=1e-12)
    assert dx.average_overlap(plausibility, predictions, depth=5).item() <= 1


@pytest.mark.long
@given(seed=SEEDS, n_labels=st.integers(17, 30))
@settings(max_examples=5, deadline=None)
def test_long_lists_take_another_way_to_the_same_number(make, seed, n_labels):
    # Above 16 places labels are sorted and looked up in a table; up to there, neither.
    plausibility = make.theta(seed, n_items=2, n_labels=n_labels, zeros=True)
    predictions = make.lists(seed, plausibility, ties=False, whole=True)
    for depth in (2, n_labels - 1, n_labels, n_labels + 3):
        expected = make.by_enumeration(
            plausibility,
            predictions,
            lambda o, t, depth=depth: averaged(o, t, depth),
        )
        actual = dx.average_overlap(plausibility, predictions, depth=depth, per_item=True)
        np.testing.assert_allclose(actual, expected, atol=1e-12)
    expected = make.by_enumeration(plausibility, predictions, lambda o, t: rank_biased(o, t, 0.9))
    actual = dx.rank_biased_overlap(plausibility, predictions, per_item=True)
    np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_scores_over_a_whole_large_label_space(make):
    # Differential diagnoses: 419 conditions, and a classifier that scores every one of them.
    rng = np.random.default_rng(5)
    n_labels, labels = 419, [f"c{k:03d}" for k in range(419)]
    theta = make.dense(rng.dirichlet(np.ones(n_labels), size=(1, 2, 1)), labels, ["x"])
    score = rng.random(n_labels)
    table = {"item": ["x"] * 419, "system": ["m"] * 419, "label": labels, "score": score}
    predictions = dx.predictions(table, score="score")
    predicted = np.argsort(-score)
    for draw in range(2):
        true = np.argsort(-theta.values[0, draw, 0])
        expected = rank_biased(predicted.tolist(), true.tolist(), 0.9)
        actual = dx.rank_biased_overlap(theta, predictions).values[0, draw, 0]
        assert actual == pytest.approx(expected, abs=1e-12)
        actual = dx.overlap(theta, predictions, k=50).values[0, draw, 0]
        assert actual == pytest.approx(len(set(predicted[:50]) & set(true[:50])) / 50, abs=1e-12)


def places(make, plausibility, predictions, item, system):
    """Mid-ranks of all labels in a predicted list, the unlisted ones tied at its end."""
    labels = list(plausibility["label"].values)
    listed = make.blocks(predictions, item, system)
    block = np.full(len(labels), len(listed))
    for number, names in enumerate(listed):
        for name in names:
            block[labels.index(name)] = number
    return rankdata(block, method="average")


def expected(make, plausibility, predictions, score):
    out = np.empty((*plausibility.shape[:3], 2))
    for s, system in enumerate(predictions["system"].values):
        for i, item in enumerate(plausibility["item"].values):
            place = places(make, plausibility, predictions, item, system)
            for c, d in np.ndindex(*plausibility.shape[:2]):
                out[c, d, i, s] = score(plausibility.values[c, d, i], place)
    return out


def tau_b(mass, place):
    return kendalltau(mass, -place).statistic


def footrule(mass, place):
    """The distance of mid-ranks over the largest."""
    n_labels = len(mass)
    largest = sum(abs(2 * k - n_labels - 1) for k in range(1, n_labels + 1))
    return np.abs(rankdata(-mass, method="average") - place).sum() / largest


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "definition"), [("kendall_tau", tau_b), ("spearman_footrule", footrule)]
)
@given(seed=SEEDS, n_labels=st.integers(2, 9), tied=st.booleans(), whole=st.booleans())
@settings(max_examples=15, deadline=None)
def test_each_correlation_is_its_definition(make, metric, definition, seed, n_labels, tied, whole):
    plausibility = make.theta(seed, n_labels=n_labels)
    if tied:  # draws have ties too
        plausibility = plausibility.round(1)
        plausibility /= plausibility.sum("label")
    predictions = make.lists(seed, plausibility, whole=whole)
    actual = getattr(dx, metric)(plausibility, predictions, per_item=True)
    oracle = expected(make, plausibility, predictions, definition)
    np.testing.assert_allclose(actual, oracle, atol=1e-12)


def test_a_large_label_space(make):
    rng = np.random.default_rng(3)
    mass = np.round(rng.dirichlet(np.ones(419)), 4)
    labels, score = [f"c{k:03d}" for k in range(419)], np.round(rng.random(419), 2)
    theta = make.dense(mass[None, None, None], labels, ["x"])
    table = {"item": ["x"] * 419, "system": ["m"] * 419, "label": labels, "score": score}
    result = dx.kendall_tau(theta, dx.predictions(table, score="score")).item()
    assert result == pytest.approx(kendalltau(mass, score).statistic, abs=1e-12)


def test_the_same_order_and_the_reverse(make):
    theta = make.dense([[0.4, 0.3, 0.2, 0.1]], "abcd", [1])
    rows = [("same", "abcd"), ("reverse", "dcba")]
    table = {
        "item": [1] * 8,
        "system": [name for name, _ in rows for _ in range(4)],
        "label": [label for _, order in rows for label in order],
        "rank": [1, 2, 3, 4] * 2,
    }
    predictions = dx.predictions(table, rank="rank")
    assert dx.kendall_tau(theta, predictions).values.tolist() == [1.0, -1.0]
    assert dx.spearman_footrule(theta, predictions).values.tolist() == [0.0, 1.0]
    assert dx.spearman_footrule(theta, predictions).attrs["better"] == "lower"


def test_an_order_that_ties_all_labels_has_no_tau_and_is_not_silently_left_out(make):
    theta = make.dense([[0.6, 0.4], [0.6, 0.4]], "ab", [1, 2])
    table = {"item": [1, 1, 2, 2], "system": ["m"] * 4, "label": list("abab"), "rank": [1, 1, 1, 2]}
    predictions = dx.predictions(table, rank="rank")
    each = dx.kendall_tau(theta, predictions, per_item=True).squeeze()
    assert np.isnan(each[0])
    assert each[1] == 1.0
    assert np.isnan(dx.kendall_tau(theta, predictions).item())
    assert np.isnan(dx.kendall_tau(theta, predictions, weights=[1, 1]).item())
    assert dx.kendall_tau(theta, predictions, weights=[0, 1]).item() == 1.0


@pytest.mark.parametrize("metric", ["kendall_tau", "spearman_footrule"])
def test_a_label_outside_the_space_has_no_place_in_an_order_of_it(make, metric):
    theta = make.theta(1, n_items=1)
    table = {"item": ["i0"] * 2, "system": ["m"] * 2, "label": ["l0", "odd"], "rank": [1, 2]}
    predictions = dx.predictions(table, rank="rank")
    with (
        pytest.warns(dx.DissensusWarning, match="odd"),
        pytest.raises(dx.PredictionError, match="label space"),
    ):
        getattr(dx, metric)(theta, predictions)


@pytest.mark.parametrize("metric", ["kendall_tau", "spearman_footrule"])
def test_an_unknown_label_space_has_no_order(make, metric):
    dense = make.theta(1, n_items=2)
    named = np.zeros((2, 5), dtype=bool)
    named[:, 0] = True
    lumped = make.candidates(dense, named, anonymous=True)
    predictions = make.lists(1, dense, labels=["l0"])
    with pytest.raises(dx.PredictionError, match="whole label space"):
        getattr(dx, metric)(lumped, predictions)
