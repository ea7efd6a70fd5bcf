"""Every plot of the registry: figures, signatures, settings and errors."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.figure import Figure
from refusals import check_refused

import dissensus as dx
from dissensus.errors import ArgumentError
from dissensus.plots import PLOTS
from dissensus.plots import _style as look
from dissensus.plots._names import spread

# What holds for every picture, run off the registry.


NAMES = [plot.name for plot in PLOTS]
ARVIZ = {"forest", "distribution"}
NO_AXES = {
    "accuracy_plan", "assumptions", "confidence_errors", "item", "items_to_review", "label_check",
    "models", "prior_predictive", "reliability_plan", "residual_check", "simplex", "truth_nomogram",
}  # fmt: skip


def arguments(name, evaluation):
    return (evaluation["certainty"]["item"].to_numpy()[3],) if name == "item" else ()


def figure_of(made):
    return made.viz["figure"].item() if hasattr(made, "viz") else made


@pytest.mark.unit(28, long=10)
@pytest.mark.parametrize("name", NAMES)
def test_draws_and_shows_nothing(name, evaluation, monkeypatch):
    if name == "simplex" and "candidate" in evaluation["posterior"].dims:
        pytest.skip("a triangle is for three labels, dense")
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a plot called plt.show"))
    made = dx.plots.get(name).function(evaluation, *arguments(name, evaluation))
    figure = figure_of(made)
    assert isinstance(figure, Figure)
    figure.canvas.draw()
    assert len(plt.get_fignums()) == (name in ARVIZ)


@pytest.mark.parametrize("name", NAMES)
def test_signature(name):
    parameters = inspect.signature(dx.plots.get(name).function).parameters
    assert next(iter(parameters)) == "source"
    assert "figsize" in parameters
    assert {"ax", "backend"} & set(parameters) or name in NO_AXES
    optional = [p for p in parameters.values() if p.default is not p.empty]
    assert all(p.kind is p.KEYWORD_ONLY or p.default is None for p in optional)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {"item", "simplex"}])
def test_a_missing_group_is_named(name, dense):
    group = dx.plots.get(name).group
    without = dense.copy()
    del without[group]
    with pytest.raises(ArgumentError, match=group):
        dx.plots.get(name).function(without)
    with pytest.raises(ArgumentError, match="expected an evaluation"):
        dx.plots.get(name).function("result.nc")


RETURNED = {
    "accuracy_plan": ("plan_accuracy", "half_width"),
    "agreement_check": ("agreement_check", "replicated"),
    "annotator_roc": ("annotator_roc", "false_positive_rate"),
    "assumptions": ("check_assumptions", "p_value"),
    "confidence_difficulty": ("confidence_difficulty", "slope"),
    "confidence_errors": ("confidence_check", "error_rate"),
    "items_to_review": ("items_to_review", "probability_right"),
    "label_check": ("label_check", "lower"),
    "prior_predictive": ("prior_predictive", "icc"),
    "reader_study": ("reader_study", "curve"),
    "reliability_plan": ("plan_reliability", "reliability"),
    "residual_check": ("residual_check", "tail_probability"),
}
"""The function whose result a plot draws, and a variable that it needs."""


@pytest.mark.parametrize("name", RETURNED)
def test_what_a_function_did_not_return_is_refused(name, dense):
    function, variable = RETURNED[name]
    plot = dx.plots.get(name)
    part = dense[plot.group].to_dataset()
    expected = f"^source: expected the result of dissensus.{function}, with '{variable}'"
    with pytest.raises(ArgumentError, match=expected):
        plot.function(part.drop_vars(variable))
    dims = [dim for dim in part[variable].dims if dim not in {"chain", "draw"}]
    if name in {
        "label_check",
        "residual_check",
        "annotator_roc",
        "confidence_errors",
        "reader_study",
    }:
        with pytest.raises(
            ArgumentError, match=f"^source: expected the result of dissensus.{function}"
        ):
            plot.function(part.rename({dim: f"other_{dim}" for dim in dims}))


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_described(name):
    function = dx.plots.get(name).function
    text = inspect.getdoc(function)
    parameters = text.partition("Parameters\n")[2].partition("Returns\n")[0]
    described = {part.strip(" *") for line in parameters.splitlines() if not line.startswith(" ")
                 for part in line.partition(" : ")[0].split(",")}  # fmt: skip
    assert set(inspect.signature(function).parameters) <= described
    assert text.count("Raises\n------") == text.count("Examples\n--------") == 1


def test_registry_and_type_hints_agree():
    source = Path(inspect.getfile(dx.plots)).read_text(encoding="utf-8")
    hinted = {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    assert hinted == set(NAMES) == set(dx.plots.names())
    assert set(NAMES) <= set(dir(dx.plots))
    assert all(plot.summary for plot in PLOTS)


def test_unknown_plot():
    with pytest.raises(AttributeError, match="the plots are forest"):
        dx.plots.pie  # noqa: B018


def test_listing_plots_does_not_load_matplotlib():
    code = "import sys, dissensus as dx; dx.plots.names(); print('matplotlib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


# Settings that pictures share are refused by name, whatever the picture.


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


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_a_setting_that_makes_no_sense_is_refused_by_name(plot):
    arguments = ("i",) if plot.name == "item" else ()
    names = sorted(set(WRONG) & set(inspect.signature(plot.function).parameters))
    check_refused(dx.ArgumentError, [
        (f"{name}={value!r}", partial(plot.function, None, *arguments, **{name: value}),
         f"^{name}: ")
        for name in names for value in WRONG[name]
    ])  # fmt: skip


def test_what_cannot_be_drawn_is_refused_in_words(dense, candidates):
    plots, alphas = dx.plots, xr.Dataset({"alpha": 1.0})
    metric, data = dense["metrics"]["top_1_accuracy"], dense["accuracy"].to_dataset()
    curve, ratio = (dense[name].to_dataset() for name in ("discrepancy_curve", "discrepancy"))
    alone, check = dense.copy(), dense["assumptions"].to_dataset()
    del alone["companion"]
    single = dense.copy()
    single["comparison"] = xr.DataTree()
    truth = dense["weighted_reliability"].to_dataset()["weighted_reliability"]
    theta, risk = dense["posterior"]["plausibility"], dense["expected_risk"]["expected_risk"]
    two = xr.full_like(theta.isel(label=[0, 1]), 0.5)
    review = dense["items_to_review"].to_dataset()
    nothing = xr.DataArray(np.zeros((1, 0, 2)), dims=("chain", "draw", "system"), name="icc")
    check_refused(ArgumentError, [
        ("no draws", lambda: plots.forest(nothing), "source: .*found nothing along draw"),
        ("reliability", lambda: plots.forest(dense, reliability=3), "reliability"),
        ("scope", lambda: plots.distribution(dense, scope="old items"), "scope"),
        ("one reliability", lambda: plots.reliability(metric.isel(reliability=0)), "reliability"),
        ("metric", lambda: plots.reliability(dense, "accuracy"), "metric"),
        ("ci_kind", lambda: plots.reliability(dense, ci_kind="normal"), "ci_kind"),
        ("one model", lambda: plots.models(alone), "a group 'companion'"),
        ("metric of both", lambda: plots.models(dense, "nothing"), "metric"),
        ("thresholds", lambda: plots.discrepancy_curve(curve.isel(threshold=0)), "threshold"),
        ("a mean", lambda: plots.discrepancy_curve(curve.mean(("chain", "draw"))), "draws"),
        ("draws of systems", lambda: plots.better(metric), "comparison"),
        ("one system", lambda: plots.better(single), "two systems or more; found one system"),
        ("top", lambda: plots.certainty(candidates, top=7), "top"),
        ("item", lambda: plots.item(dense, "nobody"), "'nobody'"),
        *((f"items {odd!r}", partial(plots.simplex, theta, items=odd),
           "items: expected items such as") for odd in (b"x", {}, {1}, [[1], [2]], [{}])),
        ("two labels", lambda: plots.simplex(two), "exactly 3 labels"),
        ("risk of a draw", lambda: plots.expected_risk(risk.isel(draw=0)), "dims"),
        ("no items", lambda: plots.items_to_review(review.isel(item=[])), "data to draw"),
        *((f"without {name}", partial(plots.accuracies, data.drop_vars(name)),
           f"'accuracy', with .*{name}.*; found Dataset with")
          for name in ("annotator_majority", "majority_accuracy")),
        ("accuracies", lambda: plots.accuracies(alphas), "draws of 'annotator_accuracy'"),
        ("ICC", lambda: plots.components(alphas), "draws of 'icc'"),
        ("points", lambda: plots.discrepancy(ratio.mean(["chain", "draw"])),
         "result of dissensus.bayesian_bootstrap"),
        ("ratios", lambda: plots.discrepancy(alphas), "discrepancy ratios"),
        ("tie rate", lambda: plots.agreement_check(dense, "no_rate"), "statistics: expected some"),
        ("no p", lambda: plots.assumptions(check.assign(p_value=check["p_value"] * np.nan)),
         "the labels allow no check"),
        ("confidence", lambda: plots.confidence_ridges(dx.from_matrix([["a", "b"]])),
         "annotations with confidence"),
        ("by item", lambda: plots.truth_nomogram(truth.expand_dims(item=[1, 2])),
         "^source: expected draws of one reliability"),
        ("two of them", lambda: plots.truth_nomogram(xr.Dataset({"a": truth, "b": truth})),
         "^source: expected draws of weighted_reliability"),
        *((f"{name}={bad}", partial(plots.truth_nomogram, **{name: bad}), rf"^{name}: ")
          for name, bad in (
              ("n_annotators", [3, 5]), ("n_annotators", 0), ("n_labels", 1), ("accuracies", 1.2),
              ("accuracies", []), ("accuracies", [[0.9]]), ("target", 1), ("threshold", -0.1),
              ("confidence", 0), ("measure", "kappa"), ("errors", "printed"))),
    ])  # fmt: skip


def test_arguments_that_a_picture_does_not_have_are_refused_with_its_name():
    with pytest.raises(TypeError, match=r"^reliability.* got an unexpected keyword"):
        dx.plots.reliability(None, me=None)


# The common look: labels apart, names harmless, one colour for each system.


@settings(deadline=None, max_examples=50)
@given(arrays(float, st.integers(0, 12), elements=st.floats(-5, 5)), st.floats(0.01, 1))
def test_spread_keeps_labels_apart_and_in_order(positions, gap):
    result = spread(positions, gap)
    order = np.argsort(positions, kind="stable")
    assert (np.diff(result[order]) >= gap - 1e-9).all()
    apart = len(positions) < 2 or np.diff(np.sort(positions)).min() >= gap
    if apart:
        np.testing.assert_allclose(result, positions, atol=1e-9)


def test_spread_stays_inside():
    result = spread([0.95, 0.97, 1.0], 0.1, 0.0, 1.0)
    assert result.max() <= 1 + 1e-12
    assert result.min() >= 0


def test_colours_follow_the_place_of_a_system():
    styles = [look.style(place) for place in range(28)]
    assert len({(style.color, str(style.dash)) for style in styles}) == 28
    assert look.style(3) == look.style(3)
