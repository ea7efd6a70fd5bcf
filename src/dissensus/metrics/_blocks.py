"""Metrics of draws in Dask chunks, one block of items at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final
from uuid import uuid4

import numpy as np
import xarray as xr

from dissensus.data.chunks import pruned
from dissensus.data.plausibility import space
from dissensus.dims import CANDIDATE, ITEM, LABEL, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.kernels.random import generator
from dissensus.kernels.rowwise import in_one_thread
from dissensus.kernels.types import Ints
from dissensus.metrics._items import bootstrap_weights, require_sample

_DRAWS: Final = "draws "
"""Key of the draws in a dict with their coordinates. No coordinate has a name with a space at its
end."""

PART: Final = "part"
"""The dim along which a block has several results, such as its mean and its weight."""


def is_lazy(draws: xr.DataArray) -> bool:
    """Return whether draws are in Dask chunks."""
    return draws.chunks is not None


def by_block(
    function: Callable[..., xr.DataArray],
    draws: xr.DataArray,
    *inputs: xr.DataArray | xr.Dataset,
    dims: Sequence[Any],
    coords: dict[Any, Any],
    reduced: bool = False,
) -> xr.DataArray:
    """Apply a function to each block of items, lazily.

    The function takes a block of the draws (..., item, label or candidate) and the same items of
    ``inputs``, and returns an array over ``dims``. With ``reduced`` this array has one entry along
    ``item``. ``coords`` has the names, or the length, of each dim except ``item``.

    Unlike in `xarray.map_blocks`, a task depends only on its block of draws. If tasks shared
    inputs, Dask would compute all blocks of draws before it scores the first block.
    """
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    draws = draws.chunk({dim: -1 for dim in draws.dims if dim != ITEM})
    sizes, lazy = draws.chunksizes[ITEM], _lazy_parts(draws)
    known = draws.coords.to_dataset().drop_vars([name for name in lazy if name in draws.coords])
    key = f"scores-{uuid4().hex}"
    layer: dict[Any, Any] = {}
    for number, ends in enumerate(pairwise(np.cumsum([0, *sizes]).tolist())):
        block_items = {ITEM: slice(*ends)}
        block = _Block(
            function=function,
            dims=tuple(dims),
            lazy={name: part.dims for name, part in lazy.items()},
            known=known.isel(block_items).assign_attrs(draws.attrs),
            inputs=pruned(*(array.isel(block_items) for array in inputs)),
        )
        drawn = [
            (part.data.name, *(number if dim == ITEM else 0 for dim in part.dims))
            for part in lazy.values()
        ]
        layer[key, *(number if dim == ITEM else 0 for dim in dims)] = (_applied, block, drawn)
    counts = (1,) * len(sizes) if reduced else sizes
    chunks = tuple(counts if dim == ITEM else (_length(coords[dim]),) for dim in dims)
    graph = HighLevelGraph.from_collections(key, layer, [part.data for part in lazy.values()])
    names = {dim: coords[dim] for dim in dims if dim != ITEM and np.ndim(coords[dim])}
    out_coords = names if reduced else {**names, ITEM: draws[ITEM]}
    return xr.DataArray(
        da.Array(graph, key, chunks, dtype=np.float64), dims=dims, coords=out_coords
    )


def _lazy_parts(draws: xr.DataArray) -> dict[Any, xr.Variable]:
    """Return the draws and their lazy coordinates by name, all with the chunks of the draws."""
    parts: dict[Any, xr.Variable] = {_DRAWS: draws.variable}
    parts |= {name: coord.variable for name, coord in draws.coords.items() if coord.chunks}
    sizes = draws.chunksizes[ITEM]
    return {
        name: part.chunk({dim: sizes if dim == ITEM else -1 for dim in part.dims})
        for name, part in parts.items()
    }


@dataclass
class _Block:
    """The inputs of a block's task, except its draws.

    This is a class and not a tuple, because Dask searches tuples for tasks.
    """

    function: Callable[..., xr.DataArray]
    dims: tuple[Any, ...]
    lazy: dict[Any, tuple[Any, ...]]
    known: xr.Dataset
    inputs: Sequence[Any]


def _applied(block: _Block, drawn: list[Any]) -> Any:
    """Return the scores of a block (array); ``drawn`` are its computed draws and coordinates."""
    parts = {
        name: (dims, values) for (name, dims), values in zip(block.lazy.items(), drawn, strict=True)
    }
    dims, values = parts.pop(_DRAWS)
    coords = {**block.known.coords, **parts}
    draws = xr.DataArray(values, dims=dims, coords=coords, attrs=block.known.attrs)
    inputs = [array.compute(scheduler="synchronous") for array in block.inputs]
    with in_one_thread():  # Dask's workers compute other blocks
        scored = block.function(draws, *inputs)
    return scored.transpose(*block.dims).to_numpy().astype(np.float64)


def lazy_bootstrap_weights(
    scores: xr.DataArray, random_seed: Any, cluster: Ints | None = None
) -> xr.DataArray:
    """Draw the weights of `bootstrap_weights` block by block, without computing the scores."""
    import dask.array as da

    require_sample(scores)
    rng = generator(random_seed, "item weights")
    state = deepcopy(rng)
    rng.integers(2**31)  # advance the caller's generator, as for draws in memory
    dims = [*SAMPLE, ITEM]
    chunks = [scores.chunksizes[ITEM] if dim == ITEM else (scores.sizes[dim],) for dim in dims]
    shape = [scores.sizes[dim] for dim in dims]
    like = xr.DataArray(da.zeros(shape, chunks=chunks), dims=dims, coords={ITEM: scores[ITEM]})
    inputs = [] if cluster is None else [xr.DataArray(cluster, dims=ITEM)]

    def drawn(block: xr.DataArray, *clusters: xr.DataArray) -> xr.DataArray:
        return bootstrap_weights(block, deepcopy(state), *(each.to_numpy() for each in clusters))

    return by_block(drawn, like, *inputs, dims=dims, coords=coords_of(scores, SAMPLE))


def front(theta: xr.DataArray) -> list[Any]:
    """Return the dims of a plausibility except those of items and labels."""
    return [dim for dim in theta.dims if dim not in {ITEM, LABEL, CANDIDATE}]


def coords_of(array: xr.DataArray, dims: Iterable[Any]) -> dict[Any, Any]:
    """Return the names along each of some dims, or the length of a dim without names."""
    return {d: array[d].to_numpy() if d in array.coords else array.sizes[d] for d in dims}


def _length(names: Any) -> int:
    return len(names) if np.ndim(names) else int(names)


def all_labels(theta: xr.DataArray) -> Any:
    """Return the label space, without computing draws that are in chunks."""
    if not is_lazy(theta):
        return space(theta).labels
    if LABEL in theta.dims:
        return space(theta.isel({ITEM: slice(0)})).labels
    if "labels" not in theta.attrs:
        raise ArgumentError(
            "plausibility",
            expected="attrs['labels'], the whole label space, which draws in chunks require",
            found=f"attrs {list(theta.attrs)}",
        )
    return np.atleast_1d(np.asarray(theta.attrs["labels"]))
