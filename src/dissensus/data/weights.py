"""Arguments with a value for each item, such as weights and clusters.

Values are matched with items by place, or by the names of items.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, shown
from dissensus.kernels.types import Floats, Ints, Names


def item_weights(weights: Any, items: Names, argument: str, also: str = "") -> Floats:
    """Return one weight for each item, in the order of the items.

    Weights are matched by place or by name, see `by_item`, and need not sum to 1. ``also``
    describes further values that the argument may have, for error messages.
    """
    expected = f"None, numbers{also}"
    if isinstance(weights, str):
        raise ArgumentError(
            argument, expected=expected, found=repr(weights),
            hint="For draws of a statistic: dissensus.bayesian_bootstrap(statistic, annotations)",
        )  # fmt: skip
    values = _numbers(by_item(weights, items, argument, "weight"), argument, expected)
    check_values(values, argument, items)
    return values


def check_values(values: Floats, argument: str, items: Names | None = None) -> None:
    """Raise unless weights are finite, not negative and not all 0; the last axis is the item.

    ``items`` are the names of the items, of which an error names the first with a wrong weight.
    """
    wrong = ~(np.isfinite(values) & (values >= 0))
    any_positive = (values > 0).any(axis=-1)  # a sum of weights could overflow
    if not wrong.any() and any_positive.all():
        return
    where, description = "", "a weight of 0 for all items"
    if wrong.any():
        first = np.unravel_index(wrong.argmax(), wrong.shape)
        where = "" if items is None else f"item {shown([items[first[-1]]])}"
        description = f"{values[first]} (such weights: {wrong.sum():,} of {wrong.size:,})"
    raise ArgumentError(
        argument, where=where, found=description,
        expected="finite, non-negative weights, at least one of them positive",
    )  # fmt: skip


def _numbers(values: Names, argument: str, expected: str) -> Floats:
    """Return numbers as floats, or raise; NumPy alone would also convert text and dates."""
    cells = values.tolist() if values.dtype.kind == "O" else []
    wrong = next((cell for cell in cells if isinstance(cell, str | bytes)), None)
    if wrong is not None or values.dtype.kind not in "biufO":
        wrong = values.tolist()[0] if wrong is None else wrong
        description = f"{type(wrong).__name__}, such as {wrong!r}"
        raise ArgumentError(argument, expected=expected, found=description)
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise ArgumentError(argument, expected=expected, found=str(problem)) from problem


def by_item(given: Any, items: Names, argument: str, noun: str) -> Names:
    """Return the value of each item, in the order of the items.

    A DataArray with the coordinate ``item``, a mapping, and a Series with items in the index are
    matched by name. All other values are matched by place, also a Series with the default index 0,
    1, ... Such a Series is an error if the items are named 0, 1, ... in another order.
    """
    names, values = _parts(given, argument, noun)
    if isinstance(given, pd.Series) and _goes_by_place(given.index, items, argument, noun):
        names = None
    if names is not None:
        return values[by_name(names, items, argument, noun)]
    if values.shape != (len(items),):
        odd = values.dtype == object and values.ndim == 0
        expected = f"one {noun} for each of {len(items)} items"
        description = type(given).__name__ if odd else f"an array of shape {values.shape}"
        raise ArgumentError(argument, expected=expected, found=description)
    return values


def _parts(given: Any, argument: str, noun: str) -> tuple[Names | None, Names]:
    """Return the names of the items (None if the values have no names), and the values."""
    if isinstance(given, xr.DataArray):
        if given.dims != (ITEM,):
            expected = f"a DataArray over {ITEM!r}"
            raise ArgumentError(argument, expected=expected, found=f"dims {given.dims}")
        return given[ITEM].to_numpy() if ITEM in given.coords else None, given.to_numpy()
    if isinstance(given, Mapping):
        return tables.named(given), _objects(given.values())
    if isinstance(given, pd.Series):
        many = isinstance(given.index, pd.MultiIndex)
        return tables.named(given.index) if many else given.index.to_numpy(), given.to_numpy()
    listed = isinstance(given, list | tuple)
    if np.ma.is_masked(given) or (listed and any(value is np.ma.masked for value in given)):
        raise ArgumentError(argument, expected=f"a {noun} for every item", found="masked values")
    return None, _objects(given) if listed else np.asarray(given)


def _objects(given: Collection[Any]) -> Names:
    """Return an array of objects: NumPy would convert the 1 in ``[1, "a"]`` to text."""
    return np.fromiter(given, dtype=object, count=len(given))


def _goes_by_place(index: pd.Index[Any], items: Names, argument: str, noun: str) -> bool:
    """Return whether a Series is matched by place: its index is pandas' default, not items."""
    if not isinstance(index, pd.RangeIndex) or not index.equals(pd.RangeIndex(len(index))):
        return False
    place = tables.match(items, index.to_numpy())
    if (place < 0).any():
        return True
    if len(index) == len(items) and (place != np.arange(len(items))).any():
        raise ArgumentError(
            argument,
            expected=f"a {noun} for each item, by name or by place",
            found=f"a Series with the default index 0, 1, ... for the items {shown(list(items))}",
            hint="Pass a mapping from item to value, or an array in item order (.to_numpy())",
        )
    return False


def by_name(names: Names, items: Names, argument: str, noun: str = "weight") -> Ints:
    """Return the place of each item in ``names``, or raise if an item is not there, or twice.

    Further names are ignored.
    """
    names = tables.stored(names, items)
    doubled = pd.Index(names).duplicated()
    if doubled.any():
        description = f"{shown(list(names[doubled]))} more than once"
        raise ArgumentError(argument, expected=f"one {noun} for each item", found=description)
    place = tables.match(items, names)
    if (place < 0).any():
        lacking = items[place < 0]
        description = f"none for {len(lacking)} of them: {shown(list(lacking))}"
        raise ArgumentError(argument, expected=f"a {noun} for every item", found=description)
    return place
