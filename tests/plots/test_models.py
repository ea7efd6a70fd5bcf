"""One metric under two models: one vertical axis, the same systems in the same colours."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.errors import ArgumentError


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
        found = np.array([line.get_ydata() for line in lines_of(ax)])
        np.testing.assert_allclose(np.sort(found, axis=0), np.sort(means, axis=0))


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


def test_one_model_is_not_enough(dense):
    alone = dense.copy()
    del alone["companion"]
    with pytest.raises(ArgumentError, match="a group 'companion'"):
        dx.plots.models(alone)
    with pytest.raises(ArgumentError, match="metric"):
        dx.plots.models(dense, "nothing")
