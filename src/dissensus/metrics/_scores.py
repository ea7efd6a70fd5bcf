"""Errors of systems that predict numbers: their distance from a large panel's mean."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.alignment import common_items
from dissensus.data.predictions import predicted_numbers
from dissensus.data.schema import checked_predictions
from dissensus.data.tables import match
from dissensus.dims import ITEM, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, warn_caller
from dissensus.kernels.types import Array
from dissensus.metrics._items import by_system, over_items, weights_for
from dissensus.wording import percent

MEAN = "mean"
_RARE: Final = 0.01
_BETTER: Final = {
    "mean_absolute_error": "lower", "mean_squared_error": "lower", "correlation": "higher",
}  # fmt: skip


def score_error(
    fit: Any,
    predictions: xr.Dataset,
    *,
    weights: Any = None,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Errors and correlation of predicted numbers, against the mean of a large panel.

    .. math:: \mathrm{MAE}^{(m)} = \frac1n \sum_i |p_i - \mu_i^{(m)}|, \qquad
        \mathrm{MSE}^{(m)} = \frac1n \sum_i (p_i - \mu_i^{(m)})^2, \qquad
        r^{(m)} = \mathrm{cor}_i(p_i, \mu_i^{(m)})

    with :math:`\mu_i^{(m)}` the mean score that a large panel of such annotators would give item i,
    in draw m. The mean of an item's few scores is not :math:`\mu_i`: against this mean, errors are
    too large and correlations too small.

    Parameters
    ----------
    fit : DataTree, Dataset or DataArray
        A fit of `models.normal_scores` that has these ``predictions``, its posterior, or the means
        themselves (..., item).
    predictions : xarray.Dataset
        Numbers, from `dissensus.predictions`, in the unit of the scores.
    weights : array (item), mapping, "bayesian-bootstrap", optional
        As in `top_k_accuracy`. Intervals are for these items; with the bootstrap for new items.
    on_missing : {"raise", "drop"}
        What to do about items without a mean or predictions.
    random_seed : int, optional
        Seed of the bootstrap.

    Returns
    -------
    xarray.Dataset
        ``mean_absolute_error`` and ``mean_squared_error``, at least 0, in the unit of the scores
        and in its square, and ``correlation``, from -1 to 1: each (chain, draw, system).

    Notes
    -----
    Items without scores count too: the model predicts how far their means are from the predictions.
    In thirteen real data sets with scores of a third of the items, the coverage of 89 % intervals
    of the correlation was .88; from the scored items alone it was .90. In the model, the
    uncertainty of an item's mean depends on the variance of its scores. If this variance differs
    strongly between items, squared errors have no finite mean, and a warning is given.

    If the same few annotators scored all items, intervals are too narrow for other annotators: the
    coverage of 89 % intervals of squared errors was .4 to .5. `evaluate` widens them
    (docs/validation.md).

    Fit with ``predictions=``, as `evaluate` does. In a fit without predictions, a system's
    knowledge of an item beyond its few scores counts as error: on rated faces, videos and
    translations with two or three scores of an item, mean squared errors were then too large by .20
    of the variance of the scores, and correlations were too small by .17 (`docs/validation.md`).

    The large panel has the same share of careless annotators as the data. Their scores move
    :math:`\mu_i` towards the middle of the scale. Errors against the mean of careful annotators
    alone can therefore be outside the intervals. If you want these errors, leave out the labels of
    careless annotators before the fit.

    ``correlation`` is NaN if a system predicts the same number for all items. It ignores the unit
    of the predictions; the errors do not.

    Source: definitions. For the attenuation by noise of the scores: Spearman (1904).

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2, 2, 3, 3], "annotator": list("ababab"),
    ...                       "label": [1.0, 1.5, 3.0, 2.5, 4.5, 4.0]})
    >>> pred = dx.predictions({"item": [1, 2, 3], "system": list("mmm"), "label": [1.2, 2.9, 4.1]})
    >>> fit = dx.models.normal_scores.fit(ann, predictions=pred, draws=200, random_seed=1)
    >>> error = dx.score_error(fit, pred)
    >>> error["correlation"].dims, bool(error["correlation"].mean() > 0.8)
    (('chain', 'draw', 'system'), True)
    """
    mean, predictions = common_items(_means(fit), checked_predictions(predictions), on_missing)
    _warn_of_tails(fit, mean[ITEM].to_numpy())
    weights = weights_for(mean, weights, random_seed)
    number = predicted_numbers(predictions).astype(np.float64)
    names = number[SYSTEM].to_numpy()
    # Subtract one number from means and predictions: differences of large numbers lose digits.
    origin = float(number.mean())
    mean, number = mean - origin, number.drop_vars(ITEM) - origin
    parts = [_errors(mean, number.isel({SYSTEM: k}, drop=True), weights) for k in range(len(names))]
    return by_system(parts, names, _BETTER)


