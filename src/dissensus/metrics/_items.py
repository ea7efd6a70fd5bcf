"""Averaging over items, which is where the second source of uncertainty enters."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError

BOOTSTRAP = "bayesian-bootstrap"


def weights_for(
    scores: xr.DataArray, item_weights: Any = None, random_seed: Any = None
) -> xr.DataArray | None:
    """Return weights over items: None, the ones given, or a Dirichlet(1, ..., 1) draw per draw.

    Parameters
    ----------
    scores : xarray.DataArray
        Whose items (and draws) the weights are for.
    item_weights : None, array-like (item), or "bayesian-bootstrap"
        Weights need not sum to 1.
    random_seed : int or numpy.random.Generator, optional
        For the bootstrap.

    Raises
    ------
    ArgumentError
        If weights are negative, not finite, all zero, or of another length than the items.
    """
    if item_weights is None:
        return None
    if isinstance(item_weights, str):
        return _bootstrap(scores, item_weights, random_seed)
    if isinstance(item_weights, xr.DataArray):
        weights = item_weights
        if ITEM in weights.coords and ITEM in scores.coords:
            weights = weights.reindex({ITEM: scores[ITEM]})
    else:
        weights = xr.DataArray(np.asarray(item_weights, dtype=np.float64), dims=ITEM)
    if weights.dims != (ITEM,) or weights.sizes[ITEM] != scores.sizes[ITEM]:
        raise ArgumentError(
            "item_weights",
            expected=f"one weight for each of {scores.sizes[ITEM]} items",
            found=f"dims {dict(weights.sizes)}",
        )
    values = weights.to_numpy()
    if not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise ArgumentError(
            "item_weights",
            expected="finite, non-negative weights, one of them positive",
            found=f"values from {values.min()} to {values.max()}",
        )
    return weights


def _bootstrap(scores: xr.DataArray, item_weights: str, random_seed: Any) -> xr.DataArray:
    missing = [dim for dim in SAMPLE if dim not in scores.dims]
    if item_weights != BOOTSTRAP or missing:
        raise ArgumentError(
            "item_weights",
            expected=f"None, an array, or {BOOTSTRAP!r} (which needs draws)",
            found=f"{item_weights!r} with dims {scores.dims}",
        )
    rng = np.random.default_rng(random_seed)
    dims = (*SAMPLE, ITEM)
    drawn = rng.standard_exponential([scores.sizes[dim] for dim in dims])
    return xr.DataArray(drawn, dims=dims)


def over_items(scores: xr.DataArray, weights: xr.DataArray | None) -> xr.DataArray:
    """Average scores over items."""
    if weights is None:
        return scores.mean(ITEM)
    return xr.dot(scores, weights, dim=ITEM) / weights.sum(ITEM)
