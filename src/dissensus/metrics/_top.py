"""The top labels of every draw, for both forms of a plausibility."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.arrays.remainder import row_keys
from dissensus.arrays.top import top_candidates, top_dense
from dissensus.dims import CANDIDATE, CHAIN, DRAW, ITEM, LABEL
from dissensus.plausibility import Space

PLACE = "place"
"""First, second, ... in a draw's own order of labels."""


def keys(plausibility: xr.DataArray, where: Space) -> xr.DataArray:
    """Give each (draw, item) the key of its random stream for the remainder.

    The key hangs on the names of chain, draw and item, so that a selection of draws, items in
    another order, or one value along a further dimension meet the same random numbers.
    """
    hashes = [_hashes(plausibility, dim) for dim in (CHAIN, DRAW, ITEM)]
    return xr.apply_ufunc(row_keys, *hashes, kwargs={"seed": where.seed})


def _hashes(plausibility: xr.DataArray, dim: str) -> xr.DataArray:
    if dim not in plausibility.dims and dim not in plausibility.coords:
        return xr.DataArray(np.uint64(0))
    names = plausibility[dim]
    values = pd.util.hash_array(np.atleast_1d(names.to_numpy()))
    return xr.DataArray(values.reshape(names.shape), dims=names.dims)


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
    like = xr.DataArray(np.zeros(depth, dtype=np.int64), dims=PLACE)
    if where.dense:
        return xr.apply_ufunc(
            top_dense, plausibility, like,
            input_core_dims=[[LABEL], [PLACE]], output_core_dims=[[PLACE]],
        )  # fmt: skip
    dims = (ITEM, CANDIDATE)
    return xr.apply_ufunc(
        top_candidates,
        plausibility.drop_vars(["candidate_label", "candidate_size"]),
        xr.DataArray(where.codes, dims=dims),
        xr.DataArray(where.sizes, dims=dims),
        where.concentration,
        keys(plausibility, where),
        len(where.labels),
        like,
        input_core_dims=[[CANDIDATE], [CANDIDATE], [CANDIDATE], [], [], [], [PLACE]],
        output_core_dims=[[PLACE]],
    )
