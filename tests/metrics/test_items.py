"""Weights of items: their errors, their names, and the Bayesian bootstrap's variance."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus.metrics._blocks import lazy_bootstrap_weights
from dissensus.metrics._items import bootstrap_weights, over_items, weights_for


@pytest.fixture
def small(make):
    theta = make.theta(2)
    return theta, make.lists(2, theta)


def test_named_weights_are_matched_by_name(small):
    expected = dx.overlap(*small, k=2, weights=[1, 2, 3])
    names = ["i2", "i0", "elsewhere", "i1"]
    values = [3.0, 1.0, 9.0, 2.0]
    for weights in (
        dict(zip(names, values, strict=True)),
        pd.Series(values, index=names),
        xr.DataArray(values, dims="item", coords={"item": names}),
        np.array([1, 2, 3]),
        pd.Series([1, 2, 3]),
        xr.DataArray([1, 2, 3], dims="item"),
    ):
        xr.testing.assert_allclose(dx.overlap(*small, k=2, weights=weights), expected)


def test_the_bootstrap_has_the_variance_of_a_dirichlet_mean(make):
    # With weights Dirichlet(1, ..., 1) the mean of n values of which a share p is 1 has
    # mean p and variance p(1 - p)/(n + 1).
    n, right = 30, 12
    one_hot = np.zeros((4, 3000, n, 2))
    one_hot[..., 0] = 1.0
    theta = make.dense(one_hot, "ab")
    labels = np.where(np.arange(n) < right, "a", "b")
    predictions = dx.predictions(
        {
            "item": np.tile(np.arange(n), 2),
            "system": np.repeat(["m", "not m"], n),
            "label": np.concatenate([labels, np.where(labels == "a", "b", "a")]),
        }
    )
    kwargs = {"weights": "bayesian-bootstrap", "random_seed": 3}
    draws = dx.top_k_accuracy(theta, predictions, **kwargs)
    p, n_draws = right / n, 12_000
    variance = p * (1 - p) / (n + 1)
    values = draws.sel(system="m").values.ravel()
    assert abs(values.mean() - p) < 4 * np.sqrt(variance / n_draws)
    # The sampling error of a variance is about variance * sqrt(2 / draws).
    assert abs(values.var() / variance - 1) < 5 * np.sqrt(2 / n_draws)
    # Both systems meet the same weights: what one gets right the other gets wrong.
    np.testing.assert_allclose(draws.sum("system"), 1, atol=1e-12)
    xr.testing.assert_identical(dx.top_k_accuracy(theta, predictions, **kwargs), draws)
    again = dx.top_k_accuracy(theta, predictions, **(kwargs | {"random_seed": 4}))
    assert not np.allclose(again, draws)


def test_the_bootstrap_weighs_further_dims_alike(make):
    theta = make.theta(2)
    predictions = make.lists(2, theta)
    both = xr.concat([theta.assign_coords(reliability=r) for r in (1, 2)], dim="reliability")
    result = dx.overlap(both, predictions, k=2, weights="bayesian-bootstrap", random_seed=1)
    assert result.dims == ("chain", "draw", "reliability", "system")
    np.testing.assert_array_equal(result.sel(reliability=1), result.sel(reliability=2))


def test_equal_scores_average_to_just_that_score():
    # Else rounding passes the end of the scale, and a constant seems to vary.
    scores = xr.DataArray(np.full((2, 500, 7), 1 / 3), dims=("chain", "draw", "item"))
    drawn = weights_for(scores, "bayesian-bootstrap", 1)
    assert (over_items(scores, drawn) == 1 / 3).all()
    assert (over_items(scores, xr.DataArray(np.arange(1, 8) / 10, dims="item")) == 1 / 3).all()


def test_weights_may_differ_between_draws_and_carry_dims_of_their_own(make):
    theta = make.theta(3, n_items=4)
    predictions = make.lists(3, theta)
    rng = np.random.default_rng(3)
    weights = xr.DataArray(
        rng.random((2, 2, 3, 4)),
        dims=("kind", "chain", "draw", "item"),
        coords={"item": theta["item"].values, "kind": ["one", "two"]},
    )
    turned = weights.isel(item=[3, 1, 0, 2])  # matched by name
    whole = dx.top_k_accuracy(theta, predictions, weights=turned)
    assert whole.dims == ("chain", "draw", "kind", "system")
    each = dx.top_k_accuracy(theta, predictions, per_item=True)
    want = (each * weights).sum("item") / weights.sum("item")
    np.testing.assert_allclose(whole, want.transpose(*whole.dims))


@pytest.mark.parametrize("by", ["item", "cluster"])
def test_every_draw_of_every_chain_has_weights_of_its_own(by):
    dims = ("chain", "draw", "item")
    scores = xr.DataArray(np.zeros((3, 4, 5)), {"item": list("abcde")}, dims)
    of_item = np.array([0, 0, 1, 2, 2])
    drawn = bootstrap_weights(scores, 1, of_item if by == "cluster" else None)
    assert drawn.dims == dims
    each = drawn.to_numpy()[..., [0, 2, 3] if by == "cluster" else slice(None)]
    assert len(np.unique(each)) == each.size
    if by == "cluster":
        np.testing.assert_array_equal(drawn.to_numpy(), each[..., of_item])
        return
    chunks = xr.DataArray(da.zeros((3, 4, 5), chunks=(3, 4, 2)), scores.coords, dims)
    lazy = lazy_bootstrap_weights(chunks, 1)  # of items as before, whatever the chunks
    np.testing.assert_array_equal(lazy.transpose(*dims).compute(), drawn)
