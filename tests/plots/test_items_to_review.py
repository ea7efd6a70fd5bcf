"""The picture of items to send back: points and lines are where the numbers are."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx


def made(gain=(0.3, 0.2, 0.1, 0.1, 0.0), right=(0.5, 0.6, 0.6, 0.7, 0.9)):
    gain, right = np.array(gain), np.array(right)
    columns = {"gain": gain, "probability_right": right, "probability_right_after": right + gain}
    return xr.Dataset(
        {name: ("item", values) for name, values in columns.items()},
        coords={"item": [f"case {k}" for k in range(len(gain))]}, attrs={"further": 2},
    )  # fmt: skip


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [3, 4, 0, 2, 1]])
def test_points_are_before_and_after_and_the_line_is_the_expected_accuracy(order):
    data = made()
    figure = dx.plots.items_to_review(data.isel(item=order))
    first, along = figure.axes
    np.testing.assert_allclose(np.sort(first.lines[0].get_xdata()), [0.5, 0.6, 0.6, 0.7])
    np.testing.assert_allclose(first.lines[1].get_xdata()[:2], [0.8, 0.8])
    assert [text.get_text() for text in first.get_yticklabels()][:2] == ["case 0", "case 1"]
    assert texts(first)[:2] == ["+.30", "+.20"]
    now, line, half = along.lines[:3]
    assert now.get_ydata()[0] == pytest.approx(0.66)
    np.testing.assert_array_equal(line.get_xdata(), [0, 1, 2, 3, 4])
    np.testing.assert_allclose(line.get_ydata()[0], 0.66)
    np.testing.assert_allclose(line.get_ydata()[-1], 0.66 + 0.7 / 5)
    assert half.get_xdata()[0] == 2
    assert texts(along) == ["now .66", "2 items: .76", "4 items: .80"]
    assert figure.get_supxlabel().startswith("2 further labels for each item")


def test_only_so_many_items_are_named():
    figure = dx.plots.items_to_review(made(), limit=2)
    assert len(figure.axes[0].get_yticks()) == 2
    assert figure.get_supxlabel().endswith("2 more items gain too.")


def test_nothing_to_gain_is_said():
    figure = dx.plots.items_to_review(made(gain=(0.0,) * 5), figsize=(3.7, None))
    assert figure.get_supxlabel().endswith("\nNo item gains anything by them.")
    figure.canvas.draw()
    one = dx.plots.items_to_review(made(gain=(0.0,), right=(1.0,)))
    one.canvas.draw()


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        (lambda data: data[["gain"]], {}, "source: expected gains of items"),
        (lambda data: data.isel(item=[]), {}, "source: .*with something to draw"),
        (lambda data: data, {"limit": 0}, "limit: expected a whole number"),
        (lambda data: data, {"limit": True}, "limit: expected a whole number"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, more, words):
    with pytest.raises(dx.ArgumentError, match=words):
        dx.plots.items_to_review(change(made()), **more)
