"""What a model of the truth assumes, one panel a check; what speaks against it is bold."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError


def made(p=(0.001, 0.4, np.nan)):
    rng = np.random.default_rng(1)
    return xr.Dataset(
        {
            "observed": ("check", [5.0, 0.1, np.nan]),
            "replicated": (("chain", "draw", "check"), rng.normal(size=(2, 100, 3))),
            "p_value": ("check", list(p)),
        },
        coords={
            "check": ["error_pairs", "label_use", "repeats"],
            "assumption": ("check", ["all errors are alike", "labels are used alike", "none"]),
        },
    )


def test_a_panel_for_each_check_with_a_line_where_the_data_are():
    axes = dx.plots.assumptions(made()).axes
    shown = [ax for ax in axes if ax.axison]
    assert [ax.get_title(loc="left") for ax in shown] == [
        "All errors are alike", "Labels are used alike",
    ]  # fmt: skip
    assert [ax.lines[0].get_xdata()[0] for ax in shown] == [5.0, 0.1]
    weights = [ax._left_title.get_fontweight() for ax in shown]
    assert weights == ["bold", "normal"]
    assert shown[0].get_xlabel().endswith("p .001")
    heights = sum(patch.get_height() for patch in shown[0].patches)
    assert heights == 200


def test_refuses_what_is_no_check_or_shows_nothing():
    with pytest.raises(ArgumentError, match=r"what dissensus\.check_assumptions returns"):
        dx.plots.assumptions(made()[["observed"]])
    with pytest.raises(ArgumentError, match="can show nothing"):
        dx.plots.assumptions(made([np.nan] * 3))
