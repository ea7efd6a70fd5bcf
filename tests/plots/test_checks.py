"""Plots of checks: histograms and intervals of replicates, with observed values."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError
from dissensus.wording import share

# Histograms of replicated agreement, with the observed value in each.


@pytest.fixture(scope="module")
def check():
    """Rankings: three statistics are checked, two are given."""
    study = dx.simulate.study(n_items=12, n_annotators=4, n_labels=9, random_seed=1)
    fit = dx.models.plackett_luce.fit(
        study.annotations, draws=30, chains=2, random_seed=1, progressbar=False,
        posterior_predictive=True,
    )  # fmt: skip
    return dx.agreement_check(fit)


@pytest.mark.long
def test_a_panel_for_each_statistic_that_is_checked(check):
    axes = dx.plots.agreement_check(check).axes
    assert [ax.get_title(loc="left") for ax in axes] == [
        "Agreement of two annotators",
        "Krippendorff's alpha",
        "Agreement with the other\nannotators",
        "Identical lists",
        "", "",  # the rest of the grid is empty
    ]  # fmt: skip
    for ax, name in zip(axes[:4], check["statistic"].to_numpy(), strict=False):
        part = check.sel(statistic=name)
        assert ax.lines[0].get_xdata()[0] == float(part["observed"])
        assert sum(bar.get_height() for bar in ax.patches) == part["replicated"].size
        assert "tail probability" in ax.get_xlabel()


def test_one_statistic_into_given_axes(check):
    _, ax = plt.subplots()
    assert dx.plots.agreement_check(check, "krippendorff_alpha", ax=ax) is ax.figure
    assert ax.get_title(loc="left") == "Krippendorff's alpha"
    with pytest.raises(ArgumentError, match="statistics: expected one of"):
        dx.plots.agreement_check(check, ["krippendorff_alpha", "percent_agreement"], ax=ax)


def test_equal_and_undefined_replicates_are_drawn(check):
    alike = check.copy(deep=True)
    alike["replicated"][:] = 0.5
    alike["replicated"][0, 0] = np.nan
    alike["tail_probability"][0] = np.nan
    figure = dx.plots.agreement_check(alike)
    figure.canvas.draw()
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == 59
    assert figure.axes[0].get_xlabel().endswith("tail probability undefined")


# What a model of the truth assumes, one panel a check; what speaks against it is bold.


def made_assumptions(p=(0.001, 0.4, np.nan)):
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
    axes = dx.plots.assumptions(made_assumptions()).axes
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


# Every annotator's shares of labels, one panel a label; those in the tails are marked.


def made_labels(shape=(6, 3), dim="label", names=("a", "b$", "c")):
    """A check of made-up numbers: the second annotator is outside everywhere."""
    rng = np.random.default_rng(1)
    lower = rng.uniform(0.1, 0.3, shape)
    observed = lower + 0.1
    observed[1] = 0.9
    tail = np.full(shape, 0.4)
    tail[1] = 0.0
    parts = {"observed": observed, "lower": lower, "upper": lower + 0.2, "tail_probability": tail}
    people = [f"person {k}" for k in range(shape[0])]
    return xr.Dataset(
        {name: (("annotator", dim), values) for name, values in parts.items()},
        coords={"annotator": people, dim: list(names)},
    )


def marks(ax, marker):
    (line,) = [line for line in ax.lines if line.get_marker() == marker]
    return line.get_xdata(), line.get_ydata()


def test_a_panel_for_each_label_with_those_outside_marked():
    check = made_labels()
    axes = dx.plots.label_check(check).axes
    assert [ax.get_title(loc="left") for ax in axes] == [
        "Share of a",
        r"Share of b\$",
        "Share of c",
    ]
    for k, ax in enumerate(axes):
        part = check.isel(label=k)
        x, y = marks(ax, "D")
        assert (x.tolist(), y.tolist()) == ([0.9], [1.0])
        x, y = marks(ax, "o")
        np.testing.assert_allclose(x, part["observed"].to_numpy()[y.astype(int)])
        (lines,) = ax.collections
        ends = np.array([segment[:, 0] for segment in lines.get_segments()])
        np.testing.assert_allclose(ends, np.stack([part["lower"], part["upper"]], axis=-1))


def test_numbers_have_panels_of_their_own_scale():
    check = made_labels((4, 2), "statistic", ("mean", "standard deviation"))
    first, second = dx.plots.label_check(check).axes
    assert first.get_title(loc="left") == "Mean"
    assert not first.get_shared_x_axes().joined(first, second)
    assert first.get_shared_y_axes().joined(first, second)


def test_of_many_annotators_the_furthest_are_drawn_in_their_order():
    check = made_labels((30, 3))
    check["tail_probability"][25] = 0.01
    figure = dx.plots.label_check(check, limit=2)
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["person 1", "person 25"]
    assert "2 of 30 annotators" in figure.get_supxlabel()


def test_what_is_undefined_is_not_marked():
    check = made_labels()
    check["observed"][0] = check["tail_probability"][0] = np.nan
    figure = dx.plots.label_check(check, limit=5)
    figure.canvas.draw()
    assert len(marks(figure.axes[0], "D")[0]) == 1
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert "person 0" not in names


# Residuals of items in the order of what was observed; those outside are marked and named.


def made_residuals(n_items=8):
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


def test_items_stand_in_order_and_those_outside_are_marked():
    check = made_residuals()
    axes = dx.plots.residual_check(check).axes
    for k, ax in enumerate(axes):
        x, y = (np.concatenate(part) for part in zip(marks(ax, "o"), marks(ax, "D"), strict=True))
        np.testing.assert_allclose(
            y[np.argsort(x)], np.sort(check["observed"].isel(statistic=k).to_numpy())
        )
        assert marks(ax, "D")[1].tolist() == [-3.0, 3.0]
        assert ax.get_xlabel() == "items, in order: 2 of 8 outside"


def test_small_spreads_are_not_named_since_fitting_makes_them_small():
    mean, spread = dx.plots.residual_check(made_residuals()).axes
    assert {text.get_text() for text in mean.texts} == {"item 2", "item 4"}
    assert {text.get_text() for text in spread.texts} == {"item 2"}


def test_of_many_items_none_outside_is_left_out():
    figure = dx.plots.residual_check(made_residuals(500), limit=50)
    for ax in figure.axes:
        assert len(marks(ax, "D")[0]) == 2
        assert len(marks(ax, "o")[0]) == 48
        assert "2 of 500 outside" in ax.get_xlabel()
    assert "left out" in figure.get_supxlabel()


def test_items_without_labels_are_not_counted():
    check = made_residuals()
    for name in check.data_vars:
        check[name][0] = np.nan
    ax = dx.plots.residual_check(check).axes[0]
    assert ax.get_xlabel() == "items, in order: 2 of 7 outside"


def test_a_narrow_figure_has_one_panel_below_the_other():
    first, second = dx.plots.residual_check(made_residuals(), figsize=(3.7, None)).axes
    assert first.get_position().y0 > second.get_position().y0


# Labels that the prior expects beside those observed, and histograms of ICC and correlation.


SAMPLE = ("chain", "draw")


def made_prior(dim="label", pools=0):
    """What `dissensus.prior_predictive` returns, of made-up draws."""
    rng = np.random.default_rng(1)
    coords = {"label": ["bad", "fair", "good"]}
    if dim == "bin":
        coords = {"bin_lower": ("bin", [0.0, 2.0, 4.0]), "bin_upper": ("bin", [2.0, 4.0, 6.0])}
    draws = rng.dirichlet(np.ones(3), (1, 200))
    parts = {"observed": (dim, [0.2, 0.3, 0.5]), "replicated": ((*SAMPLE, dim), draws),
             "icc": (SAMPLE, rng.uniform(size=(1, 200)))}  # fmt: skip
    if pools:
        values = np.broadcast_to(np.eye(pools), (1, 200, pools, pools)).copy()
        rows, columns = np.triu_indices(pools, 1)
        values[..., rows, columns] = rng.uniform(-1, 1, (1, 200, len(rows)))
        parts["correlation"] = ((*SAMPLE, "pool", "pool_"), values)
    return xr.Dataset(parts, coords=coords)


def test_bars_are_means_and_marks_are_what_was_observed():
    result = made_prior()
    labels, icc = dx.plots.prior_predictive(result).axes
    heights = [bar.get_height() for bar in labels.patches]
    np.testing.assert_allclose(heights, result["replicated"].mean(SAMPLE))
    assert labels.lines[0].get_ydata().tolist() == [0.2, 0.3, 0.5]
    assert [text.get_text() for text in labels.get_xticklabels()] == ["bad", "fair", "good"]
    bounds = np.array([segment[:, 1] for segment in labels.collections[0].get_segments()])
    np.testing.assert_allclose(bounds.T, result["replicated"].quantile([0.05, 0.95], SAMPLE))
    assert sum(bar.get_height() for bar in icc.patches) == 200
    assert icc.lines[0].get_xdata()[0] == float(result["icc"].median())
    low, median, high = result["icc"].quantile([0.05, 0.5, 0.95]).to_numpy()
    message = f"prior median {share(median)},\n90 % from {share(low)} to {share(high)}"
    assert icc.get_xlabel().replace("\N{NO-BREAK SPACE}", " ") == message


def test_numbers_are_drawn_as_steps_over_their_bins():
    labels = dx.plots.prior_predictive(made_prior("bin")).axes[0]
    steps = labels.patches[-1].get_data()
    assert steps.edges.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert steps.values.tolist() == [0.2, 0.3, 0.5]


def test_every_pair_of_pools_counts_once():
    axes = dx.plots.prior_predictive(made_prior(pools=3)).axes
    assert axes[2].get_title(loc="left") == "Correlation of two pools"
    assert sum(bar.get_height() for bar in axes[2].patches) == 3 * 200
