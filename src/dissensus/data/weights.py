"""Weights and clusters of items as people give them: by place, or by name."""

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

    Parameters
    ----------
    weights : array-like (item), mapping from item to weight, or DataArray (item)
        Need not sum to 1. By place or by name, as `by_item` says.
    items : array of names
        Of the data.
    argument : str
        What the caller calls the weights.
    also : str
        What else the caller takes, for the complaint.

    Raises
    ------
    ArgumentError
        If weights are no numbers, negative, not finite, all zero, or of another length than the
        items.

    Examples
    --------
    >>> item_weights({"b": 2, "a": 1}, np.array(["a", "b"]), "weights")
    array([1., 2.])
    """
    expected = f"None, numbers{also}"
    if isinstance(weights, str):
        raise ArgumentError(argument, expected=expected, found=repr(weights))
    values = _numbers(by_item(weights, items, argument, "weight"), argument, expected)
    check_values(values, argument)
    return values


def check_values(values: Floats, argument: str) -> None:
    """Check weights whose last axis is the items."""
    some = (values > 0).any(axis=-1)  # a sum could be too large to hold
    if not np.isfinite(values).all() or (values < 0).any() or not some.all():
        raise ArgumentError(
            argument,
            expected="finite, non-negative weights, one of them positive",
            found=f"values from {values.min()} to {values.max()}",
        )


def _numbers(values: Names, argument: str, expected: str) -> Floats:
    """Return numbers as floats. NumPy would read text and dates as numbers too."""
    cells = values.tolist() if values.dtype.kind == "O" else []
    wrong = next((cell for cell in cells if isinstance(cell, str | bytes)), None)
    if wrong is not None or values.dtype.kind not in "biufO":
        wrong = values.tolist()[0] if wrong is None else wrong
        raise ArgumentError(
            argument, expected=expected, found=f"{type(wrong).__name__}, such as {wrong!r}"
        )
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise ArgumentError(argument, expected=expected, found=str(problem)) from problem


def by_item(given: Any, items: Names, argument: str, what: str) -> Names:
    """Return what is given for each item, in the order of the items.

    Parameters
    ----------
    given : array-like (item), Series, DataArray (item), or mapping from item
        A DataArray with the coordinate ``item`` and a mapping are matched by name. So is a Series
        whose index holds the items, unless that is the default index 0, 1, ...: then by place, and
        an error if names say otherwise. All else is by place.
    items : array of names
        Of the data.
    argument, what : str
        What the caller calls the argument, and what there is one of for each item.

    Raises
    ------
    ArgumentError
        If an item has none or several, if the length is another, if values are masked, and where
        places and names disagree.

    Examples
    --------
    >>> by_item({"b": "x", "a": "y"}, np.array(["a", "b"]), "cluster", "cluster")
    array(['y', 'x'], dtype=object)
    """
    names, values = _parts(given, argument, what)
    if isinstance(given, pd.Series) and _goes_by_place(given.index, items, argument, what):
        names = None
    if names is not None:
        return values[by_name(names, items, argument, what)]
    if values.shape != (len(items),):
        odd = values.dtype == object and values.ndim == 0
        raise ArgumentError(
            argument,
            expected=f"one {what} for each of {len(items)} items",
            found=type(given).__name__ if odd else f"an array of shape {values.shape}",
        )
    return values


def _parts(given: Any, argument: str, what: str) -> tuple[Names | None, Names]:
    """Return the names that values come with, if any, and the values."""
    if isinstance(given, xr.DataArray):
        if given.dims != (ITEM,):
            raise ArgumentError(
                argument, expected=f"a DataArray over {ITEM!r}", found=f"dims {given.dims}"
            )
        return given[ITEM].to_numpy() if ITEM in given.coords else None, given.to_numpy()
    if isinstance(given, Mapping):
        return _names(list(given)), _objects(given.values())
    if isinstance(given, pd.Series):
        many = isinstance(given.index, pd.MultiIndex)
        return _names(list(given.index)) if many else given.index.to_numpy(), given.to_numpy()
    listed = isinstance(given, list | tuple)
    if np.ma.is_masked(given) or (listed and any(value is np.ma.masked for value in given)):
        raise ArgumentError(argument, expected=f"a {what} for every item", found="masked values")
    return None, _objects(given) if listed else np.asarray(given)


def _names(given: list[Any]) -> Names:
    """Return names as an array. Tuples, which name no item, would give it two dims."""
    return np.asarray([repr(name) if isinstance(name, tuple) else name for name in given])


def _objects(given: Collection[Any]) -> Names:
    """Return an array of the very values: NumPy would make text of None beside text."""
    return np.fromiter(given, dtype=object, count=len(given))


def _goes_by_place(index: pd.Index[Any], items: Names, argument: str, what: str) -> bool:
    """Return whether a Series has no names of items but pandas' numbers of rows."""
    if not isinstance(index, pd.RangeIndex) or not index.equals(pd.RangeIndex(len(index))):
        return False
    place = places(index.to_numpy(), items)
    if (place < 0).any():
        return True
    if len(index) == len(items) and (place != np.arange(len(items))).any():
        raise ArgumentError(
            argument,
            expected=f"a {what} for each item, by name or by place",
            found=f"a Series with the default index 0, 1, ... for the items {shown(list(items))}",
            hint="Pass a mapping from item, or by place an array (.to_numpy())",
        )
    return False


def by_name(names: Names, items: Names, argument: str, what: str = "weight") -> Ints:
    """Find the items among names that values come with; names of other items are left out."""
    doubled = pd.Index(names).duplicated()
    if doubled.any():
        raise ArgumentError(
            argument,
            expected=f"one {what} for each item",
            found=f"{shown(list(names[doubled]))} more than once",
        )
    place = places(names, items)
    if (place < 0).any():
        lacking = items[place < 0]
        raise ArgumentError(
            argument,
            expected=f"a {what} for every item",
            found=f"none for {len(lacking)} of them: {shown(list(lacking))}",
        )
    return place


def places(names: Names, items: Names) -> Ints:
    """Find each item among names, -1 where it is not: days and times by how they are spelled.

    Examples
    --------
    >>> places(np.array(["2020-05-02", "2020-05-01"], "M8[s]"), np.array(["2020-05-01", "x"]))
    array([ 1, -1])
    """
    place = np.full(len(items), -1, dtype=np.int64)
    for spelled in _spellings(names) if items.dtype.kind in "OUT" else [names]:
        place = np.where(place < 0, tables.match(items, spelled), place)
    return place


def _spellings(names: Names) -> list[Names]:
    """Spell days and times as annotations hold them, in every length that loses nothing.

    How long the names of items are depends on all of them: days are days, unless one has hours.
    """
    kinds = {kind_of(name) for name in names} if names.dtype.kind == "O" else set()
    if names.dtype.kind != "M" and not (kinds and kinds <= {DAY, TIME}):
        return [names]
    cells = pd.Series(names, dtype=object)
    zoned = [getattr(cell, "tzinfo", None) is not None for cell in cells]
    if all(zoned):
        return [np.array([time.isoformat() for time in pd.to_datetime(cells, utc=True)])]
    if any(zoned):
        return [names]  # nobody knows how far apart they are
    times = pd.DatetimeIndex(cells).to_numpy()
    shorter = [times.astype(f"datetime64[{unit}]") for unit in ("D", "s", "ms", "us", "ns")]
    return [np.where(each == times, np.datetime_as_string(each), "") for each in shorter]
