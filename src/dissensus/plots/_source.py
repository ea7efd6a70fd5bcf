"""Settings that several plots share, and the data of a plot from an evaluation or its parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import getdoc, signature
from math import isfinite
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import arguments
from dissensus.data import tables
from dissensus.dims import ITEM, RELIABILITY, SAMPLE, SCOPE, SCOPES, SYSTEM
from dissensus.errors import ArgumentError, brief, shown
from dissensus.wording import listed

# Settings: their descriptions and checks.


DESCRIPTIONS: Final = {
    "metric": "str, optional\nA variable of the group; the first by default.",
    "reliability": "float, optional\nBy default the reference reliability of the evaluation.",
    "scope": '{"new items", "these items"}\n'
    "Whether the sampling of items is part of the uncertainty.",
    "naive": "xarray.DataArray (system), optional\n"
    "Value against a point estimate of the labels; by default that of the evaluation.",
    "truth": "xarray.DataArray (system), optional\nKnown value; by default that of the evaluation.",
    "ci_kind": '{"eti", "hdi"}, optional\nKind of the intervals; ArviZ\'s setting by default.',
    "ci_prob": "float, optional\nProbability of the intervals; ArviZ's setting by default.",
    "limit": "int\nMaximum number of systems; those with the best means are shown.",
    "backend": 'str, optional\n"matplotlib", "bokeh" or "plotly"; ArviZ\'s setting by default.',
    "ax": "matplotlib.axes.Axes, optional\nAxes to draw on; by default a new figure.",
    "figsize": "(float, float), optional\n"
    "Width and height in inches. A height of None is chosen to fit. In a narrow figure, panels "
    "are below each other.",
}
"""Descriptions of parameters that the docstring of a plot leaves out."""
_SECTIONS: Final = {
    "Raises": "ArgumentError\n    If the source lacks the data of the plot, or a setting is "
    "invalid.",
    "Returns": "matplotlib.figure.Figure",
}
"""Sections that the docstring of a plot leaves out."""


def documented(draw: Callable[..., Any]) -> str:
    """Return the docstring of a plot, completed by the shared descriptions."""
    head, title, rest = (getdoc(draw) or "").partition("Parameters\n----------\n")
    parameters, _, tail = rest.partition("\n\n")
    known = {
        name.strip(" *"): entry
        for entry in re.split(r"\n(?=\S)", parameters)
        for name in entry.splitlines()[0].partition(" : ")[0].split(",")
    }
    entries = dict.fromkeys(
        known.get(name) or f"{name} : " + DESCRIPTIONS[name].replace("\n", "\n    ")
        for name in signature(draw).parameters
    )
    for section, text in _SECTIONS.items():
        if f"{section}\n---" not in tail:
            tail = f"{section}\n{'-' * len(section)}\n{text}\n\n{tail}"
    return "\n".join([head + title.rstrip(), *entries, "", tail])


def check(settings: Mapping[str, Any]) -> None:
    """Raise if a shared setting is invalid. None means the default, except for counts.

    Examples
    --------
    >>> check({"limit": "all"})
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: limit: expected a whole number, 1 or more; found 'all'
    """
    for name, value in settings.items():
        valid, expected = _RULES.get(name, _ANYTHING)
        if not valid(value) and (value is not None or _RULES[name] is _COUNT):
            raise ArgumentError(name, expected=expected, found=brief(value))


def _is_axes(value: Any) -> bool:
    from matplotlib.axes import Axes

    return isinstance(value, Axes)


def _are_names(value: Any) -> bool:
    return isinstance(value, Iterable) and all(isinstance(name, str) for name in value)


def _is_size(value: Any) -> bool:
    """Return whether a value is (width, height), each None or from 0.1 to 600 inches."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
        return False
    return all(side is None or 0.1 <= arguments.real(side) <= 600 for side in value)


_ANYTHING: Final = (lambda _: True, "")
_COUNT: Final = (lambda x: arguments.is_whole(x) and x >= 1, "a whole number, 1 or more")
_ARRAY: Final = (lambda x: isinstance(x, xr.DataArray), "an xarray.DataArray")
_NAME: Final = (lambda x: isinstance(x, str), "a name")
_NAMES: Final = (_are_names, "a name, or a list of names")
_NUMBER: Final = (lambda x: isfinite(arguments.real(x)), "a finite number")
_RULES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    **dict.fromkeys(("limit", "candidates", "bins"), _COUNT),
    **dict.fromkeys(("naive", "truth", "point"), _ARRAY),
    **dict.fromkeys(("metric", "scope"), _NAME),
    **dict.fromkeys(("metrics", "statistics"), _NAMES),
    **dict.fromkeys(("margin", "reliability"), _NUMBER),
    "ax": (_is_axes, "axes of Matplotlib, or None"),
    "figsize": (_is_size, "a width and a height in inches, such as (6, 4) or (6, None)"),
    "ci_kind": (lambda x: isinstance(x, str) and x in {"eti", "hdi"}, "'eti' or 'hdi'"),
    "ci_prob": (lambda x: 0 < arguments.real(x) < 1, "a number between 0 and 1"),
}


