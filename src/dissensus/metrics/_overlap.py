"""Overlap of predicted and true top sets, at one depth or averaged over depths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.kernels.overlap import weighted_overlap
from dissensus.metrics._lists import PLACE, Prepare, from_top, list_metric


def _weighted(limit: float, weigh: Callable[[xr.DataArray, xr.DataArray], xr.DataArray]) -> Prepare:
    """Return a metric that weights the overlap at each depth up to a limit.

    ``weigh`` gets the depths 1, 2, ... and the lengths of the lists, cut at the limit.
    """

    def tail(lists: xr.Dataset, top: int) -> xr.DataArray:
        depths = xr.DataArray(np.arange(1.0, top + 1), dims=PLACE)
        weight = weigh(depths, lists["length"].clip(max=top))
        backwards = {PLACE: slice(None, None, -1)}
        return weight.isel(backwards).cumsum(PLACE).isel(backwards)

    return from_top(limit, weighted_overlap, tail, [PLACE])


def overlap(
    plausibility: Any,
    predictions: xr.Dataset,
    k: int,
    *,
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Share of the first k predicted labels that are among as many most plausible ones.

    .. math:: \mathrm{overlap@}k = |C \cap Y_{\mathrm{top}\text{-}|C|}(\theta)| \,/\, |C|,
        \qquad C = \text{the first } k \text{ predicted labels}

    Parameters
    ----------
    plausibility, predictions
        As in `top_k_accuracy`.
    k : int
        Depth; a list shorter than k is compared at its own length.
    weights, per_item, on_missing, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [0, 1].

    Raises
    ------
    PredictionError
        If items or labels do not fit.
    ArgumentError
        If k is not a positive whole number.

    Notes
    -----
    It ignores the order within the first k. With few labels, lists overlap by chance: two of three
    labels by .67 on average.

    Source: Stutz et al. (2023), Eq. 10 and 11.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.3, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1], "label": list("abc")})
    >>> pred = dx.predictions({"item": [1, 1], "system": ["m", "m"], "label": ["a", "c"],
    ...                        "rank": [1, 2]}, rank="rank")
    >>> dx.overlap(theta, pred, k=2).item()
    0.5
    """
    k = arguments.whole("k", k)

    def weigh(depth: xr.DataArray, length: xr.DataArray) -> xr.DataArray:
        return (depth == length) / depth

    return list_metric(
        plausibility,
        predictions,
        _weighted(k, weigh),
        name=f"overlap_at_{k}",
        weights=weights,
        per_item=per_item,
        on_missing=on_missing,
        random_seed=random_seed,
    )


def average_overlap(
    plausibility: Any,
    predictions: xr.Dataset,
    depth: int,
    *,
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Mean overlap over the depths 1, ..., L, which counts the first places most.

    .. math:: \frac1L \sum_{k=1}^{L} \mathrm{overlap@}k

    Parameters
    ----------
    plausibility, predictions
        As in `top_k_accuracy`.
    depth : int
        L; past the end of a shorter list its overlap stays constant.
    weights, per_item, on_missing, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [0, 1].

    Raises
    ------
    PredictionError
        If items or labels do not fit.
    ArgumentError
        If depth is not a positive whole number.

    Notes
    -----
    With few labels, lists overlap by chance. At larger depths it depends more on labels of little
    plausibility. Compare systems at one depth only.

    Source: Stutz et al. (2023), Eq. 12.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.3, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1], "label": list("abc")})
    >>> pred = dx.predictions({"item": [1, 1], "system": ["m", "m"], "label": ["b", "a"],
    ...                        "rank": [1, 2]}, rank="rank")
    >>> dx.average_overlap(theta, pred, depth=2).item()
    0.5
    """
    depth = arguments.whole("depth", depth)

    def weigh(depths: xr.DataArray, length: xr.DataArray) -> xr.DataArray:
        # Depths past the end of a list repeat the overlap at its end.
        repeats = xr.where(depths == length, depth - length + 1, 1.0 * (depths < length))
        return repeats / (depth * depths)

    return list_metric(
        plausibility,
        predictions,
        _weighted(depth, weigh),
        name=f"average_overlap_at_{depth}",
        weights=weights,
        per_item=per_item,
        on_missing=on_missing,
        random_seed=random_seed,
    )


def rank_biased_overlap(
    plausibility: Any,
    predictions: xr.Dataset,
    p: float = 0.9,
    *,
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Rank-biased overlap, extrapolated from the length D of the predicted list.

    .. math:: \frac{X_D}{D} p^D + \frac{1-p}{p} \sum_{d=1}^{D} \frac{X_d}{d} p^d

    with :math:`X_d` the number of labels common to the first d of both orders.

    Parameters
    ----------
    plausibility, predictions
        As in `top_k_accuracy`.
    p : float
        Persistence in (0, 1): the weight of depth d falls as p to the d.
    weights, per_item, on_missing, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [0, 1].

    Raises
    ------
    PredictionError
        If items or labels do not fit.
    ArgumentError
        If p is not between 0 and 1.

    Notes
    -----
    The tails of long lists have next to no weight, and values for different p do not compare.

    Source: Webber, Moffat & Zobel (2010), RBO_EXT for two lists cut at the same depth; tied
    predictions enter by their expectation over random orders.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.3, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1], "label": list("abc")})
    >>> pred = dx.predictions({"item": [1, 1], "system": ["m", "m"], "label": ["a", "c"],
    ...                        "rank": [1, 2]}, rank="rank")
    >>> round(dx.rank_biased_overlap(theta, pred, p=0.5).item(), 3)
    0.75
    """
    p = arguments.probability("p", p, zero=False, one=False)

    def weigh(depths: xr.DataArray, length: xr.DataArray) -> xr.DataArray:
        within = (1 - p) / p * p**depths * (depths <= length)
        return (within + p**depths * (depths == length)) / depths

    return list_metric(
        plausibility,
        predictions,
        _weighted(np.inf, weigh),
        name="rank_biased_overlap",
        weights=weights,
        per_item=per_item,
        on_missing=on_missing,
        random_seed=random_seed,
    )
