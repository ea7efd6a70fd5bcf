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
    return result


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
