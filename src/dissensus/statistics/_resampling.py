"""The draws of a callable that dissensus does not know: one call for each."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import batched
from numbers import Real
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from scipy import sparse

from dissensus.data.weights import by_item, item_weights
from dissensus.dims import CLUSTER, ITEM, SAMPLE
from dissensus.errors import ArgumentError, DissensusWarning, shown
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.weighted import weighted_sums
from dissensus.statistics._read import read
from dissensus.statistics._sums import AS_COUNTS, Matrix, Sums, counts_of

# Drawing weights over items (or clusters), and all totals as one matrix product.


_CELLS = 400_000
"""Weights and totals held at a time."""

_AHEAD = 16
"""Blocks drawn before the first of them is used: all at once might not fit into memory."""

_FEW = 64
"""With fewer units than this it is not worth looking for equal ones."""


_SMALLEST = 1e-300
"""What is divided by less might pass the range of floats."""


def over_units(sums: Sums, unit: Ints, n_units: int) -> Sums:
    """Add up the sums of the items of each unit, such as the images of a patient."""
    shape = (n_units, len(unit))
    gather = sparse.csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=shape)
    parts = tuple(_product(gather, part) for part in sums.parts)
    return replace(sums, parts=parts)


def _product(gather: sparse.csr_array, part: Matrix) -> Matrix:
    found = gather @ part
    return found if isinstance(found, np.ndarray) else sparse.csr_array(found)


def patterns(parts: tuple[Matrix, ...]) -> tuple[Ints, Ints]:
    """Return the first unit of each pattern of sums, and how many units share it.

    Units with equal sums need no weights of their own: Dirichlet weights add up to Dirichlet
    weights, so that one Gamma variate with their number for its shape stands for all of them,
    exactly. Two random projections tell patterns apart.

    Examples
    --------
    >>> first, size = patterns((np.array([1.0, 2.0, 1.0]),))
    >>> first.tolist(), size.tolist()
    ([0, 1], [2, 1])
    """
    rng = np.random.default_rng(20_05)
    key = np.zeros((parts[0].shape[0], 2))
    for part in parts:
        columns = part.reshape(len(part), -1) if isinstance(part, np.ndarray) else part
        key += columns @ (rng.normal(size=(columns.shape[1], 2)) / _size(columns)[:, None])
    seen = np.ascontiguousarray(key).view(np.complex128).ravel()
    _, first, size = np.unique(seen, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order].astype(np.int64), size[order].astype(np.int64)


def _size(part: Matrix) -> Floats:
    """Return the scale of each sum: beside a large one, a small one would be rounded off.

    The largest, since squares pass the range of floats long before their roots do.
    """
    most: Any = np.abs(part).max(axis=0) if isinstance(part, np.ndarray) else _largest(part)
    size = np.asarray(most)
    return np.where(size > 0, np.maximum(size, _SMALLEST), 1.0)


def _largest(part: Any) -> Floats:
    """Do the same for a sparse matrix, whose methods have no types."""
    return np.asarray(abs(part).max(axis=0).toarray()).ravel()


def replicated(sums: Sums, rng: np.random.Generator, draws: int) -> Iterator[Floats]:
    """Yield blocks of totals (draw, sum) under Dirichlet(1, ..., 1) weights times the units."""
    parts = sums.parts
    n_units = parts[0].shape[0]
    size = np.ones(n_units, dtype=np.int64)
    if n_units >= _FEW:
        first, found = patterns(parts)
        if 2 * len(first) <= n_units:
            parts, size = tuple(part[first] for part in parts), found
    parts = _side_by_side(parts)
    widest = max(len(size), *(part.shape[1] for part in parts))
    jobs = rng.spawn(-(-draws // _block(widest, draws)))
    share = np.diff(np.linspace(0, draws, len(jobs) + 1).astype(np.int64))
    # A stream for each block: the draws do not depend on how many threads there are.
    work = partial(_totals, parts=parts, size=size)
    with ThreadPoolExecutor() as threads:
        for some in batched(zip(jobs, share.tolist(), strict=True), _AHEAD):
            yield from threads.map(work, *zip(*some, strict=True))


def _block(widest: int, draws: int) -> int:
    return max(1, min(draws, _CELLS // widest))


def _totals(rng: np.random.Generator, draws: int, parts: tuple[Matrix, ...], size: Ints) -> Floats:
    """Return the totals of one block (draw, sum)."""
    shape = (draws, len(size))
    ones = bool((size == 1).all())
    weights = rng.standard_exponential(shape) if ones else rng.standard_gamma(size, shape)
    found = np.concatenate([_weighted(weights, part) for part in parts], axis=1)
    return np.asarray(found * (size.sum() / weights.sum(axis=1, keepdims=True)))


def _side_by_side(parts: tuple[Matrix, ...]) -> tuple[Matrix, ...]:
    """Join arrays that stand next to each other, so that there are fewer products."""
    out: list[Matrix] = []
    for part in parts:
        if not isinstance(part, np.ndarray):
            out.append(part)
            continue
        tall = part.reshape(len(part), -1)
        if out and isinstance(out[-1], np.ndarray):
            out[-1] = np.concatenate([out[-1], tall], axis=1)
        else:
            out.append(np.ascontiguousarray(tall))
    return tuple(out)


def _weighted(weights: Floats, part: Matrix) -> Floats:
    if isinstance(part, np.ndarray):
        return weighted_sums(weights, part)
    return np.asarray((part.T @ weights.T).T)


# What was sampled, items or clusters of them, and how many of it a value rests on.


FEW_UNITS: Final = 20
"""With fewer items (or clusters) the bootstrap's intervals are known to be too narrow."""

