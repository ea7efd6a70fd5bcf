"""Regions hold what they say, and names do not cover each other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from matplotlib.path import Path

import dissensus as dx
from dissensus.plots._annotators import region

RNG = np.random.default_rng(1)


def roc(people=4, near=0.0, systems=0):
    a = RNG.uniform(5, 20, people) if not near else np.full(people, 10.0)
    pairs = {"sensitivity": RNG.beta(a + 5, 5, (1, 300, people)),
             "false_positive_rate": RNG.beta(4, a + 10, (1, 300, people))}  # fmt: skip
    out = xr.Dataset({name: (("chain", "draw", "annotator"), x) for name, x in pairs.items()},
                     {"annotator": [f"reader {k}" for k in range(people)]})  # fmt: skip
    if systems:
        for name in list(pairs):
            draws = RNG.beta(9, 3, (1, 300, systems))
            out[f"system_{name}"] = (("chain", "draw", "system"), draws)
        out = out.assign_coords(system=[f"system {k}" for k in range(systems)])
    return out.assign_attrs(positive="yes")


def boxes(ax):
    ax.figure.canvas.draw()
    named = [text for text in ax.texts if text.get_text().startswith("reader")]
    for text in named:
        text.arrow_patch = text.arrowprops = None  # lines to points may cross other names
    return [text.get_window_extent() for text in named]


@pytest.mark.parametrize("prob", [0.5, 0.9])
@pytest.mark.parametrize("shape", [(1, 40), (30, 30), (1, 1)])
def test_a_region_holds_its_share_and_stays_in_the_square(prob, shape):
    pair = RNG.beta(*shape, size=(4000, 2))
    border = region(pair, prob)
    assert ((border > 0) & (border < 1)).all()
    # A polygon in place of an ellipse loses next to nothing.
    assert Path(border).contains_points(pair).mean() == pytest.approx(prob, abs=0.03)


def test_a_region_of_what_does_not_vary_is_a_point_or_a_line():
    same = np.full((100, 2), 0.3)
    np.testing.assert_allclose(region(same, 0.9), 0.3, atol=1e-6)
    p = RNG.beta(5, 3, 400)
    line = region(np.stack([1 - p, p], axis=1), 0.9)
    np.testing.assert_allclose(line.sum(axis=1), 1.0, atol=1e-6)


def test_dots_are_posterior_means():
    data = roc()
    ax = dx.plots.annotator_roc(data).axes[0]
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    mean = data.mean(("chain", "draw"))
    np.testing.assert_allclose(dots.get_xdata(), mean["false_positive_rate"])
    np.testing.assert_allclose(dots.get_ydata(), mean["sensitivity"])


def test_names_near_each_other_do_not_overlap():
    ax = dx.plots.annotator_roc(roc(15, near=1.0)).axes[0]
    result = boxes(ax)
    assert len(result) == 15
    assert not any(first.overlaps(second) for first, second in combinations(result, 2))
    frame = ax.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in result)


def test_a_crowd_has_no_names():
    figure = dx.plots.annotator_roc(roc(16))
    assert not boxes(figure.axes[0])
    assert "Regions" in figure.get_supxlabel()
    crowd = dx.plots.annotator_roc(roc(31))
    assert "Regions" not in crowd.get_supxlabel()
    assert len(crowd.axes[0].lines) == 2


def test_systems_are_in_a_legend():
    legend = dx.plots.annotator_roc(roc(systems=2)).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["system 0", "system 1"]