def _means(fit: Any) -> xr.DataArray:
    """Return the draws of the items' means."""
    means = fit
    if isinstance(means, xr.DataTree) and "posterior" in means.children:
        means = means["posterior"]
    if isinstance(means, xr.DataTree):
        means = means.to_dataset()
    if isinstance(means, xr.Dataset):
        means = means.get(MEAN)
    if not isinstance(means, xr.DataArray) or ITEM not in means.indexes:
        raise ArgumentError(
            "fit",
            expected=f"a fit of models.normal_scores, or its variable {MEAN!r} over {ITEM!r}",
            found=f"a {type(fit).__name__} without {MEAN!r}"
            if not isinstance(fit, xr.DataArray) else f"dims {fit.dims} without names of items",
        )  # fmt: skip
    if means.dtype.kind not in "iuf" or not set(means.dims) <= {*SAMPLE, ITEM}:
        raise ArgumentError(
            "fit", expected=f"numbers over {(*SAMPLE, ITEM)}",
            found=f"{means.dtype} over {means.dims}",
        )  # fmt: skip
    return means.astype(np.float64, copy=False)


def _warn_of_tails(fit: Any, items: Array) -> None:
    """Warn if the means of items without scores have no finite variance in some draws.

    Given the prior, the mean of an item without scores has a t distribution with twice
    ``prior_shape`` degrees of freedom.
    """
    if not isinstance(fit, xr.DataTree) or not {"posterior", "constant_data"} <= set(fit.children):
        return
    posterior, known = fit["posterior"].to_dataset(), fit["constant_data"].to_dataset()
    if "prior_shape" not in posterior or "item_code" not in known:
        return
    names = posterior[ITEM].to_numpy()
    scored = names[np.unique(known["item_code"].to_numpy())]
    bare = int((match(items, scored) < 0).sum())
    heavy = float((posterior["prior_shape"] <= 1.0).mean())
    if bare and heavy > _RARE:
        warn_caller(
            f"{bare:,} of {len(items):,} items have no scores, and in {percent(heavy)} of draws "
            "their means have no finite variance: do not use mean_squared_error, whose mean and "
            "interval can be far too large. Take mean_absolute_error, or the items with scores: "
            "predictions.sel(item=[...])."
        )


def _errors(mean: xr.DataArray, number: xr.DataArray, weights: xr.DataArray | None) -> xr.Dataset:
    """Return the errors and the correlation of one system."""
    error = number - mean
    number_gap, mean_gap = (array - over_items(array, weights) for array in (number, mean))
    covariance = over_items(number_gap * mean_gap, weights)
    variances = over_items(number_gap**2, weights) * over_items(mean_gap**2, weights)
    return xr.Dataset({
        "mean_absolute_error": over_items(abs(error), weights),
        "mean_squared_error": over_items(error**2, weights),
        # Rounding can leave a perfect correlation above 1.
        "correlation": (covariance / np.sqrt(variances.where(variances > 0))).clip(-1.0, 1.0),
    })  # fmt: skip
