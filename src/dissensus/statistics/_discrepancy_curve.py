"""The discrepancy ratio of scores, by the threshold that turns scores into labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import sparse

from dissensus.data import tables
from dissensus.data.alignment import Systems, numbers_by_systems, systems_of
from dissensus.dims import ITEM, LABEL, POSITION, SAMPLE, SYSTEM, THRESHOLD
from dissensus.errors import AnnotationError, ArgumentError, PredictionError, brief, shown
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.statistics._discrepancy_ratio import discrepancies_from
from dissensus.statistics._pairwise import statement_distances
from dissensus.statistics._read import code_of, labels_of, plain_label, positive_code, read
from dissensus.statistics._sums import Matrix, Sums, Undefined, compact


def discrepancy_curve(
    annotations: xr.Dataset,
    scores: Any,
    thresholds: Any,
    *,
    positive: Any = None,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Discrepancy ratio of systems with scores, by the threshold for the positive label.

    .. math:: \Delta(t) = \frac{\mu(t)}{\alpha}, \qquad
        \mu(t) = \frac{1}{I} \sum_i \bigl(m_i + \bar y_i - 2 m_i \bar y_i\bigr), \quad
        m_i = [\text{score}_i \geq t]

    with :math:`\bar y_i` the share of positive labels of item i, in which each annotator counts
    once. With two labels all distances give the same ratio.

    Parameters
    ----------
    annotations : Dataset
        Annotations with two labels.
    scores : Dataset, DataArray or mapping
        Predictions that are numbers (``kind="continuous"``), or lists with ``score=`` (the score
        of the positive label is used); an array over (item, system) or (item); or a mapping from
        item to score.
    thresholds : array-like, or DataArray (system)
        Thresholds. A DataArray over systems, as from `best_threshold`, has one threshold per
        system.
    positive : label, optional
        The label that high scores stand for; the last label by default.
    on_missing, weights
        As for `discrepancy_ratio`.

    Returns
    -------
    xarray.DataArray (system, threshold)
        Ratios; without the dim ``threshold`` if there is one threshold per system. NaN, with a
        warning, if no item has two annotators, or annotators always agree.

    Notes
    -----
    The minimum of a curve tends to be lower than the ratio at the same threshold on other items.
    Choose a threshold on one set and evaluate it on another (see the example of `best_threshold`).

    Source: Lovchinsky et al. (2020), Eq. 7, Figure 3b and Table 4.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["no", "no"], ["no", "yes"], ["yes", "yes"]])
    >>> dx.discrepancy_curve(ann, {0: 0.1, 1: 0.6, 2: 0.8}, [0.05, 0.5, 0.9]).values
    array([[1.5, 0.5, 1.5]])
    """
    annotations = read(annotations)
    codes, code, label = _positive(annotations, positive)
    systems = systems_of(annotations, _as_predictions(scores), on_missing)
    values = _scores_by_systems(systems, label)
    rising, place, listed_thresholds = _thresholds_of(thresholds, systems.names)
    distances = statement_distances(annotations, "nominal")
    rows = distances.rows
    counts = systems.present & (distances.counts >= 2)
    item = np.repeat(np.arange(len(counts)), np.diff(rows.start))
    positives = np.bincount(item, (codes[rows.order] == code) * rows.share, len(counts))
    share = positives / np.maximum(distances.counts, 1)
    columns = counts, distances.by_item(distances.to_others), share
    n_systems = len(systems.names)
    coords = {SYSTEM: systems.names} | (
        {} if listed_thresholds is None else {THRESHOLD: listed_thresholds}
    )

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        bins = totals[:, 3:].reshape(len(totals), n_systems, -1)
        # Items that are positive at the k-th threshold are in the bins after the k-th bin.
        positive = np.cumsum(bins[..., :0:-1], axis=-1)[..., ::-1]
        towards = np.maximum(totals[:, 2, None, None] + positive, 0.0)
        head = np.broadcast_to(totals[:, None, :2], (len(totals), n_systems, 2))
        ratio = discrepancies_from(np.concatenate([head, towards], axis=-1), undefined)[2]
        return ratio[..., 0] if listed_thresholds is None else ratio[..., place]

    return Sums(
        "discrepancy_curve",
        (
            np.where(counts[:, None], np.stack(columns, axis=1), 0.0),
            _changes(values, rising, np.where(counts, 1.0 - 2.0 * share, 0.0)),
        ),
        finish,
        annotations[ITEM].to_numpy(),
        dims={"discrepancy_curve": tuple(coords)},
        coords=coords,
        attrs={"positive": plain_label(label)},
        better="lower",
    ).value(weights)


