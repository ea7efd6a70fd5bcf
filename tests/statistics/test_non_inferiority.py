"""The probability that a ratio is within a margin of 1."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import dissensus as dx
from dissensus.errors import ArgumentError, DissensusWarning


def draws(values, systems=("s", "t")):
    return xr.DataArray(
        values,
        dims=("chain", "draw", "system"),
        coords={"system": list(systems)},
        name="discrepancy_ratio",
    )


def test_is_the_share_of_draws_below_the_limit():
    """Normal draws, whose share is known."""
    sample = np.random.default_rng(1).normal([0.95, 1.2], 0.1, size=(4, 20_000, 2))
    verdict = dx.non_inferiority(draws(sample), margin=0.1)
    assert verdict.dims == ("system",)
    np.testing.assert_allclose(verdict, norm.cdf([1.5, -1.0]), atol=0.01)
    assert verdict.attrs["margin"] == 0.1


def test_below_is_below_and_not_at():
    verdict = dx.non_inferiority(draws([[[1.0, 0.999]]]), margin=0)
    np.testing.assert_array_equal(verdict, [0.0, 1.0])


def test_the_dataset_of_the_bootstrap_will_do(votes):
    with pytest.warns(DissensusWarning):  # three items are few
        result = dx.bayesian_bootstrap(dx.discrepancy_ratio, *votes, draws=200, random_seed=1)
    xr.testing.assert_identical(
        dx.non_inferiority(result, 0.1), dx.non_inferiority(result["discrepancy_ratio"], 0.1)
    )
    assert dx.non_inferiority(result, 0.1).sel(system="good") == 1


def test_other_dims_stay():
    values = xr.DataArray(np.ones((1, 5, 2, 3)), dims=("chain", "draw", "system", "pool"))
    assert dx.non_inferiority(values, 0.5).dims == ("system", "pool")


def test_undefined_draws_are_not_dropped():
    with pytest.warns(DissensusWarning, match="1 of 2 draws of 't' are undefined"):
        verdict = dx.non_inferiority(draws([[[0.5, np.nan], [0.5, 0.5]]]), 0.1)
    np.testing.assert_array_equal(verdict, [1.0, np.nan])


@pytest.mark.parametrize("margin", [-0.1, np.nan, np.inf, True, "0.1", None])
def test_bad_margins(margin):
    with pytest.raises(ArgumentError, match="margin"):
        dx.non_inferiority(draws([[[1.0, 1.0]]]), margin)


@pytest.mark.parametrize(
    "given",
    [
        0.5,
        xr.DataArray([0.5], dims="system"),
        xr.Dataset({"alpha": 1.0}),
        xr.DataArray(np.ones((1, 0)), dims=("chain", "draw")),
        xr.DataArray([["a"]], dims=("chain", "draw")),
    ],
)
def test_what_is_no_draws(given):
    with pytest.raises(ArgumentError, match="ratio_draws"):
        dx.non_inferiority(given, 0.1)