_NARROW: Final = (
    "the bootstrap's intervals are too narrow then. Take them for a lower bound of the "
    "uncertainty, or fit a model."
)


class Units(NamedTuple):
    """What was sampled."""

    of_item: Ints
    """(item): the number of its unit."""
    n: int
    what: str
    """"items" or "clusters"."""

    @property
    def are_items(self) -> bool:
        """Whether no two items belong together."""
        return self.n == len(self.of_item)

    def count(self, bears: npt.NDArray[np.bool_]) -> int:
        """Return how many units have one of these items at least."""
        return len(np.unique(self.of_item[bears]))


def units_of(annotations: Any, cluster: Any) -> Units:
    """Return the unit of each item.

    Raises
    ------
    ArgumentError
        If an item has no cluster, or there are fewer than two units.
    """
    annotations = read(annotations, rankings=True)
    units = _units(annotations, cluster)
    if units.n < 2:
        raise ArgumentError(
            "annotations",
            expected="two items or clusters at least: they are the sample",
            found=str(units.n),
        )
    return units


def _units(annotations: xr.Dataset, cluster: Any) -> Units:
    items = annotations[ITEM].to_numpy()
    named = "cluster_code" in annotations
    if isinstance(cluster, str) and cluster not in ((ITEM, CLUSTER) if named else (ITEM,)):
        raise ArgumentError(
            "cluster",
            expected=f'None, "{ITEM}", or the cluster of each item'
            + (f', or "{CLUSTER}"' if named else ""),
            found=repr(cluster),
            hint="Name the column of clusters when the annotations are read, with cluster=",
        )
    if (cluster is None and not named) or (isinstance(cluster, str) and cluster == ITEM):
        return Units(np.arange(len(items)), len(items), "items")
    if cluster is None or isinstance(cluster, str):
        cluster = annotations["cluster_code"].to_numpy()
    try:
        codes, names = pd.factorize(by_item(cluster, items, "cluster", "cluster"))
    except TypeError as problem:  # such as lists, which pandas cannot look up
        raise ArgumentError(
            "cluster", expected="a name or number for each item", found=str(problem)
        ) from problem
    if (codes < 0).any():
        lacking = items[codes < 0]
        raise ArgumentError(
            "cluster", expected="a cluster for each item", found=f"none for {shown(list(lacking))}"
        )
    return Units(codes.astype(np.int64), len(names), "clusters")


def warn_of_few(name: str, bears: npt.NDArray[np.bool_], units: Units, *, stacklevel: int) -> bool:
    """Warn if few units tell of a statistic, and return whether they are few.

    Parameters
    ----------
    name : str
        The statistic.
    bears : array of bool (item)
        Which items tell of it. That none does is not said: the statistic is undefined then.
    units : Units
        What was sampled.
    stacklevel : int
        As for `warnings.warn` where this is called.
    """
    n = units.count(bears)
    if n >= FEW_UNITS:
        return False
    if units.n < FEW_UNITS and n in (0, units.n):
        text = f"{n or units.n} {units.what} are few: {_NARROW}"
    elif n:
        text = (
            f"{n:,} of {units.n:,} {units.what} bear on {name}: with fewer than {FEW_UNITS}, "
            f"{_NARROW}"
        )
    else:
        return True
    warnings.warn(text, DissensusWarning, stacklevel=stacklevel + 1)
    return True


def warn_of_few_each(sums: Sums, units: Units, *, stacklevel: int) -> None:
    """Warn of values that rest on few units although others do not, and name them."""
    if sums.bearing is None or not sums.dims:
        return
    dim = next(dims[-1] for dims in sums.dims.values())
    called = sums.coords[dim] if sums.called is None else sums.called
    item, value = sums.bearing.nonzero()
    pair = units.of_item[item] * sums.bearing.shape[1] + value
    pair = pair if units.are_items else np.unique(pair)
    counts = np.bincount(pair % sums.bearing.shape[1], minlength=sums.bearing.shape[1])
    few = np.flatnonzero((counts > 0) & (counts < FEW_UNITS))
    if len(few):
        few = few[np.argsort(counts[few], kind="stable")]
        cells = [f"{shown([called[k]])} ({_counted(counts[k], units)})" for k in few[:5]]
        rest = f" and {len(few) - 5} more" if len(few) > 5 else ""
        warnings.warn(
            f"{sums.name} of {', '.join(cells)}{rest} rests on fewer than {FEW_UNITS} "
            f"{units.what}: {_NARROW}",
            DissensusWarning,
            stacklevel=stacklevel + 1,
        )


def _counted(n: int, units: Units) -> str:
    return f"{n} {units.what}" if n != 1 else f"1 {units.what[:-1]}"


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
