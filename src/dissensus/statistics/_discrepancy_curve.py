"""The discrepancy ratio of scores along the threshold at which they are turned into labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy import sparse

from dissensus.data.alignment import systems_of
from dissensus.dims import ITEM, SAMPLE, SYSTEM, THRESHOLD
from dissensus.errors import ArgumentError, shown
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._pairwise import apart
from dissensus.statistics._ratios import finished
from dissensus.statistics._read import read, rows_of
from dissensus.statistics._scores import (
    as_predictions,
    positive_code,
    scores_by_systems,
    thresholds_of,
)
from dissensus.statistics._sums import Doubts, Finish, Matrix, Sums, compact


def discrepancy_curve(
    annotations: xr.Dataset,
    scores: Any,
    thresholds: Any,
    *,
    positive: Any = None,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Discrepancy ratio of systems that give scores, by the threshold from which they say yes.

    .. math:: \Delta(t) = \frac{\mu(t)}{\alpha}, \qquad
        \mu(t) = \frac{1}{I} \sum_i \bigl(m_i + \bar y_i - 2 m_i \bar y_i\bigr), \quad
        m_i = [\text{score}_i \geq t]

    with :math:`\bar y_i` the share of positive labels, annotators counting once each. Between two
    labels all distances give the same ratio.

    Parameters
    ----------
    annotations : Dataset
        Annotations with two labels.
    scores : Dataset, DataArray or mapping
        Predictions of numbers (``kind="continuous"``), or lists with ``score=``, of which that of
        the positive label is taken; an array over (item, system) or (item); or from item to score.
    thresholds : array-like, or DataArray (system)
        Where to decide; a threshold of its own for each system, from `best_threshold`, makes one
        number of the curve.
    positive : label, optional
        What a high score speaks for; the last label by default.
    on_missing : {"raise", "drop"}
        What to do about items that only annotations or only scores have.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray (system, threshold)
        Ratios; without ``threshold`` if each system has its own.

    Raises
    ------
    AnnotationError
        If there are not two labels.
    PredictionError
        If scores are no numbers, or items differ.
    ArgumentError
        If thresholds are not finite or one stands twice, or ``positive`` is no label.

    Warns
    -----
    DissensusWarning
        Where it is undefined: no item with two annotators, or annotators who always agree.

    Notes
    -----
    The lowest point of a curve is lower than what the same threshold gives on other items. Choose
    it on one set and judge it on another (see the example of `best_threshold`).

    Source: Lovchinsky et al. (2020), Eq. 7, Figure 3b and Table 4.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["no", "no"], ["no", "yes"], ["yes", "yes"]])
    >>> dx.discrepancy_curve(ann, {0: 0.1, 1: 0.6, 2: 0.8}, [0.05, 0.5, 0.9]).values
    array([[1.5, 0.5, 1.5]])
    """
    return sums(annotations, scores, thresholds, positive=positive, on_missing=on_missing).value(
        weights
    )


def sums(
    annotations: xr.Dataset,
    scores: Any,
    thresholds: Any,
    *,
    positive: Any = None,
    on_missing: str = "raise",
) -> Sums:
    """Prepare the curve as a function of sums over items."""
    annotations = read(annotations)
    codes, code, label = positive_code(annotations, positive)
    systems = systems_of(annotations, as_predictions(scores), on_missing)
    given = scores_by_systems(systems, label)
    at = thresholds_of(thresholds, systems.names)
    rows = rows_of(annotations)
    found = apart(annotations, rows, "nominal")
    counts = systems.present & (found.voices >= 2)
    said = (codes[rows.order] == code) * rows.share
    item = np.repeat(np.arange(len(counts)), np.diff(rows.start))
    share = np.bincount(item, said, len(counts)) / np.maximum(found.voices, 1)
    columns = counts, found.by_item(found.to_others), share
    own = at.given is None
    coords = {SYSTEM: systems.names}
    return Sums(
        "discrepancy_curve",
        (
            np.where(counts[:, None], np.stack(columns, axis=1), 0.0),
            _said_yes(given, at.values, np.where(counts, 1.0 - 2.0 * share, 0.0)),
        ),
        _finish(len(systems.names), at.place, own=own),
        annotations[ITEM].to_numpy(),
        dims={"discrepancy_curve": (SYSTEM,) if own else (SYSTEM, THRESHOLD)},
        coords=coords if at.given is None else {**coords, THRESHOLD: at.given},
        attrs={"positive": getattr(label, "item", lambda: label)()},
        better="lower",
    )


