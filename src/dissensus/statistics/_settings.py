"""Settings of statistics that are no names: flags, numbers, and names found in the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data import tables
from dissensus.errors import ArgumentError, brief

LARGEST: Final = 2**63 - 1
"""No file holds a larger whole number."""


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number; true, false and lengths of time are none.

    Examples
    --------
    >>> is_whole(3), is_whole(np.int8(3)), is_whole(True), is_whole(3.0)
    (True, True, False, False)
    """
    fits = isinstance(value, int | np.integer)
    return fits and not isinstance(value, bool | np.timedelta64)


def real(value: Any) -> float:
    """Return a number, NaN for what is none, and an infinity for what no float can hold.

    Examples
    --------
    >>> real(1), real(0.5), real("0.5"), real(True), real(10**400)
    (1.0, 0.5, nan, nan, inf)
    """
    if not is_whole(value) and not isinstance(value, float | np.floating):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number, or raise."""
    if not is_whole(value) or not least <= int(value) <= LARGEST:
        raise ArgumentError(name, expected=f"a whole number, {least} or more", found=brief(value))
    return int(value)


def proportion(name: str, value: Any) -> float:
    """Return a number from 0 to below 1, or raise."""
    number = real(value)
    if not 0 <= number < 1:
        raise ArgumentError(name, expected="a number from 0 to below 1", found=brief(value))
    return number


def names_in(name: str, values: Any, expected: str) -> npt.NDArray[Any]:
    """Return names given in a sequence, to look up with `dissensus.data.tables.match`, or raise.

    Of text and numbers together, numbers are spelled out: an array holds one kind of thing.

    Examples
    --------
    >>> names_in("pools", ("crowd", 2), "two names").tolist()
    ['crowd', '2']
    """
    row = np.iterable(values) and getattr(values, "ndim", 1) == 1
    if not row or isinstance(values, str | bytes | set | frozenset | Mapping):
        raise ArgumentError(name, expected=expected, found=brief(values))
    given = [_plain(value) for value in values]
    if not all(_is_name(value) for value in given):
        raise ArgumentError(name, expected=expected, found=brief(values))
    if any(isinstance(value, str) for value in given):
        return np.array([str(value) for value in given], dtype=object)
    return np.asarray(given)


def code_of(label: Any, labels: npt.NDArray[Any]) -> int:
    """Return the place of a label among the labels, -1 if it is none of them.

    True and False are 1 and 0, as where annotations are read.

    Examples
    --------
    >>> code_of(True, np.array([0, 1])), code_of([], np.array([0, 1]))
    (1, -1)
    """
    label = _plain(label)
    if not _is_name(label):
        return -1
    label = int(label) if isinstance(label, bool) else label
    return int(tables.match(np.array([label]), labels)[0])


def spelled(values: Any) -> list[str]:
    """Return names as text: attributes of a file are lists of one kind of thing."""
    return [str(value) for value in values]


def plain_label(label: Any) -> Any:
    """Return a label as text or a number, not as NumPy holds it."""
    return getattr(label, "item", lambda: label)()


def _plain(value: Any) -> Any:
    """Take a value out of an array of no dims, and NumPy's numbers and text for Python's."""
    if isinstance(value, np.generic | np.ndarray | xr.DataArray) and not value.ndim:
        return value.item()
    return value


def _is_name(value: Any) -> bool:
    """Whether annotators, pools and labels can be called so."""
    if isinstance(value, str):  # half of a surrogate pair is refused where data are read
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return isinstance(value, Real | Decimal)
