"""Top-k and set accuracy against enumeration of all orders of the ties."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx

SEEDS = st.integers(0, 2**31)


@pytest.mark.long
@given(seed=SEEDS, k=st.integers(1, 6), zeros=st.booleans())
@settings(max_examples=25, deadline=None)
def test_top_k_accuracy_is_the_expectation_over_the_orders_of_predicted_ties(make, seed, k, zeros):
    plausibility = make.theta(seed, zeros=zeros)
    predictions = make.lists(seed, plausibility)
    expected = make.by_enumeration(
        plausibility, predictions, lambda order, true: true[0] in order[:k]
    )
    each = dx.top_k_accuracy(plausibility, predictions, k=k, per_item=True)
    np.testing.assert_allclose(each, expected, atol=1e-12)
    mean = dx.top_k_accuracy(plausibility, predictions, k=k)
    np.testing.assert_allclose(mean, expected.mean(axis=2), atol=1e-12)


@pytest.mark.long
@given(seed=SEEDS, k=st.none() | st.integers(1, 6), zeros=st.booleans())
@settings(max_examples=25, deadline=None)
def test_set_accuracy_is_the_expectation_over_the_orders_of_predicted_ties(make, seed, k, zeros):
    plausibility = make.theta(seed, zeros=zeros)
    predictions = make.lists(seed, plausibility)

    def same(order, true):
        size = min(k or len(order), len(order))
        return set(order[:size]) == set(true[:size])

    expected = make.by_enumeration(plausibility, predictions, same)
    each = dx.set_accuracy(plausibility, predictions, k=k, per_item=True)
    np.testing.assert_allclose(each, expected, atol=1e-12)


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_set_accuracy_with_long_tied_blocks(make, seed):
    # One block of many: the chance to pick the right 3 of 6 at random is 1/20.
    plausibility = make.theta(seed, n_items=1, n_labels=7, draws=4)
    labels = plausibility["label"].values[:6]
    table = {"item": ["i0"] * 6, "system": ["s"] * 6, "label": labels, "rank": [1] * 6}
    predictions = dx.predictions(table, rank="rank")
    expected = make.by_enumeration(
        plausibility, predictions, lambda order, true: set(order[:3]) == set(true[:3])
    )
    found = dx.set_accuracy(plausibility, predictions, k=3, per_item=True)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert set(np.unique(found.round(12))) <= {0.0, 0.05}


def test_ties_in_a_point_estimate_go_to_the_label_that_comes_first():
    point = xr.DataArray(
        [[0.4, 0.4, 0.2]], dims=("item", "label"), coords={"item": [1], "label": list("abc")}
    )
    pred = dx.predictions({"item": [1, 1], "system": ["first", "second"], "label": ["a", "b"]})
    assert dx.top_k_accuracy(point, pred).values.tolist() == [1.0, 0.0]


def test_a_label_of_no_mass_is_in_no_true_set():
    point = xr.DataArray(
        [[1.0, 0.0, 0.0]], dims=("item", "label"), coords={"item": [1], "label": list("abc")}
    )
    pred = dx.predictions(
        {"item": [1, 1], "system": ["s", "s"], "label": ["a", "b"], "rank": [1, 2]}, rank="rank"
    )
    assert dx.set_accuracy(point, pred).item() == 0.0
    assert dx.set_accuracy(point, pred, k=1).item() == 1.0


def test_an_empty_list_is_right_about_nothing():
    # dx.predictions refuses it; a Dataset made by hand may hold it.
    point = xr.DataArray(
        [[1.0, 0.0]], dims=("item", "label"), coords={"item": [1], "label": ["a", "b"]}
    )
    pred = dx.predictions({"item": [1, 1], "system": ["s", "t"], "label": ["a", "a"]})
    pred["label_code"][0, 1, 0], pred["block"][0, 1, 0] = -1, 0
    assert dx.set_accuracy(point, pred).values.tolist() == [1.0, 0.0]
    assert dx.overlap(point, pred, k=1).values.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", None, np.nan, np.inf])
def test_k_must_be_a_positive_whole_number(make, k):
    plausibility = make.theta(1)
    predictions = make.lists(1, plausibility)
    with pytest.raises(dx.ArgumentError, match="k: expected a whole number"):
        dx.top_k_accuracy(plausibility, predictions, k=k)
    if k is not None:
        with pytest.raises(dx.ArgumentError, match="k: expected a whole number"):
            dx.set_accuracy(plausibility, predictions, k=k)


def test_names_say_k(make):
    plausibility = make.theta(1)
    predictions = make.lists(1, plausibility)
    assert dx.top_k_accuracy(plausibility, predictions, k=np.int64(2)).name == "top_2_accuracy"
    assert dx.top_k_accuracy(plausibility, predictions, k=3.0).name == "top_3_accuracy"
    assert dx.set_accuracy(plausibility, predictions).name == "set_accuracy"
    assert dx.set_accuracy(plausibility, predictions, k=2).name == "top_2_set_accuracy"
