"""Sensitivity, specificity and F1 of systems, for two labels."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from dissensus.data.alignment import common_items
from dissensus.data.plausibility import plausibility_of
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import ArgumentError, brief, shown
from dissensus.metrics._accuracy import top_k_accuracy
from dissensus.metrics._insight import insights
from dissensus.metrics._items import by_system, over_items, weights_for
from dissensus.metrics._lists import check_lists


def sensitivity_specificity(
    plausibility: Any,
    predictions: xr.Dataset,
    positive: Any,
    *,
    weights: Any = None,
    on_missing: str = "raise",
    insight: Any = None,
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Agreement with the panel on positive and on negative items.

    .. math:: \mathrm{sensitivity}^{(m)} = \frac{\sum_i 1[p_i = +]\, 1[y_i^{(m)} = +]}
        {\sum_i 1[y_i^{(m)} = +]}, \qquad
        \mathrm{specificity}^{(m)} = \frac{\sum_i 1[p_i = -]\, 1[y_i^{(m)} = -]}
        {\sum_i 1[y_i^{(m)} = -]}, \qquad
        F_1^{(m)} = \frac{2 \sum_i 1[p_i = +]\, 1[y_i^{(m)} = +]}
        {\sum_i 1[p_i = +] + \sum_i 1[y_i^{(m)} = +]}

    with :math:`y_i^{(m)}` the most plausible of the two labels of item i in draw m: the label that
    most of a large panel of such annotators would give.

    Parameters
    ----------
    plausibility : DataTree, Dataset or DataArray
        A fit, its posterior, or the plausibility itself, of two labels (..., item, label).
    predictions : xarray.Dataset
        From `dissensus.predictions`. The first label of a list counts.
    positive : label
        The positive label.
    weights, on_missing, insight, random_seed
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.Dataset
        ``sensitivity``, ``specificity`` and ``f1`` (chain, draw, system), in [0, 1]; NaN in a draw
        without positive, or negative, items. ``f1`` is NaN if neither the panel nor the system
        gives the positive label.

    Notes
    -----
    Systems are compared with the panel's label, which may differ from the true label. For known or
    estimated true labels, use `annotator_roc` with ``predictions=``.

    The mean of sensitivity and specificity, weighted by the rates of positive and negative items,
    is `top_k_accuracy`. For sets of labels, `by_label` gives F1 of each label, and `set_score`
    micro and macro F1.

    Source: Yerushalmy (1947), with the panel's label in the place of the diagnosis; F1: van
    Rijsbergen (1979), *Information Retrieval*.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...                       "label": ["ill", "ill", "well", "well"]})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["ill", "ill"]})
    >>> fit = dx.models.dirichlet.fit(ann, draws=200, random_seed=1)
    >>> rates = dx.sensitivity_specificity(fit, pred, "ill").mean(("chain", "draw"))
    >>> float(rates["sensitivity"].item()), float(rates["specificity"].item())
    (1.0, 0.0)
    """
    theta = plausibility_of(plausibility)
    labels = theta[LABEL].to_numpy().tolist() if LABEL in theta.dims else []
    if len(labels) != 2:
        raise ArgumentError(
            "plausibility", expected="two labels",
            found=f"{len(labels)}: {shown(labels)}" if labels else f"dims {theta.dims}",
            hint="dx.group_labels(fit, mapping) joins labels",
        )  # fmt: skip
    if not isinstance(positive, Hashable) or positive not in labels:
        raise ArgumentError(
            "positive", expected=f"one of the two labels, {shown(labels)}", found=brief(positive)
        )
    check_lists(predictions)
    theta, predictions = common_items(theta, predictions, on_missing)
    insight_draws = None if insight is None else insights(insight, theta, predictions, random_seed)
    weights = weights_for(theta, weights, random_seed)
    of_panel = _panel(theta, predictions, positive)
    first = predictions["block"].transpose(ITEM, SYSTEM, POSITION).to_numpy() == 1
    code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()
    vocabulary = np.array([*predictions[LABEL].to_numpy().tolist(), None], dtype=object)
    first_flags = [
        first & (vocabulary[code] == label) for label in (positive, _other(labels, positive))
    ]
    parts = []
    for place in range(predictions.sizes[SYSTEM]):
        n_first = first[:, place].sum(axis=1)
        # Of k tied first labels, each counts as 1/k.
        share = [
            xr.DataArray(flags[:, place].sum(axis=1) / n_first, dims=ITEM) for flags in first_flags
        ]
        panel = of_panel
        if insight_draws is not None:
            system = predictions.isel({SYSTEM: [place]})
            right = top_k_accuracy(
                theta, system, per_item=True, insight=insight_draws.isel({SYSTEM: [place]}),
                random_seed=random_seed,
            ).isel({SYSTEM: 0}, drop=True).drop_vars(ITEM)  # fmt: skip
            # The panel's label follows from the system's label and whether that label is right.
            panel = xr.where(share[0] == 1, right, xr.where(share[1] == 1, 1 - right, of_panel))
        parts.append(xr.Dataset({
            "sensitivity": _ratio(share[0] * panel, panel, weights),
            "specificity": _ratio(share[1] * (1 - panel), 1 - panel, weights),
            "f1": _ratio(2 * share[0] * panel, share[0] + panel, weights),
        }))  # fmt: skip
    better = dict.fromkeys(("sensitivity", "specificity", "f1"), "higher")
    return by_system(parts, predictions[SYSTEM].to_numpy(), better)


def _other(labels: list[Any], positive: Any) -> Any:
    return labels[1 - labels.index(positive)]


def _panel(theta: xr.DataArray, predictions: xr.Dataset, positive: Any) -> xr.DataArray:
    """Return 1 where the panel's label is the positive label, else 0 (..., item)."""
    zeros = np.zeros((predictions.sizes[ITEM], 1, 1), dtype=np.int64)
    dims = (ITEM, SYSTEM, POSITION)
    always = xr.Dataset(
        {"label_code": (dims, zeros), "block": (dims, zeros + 1)},
        coords={ITEM: predictions[ITEM].to_numpy(), SYSTEM: ["positive"], LABEL: [positive]},
    )
    is_positive = top_k_accuracy(theta, always, per_item=True)
    return is_positive.isel({SYSTEM: 0}, drop=True).drop_vars(ITEM)


def _ratio(part: xr.DataArray, whole: xr.DataArray, weights: xr.DataArray | None) -> xr.DataArray:
    """Return the sum of ``part`` over items, divided by the sum of ``whole``, in each draw."""
    part_mean, whole_mean = (over_items(array, weights) for array in (part, whole))
    return (part_mean / whole_mean.where(whole_mean > 0)).clip(0.0, 1.0)
