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
from dissensus.data.tables import DAY, TIME, kind_of
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
        raise ArgumentError(argument, expected=expected, found=repr(weights))
    values = _numbers(by_item(weights, items, argument, "weight"), argument, expected)
    check_values(values, argument)
    return values


def check_values(values: Floats, argument: str) -> None:
    """Raise unless weights are finite, not negative and not all 0; the last axis is the item."""
    any_positive = (values > 0).any(axis=-1)  # a sum of weights could overflow
    if not np.isfinite(values).all() or (values < 0).any() or not any_positive.all():
        expected = "finite, non-negative weights, at least one of them positive"
        description = f"values from {values.min()} to {values.max()}"
        raise ArgumentError(argument, expected=expected, found=description)


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
        return _names(list(given)), _objects(given.values())
    if isinstance(given, pd.Series):
        many = isinstance(given.index, pd.MultiIndex)
        return _names(list(given.index)) if many else given.index.to_numpy(), given.to_numpy()
    listed = isinstance(given, list | tuple)
    if np.ma.is_masked(given) or (listed and any(value is np.ma.masked for value in given)):
        raise ArgumentError(argument, expected=f"a {noun} for every item", found="masked values")
    return None, _objects(given) if listed else np.asarray(given)


def _names(given: list[Any]) -> Names:
    """Return names as an array; tuples become text, because NumPy would make rows of them."""
    return np.asarray([repr(name) if isinstance(name, tuple) else name for name in given])


def _objects(given: Collection[Any]) -> Names:
    """Return an array of objects: NumPy would convert the 1 in ``[1, "a"]`` to text."""
    return np.fromiter(given, dtype=object, count=len(given))


def _goes_by_place(index: pd.Index[Any], items: Names, argument: str, noun: str) -> bool:
    """Return whether a Series is matched by place: its index is pandas' default, not items."""
    if not isinstance(index, pd.RangeIndex) or not index.equals(pd.RangeIndex(len(index))):
        return False
    place = places(index.to_numpy(), items)
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
    doubled = pd.Index(names).duplicated()
    if doubled.any():
        description = f"{shown(list(names[doubled]))} more than once"
        raise ArgumentError(argument, expected=f"one {noun} for each item", found=description)
    place = places(names, items)
    if (place < 0).any():
        lacking = items[place < 0]
        description = f"none for {len(lacking)} of them: {shown(list(lacking))}"
        raise ArgumentError(argument, expected=f"a {noun} for every item", found=description)
    return place


def places(names: Names, items: Names) -> Ints:
    """Return the place of each item in ``names``, -1 if missing; dates and times match as text."""
    place = np.full(len(items), -1, dtype=np.int64)
    for spelled in _spellings(names) if items.dtype.kind in "OUT" else [names]:
        place = np.where(place < 0, tables.match(items, spelled), place)
    return place


def _spellings(names: Names) -> list[Names]:
    """Return dates and times as text, in each unit that is exact; other names unchanged.

    Annotations store the names of items as text, in the longest unit that is exact for all items:
    in days, unless one item has hours.
    """
    kinds = {kind_of(name) for name in names} if names.dtype.kind == "O" else set()
    if names.dtype.kind != "M" and not (kinds and kinds <= {DAY, TIME}):
        return [names]
    cells = pd.Series(names, dtype=object)
    zoned = [getattr(cell, "tzinfo", None) is not None for cell in cells]
    if all(zoned):
        return [np.array([time.isoformat() for time in pd.to_datetime(cells, utc=True)])]
    if any(zoned):
        return [names]  # times with and without time zone are not comparable
    times = pd.DatetimeIndex(cells).to_numpy()
    shorter = [times.astype(f"datetime64[{unit}]") for unit in ("D", "s", "ms", "us", "ns")]
    return [np.where(each == times, np.datetime_as_string(each), "") for each in shorter]
