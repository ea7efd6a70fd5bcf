"""Accuracies of top labels and sets, and the certainty of the most plausible labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.plausibility import plausibility_of, space
from dissensus.dims import CHAIN, DRAW, ITEM, SAMPLE
from dissensus.kernels.candidates import modal_share, set_codes
from dissensus.kernels.overlap import holds_first, same_set
from dissensus.metrics._blocks import PART, by_block, coords_of, front, is_lazy
from dissensus.metrics._insight import with_insight
from dissensus.metrics._lists import (
    PLACE,
    from_top,
    list_metric,
    require_draws,
    top_labels,
)


def top_k_accuracy(
    plausibility: Any,
    predictions: xr.Dataset,
    k: int = 1,
    *,
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    insight: Any = None,
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Share of items whose most plausible label is among the first k predicted labels.

    .. math:: \mathrm{accuracy}^{(m)} = \frac1n \sum_i
        1[\arg\max_y \theta^{(m)}_{iy} \in C_{\mathrm{top}\text{-}k}(i)]

    The mean over draws m is the uncertainty-adjusted accuracy; the spread over draws is the
    uncertainty that the annotations leave. Intervals are for these items; with
    ``weights="bayesian-bootstrap"`` they are for new items.

    Parameters
    ----------
    plausibility : DataTree, Dataset or DataArray
        A fit, its posterior, or the plausibility itself, dense or in candidate form.
    predictions : xarray.Dataset
        From `dissensus.predictions`.
    k : int
        Number of predicted labels that count. If predicted labels are tied across place k, they
        count with the probability of being among the first k in a random order.
    weights : array (item), mapping, "bayesian-bootstrap", optional
        Weights of the items, matched by name if they have names. The bootstrap draws weights from
        Dirichlet(1, ..., 1) for each draw, the same for all systems.
    per_item : bool
        Return a value for each item, not the mean.
    on_missing : {"raise", "drop"}
        What to do about items without a plausibility or predictions.
    insight : "learned" or DataArray (..., system), optional
        A system's knowledge of the panel beyond the item's labels. Insight is added to the log odds
        that a prediction is right, on items where draws disagree about that. It cannot be estimated
        from labels: "learned" draws it from a distribution chosen on real panels with ten or more
        labels per item (`docs/validation.md`). Use it for fits of `models.dirichlet` or
        `models.plackett_luce` with a learned prior, as `evaluate` does. By default insight is 0: on
        evenly split items, systems are assumed to err like annotators.
    random_seed : int, optional
        Seed of the bootstrap and of insight.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [0, 1].

    Notes
    -----
    With a fixed prior, or with plausibilities from a fit without predictions, all systems are
    underestimated: if the most plausible label of an item is uncertain, every prediction gets
    partial credit. With fewer annotators the error is larger. With k near the number of labels all
    systems have high values.

    Source: Stutz et al. (2023), Eq. 8. Ties of plausibilities (possible in a point estimate) are
    broken by label order.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["a", "a"]})
    >>> fit = dx.models.dirichlet.fit(ann, draws=200, random_seed=1)
    >>> dx.top_k_accuracy(fit, pred).dims
    ('chain', 'draw', 'system')
    """
    k = arguments.whole("k", k)

    def depth(lists: xr.Dataset, top: int) -> xr.DataArray:  # noqa: ARG001
        return xr.DataArray(np.int64(k))

    prepare = with_insight(
        from_top(1, holds_first, depth), insight, plausibility, predictions, on_missing, random_seed
    )
    return list_metric(
        plausibility, predictions, prepare,
        name=f"top_{k}_accuracy", weights=weights, per_item=per_item,
        on_missing=on_missing, random_seed=random_seed,
    )  # fmt: skip


