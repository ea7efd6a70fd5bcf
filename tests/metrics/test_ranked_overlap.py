"""Overlap, average overlap and rank-biased overlap against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

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


DEPTHS = st.integers(1, 7)
DEFINITIONS = {
    "overlap": (overlap, "k", DEPTHS),
    "average_overlap": (averaged, "depth", DEPTHS),
    "rank_biased_overlap": (rank_biased, "p", st.floats(0.05, 0.95)),
}


@pytest.mark.parametrize("metric", DEFINITIONS)
@given(data=st.data(), seed=SEEDS, zeros=st.booleans())
@settings(max_examples=20, deadline=None)
def test_each_is_its_definition(make, metric, data, seed, zeros):
    definition, name, values = DEFINITIONS[metric]
    value = data.draw(values)
    plausibility = make.theta(seed, zeros=zeros)
    predictions = make.lists(seed, plausibility)
    expected = make.by_enumeration(plausibility, predictions, lambda o, t: definition(o, t, value))
    found = getattr(dx, metric)(plausibility, predictions, **{name: value}, per_item=True)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_rank_biased_overlap_of_one_order_with_itself_is_one(make):
    plausibility = make.theta(3, n_items=1, draws=1, chains=1)
    true = make.true_order(plausibility.values[0, 0, 0], list(plausibility["label"].values))
    table = {"item": ["i0"] * 5, "system": ["s"] * 5, "label": true, "rank": np.arange(1, 6)}
    predictions = dx.predictions(table, rank="rank")
    assert dx.rank_biased_overlap(plausibility, predictions).item() == pytest.approx(1, abs=1e-12)
    assert dx.average_overlap(plausibility, predictions, depth=5).item() <= 1


@pytest.mark.long
@given(seed=SEEDS, n_labels=st.integers(17, 30))
@settings(max_examples=10, deadline=None)
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
        found = dx.average_overlap(plausibility, predictions, depth=depth, per_item=True)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    expected = make.by_enumeration(plausibility, predictions, lambda o, t: rank_biased(o, t, 0.9))
    found = dx.rank_biased_overlap(plausibility, predictions, per_item=True)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_scores_over_a_whole_large_label_space():
    # Differential diagnoses: 419 conditions, and a classifier that scores every one of them.
    rng = np.random.default_rng(5)
    n_labels, labels = 419, [f"c{k:03d}" for k in range(419)]
    theta = xr.DataArray(
        rng.dirichlet(np.ones(n_labels), size=(1, 2, 1)),
        dims=("chain", "draw", "item", "label"),
        coords={"item": ["x"], "label": labels},
    )
    score = rng.random(n_labels)
    table = {"item": ["x"] * 419, "system": ["m"] * 419, "label": labels, "score": score}
    predictions = dx.predictions(table, score="score")
    predicted = np.argsort(-score)
    for draw in range(2):
        true = np.argsort(-theta.values[0, draw, 0])
        expected = rank_biased(predicted.tolist(), true.tolist(), 0.9)
        found = dx.rank_biased_overlap(theta, predictions).values[0, draw, 0]
        assert found == pytest.approx(expected, abs=1e-12)
        found = dx.overlap(theta, predictions, k=50).values[0, draw, 0]
        assert found == pytest.approx(len(set(predicted[:50]) & set(true[:50])) / 50, abs=1e-12)


@pytest.mark.parametrize("p", [0, 1, -0.5, 1.5, np.nan, "0.9", None])
def test_p_must_be_between_0_and_1(make, p):
    plausibility = make.theta(1)
    with pytest.raises(dx.ArgumentError, match="p: expected a number between 0 and 1"):
        dx.rank_biased_overlap(plausibility, make.lists(1, plausibility), p=p)


@pytest.mark.parametrize(("metric", "name"), [("overlap", "k"), ("average_overlap", "depth")])
@pytest.mark.parametrize("value", [0, 2.5, "a"])
def test_depths_must_be_positive_whole_numbers(make, metric, name, value):
    plausibility = make.theta(1)
    with pytest.raises(dx.ArgumentError, match=f"{name}: expected a whole number"):
        getattr(dx, metric)(plausibility, make.lists(1, plausibility), **{name: value})
