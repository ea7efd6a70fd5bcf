"""Settings that several plots share: their descriptions and their checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import getdoc, signature
from math import isfinite
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.errors import ArgumentError, brief

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
"""Descriptions of parameters that a plot's own docstring leaves out."""
_SECTIONS: Final = {
    "Raises": "ArgumentError\n    If the source lacks the data of the plot, or a setting is "
    "invalid.",
    "Returns": "matplotlib.figure.Figure",
}
"""Sections that a plot's own docstring leaves out."""


def documented(draw: Callable[..., Any]) -> str:
    """Return the docstring of a plot, completed by what the plots share."""
    head, title, rest = (getdoc(draw) or "").partition("Parameters\n----------\n")
    own, _, tail = rest.partition("\n\n")
    known = {
        name.strip(" *"): entry
        for entry in re.split(r"\n(?=\S)", own)
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


def check(given: Mapping[str, Any]) -> None:
    """Raise if a shared setting is invalid. None means the default, except for counts.

    Examples
    --------
    >>> check({"limit": "all"})
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: limit: expected a whole number, 1 or more; found 'all'
    """
    for name, value in given.items():
        valid, expected = _RULES.get(name, _ANYTHING)
        if not valid(value) and (value is not None or _RULES[name] is _COUNT):
            raise ArgumentError(name, expected=expected, found=brief(value))


def _is_axes(value: Any) -> bool:
    from matplotlib.axes import Axes

    return isinstance(value, Axes)


def _are_names(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, Iterable) and all(isinstance(name, str) for name in list(value))


def _is_size(value: Any) -> bool:
    """Return whether a value is (width, height) in inches that fit any page."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
        return False
    return all(side is None or 0.1 <= arguments.real(side) <= 600 for side in value)


_ANYTHING: Final = (lambda _: True, "")
_COUNT: Final = (lambda x: arguments.is_whole(x) and x >= 1, "a whole number, 1 or more")
_ARRAY: Final = (lambda x: isinstance(x, xr.DataArray), "an xarray.DataArray")
_NAME: Final = (lambda x: isinstance(x, str), "the name of one")
_NAMES: Final = (_are_names, "the name of one, or a list of names")
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
