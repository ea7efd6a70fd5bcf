"""Overlap of predicted labels and most plausible labels, and correlation of whole orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.plausibility import Space
from dissensus.dims import ITEM, LABEL, POSITION
from dissensus.errors import PredictionError
from dissensus.kernels.overlap import (
    footrule_candidates,
    footrule_dense,
    kendall_candidates,
    kendall_dense,
    weighted_overlap,
)
from dissensus.metrics._insight import with_insight
from dissensus.metrics._lists import (
    OUTSIDE,
    PLACE,
    Prepare,
    Score,
    from_top,
    list_metric,
    on_candidates,
)


def _weighted(limit: float, weigh: Callable[[xr.DataArray, xr.DataArray], xr.DataArray]) -> Prepare:
    """Return a metric that is a weighted sum of the overlaps at the depths up to a limit.

    ``weigh`` returns the weights, from the depths 1, 2, ... and the lengths of the lists, which
    are clipped to the largest depth.
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
    r"""Share of the first k predicted labels that are among the k most plausible labels.

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

    Notes
    -----
    The order within the first k is ignored. With few labels, lists overlap by chance: for two of
    three labels, the mean overlap is .67.

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
        plausibility, predictions, _weighted(k, weigh), name=f"overlap_at_{k}",
        weights=weights, per_item=per_item, on_missing=on_missing, random_seed=random_seed,
    )  # fmt: skip


def average_overlap(
    plausibility: Any,
    predictions: xr.Dataset,
    depth: int,
    *,
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    insight: Any = None,
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Mean overlap over the depths 1, ..., L, in which first places have the most weight.

    .. math:: \frac1L \sum_{k=1}^{L} \mathrm{overlap@}k

    Parameters
    ----------
    plausibility, predictions
        As in `top_k_accuracy`.
    depth : int
        L. Beyond the end of a shorter list, the overlap is constant.
    weights, per_item, on_missing, insight, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [0, 1].

    Notes
    -----
    With ``insight``, each item's mean overlap gets a place between its smallest overlap in any draw
    (0) and its largest (1). This place counts as the probability that the list is right.

    With few labels, lists overlap by chance. At larger depths the value depends more on labels of
    low plausibility. Compare systems only at the same depth.

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
        # Depths beyond the end of a list repeat the overlap at the end.
        repeats = xr.where(depths == length, depth - length + 1, 1.0 * (depths < length))
        return repeats / (depth * depths)

    prepare = with_insight(
        _weighted(depth, weigh), insight, plausibility, predictions, on_missing, random_seed
    )
    return list_metric(
        plausibility, predictions, prepare, name=f"average_overlap_at_{depth}",
        weights=weights, per_item=per_item, on_missing=on_missing, random_seed=random_seed,
    )  # fmt: skip


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
        Persistence in (0, 1): the weight of depth d is proportional to p to the power d.
    weights, per_item, on_missing, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [0, 1].

    Notes
    -----
    The tails of long lists have almost no weight, and values for different p are not comparable.

    Source: Webber, Moffat & Zobel (2010), RBO_EXT for two lists cut at the same depth; for tied
    predictions, the expectation over random orders is used.

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
    p = arguments.probability("p", p, allow_zero=False, allow_one=False)

    def weigh(depths: xr.DataArray, length: xr.DataArray) -> xr.DataArray:
        within = (1 - p) / p * p**depths * (depths <= length)
        return (within + p**depths * (depths == length)) / depths

    return list_metric(
        plausibility, predictions, _weighted(np.inf, weigh), name="rank_biased_overlap",
        weights=weights, per_item=per_item, on_missing=on_missing, random_seed=random_seed,
    )  # fmt: skip


def kendall_tau(
    plausibility: Any,
    predictions: xr.Dataset,
    *,
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Kendall's tau-b between the predicted order and each draw's order of all labels.

    .. math:: \tau_b = \frac{C - D}{\sqrt{(n_0 - n_1)(n_0 - n_2)}}

    with C concordant and D discordant pairs of labels, :math:`n_0 = K(K-1)/2`, and
    :math:`n_1, n_2` the pairs tied in either order. Unlisted labels are tied in the last place; all
    predicted labels must be in the label space.

    Parameters
    ----------
    plausibility, predictions, weights, per_item, on_missing, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [-1, 1]. NaN where all labels of
        an order are tied; the mean over items is then NaN too.

    Notes
    -----
    If most labels have a plausibility near 0, most pairs are of these labels, whose order is noise.
    `average_overlap` depends only on the first labels.

    Source: Kendall (1945), the variant b, as in `scipy.stats.kendalltau`.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.3, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1], "label": list("abc")})
    >>> pred = dx.predictions({"item": [1, 1, 1], "system": ["m"] * 3, "label": list("acb"),
    ...                        "rank": [1, 2, 3]}, rank="rank")
    >>> round(dx.kendall_tau(theta, pred).item(), 3)
    0.333
    """
    return list_metric(
        plausibility, predictions, _whole_order(kendall_dense, kendall_candidates),
        name="kendall_tau", weights=weights, per_item=per_item,
        on_missing=on_missing, random_seed=random_seed,
    )  # fmt: skip


