"""Metrics of draws in chunks: block of items by block, none of them held longer than it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, Final
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.chunks import alone
from dissensus.data.plausibility import space
from dissensus.dims import CANDIDATE, ITEM, LABEL, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.kernels.random import generator
from dissensus.kernels.rowwise import in_one_thread
from dissensus.metrics._items import bootstrap_weights

_DRAWS: Final = "draws "
"""Not the name of any coordinate."""

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

    What `xarray.map_blocks` does, but for one thing: a block's draws are all that its task waits
    for. Where tasks share what they read, Dask draws all of these blocks before it scores any.

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
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    draws = draws.chunk({dim: -1 for dim in draws.dims if dim != ITEM})
    sizes, lazy = draws.chunksizes[ITEM], _lazy_parts(draws)
    known = draws.coords.to_dataset().drop_vars([name for name in lazy if name in draws.coords])
    key = f"scores-{uuid4().hex}"
    layer: dict[Any, Any] = {}
    for number, ends in enumerate(pairwise(np.cumsum([0, *sizes]).tolist())):
        here = {ITEM: slice(*ends)}
        block = _Block(
            function, tuple(dims), {name: one.dims for name, one in lazy.items()},
            known.isel(here).assign_attrs(draws.attrs), alone(*(one.isel(here) for one in beside)),
        )  # fmt: skip
        drawn = [
            (one.data.name, *(number if dim == ITEM else 0 for dim in one.dims))
            for one in lazy.values()
        ]
        layer[key, *(number if dim == ITEM else 0 for dim in dims)] = (_applied, block, drawn)
    counts = (1,) * len(sizes) if reduced else sizes
    chunks = tuple(counts if dim == ITEM else (_length(coords[dim]),) for dim in dims)
    graph = HighLevelGraph.from_collections(key, layer, [one.data for one in lazy.values()])
    names = {dim: coords[dim] for dim in dims if dim != ITEM and np.ndim(coords[dim])}
    kept = names if reduced else {**names, ITEM: draws[ITEM]}
    return xr.DataArray(da.Array(graph, key, chunks, dtype=np.float64), dims=dims, coords=kept)


def _lazy_parts(draws: xr.DataArray) -> dict[Any, xr.Variable]:
    """Return what is yet to be computed, cut alike: the draws, and coordinates of theirs."""
    found: dict[Any, xr.Variable] = {_DRAWS: draws.variable}
    found |= {name: one.variable for name, one in draws.coords.items() if one.chunks is not None}
    sizes = draws.chunksizes[ITEM]
    return {
        name: one.chunk({dim: sizes if dim == ITEM else -1 for dim in one.dims})
        for name, one in found.items()
    }


class _Block:
    """What a block's task needs beside draws. Not a tuple: Dask would look for tasks in that."""

    def __init__(
        self, function: Callable[..., xr.DataArray], dims: tuple[Any, ...],
        lazy: dict[Any, tuple[Any, ...]], known: xr.Dataset, beside: Sequence[Any],
    ) -> None:  # fmt: skip
        self.function, self.dims = function, dims
        self.lazy, self.known, self.beside = lazy, known, beside


def _applied(block: _Block, drawn: list[Any]) -> Any:
    """Put a block's draws together, and apply the function."""
    found = {
        name: (dims, values) for (name, dims), values in zip(block.lazy.items(), drawn, strict=True)
    }
    dims, values = found.pop(_DRAWS)
    coords = {**block.known.coords, **found}
    draws = xr.DataArray(values, dims=dims, coords=coords, attrs=block.known.attrs)
    beside = [one.compute(scheduler="synchronous") for one in block.beside]
    with in_one_thread():  # Dask's workers are at other blocks
        scored = block.function(draws, *beside)
    return scored.transpose(*block.dims).to_numpy().astype(np.float64)


def lazy_bootstrap_weights(
    scores: xr.DataArray, random_seed: Any, cluster: npt.NDArray[np.int64] | None = None
) -> xr.DataArray:
    """Draw what `bootstrap_weights` draws, block by block; the scores themselves are not read."""
    import dask.array as da

    rng = generator(random_seed, "item weights")
    state = deepcopy(rng)
    rng.integers(2**31)  # one that was passed goes on, as it does where draws are in memory
    dims = [*SAMPLE, ITEM]
    chunks = [scores.chunksizes[ITEM] if dim == ITEM else (scores.sizes[dim],) for dim in dims]
    shape = [scores.sizes[dim] for dim in dims]
    like = xr.DataArray(da.zeros(shape, chunks=chunks), dims=dims, coords={ITEM: scores[ITEM]})
    beside = [] if cluster is None else [xr.DataArray(cluster, dims=ITEM)]

    def drawn(block: xr.DataArray, *numbers: xr.DataArray) -> xr.DataArray:
        which = (one.to_numpy() for one in numbers)
        return bootstrap_weights(block, deepcopy(state), *which)

    return by_block(drawn, like, *beside, dims=dims, coords=coords_of(scores, SAMPLE))


def front(theta: xr.DataArray) -> list[Any]:
    """Return all dims of a plausibility but those of items and labels."""
    return [dim for dim in theta.dims if dim not in {ITEM, LABEL, CANDIDATE}]


def coords_of(array: xr.DataArray, dims: Iterable[Any]) -> dict[Any, Any]:
    """Return the names along some dims, or their length where they have none."""
    return {d: array[d].to_numpy() if d in array.coords else array.sizes[d] for d in dims}


def _length(names: Any) -> int:
    return len(names) if np.ndim(names) else int(names)


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
