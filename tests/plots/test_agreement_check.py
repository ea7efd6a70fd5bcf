"""Histograms of replicated agreement, with the observed value in each."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError


@pytest.fixture(scope="module")
def check():
    """Rankings: three statistics are checked, two are given."""
    study = dx.simulate.study(n_items=12, n_annotators=4, n_labels=9, random_seed=1)
    fit = dx.models.plackett_luce.fit(
        study.annotations, draws=30, chains=2, random_seed=1, progressbar=False,
        posterior_predictive=True,
    )  # fmt: skip
    return dx.agreement_check(fit)


def test_a_panel_for_each_statistic_that_is_checked(check):
    axes = dx.plots.agreement_check(check).axes
    assert [ax.get_title(loc="left") for ax in axes] == [
        "Agreement of two annotators",
        "Krippendorff's alpha",
        "Agreement with the other\nannotators",
    ]
    for ax, name in zip(axes, check["statistic"].to_numpy(), strict=False):
        one = check.sel(statistic=name)
        assert ax.lines[0].get_xdata()[0] == float(one["observed"])
        assert sum(bar.get_height() for bar in ax.patches) == one["replicated"].size
        assert "tail probability" in ax.get_xlabel()


def test_one_statistic_into_given_axes(check):
    _, ax = plt.subplots()
    assert dx.plots.agreement_check(check, "krippendorff_alpha", ax=ax) is ax.figure
    assert ax.get_title(loc="left") == "Krippendorff's alpha"
    with pytest.raises(ArgumentError, match="statistics: expected one of"):
        dx.plots.agreement_check(check, ["krippendorff_alpha", "percent_agreement"], ax=ax)


def test_from_a_tree(check):
    tree = xr.DataTree.from_dict({"agreement_check": check})
    assert len(dx.plots.agreement_check(tree).axes) == 3


def test_equal_and_undefined_replicates_are_drawn(check):
    alike = check.copy(deep=True)
    alike["replicated"][:] = 0.5
    alike["replicated"][0, 0] = np.nan
    alike["tail_probability"][0] = np.nan
    figure = dx.plots.agreement_check(alike)
    figure.canvas.draw()
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == 59
    assert figure.axes[0].get_xlabel().endswith("tail probability undefined")


def test_refuses_what_is_not_there(check):
    with pytest.raises(ArgumentError, match="statistics: expected some of"):
        dx.plots.agreement_check(check, "tie_rate")
    with pytest.raises(ArgumentError, match=r"what dissensus\.agreement_check returns"):
        dx.plots.agreement_check(check[["observed"]])
    with pytest.raises(ArgumentError, match="agreement_check"):
        dx.plots.agreement_check(xr.DataTree.from_dict({"posterior": check}))
