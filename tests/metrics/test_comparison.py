"""Comparison of systems against counting draw by draw."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx


def metric(values, better="higher", **coords):
    systems = [f"s{k}" for k in range(values.shape[-1])]
    return xr.DataArray(
        values,
        dims=("chain", "draw", *[f"extra{k}" for k in range(values.ndim - 3)], "system"),
        coords={"system": systems} | coords,
        name="m",
        attrs={"better": better},
    )


@pytest.mark.long
@given(seed=st.integers(0, 2**31), better=st.sampled_from(["higher", "lower"]), tied=st.booleans())
@settings(max_examples=12, deadline=None)
def test_every_probability_is_a_count_of_draws(seed, better, tied):
    rng = np.random.default_rng(seed)
    values = rng.random((2, 4, 4))
    values = values.round(1) if tied else values
    draws = metric(values, better)
    comparison = dx.compare(draws)
    rows = values.reshape(-1, 4) * (1 if better == "higher" else -1)
    for a in range(4):
        for b in range(4):
            pair = {"system": f"s{a}", "system_": f"s{b}"}
            assert comparison["probability_better"].sel(pair).item() == np.mean(
                rows[:, a] > rows[:, b]
            )
            assert comparison["probability_equal"].sel(pair).item() == np.mean(
                rows[:, a] == rows[:, b]
            )
            np.testing.assert_array_equal(
                comparison["difference"].sel(pair), values[..., a] - values[..., b]
            )
        for rank in range(1, 5):
            share = 0.0
            for row in rows:
                above, equal = np.sum(row > row[a]), np.sum(row == row[a])
                share += (above < rank <= above + equal) / equal
            expected = share / len(rows)
            assert comparison["rank_probability"].sel(
                system=f"s{a}", rank=rank
            ).item() == pytest.approx(expected)
    np.testing.assert_allclose(comparison["rank_probability"].sum("rank"), 1)
    np.testing.assert_allclose(comparison["rank_probability"].sum("system"), 1)
    np.testing.assert_allclose(
        comparison["probability_best"], comparison["rank_probability"].sel(rank=1)
    )


def test_differences_are_paired():
    # Both systems share what is uncertain: each is between 0 and 1, their difference always .1.
    common = np.random.default_rng(1).random((2, 50))
    comparison = dx.compare(metric(np.stack([common + 0.1, common], axis=-1)))
    difference = comparison["difference"].sel(system="s0", system_="s1")
    assert difference.dims[:2] == ("chain", "draw")
    assert float(difference.std()) < 1e-12
    assert comparison["probability_better"].sel(system="s0", system_="s1").item() == 1.0


def test_further_dims_and_coordinates_are_kept_apart():
    rng = np.random.default_rng(2)
    values = rng.random((2, 5, 3, 2))
    draws = metric(values, family=("system", ["u", "v"]), kind="accuracy")
    comparison = dx.compare(draws)
    assert comparison["difference"].dims == ("chain", "draw", "extra0", "system", "system_")
    assert comparison["rank_probability"].dims == ("extra0", "system", "rank")
    part = dx.compare(draws.isel(extra0=1))
    xr.testing.assert_allclose(
        comparison["probability_better"].isel(extra0=1), part["probability_better"]
    )


def test_another_dim_can_be_compared():
    draws = metric(np.random.default_rng(3).random((1, 5, 3))).rename(system="pool")
    comparison = dx.compare(draws, dim="pool")
    assert comparison["difference"].dims == ("chain", "draw", "pool", "pool_")


def test_attributes_say_what_was_compared():
    comparison = dx.compare(metric(np.zeros((1, 2, 2)), better="lower"))
    assert comparison.attrs == {"metric": "m", "better": "lower"}
