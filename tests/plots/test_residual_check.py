"""Residuals of items in the order of what was observed; those outside are marked and named."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError


def made(n_items=8):
    """A check of made-up numbers: the third item is far above, the fifth far below."""
    observed = np.random.default_rng(1).uniform(-0.5, 0.5, (n_items, 2))
    tail = np.full((n_items, 2), 0.5)
    observed[2], observed[4] = 3.0, -3.0
    tail[2], tail[4] = 0.0, 1.0
    parts = {"observed": observed, "lower": np.full((n_items, 2), -1.0),
             "upper": np.ones((n_items, 2)), "tail_probability": tail}  # fmt: skip
    return xr.Dataset(
        {name: (("item", "statistic"), values) for name, values in parts.items()},
        coords={"item": [f"item {k}" for k in range(n_items)], "statistic": ["mean", "spread"]},
    )


def marks(ax, marker):
    (line,) = [line for line in ax.lines if line.get_marker() == marker]
    return line.get_xdata(), line.get_ydata()


def test_items_stand_in_order_and_those_outside_are_marked():
    check = made()
    axes = dx.plots.residual_check(check).axes
    for k, ax in enumerate(axes):
        x, y = (np.concatenate(part) for part in zip(marks(ax, "o"), marks(ax, "D"), strict=True))
        np.testing.assert_allclose(
            y[np.argsort(x)], np.sort(check["observed"].isel(statistic=k).to_numpy())
        )
        assert marks(ax, "D")[1].tolist() == [-3.0, 3.0]
        assert ax.get_xlabel() == "items, in order: 2 of 8 outside"


def test_small_spreads_are_not_named_since_fitting_makes_them_small():
    mean, spread = dx.plots.residual_check(made()).axes
    assert {text.get_text() for text in mean.texts} == {"item 2", "item 4"}
    assert {text.get_text() for text in spread.texts} == {"item 2"}


def test_of_many_items_none_outside_is_left_out():
    figure = dx.plots.residual_check(made(500), limit=50)
    for ax in figure.axes:
        assert len(marks(ax, "D")[0]) == 2
        assert len(marks(ax, "o")[0]) == 48
        assert "2 of 500 outside" in ax.get_xlabel()
    assert "left out" in figure.get_supxlabel()


def test_items_without_labels_are_not_counted():
    check = made()
    for name in check.data_vars:
        check[name][0] = np.nan
    ax = dx.plots.residual_check(check).axes[0]
    assert ax.get_xlabel() == "items, in order: 2 of 7 outside"


def test_a_narrow_figure_has_one_panel_below_the_other():
    first, second = dx.plots.residual_check(made(), figsize=(3.7, None)).axes
    assert first.get_position().y0 > second.get_position().y0


def test_refuses_what_is_not_a_check_of_items():
    with pytest.raises(ArgumentError, match=r"what dissensus\.residual_check returns"):
        dx.plots.residual_check(made()[["observed", "lower"]])
    with pytest.raises(ArgumentError, match=r"what dissensus\.residual_check returns"):
        dx.plots.residual_check(made().rename(item="annotator"))
