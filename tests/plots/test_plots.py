"""What holds for every picture, run off the registry."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

import dissensus as dx
from dissensus.errors import ArgumentError
from dissensus.plots import PLOTS

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


@pytest.mark.unit(27)
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


@pytest.mark.parametrize("name", NAMES)
def test_height_is_fitted_to_the_width(name, dense):
    made = dx.plots.get(name).function(dense, *arguments(name, dense), figsize=(3.7, None))
    width, height = figure_of(made).get_size_inches()
    assert width == pytest.approx(3.7)
    assert 1 < height < 12


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {"item", "simplex"}])
def test_a_missing_group_is_named(name, dense):
    group = dx.plots.get(name).group
    without = dense.copy()
    del without[group]
    with pytest.raises(ArgumentError, match=group):
        dx.plots.get(name).function(without)
    with pytest.raises(ArgumentError, match="expected an evaluation"):
        dx.plots.get(name).function("result.nc")


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
    with pytest.raises(AttributeError, match="there are forest"):
        dx.plots.pie  # noqa: B018


def test_listing_plots_does_not_load_matplotlib():
    code = "import sys, dissensus as dx; dx.plots.names(); print('matplotlib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
