"""Pictures of items: one in full, the triangle, expected risk; and the matrix of systems."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError
from dissensus.plots._item import predicted, said, spelled

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
    assert predicted(pred, "case", dx.plausibility.plausibility_of(fit))[0].hit == hit
    figure = dx.plots.item(fit, "case", annotations=ann, predictions=pred)
    assert any(line.endswith("m: Melanoma > Wart") for line in texts(figure))


def test_a_label_outside_the_label_space_cannot_hit(case):
    _, fit = case
    pred = dx.predictions({"item": ["case"], "system": ["m"], "label": ["Burn"]})
    assert predicted(pred, "case", dx.plausibility.plausibility_of(fit))[0].hit == 0


def test_unknown_items(case):
    with pytest.raises(ArgumentError, match="'nobody'"):
        dx.plots.item(case[1], "nobody")


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
    assert names[-1] == "30 less plausible ones"


def test_the_remainder_is_one_row():
    ann = dx.from_rankings({"i": [[["a"]]]}, labels=list("abcd"))
    fit = dx.models.inverse_rank.fit(ann, draws=20, random_seed=1, prior_count=0.1)
    names = [t.get_text() for t in dx.plots.item(fit, "i").axes[-1].get_yticklabels()]
    assert names == ["a", "3 other labels"]


def test_scores_are_said_as_numbers():
    ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [0.25, 1.5]})
    assert [spelled(one.blocks) for one in said(ann, 1)] == [".25", "1.5"]


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
    for odd in (9, b"x", {}, {1}, [[1], [2]], [{}]):
        with pytest.raises(ArgumentError, match="items: expected items such as 1"):
            dx.plots.simplex(theta, items=odd)
    with pytest.raises(ArgumentError, match="exactly 3 labels"):
        dx.plots.simplex(theta.isel(label=[0, 1]))


def test_expected_risk_counts_items():
    risk = xr.DataArray(
        [[[0.0, 0.1, 2.0], [0.0, 0.1, 2.0]]], dims=("chain", "draw", "item"), name="expected_risk"
    )
    figure = dx.plots.expected_risk(risk, bins=4)
    assert [bar.get_height() for bar in figure.axes[0].patches] == [2, 0, 0, 1]
    with pytest.raises(ArgumentError, match="dims"):
        dx.plots.expected_risk(risk.isel(draw=0))


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
    with pytest.raises(ArgumentError, match="comparison"):
        dx.plots.better(draws)
