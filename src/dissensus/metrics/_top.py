"""The top labels of every draw, for both forms of a plausibility."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.arrays.top import top_candidates, top_dense
from dissensus.dims import LABEL
from dissensus.metrics._candidates import on_candidates
from dissensus.plausibility import Space

PLACE = "place"
"""First, second, ... in a draw's own order of labels."""


_FOUND: Final[ContextVar[tuple[int, dict[Any, Any]] | None]] = ContextVar("found", default=None)


@contextmanager
def looked_for_once(depth: int) -> Iterator[None]:
    """Look for the top labels of the same draws once, so deep, whatever number of metrics asks.

    To draw the share of each of hundreds of labels that nobody named takes longer than all else
    that a metric does. Only for draws that stay as they are meanwhile.
    """
    token = _FOUND.set((depth, {}))
    try:
        yield
    finally:
        _FOUND.reset(token)


def top_labels(plausibility: xr.DataArray, where: Space, depth: int) -> xr.DataArray:
    """Return the codes of each draw's ``depth`` largest labels, the largest first.

    Parameters
    ----------
    plausibility : xarray.DataArray
        (..., item, label) or (..., item, candidate).
    where : Space
        Its label space.
    depth : int
        How many.

    Returns
    -------
    xarray.DataArray
        Integer codes over (..., item, place); negative where no label with a name stands.
    """
    known = _FOUND.get()
    if known is None or plausibility.chunks is not None:
        return _searched(plausibility, where, depth)
    deepest, found = known
    values = plausibility.data
    place = (values.ctypes.data, values.shape, values.strides, len(where.labels), where.seed)
    _, top = found.get(place, (None, None))
    if top is None or top.sizes[PLACE] < depth:
        top = _searched(plausibility, where, max(depth, deepest))
        found[place] = values, top  # held, so that nothing else comes to stand there
    return top.isel({PLACE: slice(depth)})


def _searched(plausibility: xr.DataArray, where: Space, depth: int) -> xr.DataArray:
    like = xr.DataArray(np.zeros(depth, dtype=np.int64), dims=PLACE)
    if where.dense:
        return xr.apply_ufunc(
            top_dense, plausibility, like,
            input_core_dims=[[LABEL], [PLACE]], output_core_dims=[[PLACE]],
        )  # fmt: skip
    return on_candidates(
        top_candidates, plausibility, where, len(where.labels), like,
        more_dims=[[], [PLACE]], output_dims=[PLACE],
    )  # fmt: skip
