"""Annotation certainty, sorted."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dissensus as dx
from dissensus.errors import ArgumentError


def test_a_sorted_line_for_each_reliability(dense):
    figure = dx.plots.certainty(dense)
    lines = figure.axes[0].lines
    values = dense["certainty"]["annotation_certainty"]
    assert len(lines) == values.sizes["reliability"]
    for line, expected in zip(lines, values.to_numpy(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), np.sort(expected))
    alphas = [line.get_alpha() for line in lines]
    assert alphas == sorted(alphas)
    assert alphas[-1] == 1


def test_a_panel_for_each_top_set(candidates):
    assert len(dx.plots.certainty(candidates).axes) == 3
    assert len(dx.plots.certainty(candidates, top=[1, 2]).axes) == 2
    with pytest.raises(ArgumentError, match="top"):
        dx.plots.certainty(candidates, top=7)


def test_draws_into_given_axes(candidates):
    _, ax = plt.subplots()
    assert dx.plots.certainty(candidates, top=2, ax=ax) is ax.figure
    assert ax.get_ylabel() == "certainty of the leading 2 labels"
    with pytest.raises(ArgumentError, match="one of"):
        dx.plots.certainty(candidates, top=[1, 2], ax=ax)


def test_takes_what_the_metric_returns(dense):
    values = dx.annotation_certainty(dense)
    line = dx.plots.certainty(values).axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), np.sort(values))


def test_a_thousand_items_are_thinned_but_keep_their_ends():
    import xarray as xr

    values = xr.DataArray(
        np.random.default_rng(1).uniform(0.2, 1, 5000), dims="item", name="annotation_certainty"
    )
    line = dx.plots.certainty(values).axes[0].lines[0]
    assert len(line.get_xdata()) <= 300
    assert line.get_ydata()[[0, -1]].tolist() == [values.min(), values.max()]
    assert line.get_xdata()[-1] == 5000
