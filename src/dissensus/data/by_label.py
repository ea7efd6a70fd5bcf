"""Any function of the library, for each label of sets."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.schema import checked_annotations, checked_predictions
from dissensus.dims import ELEMENT, LABEL, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief, held_back, shown, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.types import Flags, Names

_SEED = "random_seed"


def by_label(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    r"""Call a function once for each label that sets can contain.

    For each label, an answer becomes "yes" if it contains the label, and else "no". Annotations and
    predictions are then of kind "nominal", which all functions of the library take.

    Parameters
    ----------
    function : callable
        A statistic, `bayesian_bootstrap`, ``fit`` of a model, or your own function.
    *args, **kwargs
        Its arguments. Annotations and predictions among them are sets (``kind="set"``); at least
        one is. Other arguments are the same for all labels.

    Returns
    -------
    DataArray or Dataset
        The results along ``element`` (the label), after ``chain`` and ``draw`` if there are any. If
        results are no numbers, DataArrays or Datasets, such as fits: a dict from label to result.

    Notes
    -----
    All labels get the same seed, also if ``random_seed`` is None: `bayesian_bootstrap` then gives
    items the same weights for each label. The mean of such draws over ``element`` is a macro
    average with the right interval, whatever the labels have to do with each other. Fits get
    different seeds, as their posteriors are independent.

    A label that only predictions contain is "no" in all annotations. Warnings and errors name
    their label.

    Fits by label share nothing between labels. With few answers that contain a label, its fit
    depends on the prior.

    Raises
    ------
    ArgumentError
        If no argument is sets, or annotations or predictions among them are not.

    Examples
    --------
    >>> import dissensus as dx
    >>> rows = {"item": [1, 1, 2, 2, 3, 3], "annotator": ["a", "b"] * 3,
    ...         "label": ["joy", "joy;love", "none", "none", "joy;love", "joy;love"]}
    >>> ann = dx.annotations(rows, kind="set", separator=";", none="none")
    >>> dx.by_label(dx.krippendorff_alpha, ann).round(2).to_series().to_dict()
    {'joy': 1.0, 'love': 0.44}

    For each item, the share of many annotators who would give each label:

    >>> fits = dx.by_label(
    ...     dx.models.dirichlet.fit, ann, draws=50, tune=50, random_seed=1, progressbar=False
    ... )
    >>> fits["love"]["posterior"]["plausibility"].sel(label="yes").sizes["item"]
    3
    """
    given = [*args, *kwargs.values()]
    sets = [_checked(one) for one in given if _is_data(one)]
    if not callable(function):
        raise ArgumentError("function", expected="a function", found=brief(function))
    if not sets:
        raise ArgumentError(
            "args", expected='annotations or predictions that are sets (kind "set")',
            found=shown([type(one).__name__ for one in given]) if given else "nothing",
            hint='Read them with dissensus.annotations(..., kind="set")',
        )  # fmt: skip
    elements = _elements(sets)
    seed, seeds = _seeds(function, kwargs, len(elements))
    results: list[Any] = []
    for k, element in enumerate(elements):
        if k and _SEED in kwargs | seed and not _is_numbers(results[0]):
            seed = {_SEED: seeds[k]}
        answers = [_holds(one, element) if _is_data(one) else one for one in args]
        named = {name: _holds(one, element) if _is_data(one) else one
                 for name, one in kwargs.items()}  # fmt: skip
        results.append(_named(function, answers, named | seed, element))
    if _is_numbers(results[0]) and len({isinstance(one, xr.Dataset) for one in results}) == 1:
        return _joined(results, elements, getattr(function, "__name__", None))
    return dict(zip(elements.tolist(), results, strict=True))


def _is_data(value: Any) -> bool:
    """Say whether a value is annotations or predictions."""
    return isinstance(value, xr.Dataset) and "kind" in value.attrs


def _is_numbers(value: Any) -> bool:
    """Say whether results can stand beside each other in one array."""
    return isinstance(value, xr.DataArray | xr.Dataset | float | int | np.number)


def _checked(data: xr.Dataset) -> xr.Dataset:
    """Return data if they are sets, or raise."""
    predicted = SYSTEM in data.dims
    if data.attrs["kind"] != "set":
        raise ArgumentError(
            "predictions" if predicted else "annotations", expected='sets (kind "set")',
            found=f"kind {data.attrs['kind']!r}",
            hint=f'Read them with dissensus.{"predictions" if predicted else "annotations"}(..., '
            'kind="set"); a single label is a set too',
        )  # fmt: skip
    return checked_predictions(data, sets=True) if predicted else checked_annotations(data)


def _elements(sets: list[xr.Dataset]) -> Names:
    """Return all labels, those of annotations first."""
    ordered = sorted(sets, key=lambda one: SYSTEM in one.dims)
    names = [one[LABEL if SYSTEM in one.dims else ELEMENT].to_numpy() for one in ordered]
    return pd.unique(np.concatenate([one.astype(object) for one in names]))


def _seeds(
    function: Callable[..., Any], kwargs: dict[str, Any], n: int
) -> tuple[dict[str, Any], list[int]]:
    """Return the seed of all labels if the function takes one, and a different one for each."""
    try:
        takes = _SEED in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin has no signature
        takes = False
    if _SEED not in kwargs and not takes:
        return {}, []
    rng = generator(kwargs.get(_SEED), "by label")
    seeds = [int(one) for one in rng.integers(2**31, size=n)]
    return {_SEED: seeds[0]}, seeds


def _holds(data: xr.Dataset, element: Any) -> xr.Dataset:
    """Return whether each answer contains a label, as annotations or predictions."""
    if SYSTEM in data.dims:
        code = data["label_code"].to_numpy()
        own = np.flatnonzero(data[LABEL].to_numpy() == element)
        place = data["label_code"].dims.index(POSITION)
        held: Flags = (code == (own[0] if len(own) else -2)).any(axis=place, keepdims=True)
        out = data.drop_dims([LABEL, POSITION])
        out["label_code"] = (data["label_code"].dims, held.astype(np.int64))
        out["block"] = (data["label_code"].dims, np.ones(held.shape, dtype=np.int64))
    else:
        own = np.flatnonzero(data[ELEMENT].to_numpy() == element)
        member: Flags = data["member"].to_numpy()
        has = member[:, own[0]] if len(own) else np.zeros(len(member), dtype=bool)
        out = data.drop_dims([LABEL, ELEMENT])
        answer = data["label_code"].to_numpy()
        out["label_code"] = (data["label_code"].dims, has[answer].astype(np.int64))
    out = out.assign_coords({LABEL: tables.as_text(["no", "yes"])})
    kept = {name: value for name, value in data.attrs.items() if name not in {"separator", "none"}}
    out.attrs = kept | {"kind": "nominal"}
    return out


def _named(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], element: Any
) -> Any:
    """Call the function; warnings and errors name the label."""
    with held_back() as said:
        try:
            result = function(*args, **kwargs)
        except Exception as problem:
            problem.add_note(f"This is about the label {brief(element)}.")
            raise
    for text, category in said:
        warn_caller(f"Label {brief(element)}: {text}", category)
    return result


def _joined(results: list[Any], elements: Names, name: str | None) -> Any:
    """Put results side by side along ``element``."""
    index = pd.Index(elements, name=ELEMENT)
    arrays: list[Any] = [one if isinstance(one, xr.DataArray | xr.Dataset)
              else xr.DataArray(float(one), name=name) for one in results]  # fmt: skip
    joined: Any = xr.concat(arrays, dim=index, join="outer", combine_attrs="drop_conflicts")
    first = [dim for dim in SAMPLE if dim in joined.dims]
    return joined.transpose(*first, ELEMENT, ...)
