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


def test_takes_a_fit_its_group_and_its_dataset(posterior):
    whole = dx.event_plausibility(posterior, 1.0)
    fit = xr.DataTree.from_dict({"posterior": posterior})
    xr.testing.assert_identical(dx.event_plausibility(fit, 1.0), whole)
    xr.testing.assert_identical(dx.event_plausibility(fit["posterior"], 1.0), whole)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("threshold", {"threshold": bad}) for bad in (np.nan, np.inf, "a", None, 10**400)]
    + [("labels", {"labels": bad}) for bad in (("a", "a"), None, (["a"], ["b"]))],
)
def test_bad_arguments_are_refused_by_name(posterior, name, arguments):
    with pytest.raises(dx.ArgumentError, match=f"^{name}: "):
        dx.event_plausibility(posterior, **{"threshold": 1.0, **arguments})


def test_what_is_no_fit_of_normal_scores_is_refused(posterior):
    text = xr.DataArray([[["a"]]], dims=("chain", "draw", "item"))
    for fit in (posterior[["mean"]], xr.Dataset({"mean": text, "variance": text})):
        with pytest.raises(dx.ArgumentError, match="fit: expected a fit of normal_scores"):
            dx.event_plausibility(fit, 0.5)
    with pytest.raises(dx.ArgumentError, match=r"^fit: expected variances of 0 or more; found -"):
        dx.event_plausibility(posterior.assign(variance=-posterior["variance"] - 1), threshold=0.5)
