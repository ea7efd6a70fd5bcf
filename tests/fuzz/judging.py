"""What a call may do: return sound values or refuse in words. All else fails the test."""

from __future__ import annotations

import copy
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import dissensus as dx

HANG = 300
"""Seconds after which a call counts as hanging: far beyond compiling a kernel."""
LONGEST = 4000
"""Characters of a complaint that somebody would still read."""

TALLY: Counter[tuple[str, str]] = Counter()
"""How many calls of each area returned, and how many were refused; `make fuzz` prints it."""


@dataclass(frozen=True)
class Answer:
    """What a call returned, and what it warned of; `value` is None where it was refused."""

    value: Any
    warned: tuple[str, ...]
    refused: str = ""


def judged(area: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Answer:
    """Call a function and hold the call to the rules.

    It returns or raises a `DissensusError` that names the cause, warns of nothing but by a
    `DissensusWarning`, comes back at all, and leaves its arguments as they were.
    """
    before = [_kept(value) for value in (*args, *kwargs.values())]
    answer = _called(function, *args, **kwargs)
    for old, value in zip(before, (*args, *kwargs.values()), strict=True):
        assert same(old, value), f"{area} changed its argument {value!r}"
    TALLY[area, "refused" if answer.refused else "returned"] += 1
    return answer


def twice(area: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Answer:
    """Judge a call that must do the same when it is made again."""
    answer = judged(area, function, *args, **kwargs)
    again = _called(function, *args, **kwargs)
    assert answer.refused == again.refused
    assert same(answer.value, again.value), f"{area} returned something else the second time"
    return answer


def _called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Answer:
    with warnings.catch_warnings(record=True) as seen, _comes_back():
        warnings.simplefilter("always")
        try:
            value, refused = function(*args, **kwargs), ""
        except dx.DissensusError as problem:
            value, refused = None, complaint(problem)
    for warning in seen:
        assert issubclass(warning.category, dx.DissensusWarning), (
            f"{warning.category.__name__}: {warning.message} ({warning.filename}:{warning.lineno})"
        )
        assert str(warning.message).strip()
    return Answer(value, tuple(str(warning.message) for warning in seen), refused)


def complaint(problem: dx.DissensusError) -> str:
    """Check that an error can be read and names its cause; return what it says."""
    text = str(problem)
    for part in ("subject", "expected", "found"):
        assert str(getattr(problem, part)).strip(), f"no {part} in: {text!r}"
    assert len(text) < LONGEST, f"{len(text)} characters: {text[:200]!r}..."
    text.encode("utf-8")  # else it could not be printed
    return text


@contextmanager
def _comes_back():
    """Raise where a call hangs, if this thread is one that a signal can reach."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no answer within {HANG} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _kept(value: Any) -> Any:
    """Copy an argument, to see later whether it was changed."""
    if isinstance(value, xr.DataTree | xr.Dataset | xr.DataArray):
        return value.copy(deep=True)
    if isinstance(value, pd.DataFrame | pd.Series | np.ndarray):
        return value.copy()
    return copy.deepcopy(value) if isinstance(value, dict | list | np.random.Generator) else value


def same(first: Any, second: Any) -> bool:
    """Whether two things hold the same; missing is the same as missing."""
    if type(first) is not type(second):
        return False
    if isinstance(first, xr.DataTree):
        groups = [tree.to_dict(relative=True) for tree in (first, second)]
        return groups[0].keys() == groups[1].keys() and all(
            same(group, groups[1][name]) for name, group in groups[0].items()
        )
    # NaN in a list is no NaN to xarray.
    if isinstance(first, xr.DataArray) and first.dtype == object:
        return first.dims == second.dims and same(first.to_numpy(), second.to_numpy())
    if isinstance(first, xr.Dataset | xr.DataArray):
        return first.equals(second)
    if isinstance(first, pd.DataFrame | pd.Series):
        return first.equals(second)
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and repr(first.tolist()) == repr(second.tolist())
    if isinstance(first, Mapping):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, np.random.Generator):
        return True  # a generator moves on: that is what it is given for
    return first is second or repr(first) == repr(second)


def within(result: Any, low: float, high: float, *, slack: float = 1e-9) -> None:
    """Check that all numbers of a result that are none of NaN are within bounds."""
    for array in arrays(result):
        values = array.to_numpy()
        if values.dtype.kind not in "fiu":
            continue
        known = values[~np.isnan(values.astype(float))]
        assert (known >= low - slack).all(), f"{array.name}: {known.min()} below {low}"
        assert (known <= high + slack).all(), f"{array.name}: {known.max()} above {high}"


def explained(answer: Answer, *, but: tuple[str, ...] = ()) -> None:
    """Check that what is undefined comes with a warning, or with a note in its attributes."""
    bare = [
        array.name
        for array in arrays(answer.value)
        if array.dtype.kind == "f" and array.name not in but and bool(array.isnull().any())
    ]
    assert answer.warned or not bare, f"{bare} are NaN, and nothing was said"


def arrays(result: Any) -> list[xr.DataArray]:
    """Return the variables of a result."""
    if isinstance(result, xr.DataTree):
        return [array for node in result.subtree for array in node.data_vars.values()]
    if isinstance(result, xr.Dataset):
        return list(result.data_vars.values())
    return [result] if isinstance(result, xr.DataArray) else [xr.DataArray(result, name="number")]