def _said_yes(scores: Floats, thresholds: Floats, change: Floats) -> Matrix:
    """Return (item, system x bin): by how much saying yes changes the distance.

    The bin is how many thresholds the score reaches: one entry per item and system however many
    thresholds there are.
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


def _finish(n_systems: int, place: Ints, *, own: bool) -> Finish:
    def finish(totals: Floats, doubts: Doubts) -> Floats:
        bins = totals[:, 3:].reshape(len(totals), n_systems, -1)
        # Yes at the k-th threshold are those who reach it: all bins after the k-th.
        yes = np.cumsum(bins[..., :0:-1], axis=-1)[..., ::-1]
        towards = np.maximum(totals[:, 2, None, None] + yes, 0.0)
        head = np.broadcast_to(totals[:, None, :2], (len(totals), n_systems, 2))
        ratio = finished(np.concatenate([head, towards], axis=-1), doubts).ratio[..., place]
        return ratio[..., 0] if own else ratio

    return finish


def best_threshold(curve: xr.DataArray) -> xr.DataArray:
    """Return the threshold at which each system is closest to the annotators.

    Parameters
    ----------
    curve : DataArray (system, threshold)
        From `discrepancy_curve`; draws of it (chain, draw) are averaged first.

    Returns
    -------
    xarray.DataArray (system)
        Of several equally good thresholds in a row, the middle one (the lower of two); of several
        such rows the one with the lowest thresholds.

    Raises
    ------
    ArgumentError
        If there are no thresholds, or the curve of a system is undefined.

    Notes
    -----
    Judge it on other items than it was chosen on: the lowest of many noisy numbers is too low.

    Source: Lovchinsky et al. (2020), Table 4, where it is chosen on a validation set.

    Examples
    --------
    Chosen on one set, judged on another:

    >>> import dissensus as dx
    >>> validation = dx.from_matrix([["no", "no"], ["no", "yes"], ["yes", "yes"]])
    >>> curve = dx.discrepancy_curve(validation, {0: 0.1, 1: 0.6, 2: 0.8}, [0.05, 0.5, 0.9])
    >>> threshold = dx.best_threshold(curve)
    >>> threshold.item()
    0.5
    >>> test = dx.from_matrix([["no", "yes"], ["yes", "yes"]])
    >>> dx.discrepancy_curve(test, {0: 0.4, 1: 0.3}, threshold).values
    array([1.5])

    With an interval: ``dx.bayesian_bootstrap(dx.discrepancy_curve, test, scores, threshold)``.
    """
    known = isinstance(curve, xr.DataArray) and THRESHOLD in curve.dims
    if not known or not curve.size or curve.dtype.kind not in "fiu":
        raise ArgumentError(
            "curve",
            expected="what discrepancy_curve returns, with the dim 'threshold'",
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
        whose = f" for {shown(list(mean[SYSTEM].to_numpy()[undefined]))}" if named else ""
        raise ArgumentError("curve", expected="a ratio at each threshold", found=f"NaN{whose}")
    place = np.apply_along_axis(_middle_of_lowest, -1, values)
    out = xr.zeros_like(mean.isel({THRESHOLD: 0}, drop=True))
    return out.copy(data=mean[THRESHOLD].to_numpy()[place]).rename(THRESHOLD)


def _middle_of_lowest(values: npt.NDArray[np.float64]) -> int:
    """Return the middle of the first run of lowest values.

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
