"""Averaging over items, which is where the second source of uncertainty enters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.weights import by_name, check_values
from dissensus.data.weights import item_weights as from_given
from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.kernels.random import generator, item_keys
from dissensus.kernels.variates import draw_exponential
from dissensus.kernels.weighted import weighted_mean

BOOTSTRAP = "bayesian-bootstrap"
ARGUMENT = "weights"


def weights_for(
    scores: xr.DataArray, weights: Any = None, random_seed: Any = None
) -> xr.DataArray | None:
    """Return weights over items: None, the ones given, or a Dirichlet(1, ..., 1) draw per draw.

    Parameters
    ----------
    scores : xarray.DataArray
        Whose items (and draws) the weights are for.
    weights : None, array-like (item), mapping from item to weight, or "bayesian-bootstrap"
        Weights need not sum to 1. A DataArray with the coordinate ``item``, a mapping, and a
        Series whose index holds the items are matched by name, all else by place. A DataArray may
        have other dims besides, such as chain and draw: the average then has them too.
    random_seed : int or numpy.random.Generator, optional
        For the bootstrap.

    Raises
    ------
    ArgumentError
        If weights are negative, not finite, all zero, or of another length than the items.
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        check_bootstrap(weights)
        return bootstrap_weights(scores, random_seed)
    if isinstance(weights, xr.DataArray) and weights.dims != (ITEM,):
        return _with_other_dims(scores, weights)
    values = from_given(weights, scores[ITEM].to_numpy(), ARGUMENT, f", or {BOOTSTRAP!r}")
    return xr.DataArray(values, dims=ITEM)


def check_bootstrap(weights: str) -> None:
    """Raise unless the name is that of the bootstrap."""
    if weights != BOOTSTRAP:
        raise ArgumentError(
            "weights", expected=f"None, an array, or {BOOTSTRAP!r}", found=repr(weights)
        )


def _with_other_dims(scores: xr.DataArray, weights: xr.DataArray) -> xr.DataArray:
    """Return weights that also differ between draws, or between kinds of weighting."""
    if ITEM not in weights.dims or ITEM not in weights.coords:
        raise ArgumentError(
            "weights",
            expected=f"a DataArray with {ITEM!r} among its dims, and names there",
            found=f"dims {weights.dims}",
        )
    place = by_name(weights[ITEM].to_numpy(), scores[ITEM].to_numpy(), ARGUMENT)
    if len(place) < weights.sizes[ITEM] or (np.diff(place) != 1).any():  # else spare them a copy
        weights = weights.isel({ITEM: place})
    weights = weights.drop_vars(ITEM).transpose(..., ITEM)
    for dim in set(weights.dims) & set(scores.dims):
        if weights.sizes[dim] != scores.sizes[dim]:
            raise ArgumentError(
                "weights",
                expected=f"{scores.sizes[dim]} along {dim!r}",
                found=f"{weights.sizes[dim]}",
            )
    if weights.chunks is None:  # else as they are computed
        check_values(weights.to_numpy(), ARGUMENT)
    return weights


def bootstrap_weights(
    scores: xr.DataArray, random_seed: Any = None, cluster: npt.NDArray[np.int64] | None = None
) -> xr.DataArray:
    """Draw Dirichlet(1, ..., 1) weights, not normalised, over (chain, draw, item).

    With ``cluster``, the number of each item's cluster, items of a cluster share their weight: it
    is clusters that were sampled. A weight hangs on the item's name, or the cluster's number, not
    on the items beside it.
    """
    missing = [dim for dim in SAMPLE if dim not in scores.dims]
    if missing:
        raise ArgumentError(
            "weights",
            expected=f"None or an array: {BOOTSTRAP!r} needs draws",
            found=f"dims {scores.dims}",
        )
    seed = int(generator(random_seed, "item weights").integers(2**31))
    chains, draws = (scores.sizes[dim] for dim in SAMPLE)
    names, which = (
        (scores[ITEM].to_numpy(), slice(None))
        if cluster is None
        else np.unique(cluster, return_inverse=True)
    )
    keys = item_keys(names, chains, seed=seed)
    drawn = np.stack([draw_exponential(each, draws)[:, which] for each in keys])
    return xr.DataArray(drawn, dims=(*SAMPLE, ITEM))


def over_items(scores: xr.DataArray, weights: xr.DataArray | None) -> xr.DataArray:
    """Average scores over items.

    A score that is undefined for one item makes the average undefined: to leave the item out would
    let one system be judged on fewer items than another. An item of weight 0 is left out.
    """
    if weights is None:
        return scores.mean(ITEM, skipna=False)
    if weights.dims == (ITEM,) and bool((weights == 0).any()):
        kept = (weights > 0).to_numpy()
        scores, weights = scores.isel({ITEM: kept}), weights.isel({ITEM: kept})
    both = (one.astype(np.float64, copy=False) for one in (scores, weights))
    return xr.apply_ufunc(
        weighted_mean, *both, input_core_dims=[[ITEM], [ITEM]], dask="parallelized",
        output_dtypes=[np.float64],
    )  # fmt: skip
