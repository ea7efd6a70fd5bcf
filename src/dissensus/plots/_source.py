"""Settings that pictures share, and taking what a picture needs out of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from dissensus.data import tables
from dissensus.dims import ITEM, RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import ArgumentError, brief, shown
from dissensus.wording import listed

# The settings that pictures share, checked in one place before anything is drawn.


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


# Taking what a picture needs out of an evaluation, or accepting the piece itself.


THESE, NEW = "these items", "new items"


_REASONS = {
    "accuracy": "truth_model", "components": "components", "weighted_reliability": "ground_truth",
}  # fmt: skip
"""Where an evaluation says why it has no such group."""


def group(source: Any, name: str) -> xr.Dataset:
    """Return a group of an evaluation, or the Dataset (or array) given in its place.

    Raises
    ------
    ArgumentError
        If the evaluation has no such group, nothing is in it, or the source is something else.
    """
    found = _group(source, name)
    bare = [str(dim) for dim, size in found.sizes.items() if not size]
    if bare or not found.data_vars:
        raise ArgumentError(
            "source", expected=f"{name!r} with something to draw",
            found=f"nothing along {listed(bare)}" if bare else "no variables",
        )  # fmt: skip
    return found


def _group(source: Any, name: str) -> xr.Dataset:
    if isinstance(source, xr.DataTree):
        if name in source.children and source[name].to_dataset().data_vars:
            return source[name].to_dataset()
        raise ArgumentError(
            "source",
            expected=f"an evaluation with a group {name!r}",
            found=f"groups {shown(list(source.children), 12)}",
            hint="Without predictions there are no metrics"
            if name in {"metrics", "comparison"}
            else str(source.attrs.get(_REASONS.get(name), "")),
        )
    if isinstance(source, xr.DataArray):
        return source.to_dataset(name=source.name or name)
    if isinstance(source, xr.Dataset):
        return source
    raise ArgumentError(
        "source", expected=f"an evaluation, or its {name!r}", found=type(source).__name__
    )


def draws_of(source: Any, function: str, names: Iterable[str], dim: str) -> xr.Dataset:
    """Return what a function of the library returned, with draws of these variables over a dim.

    Raises
    ------
    ArgumentError
        If it is something else, naming the function.
    """
    data = group(source, function)
    for name in names:
        if name not in data or set(data[name].dims) != {*SAMPLE, dim}:
            raise ArgumentError(
                "source", expected=f"draws of {name!r} ({dim})",
                found=f"the variables {shown(list(map(str, data.data_vars)))}",
                hint=f"dissensus.{function} returns them",
            )  # fmt: skip
    return data


def sides(evaluation: xr.DataTree) -> list[xr.DataTree]:
    """Return the evaluation and, if there is one, its companion: each with groups of its own."""
    beside = evaluation.children.get("companion")
    return [evaluation] if beside is None else [evaluation, beside]


def chosen(data: xr.Dataset, name: str | None) -> xr.DataArray:
    """Return one variable: the one named, or the first."""
    if name is None:
        return data[next(iter(data.data_vars))]
    if name not in data.data_vars:
        raise ArgumentError(
            "metric", expected=f"one of {shown(list(data.data_vars), 20)}", found=repr(name)
        )
    return data[name]


def reference(source: Any, data: xr.Dataset | xr.DataArray) -> float:
    """Return the reliability to show where one must be chosen."""
    if isinstance(source, xr.DataTree) and "reference_reliability" in source.attrs:
        return float(source.attrs["reference_reliability"])
    values = data[RELIABILITY].to_numpy()
    return float(values[len(values) // 2])


def at_reliability(
    data: xr.DataArray, source: Any, reliability: float | None
) -> tuple[xr.DataArray, float | None]:
    """Select one reliability; None where the data know of none.

    Raises
    ------
    ArgumentError
        If that reliability was not gone through.
    """
    if RELIABILITY not in data.dims:
        return data, None
    value = reference(source, data) if reliability is None else float(reliability)
    known = data[RELIABILITY].to_numpy()
    hit = np.flatnonzero(np.isclose(known, value))
    if not len(hit):
        raise ArgumentError(
            "reliability", expected=f"one of {shown(list(known), 20)}", found=repr(reliability)
        )
    return data.isel({RELIABILITY: int(hit[0])}, drop=True), value


def at_scope(data: xr.DataArray, scope: str) -> xr.DataArray:
    """Select whose uncertainty an interval speaks of, where the data tell the two apart."""
    if SCOPE not in data.dims:
        return data
    known = [str(name) for name in data[SCOPE].to_numpy()]
    if scope not in known:
        raise ArgumentError("scope", expected=f"one of {known}", found=repr(scope))
    return data.sel({SCOPE: scope}, drop=True)


def with_systems(data: xr.DataArray) -> xr.DataArray:
    """Return draws that have systems, and names for them."""
    missing = [dim for dim in SAMPLE if dim not in data.dims]
    if missing:
        raise ArgumentError(
            "source", expected=f"draws, with dims {SAMPLE}", found=f"dims {data.dims}"
        )
    if SYSTEM not in data.dims:
        data = data.expand_dims({SYSTEM: [data.coords.get(SYSTEM, xr.DataArray("")).item()]}, -1)
    if SYSTEM not in data.coords:
        data = data.assign_coords({SYSTEM: np.arange(data.sizes[SYSTEM])})
    return data


def leading(draws: xr.DataArray, limit: int) -> tuple[xr.DataArray, str]:
    """Order systems by their mean, best first, and keep the first few, with a note if not all.

    The place in the unordered list, by which a system has its colour, goes along as the
    coordinate ``place``.
    """
    over = [dim for dim in draws.dims if dim != SYSTEM]
    mean = draws.mean(over).to_numpy()
    sign = 1 if draws.attrs.get("better") == "lower" else -1
    order = np.argsort(np.where(np.isnan(mean), np.inf, sign * mean), kind="stable")
    draws = draws.assign_coords(place=(SYSTEM, np.arange(len(mean))))
    text = ""
    if len(order) > limit:
        text = f"The {limit} best of {len(order):,} systems; the others are left out."
    return draws.isel({SYSTEM: order[:limit]}), text


def interval(
    draws: xr.DataArray, ci_kind: str | None, ci_prob: float | None
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return lower and upper bounds of ArviZ's interval, by its settings at this moment."""
    from arviz_stats import eti, hdi

    kind, prob = interval_settings(ci_kind, ci_prob)
    found = (hdi if kind == "hdi" else eti)(draws, prob=prob, dim=list(SAMPLE))
    return found.sel(ci_bound="lower", drop=True), found.sel(ci_bound="upper", drop=True)


