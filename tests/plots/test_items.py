"""Plots of items: one in full, certainty, triangle, expected risk, items to review."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError
from dissensus.plots._item import predictions_of, spelled, statements_of

# Pictures of items: one in full, the triangle, expected risk; and the matrix of systems.


# Three of the six differential diagnoses of Stutz et al. (2023), Figure 5, shortened.
RANKINGS = {
    "case": {
        "r1": [["Hemangioma"], ["Melanoma", "Melanocytic Nevus"]],
        "r2": [["Melanoma"]],
        "r3": [["Melanoma"]],
    }
}


def texts(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


@pytest.fixture
def case():
    ann = dx.from_rankings(RANKINGS, labels=["Hemangioma", "Melanocytic Nevus", "Melanoma", "Wart"])
    return ann, dx.models.inverse_rank.fit(ann, draws=50, random_seed=1)


def test_annotations_with_braces_above(case):
    ann, fit = case
    figure = dx.plots.item(fit, "case", annotations=ann)
    lines = texts(figure)
    assert "Hemangioma > {Melanocytic Nevus, Melanoma}   (r1)" in lines
    assert "Melanoma   (r2, r3)" in lines


def test_predictions_with_the_probability_of_a_hit(case):
    ann, fit = case
    pred = dx.predictions(
        {"item": ["case"] * 2, "system": ["m"] * 2, "label": ["Melanoma", "Wart"], "rank": [1, 2]},
        rank="rank",
    )
    hit = float(dx.top_k_accuracy(fit, pred, k=2).mean())
    assert predictions_of(pred, "case", dx.plausibility.plausibility_of(fit))[0].hit == hit
    figure = dx.plots.item(fit, "case", annotations=ann, predictions=pred)
    assert any(line.endswith("m: Melanoma > Wart") for line in texts(figure))


def test_a_label_outside_the_label_space_cannot_hit(case):
    _, fit = case
    pred = dx.predictions({"item": ["case"], "system": ["m"], "label": ["Burn"]})
    assert predictions_of(pred, "case", dx.plausibility.plausibility_of(fit))[0].hit == 0


def test_many_candidates_and_annotators_are_capped():
    n = 40
    ann = dx.annotations(
        {"item": ["i"] * n, "annotator": range(n), "label": [f"label {k}" for k in range(n)]}
    )
    fit = dx.models.dirichlet.fit(ann, draws=20, random_seed=1)
    figure = dx.plots.item(fit, "i", annotations=ann)
    assert any("28 other statements" in line for line in texts(figure))
    names = [tick.get_text() for tick in figure.axes[-1].get_yticklabels()]
    assert len(names) == 11
    assert names[-1] == "30 less plausible labels"


def test_the_remainder_is_one_row():
    ann = dx.from_rankings({"i": [[["a"]]]}, labels=list("abcd"))
    fit = dx.models.inverse_rank.fit(ann, draws=20, random_seed=1, prior_count=0.1)
    names = [t.get_text() for t in dx.plots.item(fit, "i").axes[-1].get_yticklabels()]
    assert names == ["a", "3 other labels"]


def test_scores_are_said_as_numbers():
    ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [0.25, 1.5]})
    assert [spelled(statement.blocks) for statement in statements_of(ann, 1)] == [".25", "1.5"]


def test_names_are_no_formulas(case):
    name = "a$b_c$ \\frac"
    ann = dx.annotations({"item": [name] * 2, "annotator": [1, 2], "label": [name, "x"]})
    fit = dx.models.dirichlet.fit(ann, draws=20, random_seed=1)
    figure = dx.plots.item(fit, name, annotations=ann)
    figure.canvas.draw()  # a formula in it would raise here
    assert "\\$" in figure.axes[-1].get_yticklabels()[0].get_text() + str(texts(figure))


def test_simplex_places():
    theta = xr.DataArray(
        [[[[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]]],
        dims=("chain", "draw", "item", "label"),
        coords={"item": [1, 2, 3], "label": list("abc")},
    )
    figure = dx.plots.simplex(theta, items=[1, 2, 3], means=False)
    corners = [ax.collections[-1].get_offsets()[0] for ax in figure.axes]
    np.testing.assert_allclose(corners, [[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])


def test_expected_risk_counts_items():
    risk = xr.DataArray(
        [[[0.0, 0.1, 2.0], [0.0, 0.1, 2.0]]], dims=("chain", "draw", "item"), name="expected_risk"
    )
    figure = dx.plots.expected_risk(risk, bins=4)
    assert [bar.get_height() for bar in figure.axes[0].patches] == [2, 0, 0, 1]


def test_bars_of_risk_are_means_of_counts_and_lines_their_intervals(dense):
    risk = dense["expected_risk"]["expected_risk"].stack(sample=["chain", "draw"])
    ax = dx.plots.expected_risk(dense, bins=7, ci_prob=0.7).axes[0]
    counts = np.stack([np.histogram(draw, 7, (float(risk.min()), float(risk.max())))[0]
                       for draw in risk.transpose("sample", "item").to_numpy()])  # fmt: skip
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], counts.mean(axis=0))
    (lines,) = ax.collections
    bounds = np.array([segment[:, 1] for segment in lines.get_segments()])
    np.testing.assert_allclose(bounds, np.quantile(counts, [0.15, 0.85], axis=0).T)


def test_better_orders_by_the_probability_of_being_best():
    draws = xr.DataArray(
        np.array([[[0.5, 0.7, 0.6], [0.5, 0.6, 0.7], [0.5, 0.7, 0.6], [0.5, 0.7, 0.6]]]),
        dims=("chain", "draw", "system"),
        coords={"system": ["low", "high", "mid"]},
        name="overlap",
    )
    ax = dx.plots.better(dx.compare(draws)).axes[0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["high", "mid", "low"]
    assert [t.get_text() for t in ax.texts] == [".75", "> .99", ".25", "> .99", "< .01", "< .01"]


# Annotation certainty, sorted.


def test_a_sorted_line_for_each_reliability(dense):
    figure = dx.plots.certainty(dense)
    lines = figure.axes[0].lines
    values = dense["certainty"]["annotation_certainty"]
    assert len(lines) == values.sizes["reliability"]
    for line, expected in zip(lines, values.to_numpy(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), np.sort(expected))
    alphas = [line.get_alpha() for line in lines]
    assert alphas == sorted(alphas)
    assert alphas[-1] == 1


def test_a_panel_for_each_top_set(candidates):
    assert len(dx.plots.certainty(candidates).axes) == 3
    assert len(dx.plots.certainty(candidates, top=[1, 2]).axes) == 2


def test_draws_into_given_axes(candidates):
    _, ax = plt.subplots()
    assert dx.plots.certainty(candidates, top=2, ax=ax) is ax.figure
    assert ax.get_ylabel() == "certainty of the top 2 labels"
    with pytest.raises(ArgumentError, match="one of"):
        dx.plots.certainty(candidates, top=[1, 2], ax=ax)


def test_takes_what_the_metric_returns(dense):
    values = dx.annotation_certainty(dense)
    line = dx.plots.certainty(values).axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), np.sort(values))


def test_a_thousand_items_are_thinned_but_keep_their_ends():
    values = xr.DataArray(
        np.random.default_rng(1).uniform(0.2, 1, 5000), dims="item", name="annotation_certainty"
    )
    line = dx.plots.certainty(values).axes[0].lines[0]
    assert len(line.get_xdata()) <= 300
    assert line.get_ydata()[[0, -1]].tolist() == [values.min(), values.max()]
    assert line.get_xdata()[-1] == 5000


# The picture of items to send back: points and lines are where the numbers are.


def made_review(gain=(0.3, 0.2, 0.1, 0.1, 0.0), right=(0.5, 0.6, 0.6, 0.7, 0.9)):
    gain, right = np.array(gain), np.array(right)
    columns = {"gain": gain, "probability_right": right, "probability_right_after": right + gain}
    return xr.Dataset(
        {name: ("item", values) for name, values in columns.items()},
        coords={"item": [f"case {k}" for k in range(len(gain))]}, attrs={"further": 2},
    )  # fmt: skip


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [3, 4, 0, 2, 1]])
def test_points_are_before_and_after_and_the_line_is_the_expected_accuracy(order):
    data = made_review()
    figure = dx.plots.items_to_review(data.isel(item=order))
    first, along = figure.axes
    np.testing.assert_allclose(np.sort(first.lines[0].get_xdata()), [0.5, 0.6, 0.6, 0.7])
    np.testing.assert_allclose(first.lines[1].get_xdata()[:2], [0.8, 0.8])
    assert [text.get_text() for text in first.get_yticklabels()][:2] == ["case 0", "case 1"]
    assert texts_of(first)[:2] == ["+.30", "+.20"]
    now, line, half = along.lines[:3]
    assert now.get_ydata()[0] == pytest.approx(0.66)
    np.testing.assert_array_equal(line.get_xdata(), [0, 1, 2, 3, 4])
    np.testing.assert_allclose(line.get_ydata()[0], 0.66)
    np.testing.assert_allclose(line.get_ydata()[-1], 0.66 + 0.7 / 5)
    assert half.get_xdata()[0] == 2
    assert texts_of(along) == ["now .66", "2 items: .76", "4 items: .80"]
    assert figure.get_supxlabel().startswith("Gain from 2 further labels per item.")


def test_only_so_many_items_are_named():
    figure = dx.plots.items_to_review(made_review(), limit=2)
    assert len(figure.axes[0].get_yticks()) == 2
    assert figure.get_supxlabel().endswith("2 more items gain, too.")


def test_nothing_to_gain_is_said():
    figure = dx.plots.items_to_review(made_review(gain=(0.0,) * 5), figsize=(3.7, None))
    assert figure.get_supxlabel().endswith("\nNo item has a gain.")
    figure.canvas.draw()
    single = dx.plots.items_to_review(made_review(gain=(0.0,), right=(1.0,)))
    single.canvas.draw()
