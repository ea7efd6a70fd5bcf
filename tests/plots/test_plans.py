"""Plots of plans of studies."""

from __future__ import annotations

import component_fits as made
import numpy as np
import pytest

import dissensus as dx


def heights(lines):
    """Return the lower and upper ends of vertical lines."""
    return np.array([segment[:, 1] for segment in lines.get_segments()])


# The picture of a plan of accuracy without the truth.


@pytest.fixture(scope="module")
def plan():
    return dx.plan_accuracy(
        annotators=(2, 4), items=(30, 90), kappa=0.6, n_labels=3, studies=3, random_seed=1,
        progressbar=False,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("scope", ["new items", "these items"])
def test_lines_are_at_the_numbers_planned(plan, scope):
    shares, halves = dx.plots.accuracy_plan(plan, scope=scope).axes
    of_scope = plan.sel(scope=scope)
    for row in range(2):
        model, algebra = shares.lines[2 * row : 2 * row + 2]
        for line, name in ((model, "symmetric_confusion"), (algebra, "lehner")):
            expected = of_scope["within_share"].sel(estimator=name).isel(annotator=row)
            np.testing.assert_allclose(line.get_ydata(), expected)
        # One standard error, where it stays between 0 and 1.
        part = of_scope.sel(estimator="symmetric_confusion").isel(annotator=row)
        low, high = (part["within_share"] + sign * part["within_share_error"] for sign in (-1, 1))
        bars = heights(shares.collections[row])
        np.testing.assert_allclose(bars, np.clip(np.stack([low, high], axis=1), 0, 1))
        np.testing.assert_array_equal(halves.lines[row].get_xdata(), [30, 90])
        np.testing.assert_allclose(
            halves.lines[row].get_ydata(), of_scope["half_width"].isel(annotator=row)
        )
    assert shares.lines[4].get_ydata()[0] == 0.9
    assert halves.lines[2].get_ydata()[0] == 0.1


@pytest.mark.long
def test_lines_have_their_names_at_their_ends(plan):
    shares, halves = dx.plots.accuracy_plan(plan).axes
    assert [text.get_text() for text in halves.texts] == ["2 annotators", "4 annotators"]
    ends = [line.get_ydata()[-1] for line in halves.lines[:2]]
    places = [text.xy[1] for text in halves.texts]
    assert (ends[0] > ends[1]) == (places[0] > places[1])
    assert [text.get_text() for text in shares.get_legend().get_texts()] == ["model", "lehner"]


def test_what_is_no_such_plan_is_refused(plan):
    with pytest.raises(dx.ArgumentError, match=r"^scope: "):
        dx.plots.accuracy_plan(plan, scope="all")


# The picture of a plan of reliability.


@pytest.fixture(scope="module")
def pooled():
    pilot = made.cross_replication("gaussian", draws=20, names=("a$b", "c"))
    return dx.plan_reliability(
        pilot, (2, 4), (20, 60), panel=6, studies=2, draws=40, random_seed=1, progressbar=False
    )


def test_every_pool_and_pair_has_a_panel(pooled):
    axes = dx.plots.reliability_plan(pooled).axes
    titles = [ax.get_title(loc="left").splitlines()[0] for ax in axes]
    assert titles == [
        "Reliability of the mean label,", r"ICC of a\$b:", "ICC of c:",
        r"Normalised xCC of a\$b and c:",
    ]  # fmt: skip


def test_lines_of_reliability_are_at_the_numbers_planned(pooled):
    axes = dx.plots.reliability_plan(pooled).axes
    for row, line in enumerate(axes[1].lines[:2]):
        np.testing.assert_array_equal(line.get_xdata(), [20, 60])
        expected = pooled["half_width"].isel(annotator=row, pool=0)
        np.testing.assert_allclose(line.get_ydata(), expected)
    outside = (1 - pooled.attrs["probability"]) / 2
    for pool in range(2):
        draws = pooled["reliability"].isel(pool=pool)
        quantiles = draws.quantile([outside, 0.5, 1 - outside], ("chain", "draw"))
        low, median, high = quantiles.transpose("quantile", "annotator").to_numpy()
        np.testing.assert_allclose(axes[0].lines[pool].get_ydata(), median)
        bars = heights(axes[0].collections[pool])
        np.testing.assert_allclose(bars, np.stack([low, high], axis=1))
    assert axes[1].lines[2].get_ydata()[0] == pooled.attrs["width"] / 2


def test_one_pool_shows_the_probabilities():
    result = dx.plan_reliability(
        made.crossed_effects("gaussian", draws=50), (1, 4), width=None, progressbar=False
    )
    (ax,) = dx.plots.reliability_plan(result).axes
    shown = {text.get_text() for text in ax.texts}
    chance = result["probability_reached"].sel(annotator=4).item()
    assert f"{chance:.2f}".removeprefix("0") in shown


def test_what_is_left_out_is_said(pooled):
    figure = dx.plots.reliability_plan(pooled, limit=1)
    assert len(figure.axes) == 2
    assert "The first 1 of 3 intervals" in figure.get_supxlabel()
