"""Checks of the arguments that all simulations share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.errors import ArgumentError


def count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least ``least``, or raise naming the argument."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ArgumentError(name, expected=f"a whole number, {least} or more", found=repr(value))
    return int(value)


def positive(name: str, value: Any) -> float:
    """Return a finite number above 0, or raise naming the argument."""
    if not _is_number(value) or value <= 0:
        raise ArgumentError(name, expected="a finite number > 0", found=repr(value))
    return float(value)


def probability(name: str, value: Any, *, sure: bool = True) -> float:
    """Return a number from 0 to 1 (below 1, unless it may be ``sure``), or raise."""
    if not _is_number(value) or not 0 <= value <= 1 or (value == 1 and not sure):
        expected = f"a number in [0, 1{']' if sure else ')'}"
        raise ArgumentError(name, expected=expected, found=repr(value))
    return float(value)


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        return number and bool(np.isfinite(float(value)))
    except OverflowError:  # an integer beyond floats
        return False


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return one of the allowed words, or raise naming the argument."""
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(name, expected=f"one of {allowed}", found=repr(value))
    return value


def numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return a flat array of one or more finite numbers, or raise naming the argument."""
    listed = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)
    try:
        array = np.asarray(values if listed else [], dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        raise ArgumentError(
            name, expected="a sequence of one or more finite numbers", found=repr(values)
        )
    return array


def number(name: str, value: Any, least: float = -np.inf) -> float:
    """Return a finite number of at least ``least``, or raise naming the argument."""
    if not _is_number(value) or value < least:
        bound = "" if least == -np.inf else f" >= {least:g}"
        raise ArgumentError(name, expected=f"a finite number{bound}", found=repr(value))
    return float(value)


def is_listed(value: Any) -> bool:
    """Say whether an argument holds several values; text is one."""
    several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return several or (isinstance(value, np.ndarray) and value.ndim > 0)


def per_pool[T](name: str, value: Any, n_pools: int, one: Callable[[str, Any], T]) -> list[T]:
    """Return a value for each pool, each checked by ``one``: from one for all, or one for each."""
    if not is_listed(value):
        return [one(name, value)] * n_pools
    if len(value) != n_pools:
        several = f", or one for each of {n_pools} pools" if n_pools > 1 else ""
        raise ArgumentError(name, expected=f"one value{several}", found=repr(value))
    return [one(f"{name}[{place}]", entry) for place, entry in enumerate(value)]
