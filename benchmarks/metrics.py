"""Metrics over many draws, against one bare pass of NumPy over the same array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr
from timing import Row, in_turns

import dissensus as dx

DRAWS, ITEMS, LABELS = 4000, 2000, 10


def rows(repeats: int) -> Iterator[Row]:
    """Measure metrics of dense plausibilities."""
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.ones(LABELS), (4, DRAWS // 4, ITEMS))
    names = np.arange(LABELS)
    plausibility = xr.DataArray(
        theta, dims=("chain", "draw", "item", "label"), name="plausibility",
        coords={"item": np.arange(ITEMS), "label": names},
    )  # fmt: skip
    labels = rng.integers(0, LABELS, (4, ITEMS))
    pred = dx.predictions(
        {"item": np.tile(np.arange(ITEMS), 4), "system": np.repeat(list("abcd"), ITEMS),
         "label": labels.ravel()}
    )  # fmt: skip
    single = pred.isel(system=[0])
    size = f"{DRAWS:,} draws x {ITEMS:,} items x {LABELS} labels"
    for name, ours, target in (
        ("top_k_accuracy", lambda: dx.top_k_accuracy(plausibility, single), "ratio <= 5"),
        ("top_k_accuracy of 4 systems", lambda: dx.top_k_accuracy(plausibility, pred), ""),
        (
            "top_k_accuracy of 4 systems, Bayesian bootstrap",
            lambda: dx.top_k_accuracy(plausibility, pred, weights="bayesian-bootstrap"),
            "",
        ),
        ("annotation_certainty", lambda: dx.annotation_certainty(plausibility), ""),
    ):
        times, peer = in_turns(repeats, ours, lambda: np.argmax(theta, axis=-1))
        yield Row(f"{name}, {size}", times, "numpy.argmax of the draws", peer, target)