def _changes(scores: Floats, thresholds: Floats, change: Floats) -> Matrix:
    """Return how much an item's distance changes if the prediction becomes positive.

    The result is (item, system x bin). The bin of an item and a system is the number of thresholds
    that the score reaches. Each item has one entry per system, for any number of thresholds.
    """
    n_items, n_systems = scores.shape
    width = thresholds.shape[1] + 1
    reached = [
        np.searchsorted(thresholds[place], scores[:, place], side="right")
        for place in range(n_systems)
    ]
    column = np.stack(reached, axis=1) + np.arange(n_systems) * width
    start = np.arange(n_items + 1) * n_systems
    data = np.repeat(change, n_systems)
    shape = (n_items, n_systems * width)
    return compact(sparse.csr_array((data, column.ravel(), start), shape=shape))


def best_threshold(curve: xr.DataArray) -> xr.DataArray:
    """Return the threshold at which each system is closest to the annotators.

    Parameters
    ----------
    curve : DataArray (system, threshold)
        From `discrepancy_curve`, without NaN. Draws (chain, draw) are averaged first.

    Returns
    -------
    xarray.DataArray (system)
        The threshold with the lowest ratio. If several adjacent thresholds have this ratio, their
        median (the lower of two in the middle). If there are several such runs of thresholds, the
        median of the first run.

    Notes
    -----
    Evaluate the threshold on other items than those on which it was chosen: the minimum of many
    noisy ratios is too low.

    Source: Lovchinsky et al. (2020), Table 4, where thresholds are chosen on a validation set.

    Examples
    --------
    The threshold is chosen on one set and evaluated on another:

    >>> import dissensus as dx
    >>> validation = dx.from_matrix([["no", "no"], ["no", "yes"], ["yes", "yes"]])
    >>> curve = dx.discrepancy_curve(validation, {0: 0.1, 1: 0.6, 2: 0.8}, [0.05, 0.5, 0.9])
    >>> threshold = dx.best_threshold(curve)
    >>> threshold.item()
    0.5
    >>> test = dx.from_matrix([["no", "yes"], ["yes", "yes"]])
    >>> dx.discrepancy_curve(test, {0: 0.4, 1: 0.3}, threshold).values
    array([1.5])

    To get an interval: ``dx.bayesian_bootstrap(dx.discrepancy_curve, test, scores, threshold)``.
    """
    known = isinstance(curve, xr.DataArray) and THRESHOLD in curve.dims
    if not known or not curve.size or curve.dtype.kind not in "fiu":
        raise ArgumentError(
            "curve",
            expected="the result of discrepancy_curve, with the dim 'threshold'",
            found=f"{curve.dtype} of sizes {dict(curve.sizes)}"
            if isinstance(curve, xr.DataArray)
            else type(curve).__name__,
        )
    mean = curve.mean([dim for dim in SAMPLE if dim in curve.dims], skipna=False)
    mean = mean.sortby(THRESHOLD).transpose(..., THRESHOLD)
    values = mean.to_numpy()
    undefined = np.isnan(values).any(axis=-1)
    if undefined.any():
        named = mean.dims[:-1] == (SYSTEM,)
        systems = f" for {shown(list(mean[SYSTEM].to_numpy()[undefined]))}" if named else ""
        raise ArgumentError("curve", expected="a ratio at each threshold", found=f"NaN{systems}")
    place = np.apply_along_axis(_middle_of_lowest, -1, values)
    out = xr.zeros_like(mean.isel({THRESHOLD: 0}, drop=True))
    return out.copy(data=mean[THRESHOLD].to_numpy()[place]).rename(THRESHOLD)


def _middle_of_lowest(values: Floats) -> int:
    """Return the place in the middle of the first run of equal lowest values.

    Examples
    --------
    >>> _middle_of_lowest(np.array([3.0, 1.0, 1.0, 1.0, 2.0, 1.0]))
    2
    """
    lowest = values == values.min()
    first = int(lowest.argmax())
    after = np.flatnonzero(~lowest[first:])
    length = int(after[0]) if len(after) else len(values) - first
    return first + (length - 1) // 2


# The scores of systems and the thresholds, read from the arguments.


def _positive(annotations: xr.Dataset, positive: Any) -> tuple[Ints, int, Any]:
    """Return label codes (row), and the code and the name of the positive label."""
    codes, labels = labels_of(annotations)
    if len(labels) != 2:
        raise AnnotationError(
            "annotations",
            expected="two labels",
            found=f"{len(labels)}: {shown(list(labels))}",
            hint="If one of two labels was never used, read the annotations with labels=[...]",
        )
    code = 1 if positive is None else positive_code(positive, labels)
    return codes, code, labels[code]


