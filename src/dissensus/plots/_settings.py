"""The settings that pictures share, checked in one place before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dissensus.errors import ArgumentError, brief

_COUNTS: Final = frozenset({"limit", "candidates", "bins"})
_ARRAYS: Final = frozenset({"naive", "truth", "point"})


def check(given: Mapping[str, Any]) -> None:
    """Check the settings of a picture that others have too; None is for the picture to judge.

    Examples
    --------
    >>> check({"limit": "all"})
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: limit: expected a whole number, 1 or more; found 'all'
    """
    for name, value in given.items():
        if value is not None or name in _COUNTS:
            _check(name, value)


def _check(name: str, value: Any) -> None:
    expected = ""
    if name in _COUNTS and not _whole(value):
        expected = "a whole number, 1 or more"
    elif name in _ARRAYS and not isinstance(value, xr.DataArray):
        expected = "an xarray.DataArray"
    elif name in {"metric", "scope"} and not isinstance(value, str):
        expected = "the name of one"
    elif name in {"metrics", "statistics"} and not _names(value):
        expected = "the name of one, or a list of names"
    elif name == "ax" and not isinstance(value, Axes):
        expected = "axes of Matplotlib, or None"
    elif name == "figsize" and not _size(value):
        expected = "a width and a height in inches, such as (6, 4) or (6, None)"
    elif name in {"margin", "reliability"} and not _number(value):
        expected = "a finite number"
    elif name == "ci_kind" and not (isinstance(value, str) and value in {"eti", "hdi"}):
        expected = "'eti' or 'hdi'"
    elif name == "ci_prob" and not (_number(value) and 0 < value < 1):
        expected = "a number between 0 and 1"
    if expected:
        raise ArgumentError(name, expected=expected, found=brief(value))


def _names(value: Any) -> bool:
    each = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    return all(isinstance(one, str) for one in each)


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def _number(value: Any) -> bool:
    real = isinstance(value, Real | np.number) and not isinstance(value, bool | complex)
    return real and bool(abs(value) < np.inf)


def _size(value: Any) -> bool:
    """Whether a value is a pair of inches: some of them, and not so many that no page has them."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
        return False
    return all(part is None or (_number(part) and 0.1 <= part <= 600) for part in value)
