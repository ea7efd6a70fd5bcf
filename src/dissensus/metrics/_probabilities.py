"""Scores of probabilities for labels: log score, Brier score, total variation, calibration."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.alignment import check_labels, common_items
from dissensus.data.plausibility import plausibility_of
from dissensus.data.predictions import LEAST, probabilities
from dissensus.dims import ITEM, LABEL, SYSTEM
from dissensus.errors import ArgumentError, PredictionError, shown
from dissensus.kernels.types import Floats
from dissensus.metrics._items import by_system, over_items, weights_for
from dissensus.metrics._lists import check_lists

BIN: Final = "bin"
CURVE: Final = "calibration"
_BETTER: Final = {
    "log_score": "higher", "brier_score": "lower", "total_variation": "lower",
    "calibration_error": "lower",
}  # fmt: skip


def probability_score(
    plausibility: Any,
    predictions: xr.Dataset,
    *,
    bins: int = 10,
    weights: Any = None,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Log score, Brier score, total variation and calibration of predicted probabilities.

    The outcome is the label of a random annotator of a large panel, whose shares of labels are the
    plausibilities :math:`\theta`:

    .. math:: \mathrm{log\ score} = \frac1n \sum_{i,y} \theta_{iy} \log p_{iy}, \qquad
        \mathrm{Brier} = \frac1n \sum_{i,y} \theta_{iy} \sum_z (p_{iz} - 1[z = y])^2, \qquad
        \mathrm{TV} = \frac1n \sum_i \tfrac12 \sum_y |p_{iy} - \theta_{iy}|

    The expected calibration error sorts items by the probability :math:`p_{i\hat y}` of the label
    that the system finds most probable, in bins of equal width:

    .. math:: \mathrm{ECE} = \frac1n \sum_b
        \Bigl|\sum_{i \in b} (\theta_{i\hat y} - p_{i\hat y})\Bigr|

    Parameters
    ----------
    plausibility : DataTree, Dataset or DataArray
        A fit of `models.dirichlet`, its posterior, or the plausibility itself (..., item, label).
    predictions : xarray.Dataset
        A probability for each label, from `dissensus.predictions`.
    bins : int
        Number of bins.
    weights, on_missing, random_seed
        As in `score_error`.

    Returns
    -------
    xarray.Dataset
        Draws (chain, draw, system) of ``log_score`` (at most 0), ``brier_score`` (0 to 2),
        ``total_variation`` and ``calibration_error`` (0 to 1); the curve ``calibration``
        (chain, draw, system, bin): how often an annotator gives the system's most probable label,
        NaN in empty bins; and over (system, bin) ``mean_probability`` of that label, and
        ``n_items``.

    Notes
    -----
    If annotators disagree, no system reaches the best log and Brier scores: a system that predicts
    exactly the panel's shares has the log score :math:`\frac1n \sum \theta \log \theta` and not 0.
    Compare systems with each other. The total variation of such a system is 0.

    By chance alone a calibration error is above 0, especially if bins have few items, or with the
    bootstrap. Look at the curve, and compare systems on the same items. With few annotations the
    total variation of a good system is also too large, since the plausibilities of draws vary
    around its predictions: in simulated studies of 300 items, two labels and three annotations of
    each item, .10 instead of .09. Log and Brier scores do not have this error.

    In the log score, probabilities below .001 count as .001, so that a label with the probability 0
    does not make it infinite.

    Source: Gneiting and Raftery (2007), sections 3.1 and 3.2, for the scores; Guo, Pleiss, Sun and
    Weinberger (2017), Eq. 3, for the calibration error. Each outcome is the label of an annotator
    instead of one true label.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.5], [0.8, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1, 2], "label": ["x", "y"]})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "x": [0.6, 0.9],
    ...                        "y": [0.4, 0.1]})
    >>> scores = dx.probability_score(theta, pred)
    >>> round(scores["total_variation"].item(), 3), round(scores["calibration_error"].item(), 3)
    (0.1, 0.1)
    """
    bins = arguments.whole("bins", bins)
    theta = plausibility_of(plausibility)
    if LABEL not in theta.dims:
        raise ArgumentError(
            "plausibility", expected=f"all labels, over {LABEL!r}", found=f"dims {theta.dims}",
            hint="Plausibilities of rankings with a remainder have no value for every label",
        )  # fmt: skip
    check_lists(predictions)
    theta, predictions = common_items(theta, predictions, on_missing)
    labels = theta[LABEL].to_numpy()
    check_labels(predictions, labels)
    # Labels that annotators cannot give come last, with a plausibility of 0.
    outside = predictions[LABEL].to_numpy()
    outside = outside[tables.match(outside, labels) < 0]
    all_labels = list(labels) + list(outside)
    weights = weights_for(theta, weights, random_seed)
    names, parts = predictions[SYSTEM].to_numpy(), []
    theta = theta.drop_vars([ITEM, LABEL])
    for place, name in enumerate(names):
        p = probabilities(predictions, place, np.array(all_labels, dtype=object))
        if p is None:
            raise PredictionError(
                "predictions", where=f"system {shown([name])}",
                expected="for each item probabilities of all labels that add up to 1",
                found="labels without them",
                hint='Give a row for each label, and name their column: score="COLUMN"',
            )  # fmt: skip
        parts.append(_scores(theta, p, len(labels), bins, weights))
    out = by_system(parts, names, _BETTER).transpose(..., BIN)
    return out.assign_coords({BIN: (np.arange(bins) + 0.5) / bins})


def _scores(
    theta: xr.DataArray, p: Floats, n_labels: int, bins: int, weights: xr.DataArray | None
) -> xr.Dataset:
    """Return the scores of one system with the probabilities ``p`` (item, label).

    The first ``n_labels`` labels are those of ``theta``; annotators cannot give the other labels.
    """
    inside = xr.DataArray(p[:, :n_labels], dims=(ITEM, LABEL))
    outside, squares = (xr.DataArray(total, dims=ITEM)
                        for total in (p[:, n_labels:].sum(axis=1), (p**2).sum(axis=1)))  # fmt: skip
    log = np.log(inside.clip(min=LEAST))
    top = p.argmax(axis=1)
    named = xr.DataArray(np.minimum(top, n_labels - 1), dims=ITEM)
    agree = theta.isel({LABEL: named}).where(xr.DataArray(top < n_labels, dims=ITEM), 0.0)
    confidence = p[np.arange(len(p)), top]
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    member = xr.DataArray(place[:, None] == np.arange(bins), dims=(ITEM, BIN)).astype(np.float64)
    sure = xr.DataArray(confidence, dims=ITEM)
    weight = xr.ones_like(sure) if weights is None else weights
    agreed, predicted, size = (
        xr.dot(part, member, dim=ITEM) for part in (agree * weight, sure * weight, weight)
    )
    n = member.sum(ITEM)
    return xr.Dataset({
        "log_score": over_items(xr.dot(theta, log, dim=LABEL), weights),
        "brier_score": over_items(1 + squares - 2 * xr.dot(theta, inside, dim=LABEL), weights),
        "total_variation": over_items((abs(theta - inside).sum(LABEL) + outside) / 2, weights),
        "calibration_error": abs(agreed - predicted).sum(BIN) / size.sum(BIN),
        CURVE: agreed / size.where(size > 0),
        "mean_probability": xr.dot(sure, member, dim=ITEM) / n.where(n > 0),
        "n_items": n,
    })  # fmt: skip
