"""Metrics of draws in chunks: block of items by block, none of them held longer than it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.dims import CANDIDATE, ITEM, LABEL
from dissensus.errors import ArgumentError
from dissensus.plausibility import space

PART: Final = "part"
"""Of what a block says: its mean, and the weight that it has."""


def is_lazy(draws: xr.DataArray) -> bool:
    """Return whether draws are in Dask chunks, yet to be computed."""
    return draws.chunks is not None


def by_block(
    function: Callable[..., xr.DataArray],
    draws: xr.DataArray,
    *beside: xr.DataArray | xr.Dataset,
    dims: Sequence[Any],
    coords: dict[Any, Any],
    reduced: bool = False,
) -> xr.DataArray:
    """Apply a function to each block of items, lazily.

    Parameters
    ----------
    function : callable
        Of a block of the draws, and of what lies beside it, in memory; to an array over ``dims``.
    draws : DataArray (..., item, label or candidate)
        In chunks.
    *beside
        Of the same items, in the same order.
    dims : sequence of str
        Of the result.
    coords : dict
        Of each dim of the result but ``item``, and of other dims: names, or where there are none
        the length.
    reduced : bool
        Whether the result has one entry along ``item`` for a block, and not for each of its items.
    """
    draws = draws.chunk({dim: -1 for dim in draws.dims if dim != ITEM})
    sizes = draws.chunksizes[ITEM]
    counts = (1,) * len(sizes) if reduced else sizes
    chunks = tuple(counts if dim == ITEM else (_length(coords[dim]),) for dim in dims)
    names = {dim: coords[dim] for dim in dims if dim != ITEM and np.ndim(coords[dim])}

    def whole(block: xr.DataArray, *others: Any) -> xr.DataArray:
        found = function(block, *others).transpose(*dims)
        items = {} if reduced else {ITEM: block[ITEM]}
        return found.drop_vars(found.coords).assign_coords({**names, **items}).astype(np.float64)

    kept = names if reduced else {**names, ITEM: draws[ITEM]}
    return xr.map_blocks(
        whole, draws, args=[one.chunk({ITEM: sizes}) for one in beside],
        template=xr.DataArray(_empty(chunks), dims=dims, coords=kept),
    )  # fmt: skip


def front(theta: xr.DataArray) -> list[Any]:
    """Return all dims of a plausibility but those of items and labels."""
    return [dim for dim in theta.dims if dim not in {ITEM, LABEL, CANDIDATE}]


def coords_of(array: xr.DataArray, dims: Iterable[Any]) -> dict[Any, Any]:
    """Return the names along some dims, or their length where they have none."""
    return {d: array[d].to_numpy() if d in array.coords else array.sizes[d] for d in dims}


def _length(names: Any) -> int:
    return len(names) if np.ndim(names) else int(names)


def _empty(chunks: tuple[tuple[int, ...], ...]) -> Any:
    import dask.array as da

    return da.empty(tuple(map(sum, chunks)), chunks=chunks)


def all_labels(theta: xr.DataArray) -> Any:
    """Return the label space; of draws in chunks without looking at any item."""
    if not is_lazy(theta):
        return space(theta).labels
    if LABEL in theta.dims:
        return space(theta.isel({ITEM: slice(0)})).labels
    if "labels" not in theta.attrs:
        raise ArgumentError(
            "plausibility", expected="attrs['labels'], the whole label space, beside chunks",
            found=f"attrs {list(theta.attrs)}",
        )  # fmt: skip
    return np.atleast_1d(np.asarray(theta.attrs["labels"]))
