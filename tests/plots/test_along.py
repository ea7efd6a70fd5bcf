"""Curves against reliability and thresholds."""

from __future__ import annotations

import arviz as az
import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import FillBetweenPolyCollection

import dissensus as dx

# A metric against reliability.


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
    assert figure.get_supxlabel() == "The 8 best of 300 systems; other systems are left out."


# One metric under two models: one vertical axis, the same systems in the same colours.


def lines_of(ax):
    return [line for line in ax.lines if len(line.get_xdata()) > 2]


def test_two_panels_with_one_vertical_axis(evaluation):
    left, right = dx.plots.models(evaluation).axes
    assert left.get_ylim() == right.get_ylim()
    names = [ax.get_title(loc="left") for ax in (left, right)]
    assert names == [evaluation.attrs["model"], "inverse_rank"]
    for ax, side in ((left, evaluation), (right, evaluation["companion"])):
        trust = side["metrics"]["reliability"].to_numpy()
        assert all(np.array_equal(line.get_xdata(), trust) for line in lines_of(ax))
    colors = [[line.get_color() for line in lines_of(ax)] for ax in (left, right)]
    assert colors[0] == colors[1]
    assert {text.get_text() for text in right.texts} > set(evaluation["metrics"]["system"].values)


def test_curves_are_the_means_of_each_model(candidates):
    for ax, side in zip(
        dx.plots.models(candidates).axes, (candidates, candidates["companion"]), strict=True
    ):
        values = side["metrics"]["top_1_accuracy"].sel(scope="these items")
        means = values.mean(("chain", "draw")).to_numpy().T
        result = np.array([line.get_ydata() for line in lines_of(ax)])
        np.testing.assert_allclose(np.sort(result, axis=0), np.sort(means, axis=0))


def test_only_where_trust_leads_to_the_cross_there_is_a_line_to_it(candidates):
    left, right = dx.plots.models(candidates).axes
    assert "×" in [tick.get_text() for tick in left.get_xticklabels()]  # noqa: RUF001
    assert "∞" in [tick.get_text() for tick in right.get_xticklabels()]
    dotted = [sum(len(line.get_xdata()) == 2 and line.get_linestyle() == ":" for line in ax.lines)
              for ax in (left, right)]  # fmt: skip
    assert dotted == [0, candidates["metrics"].sizes["system"]]


def test_narrow_panels_are_stacked(candidates):
    above, below = dx.plots.models(candidates, figsize=(3.7, None)).axes
    assert above.get_position().y0 > below.get_position().y1
    assert above.texts
    assert below.texts


# The discrepancy ratio against the threshold.


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


def test_a_system_whose_curve_ends_early_is_named(draws):
    undefined = (draws["system"] == "knows") & (draws["threshold"] > 0.8)
    axes = dx.plots.discrepancy_curve(draws.where(~undefined)).axes[0]
    places = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert places.keys() == {"knows", "guesses"}
    assert np.isfinite(list(places.values())).all()


def test_systems_with_the_lowest_points_are_kept(draws):
    figure = dx.plots.discrepancy_curve(draws.isel(system=[1, 0]), limit=1)
    assert [text.get_text() for text in figure.axes[0].texts] == ["knows"]
    assert figure.get_supxlabel() == "The 1 best of 2 systems; other systems are left out."


# Calibration.


def test_the_calibration_curve_is_drawn_from_its_draws(dense):
    """Read back from the axes: means over draws, intervals, sizes, and the empty bin left out."""
    data = dense["calibration"].to_dataset().isel(system=[0, 1])
    ax = dx.plots.calibration(data, ci_kind="eti", ci_prob=0.8).axes[0]
    diagonal, *curves = ax.lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    bars = [c for c in ax.collections if hasattr(c, "get_segments")]
    dots = [c for c in ax.collections if not hasattr(c, "get_segments")]
    for k, (curve, bar, dot) in enumerate(zip(curves, bars, dots, strict=True)):
        part = data.isel(system=k, bin=slice(1, None))
        x, draws = part["mean_probability"].to_numpy(), part["calibration"]
        np.testing.assert_allclose(curve.get_xdata(), x)
        np.testing.assert_allclose(curve.get_ydata(), draws.mean(("chain", "draw")))
        ends = draws.quantile([0.1, 0.9], ("chain", "draw")).to_numpy()
        np.testing.assert_allclose([s[:, 1] for s in bar.get_segments()], ends.T)
        np.testing.assert_allclose([s[0, 0] for s in bar.get_segments()], x)
        np.testing.assert_allclose(dot.get_offsets()[:, 0], x)
        assert (np.argsort(dot.get_sizes()) == np.argsort(part["n_items"])).all()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(data["system"].values)


def test_systems_beyond_the_limit_are_counted(dense):
    figure = dx.plots.calibration(dense, limit=1)
    assert "3 more systems" in figure._supxlabel.get_text()
    with pytest.raises(dx.ArgumentError, match="without scopes"):
        dx.plots.calibration(dense["calibration"].to_dataset().mean("chain"))
