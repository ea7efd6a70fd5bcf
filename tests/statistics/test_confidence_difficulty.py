"""Difficulty against confidence: least squares, ranks, and draws of fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx

SAMPLE = ("chain", "draw")


def labels(items=80, people=5, seed=1):
    """Difficult items are those of which annotators are less sure."""
    rng = np.random.default_rng(seed)
    hard = rng.random(items)
    item = np.repeat(np.arange(items), people)
    sure = np.clip(1 - 0.7 * hard[item] + 0.1 * rng.normal(size=len(item)), 0, 1).round(1)
    frame = pd.DataFrame({
        "item": item, "annotator": np.tile(np.arange(people), items),
        "label": (rng.random(len(item)) > 0.5 * hard[item]).astype(int), "confidence": sure,
    })  # fmt: skip
    return frame, dx.annotations(frame, confidence="confidence"), dict.fromkeys(range(items), 1)


def by_item(frame):
    wrong = (frame["label"] == 0).groupby(frame["item"]).mean()
    return frame.groupby("item")["confidence"].mean(), wrong


def test_items_are_what_their_labels_say():
    frame, ann, truth = labels()
    difficulty = dx.confidence_difficulty(ann, truth, random_seed=1)
    sure, wrong = by_item(frame)
    np.testing.assert_allclose(difficulty["confidence"], sure)
    np.testing.assert_allclose(difficulty["difficulty"], wrong)
    assert difficulty.attrs["difficulty"] == "share of wrong labels"


def test_draws_are_about_least_squares_and_spearman():
    frame, ann, truth = labels()
    difficulty = dx.confidence_difficulty(ann, truth, random_seed=1)
    sure, wrong = by_item(frame)
    line = stats.linregress(sure, wrong)
    assert difficulty["slope"].mean() == pytest.approx(line.slope, abs=0.02)
    assert difficulty["intercept"].mean() == pytest.approx(line.intercept, abs=0.02)
    assert difficulty["rank_correlation"].mean() == pytest.approx(
        stats.spearmanr(sure.round(9), wrong).statistic, abs=0.02
    )
    # Of such a sample the bootstrap's spread is about the standard error of least squares.
    assert float(difficulty["slope"].std()) == pytest.approx(line.stderr, rel=0.35)


def fit_of(values, name, items):
    data = xr.Dataset({name: ((*SAMPLE, "item"), values)}, {"item": items}, {"model": "rasch"})
    data = data.assign_coords(chain=range(values.shape[0]), draw=range(values.shape[1]))
    return xr.DataTree.from_dict({"posterior": data})


@pytest.mark.parametrize("name", ["difficulty", "item_difficulty"])
def test_each_draw_takes_one_of_the_fit(name):
    frame, ann, _ = labels()
    sure = by_item(frame)[0].round(12)  # ties are ties, whoever is added up first
    slope = np.random.default_rng(1).normal(size=(2, 50, 1))
    exact = fit_of(2.0 + slope * sure.to_numpy()[::-1], name, np.arange(80)[::-1])
    difficulty = dx.confidence_difficulty(ann, exact, random_seed=1)
    # Whatever the weights: items lie on the line of their draw.
    np.testing.assert_allclose(difficulty["slope"], slope[..., 0], atol=1e-9)
    np.testing.assert_allclose(difficulty["intercept"], 2.0, atol=1e-9)
    np.testing.assert_allclose(difficulty["rank_correlation"], np.sign(slope[..., 0]), atol=1e-9)
    assert difficulty["difficulty"].shape == (2, 50, 80)
    assert "draws of rasch" in difficulty.attrs["truth"]


def test_without_difficulties_the_truth_is_drawn():
    _, ann, _ = labels()
    truth = np.full((2, 100, 80, 2), 0.5)
    coords = {"item": np.arange(80), "label": [0, 1]}
    fit = xr.Dataset({"truth": ((*SAMPLE, "item", "label"), truth)}, coords)
    difficulty = dx.confidence_difficulty(ann, fit, random_seed=1)
    assert difficulty["difficulty"].mean() == pytest.approx(0.5, abs=0.02)
    assert (difficulty["difficulty"].std(SAMPLE) > 0).any()


def test_a_fit_by_rasch_is_read():
    _, ann, truth = labels(40)
    fit = dx.models.rasch.fit(
        ann, truth=truth, draws=200, chains=2, random_seed=1, progressbar=False
    )
    difficulty = dx.confidence_difficulty(ann, fit, random_seed=1)
    assert difficulty["slope"].mean() < 0
    np.testing.assert_array_equal(difficulty["difficulty"], fit["posterior"]["difficulty"])


def test_nothing_that_varies_is_said():
    frame, _, truth = labels(30)
    flat = dx.annotations(frame.assign(confidence=0.5), confidence="confidence")
    with pytest.warns(dx.DissensusWarning, match="slope is undefined"):
        difficulty = dx.confidence_difficulty(flat, truth, random_seed=1)
    assert bool(difficulty["slope"].isnull().all())
    assert difficulty.attrs["in_words"].startswith("No correlation")
    right = dx.annotations(frame.assign(label=1), confidence="confidence", labels=[0, 1])
    with pytest.warns(dx.DissensusWarning, match="rank_correlation is undefined"):
        difficulty = dx.confidence_difficulty(right, truth, random_seed=1)
    assert bool((difficulty["slope"] == 0).all())


def test_items_without_truth_are_left_out_if_asked():
    frame, ann, _ = labels()
    some = dict.fromkeys(range(60), 1)
    with pytest.warns(dx.DissensusWarning, match="20 of 80 items have no known label"):
        difficulty = dx.confidence_difficulty(ann, some, on_missing="drop", random_seed=1)
    assert difficulty.sizes["item"] == 60
    np.testing.assert_allclose(difficulty["difficulty"], by_item(frame)[1][:60])


def test_refusals():
    frame, ann, truth = labels(30)
    with pytest.raises(dx.AnnotationError, match="expected confidence"):
        dx.confidence_difficulty(dx.annotations(frame), truth)
    with pytest.raises(dx.ArgumentError, match="a label for every item"):
        dx.confidence_difficulty(ann, {0: 1})
    with pytest.raises(dx.ArgumentError, match="a fit of the items of the annotations"):
        dx.confidence_difficulty(ann, fit_of(np.zeros((1, 4, 2)), "difficulty", [0, 1]))
    with (
        pytest.warns(dx.DissensusWarning, match="29 of 30"),
        pytest.raises(dx.AnnotationError, match="at least two items"),
    ):
        dx.confidence_difficulty(ann, {0: 1}, on_missing="drop")
