"""Labels that the prior expects beside those observed, and histograms of ICC and correlation."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.errors import ArgumentError

SAMPLE = ("chain", "draw")


def made(dim="label", pools=0):
    """What `dissensus.prior_predictive` returns, of made-up draws."""
    rng = np.random.default_rng(1)
    coords = {"label": ["bad", "fair", "good"]}
    if dim == "bin":
        coords = {"bin_lower": ("bin", [0.0, 2.0, 4.0]), "bin_upper": ("bin", [2.0, 4.0, 6.0])}
    draws = rng.dirichlet(np.ones(3), (1, 200))
    parts = {"observed": (dim, [0.2, 0.3, 0.5]), "replicated": ((*SAMPLE, dim), draws),
             "icc": (SAMPLE, rng.uniform(size=(1, 200)))}  # fmt: skip
    if pools:
        values = np.broadcast_to(np.eye(pools), (1, 200, pools, pools)).copy()
        rows, columns = np.triu_indices(pools, 1)
        values[..., rows, columns] = rng.uniform(-1, 1, (1, 200, len(rows)))
        parts["correlation"] = ((*SAMPLE, "pool", "pool_"), values)
    return xr.Dataset(parts, coords=coords)


def test_bars_are_means_and_marks_are_what_was_observed():
    found = made()
    labels, icc = dx.plots.prior_predictive(found).axes
    heights = [bar.get_height() for bar in labels.patches]
    np.testing.assert_allclose(heights, found["replicated"].mean(SAMPLE))
    assert labels.lines[0].get_ydata().tolist() == [0.2, 0.3, 0.5]
    assert [text.get_text() for text in labels.get_xticklabels()] == ["bad", "fair", "good"]
    assert sum(bar.get_height() for bar in icc.patches) == 200
    assert icc.lines[0].get_xdata()[0] == float(found["icc"].median())


def test_numbers_are_drawn_as_steps_over_their_bins():
    labels = dx.plots.prior_predictive(made("bin")).axes[0]
    steps = labels.patches[-1].get_data()
    assert steps.edges.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert steps.values.tolist() == [0.2, 0.3, 0.5]


def test_every_pair_of_pools_counts_once():
    axes = dx.plots.prior_predictive(made(pools=3)).axes
    assert axes[2].get_title(loc="left") == "Correlation of two pools"
    assert sum(bar.get_height() for bar in axes[2].patches) == 3 * 200


def test_refuses_what_is_not_of_a_prior():
    with pytest.raises(ArgumentError, match=r"what dissensus\.prior_predictive returns"):
        dx.plots.prior_predictive(made()[["observed"]])
