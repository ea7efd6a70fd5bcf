"""Metrics of lists of predictions against draws in chunks: sums of blocks, put together."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ITEM, SYSTEM
from dissensus.kernels.random import generator
from dissensus.metrics._align import check_labels, check_lists
from dissensus.metrics._blocks import PART, all_labels, by_block, coords_of, front
from dissensus.metrics._items import bootstrap_weights, check_bootstrap, over_items, weights_for

Score = Callable[..., xr.DataArray]
"""From some items' draws, their predictions and weights over them, if any, to scores (..., system),
or with ``per_item=True`` (..., item, system)."""


def lists_by_block(
    score: Score,
    theta: xr.DataArray,
    predictions: xr.Dataset,
    weights: Any,
    random_seed: Any,
    *,
    per_item: bool,
) -> xr.DataArray:
    """Score lists of predictions, block by block.

    Parameters
    ----------
    score : callable
        Scores a block.
    theta, predictions
        Draws in chunks, and lists of the same items in the same order.
    weights, random_seed
        As a metric takes them.
    per_item : bool
        Whether items are kept apart.
    """
    check_lists(predictions)
    check_labels(predictions, all_labels(theta))
    predictions = predictions.assign_coords({ITEM: theta[ITEM]})  # they may be spelled otherwise
    dims = front(theta)
    coords = coords_of(theta, dims) | {SYSTEM: predictions[SYSTEM].to_numpy()}
    if isinstance(weights, str):
        check_bootstrap(weights)
        return _bootstrapped(score, theta, predictions, random_seed, dims, coords)
    weights = weights_for(theta, weights)
    if weights is not None:
        return _weighted(score, theta, predictions, weights, dims, coords)
    if per_item:
        each = _each(score, summed=False)
        return by_block(each, theta, predictions, dims=[*dims, ITEM, SYSTEM], coords=coords)
    sums = by_block(
        _each(score, summed=True), theta, predictions, dims=[*dims, ITEM, SYSTEM], coords=coords,
        reduced=True,
    )  # fmt: skip
    # The sum and not the mean of means: counts are exact, and systems that are equal stay so.
    return sums.sum(ITEM, skipna=False) / theta.sizes[ITEM]


def _each(score: Score, *, summed: bool) -> Callable[..., xr.DataArray]:
    """Return a function of a block that scores its items one by one, and may sum the scores."""

    def scored(block: xr.DataArray, lists: xr.Dataset) -> xr.DataArray:
        found = score(block, lists, per_item=True)
        return found.sum(ITEM, skipna=False).expand_dims(ITEM) if summed else found

    return scored


def _bootstrapped(
    score: Score, theta: xr.DataArray, predictions: xr.Dataset, random_seed: Any,
    dims: list[Any], coords: dict[Any, Any],
) -> xr.DataArray:  # fmt: skip
    """Average with weights that each block draws for itself: an item's hang on its name."""
    rng = generator(random_seed, "item weights")
    state = deepcopy(rng)
    rng.integers(2**31)  # one that was passed goes on, as it does where draws are in memory

    def averaged(block: xr.DataArray, lists: xr.Dataset) -> xr.DataArray:
        drawn = bootstrap_weights(block, deepcopy(state)).assign_coords({ITEM: block[ITEM]})
        return _mean_and_weight(score, block, lists, drawn)

    return _together(averaged, theta, predictions, dims=dims, coords=coords)


def _weighted(
    score: Score, theta: xr.DataArray, predictions: xr.Dataset, weights: xr.DataArray,
    dims: list[Any], coords: dict[Any, Any],
) -> xr.DataArray:  # fmt: skip
    """Average with weights that are given."""
    if weights.dims == (ITEM,):  # an item of weight 0 is left out, even if its score is undefined
        kept = {ITEM: (weights > 0).to_numpy()}
        theta, predictions, weights = theta.isel(kept), predictions.isel(kept), weights.isel(kept)
    others = [dim for dim in weights.dims if dim not in {ITEM, *dims}]
    coords, dims = coords | coords_of(weights, others), [*dims, *others]
    named = weights.assign_coords({ITEM: theta[ITEM]})
    averaged = partial(_mean_and_weight, score)
    return _together(averaged, theta, predictions, named, dims=dims, coords=coords)


def _mean_and_weight(
    score: Score, block: xr.DataArray, lists: xr.Dataset, weights: xr.DataArray
) -> xr.DataArray:
    """Return a block's mean, and the weight that it has."""
    total = weights.sum(ITEM)
    mean = score(block, lists, weights).where(total > 0, 0.0)
    both = [mean, total.broadcast_like(mean)]
    return xr.concat(both, dim=PART, coords="minimal", compat="override").expand_dims(ITEM)


def _together(
    averaged: Callable[..., xr.DataArray], theta: xr.DataArray, *beside: Any,
    dims: list[Any], coords: dict[Any, Any],
) -> xr.DataArray:  # fmt: skip
    """Average the means of blocks, each with its weight."""
    both = by_block(
        averaged, theta, *beside, dims=[PART, *dims, ITEM, SYSTEM],
        coords=coords | {PART: np.arange(2)}, reduced=True,
    ).chunk({ITEM: -1})  # fmt: skip
    mean, weight = (both.isel({PART: part}, drop=True) for part in range(2))
    return over_items(mean, weight.isel({SYSTEM: 0}, drop=True)).transpose(*dims, SYSTEM)
