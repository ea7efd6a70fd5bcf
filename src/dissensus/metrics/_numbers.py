"""Plain numbers in, with or without names: what is checked, and how results are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.dims import SAMPLE
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Floats

Numbers = xr.DataArray | Floats
WHOLE = "whole numbers, 1 or more"


def numbers(
    argument: str, given: Any, wanted: str, good: Callable[[Floats], npt.NDArray[np.bool_]]
) -> Numbers:
    """Return numbers as given, those of a DataArray with their names, or raise.

    Examples
    --------
    >>> numbers("k", [1, -2, 0], "positive numbers", lambda x: x > 0)
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: k: expected positive numbers; found -2 and 1 more
    """
    try:
        values = np.asarray(given)
    except (TypeError, ValueError) as error:  # a DataTree; a ragged list
        raise ArgumentError(argument, expected=wanted, found=brief(given)) from error
    if isinstance(given, xr.Dataset) or values.dtype.kind not in "iuf":
        raise ArgumentError(argument, expected=wanted, found=brief(given))
    bad = values[~good(values.astype(np.float64))]
    if bad.size:
        raise ArgumentError(
            argument, expected=wanted,
            found=f"{bad.flat[0]}" + (f" and {bad.size - 1} more" if bad.size > 1 else ""),
        )  # fmt: skip
    return given.astype(np.float64) if isinstance(given, xr.DataArray) else values.astype(float)


def shares(argument: str, given: Any, wanted: str) -> Numbers:
    """Return numbers from 0 to 1 as given, or raise; NaN, an undefined draw, stays one.

    Examples
    --------
    >>> shares("accuracy", [0.5, 1], "accuracies, from 0 to 1")
    array([0.5, 1. ])
    """
    return numbers(argument, given, wanted, lambda x: np.isnan(x) | ((x >= 0) & (x <= 1)))


def one_number(
    argument: str, given: Any, wanted: str, good: Callable[[Floats], npt.NDArray[np.bool_]]
) -> float:
    """Return a single number, or raise.

    Examples
    --------
    >>> one_number("target", 0.95, "a number between 0 and 1", lambda x: (x > 0) & (x < 1))
    0.95
    """
    found = numbers(argument, given, wanted, good)
    if isinstance(found, xr.DataArray) or found.ndim:
        raise ArgumentError(argument, expected=wanted, found=brief(given))
    return float(found)


def label_count(n_labels: Any) -> int:
    """Return how many labels there are, or raise.

    Examples
    --------
    >>> label_count(1)
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: n_labels: expected a whole number, 2 or more, to 2**62; found 1
    """
    wanted = "a whole number, 2 or more, to 2**62"
    found = one_number(
        "n_labels", n_labels, wanted, lambda x: is_whole(x) & (x >= 2) & (x <= 2.0**62)
    )
    return int(found)


def is_whole(values: Floats) -> npt.NDArray[np.bool_]:
    """Return which numbers are whole and finite.

    Examples
    --------
    >>> is_whole(np.array([1.0, 1.5, np.inf]))
    array([ True, False, False])
    """
    return np.isfinite(values) & (values == np.rint(values))


def named(out: Any, name: str, better: str) -> Any:
    """Name a result if what it came from had names, with draws in front; else a float or array."""
    if not isinstance(out, xr.DataArray):
        return out if np.ndim(out) else float(out)
    front = [dim for dim in SAMPLE if dim in out.dims]
    out = out.transpose(*front, ...).rename(name)
    out.attrs = {"better": better}
    return out
