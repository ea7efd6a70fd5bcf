"""Averaging over items, which is where the second source of uncertainty enters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import tables
from dissensus.arrays.seeds import generator
from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError, shown

BOOTSTRAP = "bayesian-bootstrap"


def weights_for(
    scores: xr.DataArray, item_weights: Any = None, random_seed: Any = None
) -> xr.DataArray | None:
    """Return weights over items: None, the ones given, or a Dirichlet(1, ..., 1) draw per draw.

    Parameters
    ----------
    scores : xarray.DataArray
        Whose items (and draws) the weights are for.
    item_weights : None, array-like (item), mapping from item to weight, or "bayesian-bootstrap"
        Weights need not sum to 1. A DataArray with the coordinate ``item``, a mapping, and a
        Series with names for an index are matched by name, all else by place. A DataArray may
        have other dims besides, such as chain and draw: the average then has them too.
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
        if item_weights != BOOTSTRAP:
            raise ArgumentError(
                "item_weights",
                expected=f"None, an array, or {BOOTSTRAP!r}",
                found=repr(item_weights),
            )
        return bootstrap_weights(scores, random_seed)
    if isinstance(item_weights, xr.DataArray) and item_weights.dims != (ITEM,):
        return _with_other_dims(scores, item_weights)
    names, values = _given(item_weights)
    if names is not None:
        values = values[_by_name(names, scores[ITEM].to_numpy())]
    if values.shape != (scores.sizes[ITEM],):
        raise ArgumentError(
            "item_weights",
            expected=f"one weight for each of {scores.sizes[ITEM]} items",
            found=f"an array of shape {values.shape}",
        )
    _check_values(values)
    return xr.DataArray(values, dims=ITEM)


def _check_values(values: npt.NDArray[np.float64]) -> None:
    """Check weights whose last axis is the items."""
    if not np.isfinite(values).all() or (values < 0).any() or (values.sum(axis=-1) <= 0).any():
        raise ArgumentError(
            "item_weights",
            expected="finite, non-negative weights, one of them positive",
            found=f"values from {values.min()} to {values.max()}",
        )


def _with_other_dims(scores: xr.DataArray, weights: xr.DataArray) -> xr.DataArray:
    """Return weights that also differ between draws, or between kinds of weighting."""
    if ITEM not in weights.dims or ITEM not in weights.coords:
        raise ArgumentError(
            "item_weights",
            expected=f"a DataArray with {ITEM!r} among its dims, and names there",
            found=f"dims {weights.dims}",
        )
    place = _by_name(weights[ITEM].to_numpy(), scores[ITEM].to_numpy())
    weights = weights.isel({ITEM: place}).drop_vars(ITEM).transpose(..., ITEM)
    for dim in set(weights.dims) & set(scores.dims):
        if weights.sizes[dim] != scores.sizes[dim]:
            raise ArgumentError(
                "item_weights",
                expected=f"{scores.sizes[dim]} along {dim!r}",
                found=f"{weights.sizes[dim]}",
            )
    _check_values(weights.to_numpy())
    return weights


def _given(item_weights: Any) -> tuple[npt.NDArray[Any] | None, npt.NDArray[np.float64]]:
    """Return the names that weights come with, if any, and the weights."""
    names: Any = None
    if isinstance(item_weights, xr.DataArray):
        names = item_weights[ITEM].to_numpy() if ITEM in item_weights.coords else None
    elif isinstance(item_weights, Mapping):
        names, item_weights = list(item_weights), list(item_weights.values())
    elif isinstance(item_weights, pd.Series) and not isinstance(item_weights.index, pd.RangeIndex):
        names = item_weights.index
    try:
        values = np.asarray(item_weights, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ArgumentError(
            "item_weights",
            expected=f"None, numbers, or {BOOTSTRAP!r}",
            found=f"{type(item_weights).__name__} ({problem})",
        ) from problem
    return None if names is None else np.asarray(names), values


def _by_name(names: npt.NDArray[Any], items: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Find the items among named weights; names of other items are left out."""
    doubled = pd.Index(names).duplicated()
    if doubled.any():
        raise ArgumentError(
            "item_weights",
            expected="one weight for each item",
            found=f"{shown(list(names[doubled]))} more than once",
        )
    place = tables.match(items, names)
    if (place < 0).any():
        lacking = items[place < 0]
        raise ArgumentError(
            "item_weights",
            expected="a weight for every item",
            found=f"none for {len(lacking)} of them: {shown(list(lacking))}",
        )
    return place


def bootstrap_weights(scores: xr.DataArray, random_seed: Any = None) -> xr.DataArray:
    """Draw Dirichlet(1, ..., 1) weights, not normalised, over (chain, draw, item)."""
    missing = [dim for dim in SAMPLE if dim not in scores.dims]
    if missing:
        raise ArgumentError(
            "item_weights",
            expected=f"None or an array: {BOOTSTRAP!r} needs draws",
            found=f"dims {scores.dims}",
        )
    rng = generator(random_seed, "item weights")
    dims = (*SAMPLE, ITEM)
    drawn = rng.standard_exponential([scores.sizes[dim] for dim in dims])
    return xr.DataArray(drawn, dims=dims)


def over_items(scores: xr.DataArray, weights: xr.DataArray | None) -> xr.DataArray:
    """Average scores over items.

    A score that is undefined for one item makes the average undefined: to leave the item out would
    let one system be judged on fewer items than another. An item of weight 0 is left out.
    """
    if weights is None:
        return scores.mean(ITEM, skipna=False)
    if weights.dims == (ITEM,) and bool((weights == 0).any()):
        kept = (weights > 0).to_numpy()
        scores, weights = scores.isel({ITEM: kept}), weights.isel({ITEM: kept})
    # From the first item's score on, so that equal scores average to just that score: rounding
    # would make a constant vary by 1e-16, and pass the end of the scale.
    first = scores.isel({ITEM: 0}, drop=True)
    return first + xr.dot(scores - first, weights, dim=ITEM) / weights.sum(ITEM)
