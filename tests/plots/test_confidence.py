"""Pictures of confidence: what is drawn is what was computed."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

SAMPLE = ("chain", "draw")
TRUTH = dict.fromkeys(range(60), 1)


def labels(levels=(0.5, 0.75, 1.0), people=3, items=60):
    rng, n = np.random.default_rng(1), people * items
    sure = rng.choice(levels, n)
    return dx.annotations(
        {"item": np.repeat(np.arange(items), people),
         "annotator": list("abcdefgh"[:people]) * items,
         "label": (rng.random(n) < 0.5 + 0.4 * sure).astype(int), "confidence": sure},
        confidence="confidence",
    )  # fmt: skip


def test_bars_are_shares_in_the_order_of_means():
    ann = labels()
    ax = dx.plots.confidence_ridges(ann).axes[0]
    who, sure = ann["annotator_code"].to_numpy(), ann["confidence"].to_numpy()
    mean = np.array([sure[who == k].mean() for k in range(3)])
    order = np.argsort(-mean)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [*ann["annotator"].to_numpy()[order], "all annotators"]
    height = np.array([abs(bar.get_height()) for bar in ax.patches]).reshape(4, 3)
    share = [[(sure[who == k] == level).mean() for level in (0.5, 0.75, 1.0)] for k in order]
    np.testing.assert_allclose(height[:3] / height[:3].sum(1, keepdims=True), share)
    assert height.max() == pytest.approx(0.8)


def test_many_levels_are_ridges():
    ax = dx.plots.confidence_ridges(labels(np.linspace(0, 1, 99))).axes[0]
    assert len(ax.collections) == 4
    assert not ax.patches


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (np.linspace(0, 1, 4), "0 .33 .67 1"),
        (np.linspace(0, 1, 12), "0 .09 .18 .27 .36 .45 .55 .64 .73 .82 .91 1"),
        (np.array([0, 0.5, 0.98, 0.99, 1]), "0 .5 1"),
        (np.array([0.99, 0.995, 1]), ".99 .995 1"),
    ],
)
def test_levels_are_named_in_short_and_where_there_is_room(levels, expected):
    figure = dx.plots.confidence_ridges(labels(levels, items=100))
    figure.draw_without_rendering()
    names = [text for text in figure.axes[0].get_xticklabels() if text.get_text()]
    assert [text.get_text() for text in names] == expected.split()
    edges = np.array([text.get_window_extent().extents for text in names])
    assert (edges[1:, 0] > edges[:-1, 2]).all()


def test_of_many_annotators_some_are_drawn():
    figure = dx.plots.confidence_ridges(labels(people=8), limit=4)
    assert len(figure.axes[0].get_yticks()) == 5
    assert figure.get_supxlabel().startswith("4 of 8 annotators")


def test_bars_are_parted_by_error_rates():
    check = dx.confidence_check(labels(), TRUTH, draws=300, random_seed=1)
    figure = dx.plots.confidence_errors(check, ci_prob=0.8, ci_kind="eti")
    bars, rates, wrong = figure.axes
    width = np.array([bar.get_width() for bar in bars.patches]).reshape(2, 3)
    np.testing.assert_allclose(width.sum(0), check["level_share"].mean(SAMPLE))
    np.testing.assert_allclose(width[0], (check["level_share"] * check["error_rate"]).mean(SAMPLE))
    for ax, name in ((rates, "error_rate"), (wrong, "wrong_share")):
        ends = np.array([path.vertices[:, 0] for path in ax.collections[0].get_paths()])
        expected = check[name].quantile([0.1, 0.9], dim=SAMPLE).to_numpy().T
        np.testing.assert_allclose(ends, expected, atol=1e-3)
    assert "of wrong labels" in figure.get_supxlabel()


def test_bins_have_their_ends_for_names():
    check = dx.confidence_check(
        labels(np.linspace(0, 1, 99)), TRUTH, bins=4, draws=100, random_seed=1
    )
    names = [
        text.get_text() for text in dx.plots.confidence_errors(check).axes[0].get_yticklabels()
    ]
    assert len(names) == 4
    assert names[0].startswith("0–")  # noqa: RUF001
    assert names[-1].endswith("–1")  # noqa: RUF001


def test_nothing_wrong_can_be_drawn():
    ann = dx.annotations(
        {"item": range(60), "annotator": ["a"] * 60, "label": [1] * 60,
         "confidence": [0.5, 1.0] * 30}, confidence="confidence", labels=[0, 1],
    )  # fmt: skip
    with pytest.warns(dx.DissensusWarning, match="no label is wrong"):
        check = dx.confidence_check(ann, TRUTH, draws=100, random_seed=1)
    figure = dx.plots.confidence_errors(check)
    figure.canvas.draw()
    assert figure.get_supxlabel().startswith("No label is wrong.")


def test_the_line_is_that_of_the_draws():
    difficulty = dx.confidence_difficulty(labels(), TRUTH, draws=300, random_seed=1)
    ax = dx.plots.confidence_difficulty(difficulty).axes[0]
    x, y = ax.lines[-1].get_data()
    lines = (
        difficulty["intercept"].to_numpy()[..., None]
        + difficulty["slope"].to_numpy()[..., None] * x
    )
    np.testing.assert_allclose(y, lines.mean(axis=(0, 1)))
    assert ax.get_title(loc="left").startswith("Correlation of ranks")


def test_draws_of_difficulties_have_intervals():
    draws = np.random.default_rng(1).normal(size=(2, 50, 30)) + np.linspace(-2, 2, 30)
    fit = xr.Dataset({"difficulty": ((*SAMPLE, "item"), draws)}, {"item": np.arange(30)})
    fit = fit.assign_coords(chain=range(2), draw=range(50))
    difficulty = dx.confidence_difficulty(labels(items=30), fit, random_seed=1)
    ax = dx.plots.confidence_difficulty(difficulty).axes[0]
    assert len(ax.collections[0].get_paths()) == 30
    assert ax.get_ylabel() == "difficulty (logits)"


def test_no_line_where_confidence_does_not_vary():
    with pytest.warns(dx.DissensusWarning, match="undefined"):
        difficulty = dx.confidence_difficulty(labels((0.5,)), TRUTH, draws=100, random_seed=1)
    ax = dx.plots.confidence_difficulty(difficulty).axes[0]
    assert not ax.lines
    assert ax.get_title(loc="left") == ""
