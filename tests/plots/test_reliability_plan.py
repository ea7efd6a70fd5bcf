"""The picture of a plan of reliability."""

from __future__ import annotations

import component_fits as made
import numpy as np
import pytest

import dissensus as dx


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


def test_lines_are_at_the_numbers_planned(pooled):
    axes = dx.plots.reliability_plan(pooled).axes
    for row, line in enumerate(axes[1].lines[:2]):
        np.testing.assert_array_equal(line.get_xdata(), [20, 60])
        expected = pooled["half_width"].isel(annotator=row, pool=0)
        np.testing.assert_allclose(line.get_ydata(), expected)
    median = pooled["reliability"].isel(pool=1).median(("chain", "draw"))
    np.testing.assert_allclose(axes[0].lines[1].get_ydata(), median)
    assert axes[1].lines[2].get_ydata()[0] == pooled.attrs["width"] / 2


def test_one_pool_shows_the_probabilities():
    found = dx.plan_reliability(
        made.crossed_effects("gaussian", draws=50), (1, 4), width=None, progressbar=False
    )
    (ax,) = dx.plots.reliability_plan(found).axes
    shown = {text.get_text() for text in ax.texts}
    chance = found["probability_reached"].sel(annotator=4).item()
    assert f"{chance:.2f}".removeprefix("0") in shown


def test_what_is_left_out_is_said(pooled):
    figure = dx.plots.reliability_plan(pooled, limit=1)
    assert len(figure.axes) == 2
    assert "The first 1 of 3 intervals" in figure.get_supxlabel()


def test_a_plan_of_accuracy_is_refused():
    ann = dx.simulate.study(n_items=10, random_seed=5, kind="nominal").annotations
    with pytest.raises(dx.ArgumentError, match=r"^source: expected what dissensus"):
        dx.plots.reliability_plan(dx.plan(ann, (2,), (20,), random_seed=1))