# Data of a plot.


THESE, NEW = SCOPES
_REASONS = {
    "accuracy": "truth_model", "components": "components", "weighted_reliability": "ground_truth",
}  # fmt: skip
"""For a group: the attribute of an evaluation that says why the group is missing."""


def group(source: Any, name: str) -> xr.Dataset:
    """Return a group of an evaluation, or the given Dataset or array; raise if it is empty."""
    data = _group(source, name)
    bare = [str(dim) for dim, size in data.sizes.items() if not size]
    if bare or not data.data_vars:
        raise ArgumentError(
            "source", expected=f"{name!r} with data to draw",
            found=f"nothing along {listed(bare)}" if bare else "no variables",
        )  # fmt: skip
    return data


def _has_one_system(source: xr.DataTree) -> bool:
    """Return whether an evaluation has metrics, and an empty comparison."""
    groups = source.children
    return {"comparison", "metrics"} <= set(groups) and SYSTEM in groups["metrics"].dims


def _group(source: Any, name: str) -> xr.Dataset:
    if isinstance(source, xr.DataTree):
        if name in source.children and source[name].to_dataset().data_vars:
            return source[name].to_dataset()
        hint = str(source.attrs.get(_REASONS.get(name), ""))
        if name == "comparison" and _has_one_system(source):
            raise ArgumentError(
                "source", expected="an evaluation of two systems or more", found="one system"
            )
        if name in {"metrics", "comparison"}:
            hint = "Without predictions there are no metrics"
        raise ArgumentError(
            "source", expected=f"an evaluation with a group {name!r}",
            found=f"groups {shown(list(source.children), 12)}", hint=hint,
        )  # fmt: skip
    if isinstance(source, xr.DataArray):
        return source.to_dataset(name=source.name or name)
    if isinstance(source, xr.Dataset):
        return source
    raise ArgumentError(
        "source", expected=f"an evaluation, or its {name!r}", found=type(source).__name__
    )


def returned(
    source: Any,
    function: str,
    needed: Iterable[str],
    *,
    name: str = "",
    dims: tuple[str, ...] = (),
    along: str = "",
) -> xr.Dataset:
    """Return the result of a function of dissensus, or the group of a tree that contains it.

    The group is ``name``, by default that of the function. Variables ``needed`` must have the dims
    ``dims``, or a dim ``along``, if these are given.
    """
    data = group(source, name or function)
    for variable in needed:
        known = set(data[variable].dims) if variable in data else None
        if known is None or (dims and known != set(dims)) or (along and along not in known):
            form = f" ({', '.join(dims)})" if dims else ""
            raise ArgumentError(
                "source",
                expected=f"the result of dissensus.{function}, with {variable!r}{form}",
                found=f"variables {shown(list(data.data_vars)) or 'none'}"
                + ("" if known is None else f", {variable!r} with dims {sorted(map(str, known))}"),
            )
    return data


def sides(evaluation: xr.DataTree) -> list[xr.DataTree]:
    """Return the evaluation and its companion, if there is one; each has separate groups."""
    companion = evaluation.children.get("companion")
    return [evaluation] if companion is None else [evaluation, companion]


def chosen(data: xr.Dataset, name: str | None) -> xr.DataArray:
    """Return the variable of a name, or the first one."""
    if name is None:
        return data[next(iter(data.data_vars))]
    if name not in data.data_vars:
        raise ArgumentError(
            "metric", expected=f"one of {shown(list(data.data_vars), 20)}", found=repr(name)
        )
    return data[name]