def _as_predictions(scores: Any) -> xr.Dataset:
    """Return scores (predictions, an array, a Series or a mapping) as predictions of numbers."""
    if isinstance(scores, xr.Dataset | xr.DataTree):
        return scores  # type: ignore[return-value]  # `systems_of` checks it
    if isinstance(scores, pd.Series):
        if scores.index.has_duplicates:  # a dict would keep only the last value
            repeated = shown(list(scores.index[scores.index.duplicated()]))
            raise PredictionError(
                "scores", expected="each item once", found=f"{repeated} more than once"
            )
        scores = scores.to_dict()
    if isinstance(scores, Mapping):
        scores = xr.DataArray(
            list(scores.values()), dims=ITEM, coords={ITEM: list(scores)}, name="scores"
        )
    array = isinstance(scores, xr.DataArray)
    if not (array and ITEM in scores.coords and {ITEM} <= set(scores.dims) <= {ITEM, SYSTEM}):
        raise PredictionError(
            "scores",
            expected="predictions, a DataArray over (item, system) or (item) with their names, or "
            "a mapping from item to score",
            found=f"a DataArray with dims {scores.dims} and coordinates {list(scores.coords)}"
            if array
            else type(scores).__name__,
        )
    if SYSTEM not in scores.dims:
        name = scores.coords[SYSTEM].item() if SYSTEM in scores.coords else scores.name
        scores = scores.drop_vars(SYSTEM, errors="ignore").expand_dims({SYSTEM: [name or "scores"]})
    if SYSTEM not in scores.coords:
        scores = scores.assign_coords({SYSTEM: np.arange(scores.sizes[SYSTEM])})
    if scores.dtype.kind not in "iuf":
        raise PredictionError("scores", expected="numbers", found=str(scores.dtype))
    value = scores.astype(np.float64).transpose(ITEM, SYSTEM).reset_coords(drop=True)
    return xr.Dataset({"value": value}, attrs={"kind": "continuous"})


def _scores_by_systems(systems: Systems, label: Any) -> Floats:
    """Return the score of the positive label by each system (item, system)."""
    predictions = systems.predictions
    if "score" not in predictions:
        if "value" not in predictions and predictions[LABEL].dtype.kind not in "iuf":
            raise PredictionError(
                "scores",
                expected="numbers that are higher for the positive label",
                found=f"labels such as {shown([predictions[LABEL].to_numpy()[0]])} without scores",
                hint='Read them with kind="continuous", or with score= beside the labels',
            )
        return numbers_by_systems(systems)
    code = code_of(label, predictions[LABEL].to_numpy())
    hit = (predictions["label_code"] == code) & (code >= 0)
    lacking = ~hit.any(POSITION).transpose(ITEM, SYSTEM).to_numpy()
    if lacking.any():
        item, system = np.argwhere(lacking)[0]
        raise PredictionError(
            "scores",
            where=f"item {shown([predictions[ITEM].to_numpy()[item]])}, "
            f"system {shown([systems.names[system]])}",
            expected=f"a score of the positive label {shown([label])} in each list",
            found=f"none in {int(lacking.sum())} lists",
            hint='Or pass one number for each item and system, read with kind="continuous"',
        )
    values = predictions["score"].where(hit).sum(POSITION).transpose(ITEM, SYSTEM).to_numpy()
    out = np.full((len(systems.present), len(systems.names)), np.nan)
    out[systems.present] = values
    return out


def _thresholds_of(thresholds: Any, systems: Names) -> tuple[Floats, Ints, Floats | None]:
    """Return checked thresholds (system, threshold), ascending.

    Also return the place of each given threshold among these, and the given thresholds (None if
    there is one threshold per system).
    """
    if isinstance(thresholds, xr.DataArray) and SYSTEM in thresholds.dims:
        values = _threshold_by_system(thresholds, systems)[:, None]
        return values, np.zeros(1, dtype=np.int64), None
    try:
        values = np.asarray(thresholds)
    except (TypeError, ValueError):  # a Dataset, or lists of different lengths
        values = np.empty(0)
    numbers = values.dtype.kind in "iuf" and values.size > 0 and values.ndim <= 1
    if not numbers or not np.isfinite(values).all():
        raise ArgumentError(
            "thresholds", expected="finite numbers, one or more, in a list", found=brief(thresholds)
        )
    values = np.atleast_1d(values).astype(np.float64)
    rising, place = np.unique(values, return_inverse=True)
    if len(rising) < len(values):
        repeated = rising[np.bincount(place) > 1]
        raise ArgumentError(
            "thresholds",
            expected="each threshold once",
            found=f"{shown(list(repeated))} more than once",
        )
    by_system = np.broadcast_to(rising, (len(systems), len(rising)))
    return by_system, place.astype(np.int64), values


def _threshold_by_system(thresholds: xr.DataArray, systems: Names) -> Floats:
    names = (
        thresholds[SYSTEM].to_numpy() if SYSTEM in thresholds.coords else np.empty(0, dtype=object)
    )
    clear = len(names) > 0 and not pd.Index(names).has_duplicates
    place = tables.match(systems, names) if clear else np.full(len(systems), -1)
    if thresholds.dims != (SYSTEM,) or (place < 0).any() or thresholds.dtype.kind not in "iuf":
        named = shown(list(names)) or "none"
        raise ArgumentError(
            "thresholds",
            expected=f"a number for each of the systems {shown(list(systems))}",
            found=f"{thresholds.dtype} with dims {thresholds.dims}, names {named}",
        )
    values = thresholds.to_numpy().astype(np.float64)[place]
    if not np.isfinite(values).all():
        raise ArgumentError("thresholds", expected="finite numbers", found=str(values))
    return values
