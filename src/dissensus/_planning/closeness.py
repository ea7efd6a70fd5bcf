"""How close estimates of a system's accuracy come to the truth, over simulated studies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._planning.unknown_truth import ESTIMATORS, Found
from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, SCOPE, SCOPES, STUDY

_CELL = (ANNOTATOR, ITEM)


def closeness(
    found: Sequence[Sequence[Sequence[Found]]], annotators: list[int], items: list[int],
    within: float, assurance: float,
) -> xr.Dataset:  # fmt: skip
    """Sum up studies of each number of annotators and items.

    Parameters
    ----------
    found : sequence of sequence of sequence of Found
        (annotator, item, study)
    annotators, items : list of int
        Numbers of them.
    within : float
        How far off an estimate may be.
    assurance : float
        The share of studies in which it may not be further off.
    """
    one = _gathered(found).assign_coords(
        {ANNOTATOR: annotators, ITEM: items, SCOPE: list(SCOPES), ESTIMATOR: list(ESTIMATORS)}
    )
    close = abs(one["error"]) <= within + 1e-12  # false of NaN
    out = xr.Dataset(
        {
            **_share("within_share", close),
            **_root_mean_square("rmse", one["error"]),
            **_mean("bias", one["error"]),
            **_mean("half_width", one["half_width"]),
            **_share("coverage", one["covered"]),
            **_mean("observed_kappa", one["kappa"]),
            "undefined_share": one["error"].isnull().mean(STUDY),
            "poor_share": one["poor"].mean(STUDY),
        }
    )
    needed = xr.apply_ufunc(
        lambda shares: enough(items, shares, assurance), out["within_share"],
        input_core_dims=[[ITEM]], vectorize=True,
    )  # fmt: skip
    return out.assign(items_enough=needed)


def enough(items: Sequence[int], shares: npt.ArrayLike, assurance: float) -> float:
    """Return how many items it takes for a share, NaN if more than were tried.

    More items tell more, so that shares which fall are taken for chance and averaged; between two
    numbers tried they are taken to rise as the square root of items does.

    Examples
    --------
    >>> enough([100, 400], [0.8, 0.9], 0.85), enough([100, 400], [0.8, 0.9], 0.8)
    (225.0, 100.0)
    >>> enough([100, 400, 900], [0.8, 0.9, 0.8], 0.9)
    nan
    """
    from scipy.optimize import isotonic_regression

    rising = isotonic_regression(np.asarray(shares, dtype=np.float64)).x
    reached = np.flatnonzero(rising >= assurance - 1e-9)
    if not len(reached):
        return float("nan")
    place = int(reached[0])
    if place == 0:
        return float(items[0])
    low, high = rising[place - 1 : place + 1]
    before, after = np.sqrt(items[place - 1 : place + 1])
    root = before + (after - before) * min(1.0, (assurance - low) / (high - low))
    return float(np.ceil(root**2 - 1e-6))


def _gathered(found: Sequence[Sequence[Sequence[Found]]]) -> xr.Dataset:
    """Lay studies out as arrays."""

    def stacked(name: str, *dims: str) -> xr.DataArray:
        values = [[[getattr(one, name) for one in cell] for cell in row] for row in found]
        return xr.DataArray(np.asarray(values, dtype=np.float64), dims=(*_CELL, STUDY, *dims))

    return xr.Dataset(
        {
            "error": stacked("error", ESTIMATOR, SCOPE).transpose(ESTIMATOR, SCOPE, ...),
            "half_width": stacked("half_width", SCOPE).transpose(SCOPE, ...),
            "covered": stacked("covered", SCOPE).transpose(SCOPE, ...),
            "kappa": stacked("kappa"),
            "poor": stacked("poor"),
        }
    )


def _share(name: str, values: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return a share of studies, with its standard error: that of a uniform prior, never 0."""
    n = values.sizes[STUDY]
    yes = values.sum(STUDY)
    error = ((yes + 1.0) * (n - yes + 1.0) / (n + 3.0)) ** 0.5 / (n + 2.0)
    return {name: yes / n, f"{name}_error": error}


def _mean(name: str, values: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return a mean over studies, with its standard error; NaN where fewer than two have it."""
    n = values.notnull().sum(STUDY)
    mean = values.sum(STUDY) / n.where(n > 0)
    squares = ((values - mean) ** 2).sum(STUDY)
    return {name: mean, f"{name}_error": (squares / (n * (n - 1)).where(n > 1)) ** 0.5}


def _root_mean_square(name: str, values: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return the root of the mean square, with its standard error to first order."""
    square, error = _mean("", values**2).values()
    root = square**0.5
    return {name: root, f"{name}_error": error / (2.0 * root).where(root > 0)}