def spearman_footrule(
    plausibility: Any,
    predictions: xr.Dataset,
    *,
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Spearman's footrule distance between the predicted order and each draw's order.

    .. math:: F = \sum_k |r_k - r'_k| \,/\, \lfloor K^2 / 2 \rfloor

    with mid-ranks r for ties; unlisted labels are tied in the last place.

    Parameters
    ----------
    plausibility, predictions, weights, per_item, on_missing, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system). A distance: 0 is the same
        order, 1 the reverse; lower is better.

    Notes
    -----
    If most labels have a plausibility near 0, the distance is mostly noise, like `kendall_tau`.
    Lower values are better: `compare` and reports account for this.

    Source: Fagin et al. (2004), the profile footrule of two bucket orders, divided by the largest
    possible value.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.3, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1], "label": list("abc")})
    >>> pred = dx.predictions({"item": [1, 1, 1], "system": ["m"] * 3, "label": list("cba"),
    ...                        "rank": [1, 2, 3]}, rank="rank")
    >>> dx.spearman_footrule(theta, pred).item()
    1.0
    """
    return list_metric(
        plausibility, predictions, _whole_order(footrule_dense, footrule_candidates),
        name="spearman_footrule", better="lower", weights=weights, per_item=per_item,
        on_missing=on_missing, random_seed=random_seed,
    )  # fmt: skip


def _whole_order(dense: Callable[..., Any], sparse: Callable[..., Any]) -> Prepare:
    """Return a metric of the order of all labels, from kernels for dense and candidate forms."""

    def prepare(theta: xr.DataArray, lists: xr.Dataset, space: Space) -> Score:
        _check_space(lists, space)

        def score(lists: xr.Dataset) -> xr.DataArray:
            place = _mid_ranks(lists, len(space.labels))
            if space.dense:
                return xr.apply_ufunc(dense, theta, place, input_core_dims=[[LABEL], ["all"]])
            return on_candidates(sparse, theta, space, place, more_dims=[["all"]], output_dims=[])

        return score

    return prepare


def _check_space(lists: xr.Dataset, space: Space) -> None:
    listed = lists["end"] > 0
    if bool(((lists["code"] == OUTSIDE) & listed).any()):
        raise PredictionError(
            "predictions",
            expected="only labels of the label space, which have a place in the order",
            found="labels outside it",
            hint="Read the annotations with labels=",
        )
    known = len(space.labels)
    if not space.dense and int(space.sizes.sum(axis=1).max()) > known:
        raise PredictionError(
            "plausibility",
            expected="attrs['labels'], the whole label space, which the candidate form requires",
            found=f"{known} known labels of {int(space.sizes.sum(axis=1).max())}",
        )


def _mid_ranks(lists: xr.Dataset, n_labels: int) -> xr.DataArray:
    """Return mid-ranks of all labels in the lists (item, label); unlisted labels are tied last."""
    code, start, end = (
        lists[name].transpose(ITEM, POSITION).to_numpy() for name in ("code", "start", "end")
    )
    length = lists["length"].to_numpy()
    place = np.repeat(((length + n_labels - 1) / 2 + 1)[:, None], n_labels, axis=1)
    item, position = np.nonzero(end > 0)
    middle = (start[item, position] + end[item, position] - 1) / 2 + 1
    place[item, code[item, position]] = middle
    return xr.DataArray(place, dims=(ITEM, "all"))
