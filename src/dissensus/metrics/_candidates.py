"""Calling a kernel on the candidate form: the five arguments that all such kernels begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from dissensus.data.plausibility import Space
from dissensus.dims import CANDIDATE, CHAIN, DRAW, ITEM
from dissensus.kernels.random import name_hashes, row_keys


def on_candidates(
    kernel: Callable[..., Any],
    plausibility: xr.DataArray,
    where: Space,
    *more: Any,
    more_dims: list[list[str]],
    output_dims: list[str],
) -> xr.DataArray:
    """Apply a kernel to masses, codes, sizes, concentration and keys, and to what it needs more.

    Parameters
    ----------
    kernel : callable
        A kernel of a row in candidate form, see `dissensus.kernels.remainder`.
    plausibility : xarray.DataArray
        (..., item, candidate).
    where : Space
        Its label space.
    *more
        Further arguments.
    more_dims : list of list of str
        Their core dims.
    output_dims : list of str
        Core dims of the result.
    """
    dims = (ITEM, CANDIDATE)
    return xr.apply_ufunc(
        kernel,
        plausibility.drop_vars(["candidate_label", "candidate_size"]),
        xr.DataArray(where.codes, dims=dims),
        xr.DataArray(where.sizes, dims=dims),
        where.concentration,
        _keys(plausibility, where),
        *more,
        input_core_dims=[[CANDIDATE], [CANDIDATE], [CANDIDATE], [], [], *more_dims],
        output_core_dims=[output_dims],
    )


def _keys(plausibility: xr.DataArray, where: Space) -> xr.DataArray:
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
    return xr.DataArray(name_hashes(names.to_numpy()), dims=names.dims)