def interval_settings(ci_kind: str | None, ci_prob: float | None) -> tuple[str, float]:
    """Return kind and level of the interval: the ones given, else those of ArviZ's settings."""
    from arviz_base import rcParams

    kind = rcParams["stats.ci_kind"] if ci_kind is None else ci_kind
    prob = rcParams["stats.ci_prob"] if ci_prob is None else ci_prob
    check({"ci_kind": kind, "ci_prob": prob})
    return str(kind), float(prob)


def per_system(source: Any, group_name: str, name: str, given: Any) -> xr.DataArray | None:
    """Return a number per system that goes beside the draws: given, or found in the evaluation."""
    if given is not None:
        return given if isinstance(given, xr.DataArray) else xr.DataArray(given, dims=SYSTEM)
    if not isinstance(source, xr.DataTree) or group_name not in source.children:
        return None
    return source[group_name].to_dataset().get(name)


def value_of(values: xr.DataArray | None, system: object) -> float:
    """Return one system's number, or NaN; of two scopes, that of the items at hand."""
    if values is None:
        return float("nan")
    if SCOPE in values.dims:
        values = at_scope(values, THESE)
    if SYSTEM in values.coords:
        hit = np.flatnonzero(values[SYSTEM].to_numpy() == system)
        return float(values.to_numpy()[hit[0]]) if len(hit) else float("nan")
    return float("nan")


def places(data: xr.DataArray | xr.Dataset, names: Any, argument: str) -> list[int]:
    """Find items by name, or raise: say which argument names one that is not there.

    Parameters
    ----------
    data : DataArray or Dataset
        With the coordinate ``item``.
    names : a name, or several
    argument : str
        What the caller calls them.
    """
    several = isinstance(names, list | tuple | np.ndarray | pd.Index | pd.Series | xr.DataArray)
    asked = list(names) if several and np.ndim(names) > 0 else [names]
    known = data[ITEM].to_numpy()
    try:
        found = [int(tables.match(np.asarray([name]), known)[0]) for name in asked]
    except (TypeError, ValueError):  # a mapping, a list in the list: no names at all
        found = [-1]
    if min(found, default=0) < 0:
        raise ArgumentError(
            argument, expected=f"items such as {shown(list(known), 3)}", found=brief(names)
        )
    return found


def thin(count: int, limit: int) -> Any:
    """Return at most ``limit`` places, evenly spread over ``count``, first and last among them."""
    if count <= limit:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, limit).round().astype(int))
