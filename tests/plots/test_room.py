"""Long names and sentences have room: no text lies on another, or ends beyond the figure."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.plots import _style


def places(texts):
    """Return the places of texts in pixels."""
    return [text.get_window_extent() for text in texts if text.get_text()]


@pytest.mark.parametrize("names", ["abc", ["like people, power 3", "a rather long name here", "c"]])
def test_names_of_systems_and_metrics_do_not_overlap(names):
    rng = np.random.default_rng(1)
    values = xr.DataArray(
        rng.uniform(0.4, 0.6, (1, 50, 3)), dims=("chain", "draw", "system"),
        coords={"system": list(names)},
    )  # fmt: skip
    metrics = ["top_1_accuracy", "sensitivity", "f1"]
    figure = dx.plots.forest(
        xr.Dataset(dict.fromkeys(metrics, values)), metrics
    ).viz["figure"].item()  # fmt: skip
    figure.draw_without_rendering()
    labels = places(figure.axes[0].texts)
    assert len(labels) == 3 + 3 * 3
    assert not any(a.overlaps(b) for a, b in combinations(labels, 2))
    assert all(place.x1 < figure.axes[1].bbox.x0 for place in labels)


@pytest.mark.parametrize("width", [4.0, 7.0])
def test_long_notes_are_folded(width):
    figure = _style.Picture(figsize=(width, 3), layout="constrained")
    figure.add_subplot()
    _style.note(figure, "A sentence of many words that says what is in the picture. " * 4)
    assert len(figure.texts) == 1
    figure.draw_without_rendering()
    (place,) = places(figure.texts)
    assert 0 <= place.x0 < place.x1 <= figure.bbox.x1
    assert place.y1 < figure.axes[0].bbox.y0
