"""ICCs and xCCs in one picture."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects

import dissensus as dx
from dissensus.evaluation.components import component_draws


def rows(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_one_pool_has_a_row_for_each_quantity():
    data = component_draws(crossed_effects("gaussian"), xr.DataArray(3.0))
    assert rows(dx.plots.components(data)) == ["ICC", "annotator ICC", "mean label"]


def test_pools_and_pairs_stand_under_headings():
    data = component_draws(cross_replication("ordinal"), xr.DataArray(3.0))
    names = rows(dx.plots.components(data))
    assert names[:4] == ["ICC", "a", "b", "c"]
    assert names[-4:] == ["xCC", "a \N{EN DASH} b", "a \N{EN DASH} c", "b \N{EN DASH} c"]


def test_bars_are_the_intervals():
    data = component_draws(crossed_effects("gaussian", draws=50), xr.DataArray(3.0))
    figure = dx.plots.components(data, scale="latent", ci_kind="eti", ci_prob=0.5)
    low, high = figure.axes[0].lines[0].get_xdata()
    want = np.quantile(data["icc"].sel(scale="latent"), [0.25, 0.75])
    np.testing.assert_allclose([low, high], want)


def test_what_is_too_much_is_left_out_and_counted():
    data = component_draws(cross_replication("gaussian"), xr.DataArray(3.0))
    figure = dx.plots.components(data, limit=12)
    assert "xCC" not in rows(figure)
    assert figure.get_supxlabel() == "6 pairs of pools are left out."


def test_what_has_no_icc_is_refused():
    with pytest.raises(dx.ArgumentError, match="draws of 'icc'"):
        dx.plots.components(xr.Dataset({"alpha": 1.0}))
