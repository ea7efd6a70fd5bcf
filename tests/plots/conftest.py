"""One evaluation of each form of plausibilities, and figures that leave nothing behind."""

from __future__ import annotations

from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import stored
import xarray as xr


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a screen, and check that no figure stays in pyplot's list unless ArviZ's."""
    before = mpl.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="session")
def dense():
    """Three labels, so that the triangle can be drawn; four systems; two models."""
    return whole("dense")


@pytest.fixture(scope="session")
def candidates():
    """Partial rankings, hence candidates with a remainder, and two models by default."""
    return whole("candidates")


def whole(name):
    """Return a stored evaluation with all that a picture may be asked of."""
    result = stored.read(name)
    for group, data in _beside().children.items():
        result[group] = data.to_dataset()
    result["weighted_reliability"] = _reliability()
    result["discrepancy_curve"] = _along_thresholds(result["metrics"]["system"].to_numpy())
    result["calibration"] = calibrated(result["metrics"]["system"].to_numpy())
    return result


def calibrated(systems):
    """Calibration curves, which an evaluation without probabilities has not; one bin is empty."""
    rng = np.random.default_rng(2)
    shape = (len(systems), 4)
    size = rng.integers(1, 30, shape).astype(float)
    size[:, 0] = 0
    draws = np.where(size > 0, rng.uniform(0.1, 0.9, (2, 30, *shape)), np.nan)
    where = np.where(size > 0, rng.uniform(0.1, 0.9, shape), np.nan)
    dims = ("system", "bin")
    variables = {"calibration": (("chain", "draw", *dims), draws), "n_items": (dims, size),
                 "mean_probability": (dims, where)}  # fmt: skip
    coords = {"system": systems, "bin": [0.125, 0.375, 0.625, 0.875]}
    return xr.Dataset(variables, coords)


@cache
def _beside():
    return stored.read("beside")


def _reliability():
    """Draws of one reliability, which an evaluation may have beside it."""
    draws = np.random.default_rng(1).beta(58, 42, size=(2, 100))
    return xr.Dataset({"weighted_reliability": (("chain", "draw"), draws)})


def _along_thresholds(systems):
    """Draws of a curve, which an evaluation without scores has not, but may have beside it."""
    draws = np.random.default_rng(1).uniform(0.8, 1.4, size=(1, 30, len(systems), 4))
    coords = {"system": systems, "threshold": [0.2, 0.4, 0.6, 0.8]}
    dims = ("chain", "draw", "system", "threshold")
    return xr.DataArray(draws, coords, dims, name="discrepancy_curve").to_dataset()


@pytest.fixture(params=["dense", "candidates"])
def evaluation(request):
    return request.getfixturevalue(request.param)
