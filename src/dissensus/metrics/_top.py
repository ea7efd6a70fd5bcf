"""The top labels of every draw, for both forms of a plausibility."""

from __future__ import annotations

import numpy as np
import xarray as xr

from dissensus.data.plausibility import Space, remembered
from dissensus.dims import LABEL
from dissensus.kernels.remainder import top_candidates, top_dense
from dissensus.metrics._candidates import on_candidates

PLACE = "place"
"""First, second, ... in a draw's own order of labels."""


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
    deepest, known = remembered(plausibility)
    place = ("top", len(where.labels), where.seed)
    if place not in known or known[place].sizes[PLACE] < depth:
        known[place] = _searched(plausibility, where, max(depth, deepest))
    return known[place].isel({PLACE: slice(depth)})


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
