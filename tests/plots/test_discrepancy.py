"""Systems and annotators on one scale."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx


def ratios(systems, annotators=(), **more):
    noise = np.linspace(-0.1, 0.1, 101)[None, :, None]
    out = {"discrepancy_ratio": (("chain", "draw", "system"), noise + np.array(systems))}
    coords = {"system": [f"s{k}" for k in range(len(systems))]}
    if len(annotators):
        name = "annotator_discrepancy_ratio"
        out[name] = (("chain", "draw", "annotator"), noise + np.array(annotators))
        coords["annotator"] = [f"a{k}" for k in range(len(annotators))]
    return xr.Dataset(out, coords=coords, **more)


def rows(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_rows_are_sorted_and_systems_stand_out():
    figure = dx.plots.discrepancy(ratios([1.2, 0.7], [0.9, 1.5]))
    assert rows(figure) == ["s1", "a0", "s0", "a1"]
    weights = [label.get_fontweight() for label in figure.axes[0].get_yticklabels()]
    assert weights == ["bold", "normal", "bold", "normal"]


def test_bars_are_the_intervals():
    figure = dx.plots.discrepancy(ratios([1.2]), ci_kind="eti", ci_prob=0.5)
    bar = figure.axes[0].lines[0].get_xdata()
    np.testing.assert_allclose(bar, [1.15, 1.25], atol=0.003)


def test_the_margin_is_drawn():
    data = ratios([1.2], attrs={"margin": 0.25})
    lines = [line.get_xdata()[0] for line in dx.plots.discrepancy(data).axes[0].lines]
    assert 1.0 in lines
    assert 1.25 in lines
    lines = [line.get_xdata()[0] for line in dx.plots.discrepancy(data, margin=0.5).axes[0].lines]
    assert 1.5 in lines


def test_annotators_with_most_items_are_kept():
    data = ratios([1.0], np.linspace(0.5, 2, 50))
    data["n_items"] = ("annotator", np.arange(50))
    figure = dx.plots.discrepancy(data, limit=6)
    assert set(rows(figure)) == {"s0", "a45", "a46", "a47", "a48", "a49"}
    assert "45 annotators with fewer items are left out" in figure.texts[0].get_text()


def test_undefined_annotators_are_no_rows():
    data = ratios([1.0], [0.9, np.nan])
    assert rows(dx.plots.discrepancy(data)) == ["a0", "s0"]


def test_points_instead_of_draws_are_refused():
    data = ratios([1.0]).mean(["chain", "draw"])
    with pytest.raises(dx.ArgumentError, match="bayesian_bootstrap makes them"):
        dx.plots.discrepancy(data)
    with pytest.raises(dx.ArgumentError, match="discrepancy ratios"):
        dx.plots.discrepancy(xr.Dataset({"x": 1.0}))


def test_who_is_left_out_is_not_said_to_have_fewer_items_if_not_so():
    data = ratios([1.0], np.linspace(0.5, 2, 50))
    data["n_items"] = ("annotator", np.full(50, 200))
    for source in (data, data.drop_vars("n_items")):
        figure = dx.plots.discrepancy(source, limit=6)
        assert figure.texts[0].get_text() == "45 of 50 annotators are left out."


def test_pools_must_be_chosen_from():
    data = ratios([1.0, 1.1]).expand_dims(pool=["p", "q"], axis=-1)
    with pytest.raises(dx.ArgumentError, match="Select one along pool"):
        dx.plots.discrepancy(data)
    assert len(rows(dx.plots.discrepancy(data.sel(pool="q")))) == 2
