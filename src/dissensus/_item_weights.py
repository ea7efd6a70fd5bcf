"""Weights over items as people give them: by place, or by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import tables
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, shown

Floats = npt.NDArray[np.float64]


def item_weights(weights: Any, items: npt.NDArray[Any], argument: str, also: str = "") -> Floats:
    """Return one weight for each item, in the order of the items.

    Parameters
    ----------
    weights : array-like (item), mapping from item to weight, or DataArray (item)
        Need not sum to 1. A DataArray with the coordinate ``item``, a mapping, and a Series with
        names for an index are matched by name, all else by place.
    items : array of names
        Of the data.
    argument : str
        What the caller calls the weights.
    also : str
        What else the caller takes, for the complaint.

    Raises
    ------
    ArgumentError
        If weights are negative, not finite, all zero, or of another length than the items.

    Examples
    --------
    >>> item_weights({"b": 2, "a": 1}, np.array(["a", "b"]), "weights")
    array([1., 2.])
    """
    names, values = _given(weights, argument, also)
    if names is not None:
        values = values[by_name(names, items, argument)]
    if values.shape != (len(items),):
        raise ArgumentError(
            argument,
            expected=f"one weight for each of {len(items)} items",
            found=f"an array of shape {values.shape}",
        )
    check_values(values, argument)
    return values


def check_values(values: Floats, argument: str) -> None:
    """Check weights whose last axis is the items."""
    if not np.isfinite(values).all() or (values < 0).any() or (values.sum(axis=-1) <= 0).any():
        raise ArgumentError(
            argument,
            expected="finite, non-negative weights, one of them positive",
            found=f"values from {values.min()} to {values.max()}",
        )


def _given(weights: Any, argument: str, also: str) -> tuple[npt.NDArray[Any] | None, Floats]:
    """Return the names that weights come with, if any, and the weights."""
    names: Any = None
    if isinstance(weights, xr.DataArray):
        names = weights[ITEM].to_numpy() if ITEM in weights.coords else None
    elif isinstance(weights, Mapping):
        names, weights = list(weights), list(weights.values())
    elif isinstance(weights, pd.Series) and not isinstance(weights.index, pd.RangeIndex):
        names = weights.index
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ArgumentError(
            argument,
            expected=f"None, numbers{also}",
            found=f"{type(weights).__name__} ({problem})",
        ) from problem
    return None if names is None else np.asarray(names), values


def by_name(
    names: npt.NDArray[Any], items: npt.NDArray[Any], argument: str
) -> npt.NDArray[np.int64]:
    """Find the items among named weights; names of other items are left out."""
    doubled = pd.Index(names).duplicated()
    if doubled.any():
        raise ArgumentError(
            argument,
            expected="one weight for each item",
            found=f"{shown(list(names[doubled]))} more than once",
        )
    place = tables.match(items, names)
    if (place < 0).any():
        lacking = items[place < 0]
        raise ArgumentError(
            argument,
            expected="a weight for every item",
            found=f"none for {len(lacking)} of them: {shown(list(lacking))}",
        )
    return place
