"""Means over items, and weights of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from dissensus.data.weights import by_name, check_values, item_weights
from dissensus.dims import ITEM, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.kernels.random import generator, item_keys
from dissensus.kernels.types import Ints, Names
from dissensus.kernels.variates import draw_exponential
from dissensus.kernels.weighted import weighted_mean

BOOTSTRAP = "bayesian-bootstrap"
ARGUMENT = "weights"


def weights_for(
    scores: xr.DataArray, weights: Any = None, random_seed: Any = None
) -> xr.DataArray | None:
    """Return weights over items; None, for equal weights, if ``weights`` is None.

    A DataArray with the coordinate ``item``, a mapping, and a Series whose index holds the items
    are matched by name, other weights by place. A DataArray may have further dims, such as chain
    and draw. "bayesian-bootstrap" draws weights from Dirichlet(1, ..., 1) for each draw.
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        check_bootstrap(weights)
        return bootstrap_weights(scores, random_seed)
    if isinstance(weights, xr.DataArray) and weights.dims != (ITEM,):
        return _with_other_dims(scores, weights)
    values = item_weights(weights, scores[ITEM].to_numpy(), ARGUMENT, f", or {BOOTSTRAP!r}")
    return xr.DataArray(values, dims=ITEM)


def check_bootstrap(weights: str) -> None:
    """Raise unless the name is "bayesian-bootstrap"."""
    if weights != BOOTSTRAP:
        raise ArgumentError(
            "weights", expected=f"None, an array, or {BOOTSTRAP!r}", found=repr(weights)
        )


def require_sample(scores: xr.DataArray) -> None:
    """Raise unless scores have draws: the bootstrap draws weights for each draw."""
    if not set(SAMPLE) <= set(scores.dims):
        raise ArgumentError(
            "weights",
            expected=f"None or an array: {BOOTSTRAP!r} needs draws",
            found=f"dims {scores.dims}",
        )


def _with_other_dims(scores: xr.DataArray, weights: xr.DataArray) -> xr.DataArray:
    if ITEM not in weights.dims or ITEM not in weights.coords:
        raise ArgumentError(
            "weights",
            expected=f"a DataArray with the dim {ITEM!r} and names of items",
            found=f"dims {weights.dims}",
        )
    place = by_name(weights[ITEM].to_numpy(), scores[ITEM].to_numpy(), ARGUMENT)
    # Weights that are already in this order are not copied.
    if len(place) < weights.sizes[ITEM] or (np.diff(place) != 1).any():
        weights = weights.isel({ITEM: place})
    weights = weights.drop_vars(ITEM).transpose(..., ITEM)
    for dim in set(weights.dims) & set(scores.dims):
        if weights.sizes[dim] != scores.sizes[dim]:
            raise ArgumentError(
                "weights",
                expected=f"{scores.sizes[dim]} along {dim!r}",
                found=f"{weights.sizes[dim]}",
            )
    if weights.chunks is None:  # a check of chunks would compute them
        check_values(weights.to_numpy(), ARGUMENT)
    return weights


def bootstrap_weights(
    scores: xr.DataArray, random_seed: Any = None, cluster: Ints | None = None
) -> xr.DataArray:
    """Draw Dirichlet(1, ..., 1) weights, not normalised, over (chain, draw, item).

    Items with the same number in ``cluster`` share a weight, since clusters were sampled. A weight
    depends on the item's name (or the cluster's number), and not on other items.
    """
    require_sample(scores)
    seed = int(generator(random_seed, "item weights").integers(2**31))
    chains, draws = (scores.sizes[dim] for dim in SAMPLE)
    names, unit = (
        (scores[ITEM].to_numpy(), slice(None))
        if cluster is None
        else np.unique(cluster, return_inverse=True)
    )
    keys = item_keys(names, chains, seed=seed)
    drawn = np.stack([draw_exponential(each, draws)[:, unit] for each in keys])
    return xr.DataArray(drawn, dims=(*SAMPLE, ITEM))


def over_items(scores: xr.DataArray, weights: xr.DataArray | None) -> xr.DataArray:
    """Average scores over items.

    If one score is undefined, the mean is undefined: otherwise systems would be compared on
    different items. Items of weight 0 may have undefined scores.
    """
    if weights is None:
        return scores.mean(ITEM, skipna=False)
    if weights.dims == (ITEM,) and bool((weights == 0).any()):
        positive = (weights > 0).to_numpy()
        scores, weights = scores.isel({ITEM: positive}), weights.isel({ITEM: positive})
    if any(array.chunks and len(array.chunksizes[ITEM]) > 1 for array in (scores, weights)):
        return (scores * weights).sum(ITEM, skipna=False) / weights.sum(ITEM)
    both = (array.astype(np.float64, copy=False) for array in (scores, weights))
    return xr.apply_ufunc(
        weighted_mean,
        *both,
        input_core_dims=[[ITEM], [ITEM]],
        dask="parallelized",
        output_dtypes=[np.float64],
    )


def by_system(parts: Sequence[xr.Dataset], systems: Names, better: Mapping[str, str]) -> xr.Dataset:
    """Join the metrics of systems (chain, draw, ..., system).

    ``better`` gives for each metric whether "higher" or "lower" values are better.
    """
    out = xr.concat(parts, dim=xr.IndexVariable(SYSTEM, systems), coords="minimal")
    for name, direction in better.items():
        out[name].attrs = {"better": direction}
    front = [dim for dim in SAMPLE if dim in out.dims]
    return out.transpose(*front, ..., SYSTEM)
