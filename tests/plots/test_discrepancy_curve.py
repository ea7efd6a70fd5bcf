"""The discrepancy ratio against the threshold."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import FillBetweenPolyCollection

import dissensus as dx
from dissensus.errors import ArgumentError


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(1)
    truth = rng.random(60)
    ann = dx.from_matrix((rng.random((60, 3)) < truth[:, None]).astype(int), kind="nominal")
    scores = xr.DataArray(
        np.stack([truth, rng.random(60)], axis=1),
        dims=("item", "system"),
        coords={"item": range(60), "system": ["knows", "guesses"]},
    )
    grid = np.linspace(0.1, 0.9, 5)
    return dx.bayesian_bootstrap(
        dx.discrepancy_curve, ann, scores, grid, draws=100, random_seed=1
    )  # fmt: skip


def dots(figure):
    return [line for line in figure.axes[0].lines if line.get_marker() == "o"]


def test_a_band_a_curve_and_a_dot_for_each_system_and_a_line_at_1(draws):
    axes = dx.plots.discrepancy_curve(draws).axes[0]
    assert sum(isinstance(c, FillBetweenPolyCollection) for c in axes.collections) == 2
    assert len(axes.lines) == 2 + 2 + 1
    assert list(axes.lines[-1].get_ydata()) == [1.0, 1.0]
    assert [text.get_text() for text in axes.texts] == ["knows", "guesses"]


def test_the_dot_is_at_the_best_threshold(draws):
    figure = dx.plots.discrepancy_curve(draws.sel(system=["knows"]))
    assert dots(figure)[0].get_xdata()[0] == dx.best_threshold(draws).sel(system="knows").item()


def test_systems_with_the_lowest_points_are_kept(draws):
    figure = dx.plots.discrepancy_curve(draws.isel(system=[1, 0]), limit=1)
    assert [text.get_text() for text in figure.axes[0].texts] == ["knows"]
    assert figure.get_supxlabel() == "The 1 best of 2 systems; the others are left out."


def test_what_has_no_thresholds_is_refused(draws):
    with pytest.raises(ArgumentError, match="threshold"):
        dx.plots.discrepancy_curve(draws.isel(threshold=0))
    with pytest.raises(ArgumentError, match="draws"):
        dx.plots.discrepancy_curve(draws.mean(("chain", "draw")))
