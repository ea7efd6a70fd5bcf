"""The forest of systems, and the ridges of their draws: both drawn by ArviZ."""

from __future__ import annotations

import arviz as az
import numpy as np
import pytest
import xarray as xr

import dissensus as dx


def texts(collection):
    return [text.get_text() for text in collection.viz["figure"].item().axes[0].texts]


def test_systems_are_in_order_of_their_means(dense):
    means = dense["metrics"]["top_1_accuracy"].sel(reliability=1, scope="new items")
    means = means.mean(("chain", "draw"))
    expected = means.sortby(-means.isel(), ascending=True)["system"].to_numpy().tolist()
    assert texts(dx.plots.forest(dense))[0] == expected[0]
    assert set(texts(dx.plots.forest(dense))) == set(expected)


def test_thick_is_for_these_items_and_thin_for_new_ones(dense):
    collection = dx.plots.forest(dense, ci_prob=0.8)
    draws = dense["metrics"]["top_1_accuracy"].sel(reliability=1, system="system A")
    for visual, scope in (("trunk", "these items"), ("twig", "new items")):
        line = collection.viz[visual]["agreement with the panel"].sel(system="system A").item()
        expected = az.eti(draws.sel(scope=scope), prob=0.8)
        np.testing.assert_allclose(line.get_xdata(), expected)


def test_marks_for_the_naive_value_and_the_truth(dense):
    collection = dx.plots.forest(dense)
    for visual, group, name in (
        ("naive", "statistics", "naive_top_1_accuracy"),
        ("truth", "truth", "top_1_accuracy"),
    ):
        mark = collection.viz[visual]["agreement with the panel"].sel(system="system B").item()
        expected = dense[group][name].sel(system="system B")
        expected = expected.sel(scope="these items") if "scope" in expected.dims else expected
        assert mark.get_offsets()[0, 0] == pytest.approx(float(expected))


def test_several_metrics(candidates):
    names = list(candidates["metrics"].data_vars)
    collection = dx.plots.forest(candidates, names)
    assert "top-2 set accuracy" in texts(collection)
    assert collection.viz["trunk"]["average overlap at depth 3"].sizes == {"system": 4}


def test_backends_of_arviz(dense):
    assert dx.plots.forest(dense, backend="none").backend == "none"
    assert dx.plots.distribution(dense, backend="none").backend == "none"


def test_constant_draws_have_no_ridge():
    values = np.random.default_rng(1).normal(0.6, 0.1, (2, 50, 2))
    values[..., 1] = 0.75
    draws = xr.DataArray(
        values, dims=("chain", "draw", "system"), coords={"system": ["a", "b"]}, name="overlap"
    )
    mixed = dx.plots.distribution(draws)
    assert texts(mixed) == ["a"]
    note = mixed.viz["figure"].item().get_supxlabel()
    assert note == "Equal in all draws: b."
    constant = dx.plots.distribution(draws.isel(system=[1]))
    assert "trunk" in constant.viz.children


def test_a_metric_of_draws_in_chunks_is_computed():
    ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aba")})
    pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["a", "a"]})
    fit = dx.models.dirichlet.fit(dx.chunked(ann), draws=20, random_seed=1)
    assert dx.plots.forest(dx.top_k_accuracy(fit, pred), backend="none").backend == "none"
