"""One evaluation of each form of plausibilities, and figures that leave nothing behind."""

from __future__ import annotations

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
def beside():
    """What no evaluation has, but a picture may be asked of."""
    return stored.read("beside")


@pytest.fixture(scope="session")
def dense(beside):
    """Three labels, so that the triangle can be drawn; four systems; two models."""
    return _with(stored.read("dense"), beside)


@pytest.fixture(scope="session")
def candidates(beside):
    """Partial rankings, hence candidates with a remainder, and two models by default."""
    return _with(stored.read("candidates"), beside)


def _with(result, beside):
    for name, group in beside.children.items():
        result[name] = group.to_dataset()
    result["weighted_reliability"] = _reliability()
    result["discrepancy_curve"] = _along_thresholds(result["metrics"]["system"].to_numpy())
    return result


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
