"""A metric against reliability."""

from __future__ import annotations

import arviz as az
import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import FillBetweenPolyCollection

import dissensus as dx
from dissensus.errors import ArgumentError


def bands(figure):
    return [c for c in figure.axes[0].collections if isinstance(c, FillBetweenPolyCollection)]


def test_two_bands_a_cross_and_a_star_for_each_system(dense):
    figure = dx.plots.reliability(dense)
    markers = [line.get_marker() for line in figure.axes[0].lines]
    assert len(bands(figure)) == 2 * 4
    assert markers.count("x") == markers.count("*") == 4
    names = {text.get_text() for text in figure.axes[0].texts}
    assert names == set(dense["metrics"]["system"].to_numpy())


def test_the_cross_is_the_value_against_the_point_estimate(dense):
    lines = dx.plots.reliability(dense).axes[0].lines
    crosses = sorted(line.get_ydata()[0] for line in lines if line.get_marker() == "x")
    np.testing.assert_allclose(crosses, np.sort(dense["statistics"]["naive_top_1_accuracy"]))


def test_bands_are_arviz_intervals_at_call_time(dense):
    draws = dense["metrics"]["top_1_accuracy"].isel(system=[0])
    for settings in ({"stats.ci_prob": 0.5}, {"stats.ci_kind": "hdi", "stats.ci_prob": 0.9}):
        with az.rc_context(settings):
            figure = dx.plots.reliability(draws)
            find = az.hdi if settings.get("stats.ci_kind") == "hdi" else az.eti
            expected = find(draws.sel(scope="new items"), prob=settings["stats.ci_prob"])
        outer = bands(figure)[0].get_paths()[0].vertices[:, 1]
        assert outer.min() == pytest.approx(float(expected.sel(ci_bound="lower").min()))
        assert outer.max() == pytest.approx(float(expected.sel(ci_bound="upper").max()))


def test_caps_hundreds_of_systems_and_says_so():
    draws = xr.DataArray(
        np.random.default_rng(0).uniform(size=(1, 20, 2, 300)),
        dims=("chain", "draw", "reliability", "system"),
        coords={"reliability": [1.0, 2.0], "system": [f"s{i}" for i in range(300)]},
        name="top_1_accuracy",
    )
    figure = dx.plots.reliability(draws)
    assert len(figure.axes[0].texts) == 8
    assert figure.get_supxlabel() == "The 8 best of 300 systems; the others are left out."


def test_refuses_draws_without_reliability(dense):
    with pytest.raises(ArgumentError, match="reliability"):
        dx.plots.reliability(dense["metrics"]["top_1_accuracy"].isel(reliability=0))
    with pytest.raises(ArgumentError, match="metric"):
        dx.plots.reliability(dense, "accuracy")
    with pytest.raises(ArgumentError, match="ci_kind"):
        dx.plots.reliability(dense, ci_kind="normal")