def set_accuracy(
    plausibility: Any,
    predictions: xr.Dataset,
    k: int | None = None,
    *,
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    insight: Any = None,
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Share of items whose predicted set is the most plausible set of the same size.

    .. math:: \frac1n \sum_i 1[Y_{\mathrm{top}\text{-}|C|}(\theta^{(m)}_i) = C(i)]

    Parameters
    ----------
    plausibility, predictions
        As in `top_k_accuracy`.
    k : int, optional
        Take the first k labels of each list as C; by default the whole list.
    weights, per_item, on_missing, insight, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (chain, draw, system), or (chain, draw, item, system); in [0, 1].

    Notes
    -----
    With long sets the value is misleading: one wrong label of five makes the whole set wrong, and
    small differences of plausibility determine which labels are in the most plausible set.
    `average_overlap` gives partial credit.

    Labels of plausibility exactly 0 are never in the most plausible set.

    Source: Stutz et al. (2023), Eq. 9.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.3, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1], "label": list("abc")})
    >>> pred = dx.predictions({"item": [1, 1], "system": ["m", "m"], "label": ["b", "a"],
    ...                        "rank": [1, 2]}, rank="rank")
    >>> dx.set_accuracy(theta, pred).item(), dx.set_accuracy(theta, pred, k=1).item()
    (1.0, 0.0)
    """
    limit = None if k is None else arguments.whole("k", k)

    def depth(lists: xr.Dataset, top: int) -> xr.DataArray:
        return lists["length"].clip(max=top)

    prepare = with_insight(
        from_top(np.inf if limit is None else limit, same_set, depth), insight, plausibility,
        predictions, on_missing, random_seed,
    )  # fmt: skip
    return list_metric(
        plausibility, predictions, prepare,
        name="set_accuracy" if limit is None else f"top_{limit}_set_accuracy",
        weights=weights, per_item=per_item,
        on_missing=on_missing, random_seed=random_seed,
    )  # fmt: skip


def annotation_certainty(plausibility: Any, top: int = 1) -> xr.DataArray:
    r"""Share of draws that agree on the most plausible label (or set of labels) of an item.

    .. math:: \max_{C: |C| = j} \frac1M \sum_m 1[Y_{\mathrm{top}\text{-}j}(\theta^{(m)}_i) = C]

    The result is a summary over draws, by definition. A value of 1 means that the annotations
    determine the most plausible label or set, not that they are unanimous.

    Parameters
    ----------
    plausibility : DataTree, Dataset or DataArray
        A fit, its posterior, or the plausibility itself, dense or in candidate form.
    top : int
        Size j of the set.

    Returns
    -------
    xarray.DataArray
        (item), in [0, 1], with two coordinates along ``item``: ``mcse``, its Monte Carlo
        standard error, and ``selection_bias``, an estimate of the upward bias that arises because
        the set is chosen with the same draws (large for large j).

    Notes
    -----
    Certainty measures neither agreement nor correctness. An item on which 600 of 1,000 annotators
    agree is as certain as an item on which all agree, and certainty is high if many annotators make
    the same mistake. It increases with the number of annotators and with the argument
    ``reliability`` of the model: compare only items of the same study.

    Source: Stutz et al. (2023), Eq. 4 to 6: the *set* of the top j labels is compared, not the
    label at rank j. Labels of plausibility exactly 0 are never in a set.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")},
    ...                      labels=["a", "b"])
    >>> fit = dx.models.dirichlet.fit(ann, draws=1000, prior_count=1, random_seed=1)
    >>> certainty = dx.annotation_certainty(fit)  # exactly .875 and .75
    >>> bool((abs(certainty - [0.875, 0.75]) < 4 * certainty["mcse"]).all())
    True
    """
    theta = plausibility_of(plausibility)
    require_draws(theta)
    modal = _modal(theta, arguments.whole("top", top))
    modal.attrs = {}
    share, mcse, bias = (modal.isel({PART: part}, drop=True) for part in range(3))
    out = share.assign_coords(mcse=mcse, selection_bias=bias)
    name = "annotation_certainty" if top == 1 else f"annotation_certainty_{top}"
    out.attrs = {"better": "none"}
    return out.rename(name)


def _modal(theta: xr.DataArray, top: int) -> xr.DataArray:
    """Return the share of the most frequent set, its error and its bias: (..., item, part)."""
    if is_lazy(theta):
        others = [dim for dim in front(theta) if dim not in SAMPLE]
        coords = coords_of(theta, others) | {PART: 3}
        return by_block(partial(_modal, top=top), theta, dims=[*others, ITEM, PART], coords=coords)
    labels = top_labels(theta, space(theta), top)
    codes = xr.apply_ufunc(set_codes, labels, input_core_dims=[[PLACE]])
    each = xr.apply_ufunc(
        modal_share, codes, input_core_dims=[[CHAIN, DRAW]], output_core_dims=[[], [], []]
    )
    return xr.concat(each, dim=PART).transpose(..., ITEM, PART)


def certainty(
    plausibility: Any, predictions: xr.Dataset, *, on_missing: str = "raise"
) -> xr.DataArray:
    r"""Share of draws whose most plausible labels are exactly the predicted set.

    .. math:: \mathrm{Certainty}(C; i) = \frac1M \sum_m
        1[Y_{\mathrm{top}\text{-}|C|}(\theta^{(m)}_i) = C]

    The result is a summary over draws, by definition.

    Parameters
    ----------
    plausibility, predictions, on_missing
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (item, system), in [0, 1].

    Notes
    -----
    Certainty is not the probability that the system is right, but the probability that its labels
    are the most plausible ones. If annotators share a mistake, the mistake is the most plausible
    label.

    Source: Stutz et al. (2023), Eq. 3 and 6.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["a"]})
    >>> fit = dx.models.dirichlet.fit(ann, draws=1000, random_seed=1)
    >>> dx.certainty(fit, pred).round(1).values  # exactly .5
    array([[0.5]])
    """
    theta = plausibility_of(plausibility)
    require_draws(theta)
    scores = set_accuracy(theta, predictions, per_item=True, on_missing=on_missing)
    return scores.mean(SAMPLE).rename("certainty")