def at_reliability(
    data: xr.DataArray, source: Any, reliability: float | None
) -> tuple[xr.DataArray, float | None]:
    """Return the data at one reliability, by default the reference, and this reliability.

    The reliability is None if the data have no such dim.
    """
    if RELIABILITY not in data.dims:
        return data, None
    known = data[RELIABILITY].to_numpy()
    value = float(known[len(known) // 2]) if reliability is None else float(reliability)
    if reliability is None and isinstance(source, xr.DataTree):
        value = float(source.attrs.get("reference_reliability", value))
    places = np.flatnonzero(np.isclose(known, value))
    if not len(places):
        raise ArgumentError(
            "reliability", expected=f"one of {shown(list(known), 20)}", found=repr(reliability)
        )
    return data.isel({RELIABILITY: int(places[0])}, drop=True), value


def at_scope(data: xr.DataArray, scope: str) -> xr.DataArray:
    """Return the data of one scope; unchanged if they have no scopes."""
    if SCOPE not in data.dims:
        return data
    known = [str(name) for name in data[SCOPE].to_numpy()]
    if scope not in known:
        raise ArgumentError("scope", expected=f"one of {known}", found=repr(scope))
    return data.sel({SCOPE: scope}, drop=True)


def with_systems(data: xr.DataArray) -> xr.DataArray:
    """Return draws with a dim of systems and names along it."""
    if not set(SAMPLE) <= set(data.dims):
        raise ArgumentError(
            "source", expected=f"draws, with dims {SAMPLE}", found=f"dims {data.dims}"
        )
    if SYSTEM not in data.dims:
        data = data.expand_dims({SYSTEM: [data.coords.get(SYSTEM, xr.DataArray("")).item()]}, -1)
    if SYSTEM not in data.coords:
        data = data.assign_coords({SYSTEM: np.arange(data.sizes[SYSTEM])})
    return data


def leading(draws: xr.DataArray, limit: int) -> tuple[xr.DataArray, str]:
    """Return the draws of the best systems, ordered by their means, and a note on omitted systems.

    The coordinate ``place`` is the place of a system before ordering, which decides its colour.
    """
    over = [dim for dim in draws.dims if dim != SYSTEM]
    mean = draws.mean(over).to_numpy()
    sign = 1 if draws.attrs.get("better") == "lower" else -1
    order = np.argsort(np.where(np.isnan(mean), np.inf, sign * mean), kind="stable")
    draws = draws.assign_coords(place=(SYSTEM, np.arange(len(mean))))
    text = ""
    if len(order) > limit:
        text = f"The {limit} best of {len(order):,} systems; other systems are left out."
    return draws.isel({SYSTEM: order[:limit]}), text


def interval(
    draws: xr.DataArray, ci_kind: str | None = None, ci_prob: float | None = None
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the lower and upper bound of ArviZ's interval, by ArviZ's settings at this time."""
    from arviz_stats import eti, hdi

    kind, prob = interval_settings(ci_kind, ci_prob)
    bounds = (hdi if kind == "hdi" else eti)(draws, prob=prob, dim=list(SAMPLE))
    return bounds.sel(ci_bound="lower", drop=True), bounds.sel(ci_bound="upper", drop=True)


def interval_settings(
    ci_kind: str | None = None, ci_prob: float | None = None
) -> tuple[str, float]:
    """Return kind and probability of the interval, by default ArviZ's settings."""
    from arviz_base import rcParams

    kind = rcParams["stats.ci_kind"] if ci_kind is None else ci_kind
    prob = rcParams["stats.ci_prob"] if ci_prob is None else ci_prob
    check({"ci_kind": kind, "ci_prob": prob})
    return str(kind), float(prob)


def per_system(source: Any, group_name: str, name: str, values: Any = None) -> xr.DataArray | None:
    """Return given numbers of systems, or those in a group of the evaluation; None without them."""
    if values is not None:
        return values if isinstance(values, xr.DataArray) else xr.DataArray(values, dims=SYSTEM)
    if not isinstance(source, xr.DataTree) or group_name not in source.children:
        return None
    return source[group_name].to_dataset().get(name)


def value_of(values: xr.DataArray | None, system: object) -> float:
    """Return the number of a system, for these items; NaN if the system has no number."""
    if values is None or SYSTEM not in values.coords:
        return float("nan")
    places = np.flatnonzero(values[SYSTEM].to_numpy() == system)
    return float(at_scope(values, THESE).to_numpy()[places[0]]) if len(places) else float("nan")


def places(data: xr.DataArray | xr.Dataset, names: Any, argument: str) -> list[int]:
    """Return the places of one or more items, given by name; errors name ``argument``."""
    several = isinstance(names, list | tuple | np.ndarray | pd.Index | pd.Series | xr.DataArray)
    chosen_names = list(names) if several and np.ndim(names) > 0 else [names]
    known = data[ITEM].to_numpy()
    try:
        positions = [int(tables.match(np.asarray([name]), known)[0]) for name in chosen_names]
    except (TypeError, ValueError):  # a mapping, or a list of lists
        positions = [-1]
    if min(positions, default=0) < 0:
        raise ArgumentError(
            argument, expected=f"items such as {shown(list(known), 3)}", found=brief(names)
        )
    return positions


def thin(count: int, limit: int) -> Any:
    """Return at most ``limit`` places, evenly spread over ``count``, with the first and last."""
    if count <= limit:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, limit).round().astype(int))
