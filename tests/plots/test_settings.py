"""Settings that pictures share are refused by name, whatever the picture."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx
from dissensus.plots import PLOTS

WRONG = {
    "limit": [0, 1.5, "x", None, True],
    "bins": [0, "x"],
    "candidates": [0, "x"],
    "ax": ["x", 5],
    "figsize": ["ab", 5, (1,), (0, 1), ("a", 1), (float("nan"), 1), (10**30, 1)],
    "scope": [xr.DataArray([1.0, 2.0], dims="item"), 5],
    "ci_prob": ["x", 0, 1, float("nan")],
    "ci_kind": [5, "x"],
    "reliability": ["x", float("nan")],
    "margin": ["x", float("inf")],
    "naive": [0.5],
    "metric": [5, ["a"]],
    "metrics": [5, [5]],
    "statistics": [0.5, [5]],
}


def test_a_group_with_nothing_in_it_is_refused():
    nothing = xr.DataArray(np.zeros((1, 0, 2)), dims=("chain", "draw", "system"), name="icc")
    with pytest.raises(dx.ArgumentError, match=r"source: .*found nothing along draw"):
        dx.plots.forest(nothing)


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_a_setting_that_makes_no_sense_is_refused_by_name(plot):
    arguments = ("i",) if plot.name == "item" else ()
    names = sorted(set(WRONG) & set(inspect.signature(plot.function).parameters))
    check_refused(dx.ArgumentError, [
        (f"{name}={value!r}", partial(plot.function, None, *arguments, **{name: value}),
         f"^{name}: ")
        for name in names for value in WRONG[name]
    ])  # fmt: skip


def test_arguments_that_a_picture_does_not_have_are_refused_with_its_name():
    with pytest.raises(TypeError, match=r"^reliability.* got an unexpected keyword"):
        dx.plots.reliability(None, me=None)
