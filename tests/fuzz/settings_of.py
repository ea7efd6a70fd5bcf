"""Settings of any function: words of its docstring, numbers at the edges, and nonsense."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from hypothesis import strategies as st

NONSENSE = (
    "", "nonsense", "\ud800", None, float("nan"), float("inf"), -float("inf"), -1, 0, -0.5, 0.5, 1,
    1.5, 2, 3.0, 10**30, True, False, [], [1, 2], ["a"], {}, {"a": 1.0}, object, b"x", (0.5,),
    (1, 1),
    np.array([1.0, np.nan]), np.array([]), np.float32(0.5), np.int8(2), pd.Series([0.1, 0.2]),
    xr.DataArray([1.0, 2.0], dims="item"), xr.DataArray([0.5, 0.5], dims="annotator"), 1j, range(3),
    {"i": 1.0, "n0": 0.5, "n1": 0.5}, ["p", "q"], "n0", ["n0", "n1"], [[0.5, 0.5]], 1e-300, 1e300,
)  # fmt: skip
DATA = frozenset(
    {
        "annotations",
        "predictions",
        "fit",
        "plausibility",
        "evaluation",
        "source",
        "pilot",
        "frame",
        "pairs",
    }
    | {"path", "matrix", "rankings", "data", "self", "progressbar", "args", "kwargs", "options"}
)
"""Arguments that the tests make themselves."""
LONG = frozenset({"draws", "chains", "tune", "studies", "items", "annotators", "iterations"})
"""Arguments whose large values would rightly take long."""


@cache
def words_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the words that a docstring has in quotation marks: its settings, mostly."""
    return tuple(dict.fromkeys(re.findall(r'"([\w -]+)"', inspect.getdoc(function) or "")))


@cache
def settable(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments that are settings."""
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return tuple(
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in DATA and parameter.kind not in variadic
    )


@st.composite
def settings_of(draw, function, often=3, but=frozenset()):
    """Choose settings of a function: none in most cases, else one or two of them."""
    names = [name for name in settable(function) if name not in but]
    if not names or draw(st.integers(0, often)) > 0:
        return {}
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    return {name: draw(values(function, name)) for name in chosen}


def values(function: Callable[..., Any], name: str) -> st.SearchStrategy[Any]:
    """Return what one setting may be set to."""
    nonsense = [v for v in NONSENSE if not (name in LONG and _large(v))]
    either = st.sampled_from(nonsense)
    words = words_of(function)
    return st.one_of(st.sampled_from(words), either) if words else either


def _large(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 1000
