"""Metrics of draws in chunks: lazy, and the same as of draws in memory."""

from __future__ import annotations

import dask
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx
from dissensus.metrics import METRICS

LISTS = [metric for metric in METRICS if metric.takes == "lists"]
of_lists = pytest.mark.parametrize("metric", LISTS, ids=lambda metric: metric.name)
few = settings(max_examples=1, deadline=None)
SEEDS = st.integers(0, 2**31)


def in_chunks(theta, seed):
    """Draws cut along items at random places."""
    rng = np.random.default_rng(seed)
    n = theta.sizes["item"]
    sizes = np.diff([0, *sorted(rng.choice(np.arange(1, n), rng.integers(1, n), False)), n])
    return theta.chunk(item=tuple(sizes.tolist()))


def lumped(make, theta, seed):
    """The candidate form, with some labels of each item in the remainder."""
    named = np.random.default_rng(seed).random((theta.sizes["item"], theta.sizes["label"])) < 0.6
    return make.candidates(theta, named, concentration=0.5)


def run(metric, *data, **how):
    return metric.function(*data, **dict(metric.arguments), **how)


def assert_same(lazy, whole, exactly=False):
    assert lazy.chunks is not None
    actual = lazy.compute()
    assert (actual.name, actual.dims, actual.attrs) == (whole.name, whole.dims, whole.attrs)
    assert set(actual.coords) == set(whole.coords)
    (xr.testing.assert_identical if exactly else xr.testing.assert_allclose)(actual, whole)


@pytest.mark.unit(0, long=3)
@pytest.mark.long
@of_lists
@pytest.mark.parametrize("form", ["dense", "candidates"])
@given(seed=SEEDS)
@few
def test_the_same_scores_whatever_the_chunks(make, metric, form, seed):
    theta = make.theta(seed, n_items=6)
    predictions = make.lists(seed, theta)
    if form == "candidates":
        theta = lumped(make, theta, seed)
    lazy = in_chunks(theta, seed)
    if metric.name == "certainty":
        assert_same(run(metric, lazy, predictions), run(metric, theta, predictions))
        return
    rng = np.random.default_rng(seed)
    many = xr.DataArray(rng.random((2, 3, 6, 2)), dims=("chain", "draw", "item", "kind"),
                        coords={"item": theta["item"].to_numpy()})  # fmt: skip
    for how in (
        {"per_item": True},
        {},
        {"weights": np.r_[0.0, 0.0, rng.random(4)]},
        {"weights": dict(zip(theta["item"].to_numpy().tolist(), range(1, 7), strict=True))},
        {"weights": many},
        {"weights": "bayesian-bootstrap", "random_seed": seed},
    ):
        whole = run(metric, theta, predictions, **how)
        assert_same(run(metric, lazy, predictions, **how), whole, exactly="per_item" in how)


@pytest.mark.long
@pytest.mark.parametrize("form", ["dense", "candidates"])
@given(seed=SEEDS)
@few
def test_the_same_of_plausibilities_alone(make, form, seed):
    theta = make.theta(seed, n_items=5)
    labels = theta["label"].to_numpy().tolist()
    if form == "candidates":
        theta = lumped(make, theta, seed)
    lazy = in_chunks(theta, seed)
    for top in (1, 2):
        whole = dx.annotation_certainty(theta, top)
        assert_same(dx.annotation_certainty(lazy, top), whole, exactly=True)
    groups = {label: "low" if label < "l2" else "high" for label in labels}
    assert_same(dx.group_labels(lazy, groups), dx.group_labels(theta, groups), exactly=True)
    risks = {label: k % 3 for k, label in enumerate(labels)}
    assert_same(dx.expected_risk(lazy, risks), dx.expected_risk(theta, risks))


def test_event_plausibilities_are_lazy_and_metrics_take_them():
    rng = np.random.default_rng(1)
    ann = dx.annotations({"item": np.repeat(range(8), 3), "annotator": np.tile(range(3), 8),
                          "label": rng.normal(size=24)})  # fmt: skip
    pred = dx.predictions({"item": range(8), "system": ["s"] * 8, "label": ["above"] * 8})
    run = {"draws": 5, "chains": 2, "random_seed": 1, "prior": (0, 1, 2, 2)}
    whole = dx.event_plausibility(dx.models.normal_scores.fit(ann, **run), 0.3)
    lazy = dx.event_plausibility(dx.models.normal_scores.fit(dx.chunked(ann, 3), **run), 0.3)
    assert_same(lazy, whole, exactly=True)
    assert_same(dx.top_k_accuracy(lazy, pred), dx.top_k_accuracy(whole, pred))


def test_systems_that_are_right_as_often_stay_equal(make):
    """Means of means would tell 1/3 from 1/3 by the last digit."""
    theta = make.theta(3, n_items=9, draws=40)
    pred = make.lists(5, theta, longest=1)
    metric = dx.top_k_accuracy(theta, pred)
    lazy = dx.top_k_accuracy(theta.chunk(item=(2, 4, 3)), pred)
    xr.testing.assert_identical(lazy.compute(), metric)
    assert float((metric[..., 0] == metric[..., 1]).mean()) > 0
    xr.testing.assert_identical(dx.compare(lazy), dx.compare(metric))


def test_several_metrics_are_computed_in_one_pass(make):
    theta = make.theta(3, n_items=6)
    pred = make.lists(5, theta)
    read = []

    def counted(block):
        read.append(1)
        return block

    lazy = theta.chunk(item=2)
    lazy = lazy.copy(data=lazy.data.map_blocks(counted, dtype=float, meta=np.empty((0,) * 4)))
    dask.compute(dx.top_k_accuracy(lazy, pred), dx.average_overlap(lazy, pred, depth=2))
    assert len(read) == 3


def test_missing_items_and_labels_are_seen_before_anything_is_drawn(make):
    theta = make.theta(3, n_items=6)
    pred = make.lists(5, theta)
    lazy = theta.chunk(item=2)
    with pytest.raises(dx.PredictionError, match="2 annotated items without predictions"):
        dx.top_k_accuracy(lazy, pred.isel(item=slice(4)))
    some = dx.top_k_accuracy(lazy, pred.isel(item=[0, 3, 5]), on_missing="drop")
    few = dx.top_k_accuracy(theta, pred.isel(item=[0, 3, 5]), on_missing="drop")
    assert_same(some, few)
    odd = pred.assign_coords(label=[f"x{k}" for k in range(pred.sizes["label"])])
    with pytest.raises(dx.PredictionError, match="no label in common"):
        dx.top_k_accuracy(lazy, odd)
    renamed = pred.assign_coords(label=["odd", *pred["label"].to_numpy()[1:]])
    with pytest.warns(dx.DissensusWarning, match="outside the label space") as seen:
        dx.top_k_accuracy(lazy, renamed).compute()
    assert len(seen) == 1


def test_weights_of_a_bootstrap_hang_on_names(make):
    theta = make.theta(3, n_items=6)
    pred = make.lists(5, theta)
    how = {"weights": "bayesian-bootstrap", "random_seed": 4}
    turned = theta.isel(item=[4, 2, 0, 5, 1, 3])
    xr.testing.assert_allclose(dx.top_k_accuracy(turned, pred, **how),
                               dx.top_k_accuracy(theta, pred, **how))  # fmt: skip
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    dx.top_k_accuracy(theta, pred, weights="bayesian-bootstrap", random_seed=first)
    dx.top_k_accuracy(theta.chunk(item=2), pred, weights="bayesian-bootstrap",
                      random_seed=second)  # fmt: skip
    assert first.bit_generator.state == second.bit_generator.state
