"""The draws of a callable that dissensus does not know: one call for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr

from dissensus.data.weights import item_weights
from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError, shown
from dissensus.statistics._sampled_units import Units, warn_of_few
from dissensus.statistics._sums import AS_COUNTS, counts_of


def one_by_one(
    function: Callable[..., Any],
    annotations: xr.Dataset,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    units: Units,
    rng: np.random.Generator,
    draws: int,
    *,
    progressbar: bool,
) -> Any:
    """Call a statistic once per draw, and lay its results out along chain and draw."""
    from rich.progress import track

    name = getattr(function, "__name__", "statistic")
    kwargs = dict(kwargs)
    given = kwargs.pop("weights", None)
    _require_arguments(function, (annotations, *args), kwargs)
    items = annotations[ITEM].to_numpy()
    factor = np.ones(len(items))
    if given is not None:
        factor = counts_of(item_weights(given, items, "weights"))
    warn_of_few(name, factor > 0, units, stacklevel=3)
    first, found = None, []
    for draw in track(range(draws), description="bootstrap", disable=not progressbar):
        drawn = rng.standard_exponential(units.n)
        weights = (drawn * (units.n / drawn.sum()))[units.of_item] * factor
        weighing = xr.DataArray(weights, dims=ITEM, coords={ITEM: items}, attrs={AS_COUNTS: True})
        value = function(annotations, *args, weights=weighing, **kwargs)
        result = _labelled(value, name, draw)
        first = result if first is None else first
        _require_alike(first, result, draw)
        found.append(result)
    return _stacked(found)


def _require_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise if a callable does not take these, and ``weights=`` by name."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # builtins have no signature: they will complain themselves
    name = getattr(function, "__name__", function)
    parameters = signature.parameters.values()
    named = any(p.name == "weights" and p.kind is not p.POSITIONAL_ONLY for p in parameters)
    if not named and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        raise ArgumentError(
            "statistic",
            expected="a callable with the keyword weights=, a weight for each item",
            found=f"{name!r} without it",
        )
    try:
        signature.bind(*args, weights=None, **kwargs)
    except TypeError as problem:
        raise ArgumentError(
            "statistic",
            expected=f"the arguments of {name!r}, and weights=",
            found=f"others ({problem})",
        ) from problem


def _labelled(value: Any, name: str, draw: int) -> xr.DataArray | xr.Dataset:
    """Return what a callable gave for one draw as xarray, named, if it is numbers."""
    if isinstance(value, xr.DataArray):
        value = value if value.name is not None else value.rename(name)
        arrays = [value]
    elif isinstance(value, xr.Dataset):
        arrays = list(value.data_vars.values())
    else:
        return xr.DataArray(_number(value, draw), name=name)
    taken = [dim for dim in SAMPLE if dim in value.dims or dim in value.coords]
    if taken:
        raise _unfit(draw, "a result without the dims chain and draw", f"one with {shown(taken)}")
    for array in arrays:
        if array.dtype.kind not in "biuf":
            raise _unfit(draw, "numbers", f"{array.name!r} of type {array.dtype}")
    if not arrays:
        raise _unfit(draw, "a Dataset with variables", "none")
    return value


def _number(value: Any, draw: int) -> float:
    plain = not isinstance(value, str | bytes | np.ma.core.MaskedConstant)
    try:
        array = np.asarray(value)
        numeric = array.dtype.kind in "biuf" or isinstance(value, Real | Decimal)
        if plain and numeric and not array.ndim:
            return float(array[()])
    except (TypeError, ValueError, OverflowError) as problem:
        found = f"{type(value).__name__} ({problem})"
    else:
        found = type(value).__name__
    raise _unfit(draw, "a callable that returns a number, a DataArray or a Dataset", found)


def _require_alike(first: Any, result: Any, draw: int) -> None:
    """Raise unless a result has the form of the first: xarray would pad it with NaN."""
    if result is first:
        return
    alike = type(result) is type(first) and _form(result) == _form(first)
    if alike and result.coords.to_dataset().equals(first.coords.to_dataset()):
        return
    raise _unfit(
        draw,
        f"a result like that of draw 0: {_words(first, coords=alike)}",
        _words(result, coords=alike),
    )


def _form(value: xr.DataArray | xr.Dataset) -> dict[Any, tuple[Any, ...]]:
    """Return name, dims and shape of all variables."""
    arrays = [value] if isinstance(value, xr.DataArray) else value.data_vars.values()
    return {array.name: (array.dims, array.shape) for array in arrays}


def _words(value: xr.DataArray | xr.Dataset, *, coords: bool) -> str:
    """Say what form a result has, or what its coordinates are."""
    if coords:
        each = [
            f"{name} {shown(list(coord.to_numpy().ravel()))}"
            for name, coord in value.coords.items()
        ]
        return f"coordinates {'; '.join(each) or 'none'}"
    each = [
        f"{name!r} {dict(zip(*form, strict=True)) or ''}" for name, form in _form(value).items()
    ]
    return f"{type(value).__name__} with {', '.join(part.strip() for part in each)}"


def _unfit(draw: int, expected: str, found: str) -> ArgumentError:
    return ArgumentError("statistic", where=f"draw {draw}", expected=expected, found=found)


def _stacked(found: list[Any]) -> xr.DataArray | xr.Dataset:
    """Put results of one form along chain (1) and draw."""
    first = found[0]
    if isinstance(first, xr.Dataset):
        parts = {name: _stacked([each[name] for each in found]) for name in first.data_vars}
        return xr.Dataset(parts, coords=first.coords, attrs=first.attrs)
    sample = {"chain": np.arange(1), "draw": np.arange(len(found))}
    return xr.DataArray(
        np.stack([each.to_numpy() for each in found])[None],
        dims=(*SAMPLE, *first.dims),
        coords={**first.coords, **sample},
        name=first.name,
        attrs=first.attrs,
    )
