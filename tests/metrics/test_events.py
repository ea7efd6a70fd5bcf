"""Event plausibilities against the Normal distribution function."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import dissensus as dx


@pytest.fixture
def posterior():
    rng = np.random.default_rng(1)
    dims = ("chain", "draw", "item")
    return xr.Dataset(
        {
            "mean": (dims, rng.normal(size=(2, 5, 3))),
            "variance": (dims, rng.gamma(2, size=(2, 5, 3))),
        },
        coords={"item": list("xyz")},
    )


def test_is_the_normal_distribution_function(posterior):
    found = dx.event_plausibility(posterior, 0.4, labels=("low", "high"))
    assert found.dims == ("chain", "draw", "item", "label")
    below = norm.cdf(0.4, posterior["mean"], np.sqrt(posterior["variance"]))
    np.testing.assert_allclose(found.sel(label="low"), below)
    np.testing.assert_allclose(found.sum("label"), 1)


def test_tails_keep_their_digits(posterior):
    # 1 - Phi(x) would be 0 from x = 8.3 on, and a label of plausibility 0 is in no set.
    far = posterior.assign(mean=0 * posterior["mean"] - 20, variance=0 * posterior["mean"] + 1)
    assert float(dx.event_plausibility(far, 0).sel(label="above").min()) > 0


def test_metrics_take_it(posterior):
    tree = xr.DataTree.from_dict({"posterior": posterior})
    found = dx.event_plausibility(tree, 0)
    predictions = dx.predictions({"item": list("xyz"), "system": ["m"] * 3, "label": ["above"] * 3})
    expected = (posterior["mean"] > 0).mean("item")
    np.testing.assert_allclose(dx.top_k_accuracy(found, predictions).squeeze("system"), expected)


def test_bad_input(posterior):
    with pytest.raises(dx.ArgumentError, match="fit: expected a fit of normal_scores"):
        dx.event_plausibility(posterior[["mean"]], 0)
    for threshold in (np.nan, np.inf):
        with pytest.raises(dx.ArgumentError, match="threshold: expected a finite number"):
            dx.event_plausibility(posterior, threshold)


def test_takes_a_fit_its_group_and_its_dataset(posterior):
    whole = dx.event_plausibility(posterior, 1.0)
    fit = xr.DataTree.from_dict({"posterior": posterior})
    xr.testing.assert_identical(dx.event_plausibility(fit, 1.0), whole)
    xr.testing.assert_identical(dx.event_plausibility(fit["posterior"], 1.0), whole)


@pytest.mark.parametrize("bad", [{"threshold": "a"}, {"threshold": None}, {"labels": ("a", "a")}])
def test_bad_arguments_are_refused_by_name(posterior, bad):
    with pytest.raises(dx.ArgumentError, match=f"^{next(iter(bad))}: "):
        dx.event_plausibility(posterior, **{"threshold": 1.0, **bad})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("threshold", {"threshold": 10**30}),
        ("threshold", {"threshold": "x"}),
        ("labels", {"threshold": 0.5, "labels": None}),
        ("labels", {"threshold": 0.5, "labels": (["a"], ["b"])}),
        ("labels", {"threshold": 0.5, "labels": ("a", "a")}),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(name, arguments):
    draws = xr.DataArray([[[1.0]]], dims=("chain", "draw", "item"))
    with pytest.raises(dx.ArgumentError, match=f"^{name}: "):
        dx.event_plausibility(xr.Dataset({"mean": draws, "variance": draws}), **arguments)


def test_a_fit_of_text_is_refused():
    draws = xr.DataArray([[["a"]]], dims=("chain", "draw", "item"))
    with pytest.raises(dx.ArgumentError, match="fit: expected a fit of normal_scores"):
        dx.event_plausibility(xr.Dataset({"mean": draws, "variance": draws}), 0.5)


def test_a_negative_variance_is_refused(posterior):
    with pytest.raises(dx.ArgumentError, match=r"^fit: expected variances of 0 or more; found -"):
        dx.event_plausibility(posterior.assign(variance=-posterior["variance"] - 1), threshold=0.5)
