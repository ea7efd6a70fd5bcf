"""Kendall's tau and Spearman's footrule between predicted and plausible orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from dissensus.data.plausibility import Space
from dissensus.dims import ITEM, LABEL, POSITION
from dissensus.errors import PredictionError
from dissensus.kernels.overlap import (
    footrule_candidates,
    footrule_dense,
    kendall_candidates,
    kendall_dense,
)
from dissensus.metrics._lists import OUTSIDE, Prepare, Score, list_metric, on_candidates


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
    :math:`n_1, n_2` the pairs tied in either order. Unlisted labels are tied in the last place.

    Parameters
    ----------
    plausibility, predictions, weights, per_item, on_missing, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [-1, 1]. NaN where an order
        ties all labels, also for the mean over items.

    Raises
    ------
    PredictionError
        If items or labels do not fit, or a label outside the label space is predicted.

    Notes
    -----
    Where most labels have a plausibility near 0, their order is noise and makes most of the pairs.
    `average_overlap` depends on the first labels only.

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
        plausibility,
        predictions,
        _whole_order(kendall_dense, kendall_candidates),
        name="kendall_tau",
        weights=weights,
        per_item=per_item,
        on_missing=on_missing,
        random_seed=random_seed,
    )


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

    Raises
    ------
    PredictionError
        If items or labels do not fit, or a label outside the label space is predicted.

    Notes
    -----
    Where most labels have a plausibility near 0 it is mostly noise, as `kendall_tau`. Lower is
    better: `compare` and reports account for that.

    Source: Fagin et al. (2004), the profile footrule of two bucket orders, divided by its largest
    value.

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
        plausibility,
        predictions,
        _whole_order(footrule_dense, footrule_candidates),
        name="spearman_footrule",
        better="lower",
        weights=weights,
        per_item=per_item,
        on_missing=on_missing,
        random_seed=random_seed,
    )


def _whole_order(dense: Callable[..., Any], sparse: Callable[..., Any]) -> Prepare:
    """Return a metric of the order of all labels."""

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
            expected="labels of the label space only (an order of it has no place for others)",
            found="labels outside it",
            hint="Read the annotations with labels=",
        )
    known = len(space.labels)
    if not space.dense and int(space.sizes.sum(axis=1).max()) > known:
        raise PredictionError(
            "plausibility",
            expected="attrs['labels'], the whole label space, beside the candidate form",
            found=f"{known} known labels of {int(space.sizes.sum(axis=1).max())}",
        )


def _mid_ranks(lists: xr.Dataset, n_labels: int) -> xr.DataArray:
    """Return the mean rank of each label in a predicted list; unlisted labels tie at the end."""
    code, start, end = (
        lists[name].transpose(ITEM, POSITION).to_numpy() for name in ("code", "start", "end")
    )
    length = lists["length"].to_numpy()
    place = np.repeat(((length + n_labels - 1) / 2 + 1)[:, None], n_labels, axis=1)
    item, position = np.nonzero(end > 0)
    middle = (start[item, position] + end[item, position] - 1) / 2 + 1
    place[item, code[item, position]] = middle
    return xr.DataArray(place, dims=(ITEM, "all"))
