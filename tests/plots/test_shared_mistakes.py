"""The picture of accuracies along the share of mistakes that annotators share."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError


def made(shares=(0.0, 0.1, 0.2)):
    """System A falls, B rises until it cannot."""
    noise = 0.01 * np.random.default_rng(1).normal(size=(2, 100, 1, 1))
    means = np.array([[0.9, 0.7], [0.8, 0.8], [0.7, 1.0]])
    people = np.array([[0.6, 0.8], [0.5, 0.7], [0.4, 0.6]])
    return xr.Dataset(
        {
            "system_accuracy": (("chain", "draw", "share", "system"), noise + means),
            "annotator_accuracy": (("chain", "draw", "share", "annotator"), noise + people),
            "impossible": (("share", "system"), [[0, 0], [0, 0.1], [0, 0.9]]),
        },
        coords={"share": list(shares), "system": ["A", "B"]},
    )


def test_lines_are_at_the_means_and_end_where_they_cannot_be():
    data = made()
    (ax,) = dx.plots.shared_mistakes(data).axes
    mean = data["system_accuracy"].mean(("chain", "draw"))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), mean.sel(system="A"))
    np.testing.assert_allclose(ax.lines[1].get_ydata()[:2], mean.sel(system="B")[:2])
    assert np.isnan(ax.lines[1].get_ydata()[2])
    people = data["annotator_accuracy"].mean(("chain", "draw", "annotator"))
    np.testing.assert_allclose(ax.lines[2].get_ydata(), people)
    assert [text.get_text() for text in ax.texts] == ["A", "B"]
    np.testing.assert_allclose([text.xy[1] for text in ax.texts], [mean[2, 0], mean[1, 1]])


def test_bands_are_the_intervals():
    data = made()
    (ax,) = dx.plots.shared_mistakes(data, ci_kind="eti", ci_prob=0.5).axes
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    want = data["system_accuracy"].sel(system="A").quantile([0.25, 0.75], ("chain", "draw"))
    assert heights.min() == pytest.approx(want.min().item(), abs=1e-3)
    assert heights.max() == pytest.approx(want.max().item(), abs=1e-3)


def test_shares_in_any_order_and_the_best_systems_first():
    data = made()
    shuffled = data.isel(share=[2, 0, 1])
    one, two = (dx.plots.shared_mistakes(x, limit=1).axes[0] for x in (data, shuffled))
    np.testing.assert_array_equal(one.lines[0].get_xdata(), two.lines[0].get_xdata())
    np.testing.assert_allclose(one.lines[0].get_ydata(), two.lines[0].get_ydata())
    assert [text.get_text() for text in one.texts] == ["A"]


def test_one_share_or_no_systems_is_no_curve():
    data = made()
    for bad in (data.isel(share=0, drop=True), data[["annotator_accuracy"]]):
        with pytest.raises(ArgumentError, match="accuracies of systems along several shares"):
            dx.plots.shared_mistakes(bad)
