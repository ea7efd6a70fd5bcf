"""Every annotator's shares of labels, one panel a label; those in the tails are marked."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError


def made(shape=(6, 3), dim="label", names=("a", "b$", "c")):
    """A check of made-up numbers: the second annotator is outside everywhere."""
    rng = np.random.default_rng(1)
    lower = rng.uniform(0.1, 0.3, shape)
    observed = lower + 0.1
    observed[1] = 0.9
    tail = np.full(shape, 0.4)
    tail[1] = 0.0
    parts = {"observed": observed, "lower": lower, "upper": lower + 0.2, "tail_probability": tail}
    people = [f"person {k}" for k in range(shape[0])]
    return xr.Dataset(
        {name: (("annotator", dim), values) for name, values in parts.items()},
        coords={"annotator": people, dim: list(names)},
    )


def marks(ax, marker):
    (line,) = [line for line in ax.lines if line.get_marker() == marker]
    return line.get_xdata(), line.get_ydata()


def test_a_panel_for_each_label_with_those_outside_marked():
    check = made()
    axes = dx.plots.label_check(check).axes
    assert [ax.get_title(loc="left") for ax in axes] == [
        "Share of a",
        r"Share of b\$",
        "Share of c",
    ]
    for k, ax in enumerate(axes):
        one = check.isel(label=k)
        x, y = marks(ax, "D")
        assert (x.tolist(), y.tolist()) == ([0.9], [1.0])
        x, y = marks(ax, "o")
        np.testing.assert_allclose(x, one["observed"].to_numpy()[y.astype(int)])
        (lines,) = ax.collections
        ends = np.array([segment[:, 0] for segment in lines.get_segments()])
        np.testing.assert_allclose(ends, np.stack([one["lower"], one["upper"]], axis=-1))


def test_numbers_have_panels_of_their_own_scale():
    check = made((4, 2), "statistic", ("mean", "standard deviation"))
    first, second = dx.plots.label_check(check).axes
    assert first.get_title(loc="left") == "Mean"
    assert not first.get_shared_x_axes().joined(first, second)
    assert first.get_shared_y_axes().joined(first, second)


def test_of_many_annotators_the_furthest_are_drawn_in_their_order():
    check = made((30, 3))
    check["tail_probability"][25] = 0.01
    figure = dx.plots.label_check(check, limit=2)
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["person 1", "person 25"]
    assert "2 of 30 annotators" in figure.get_supxlabel()


def test_what_is_undefined_is_not_marked():
    check = made()
    check["observed"][0] = check["tail_probability"][0] = np.nan
    figure = dx.plots.label_check(check, limit=5)
    figure.canvas.draw()
    assert len(marks(figure.axes[0], "D")[0]) == 1
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert "person 0" not in names


def test_refuses_what_is_not_a_check_of_annotators():
    with pytest.raises(ArgumentError, match=r"what dissensus\.label_check returns"):
        dx.plots.label_check(made()[["observed"]])
    with pytest.raises(ArgumentError, match=r"what dissensus\.label_check returns"):
        dx.plots.label_check(made().rename(annotator="item"))
