"""Bringing predictions and plausibilities onto the same items and labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import tables
from dissensus.arrays.overlap import block_bounds
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import ArgumentError, DissensusWarning, PredictionError, shown
from dissensus.plausibility import Space, space

OUTSIDE = -4
"""Code of a predicted label that is not in the label space."""


def align(
    plausibility: xr.DataArray, predictions: xr.Dataset, on_missing: str = "raise"
) -> tuple[xr.DataArray, xr.Dataset, Space]:
    """Return the plausibility and the lists of predictions on common items, and the label space.

    The lists are variables ``code``, ``start``, ``end`` (item, system, position), see
    `dissensus.arrays.overlap`, and ``length`` (item, system).

    Raises
    ------
    PredictionError
        If items differ (unless ``on_missing="drop"``), or no predicted label is known.
    """
    if not isinstance(predictions, xr.Dataset) or "label_code" not in predictions:
        raise PredictionError(
            "predictions",
            expected="labels, as a Dataset made by dissensus.predictions",
            found="numbers" if "value" in predictions else type(predictions).__name__,
        )
    plausibility, predictions = common_items(plausibility, predictions, on_missing)
    where = space(plausibility)
    if "labels" not in plausibility.attrs and not where.dense:
        where = _widened(where, predictions[LABEL].to_numpy())
    code = _codes(predictions, where.labels)
    dims = (ITEM, SYSTEM, POSITION)
    start, end = block_bounds(predictions["block"].transpose(*dims).to_numpy())
    lists = xr.Dataset(
        {"code": (dims, code), "start": (dims, start), "end": (dims, end)},
        coords={SYSTEM: predictions[SYSTEM]},
    )
    lists["length"] = (predictions["block"] > 0).sum(POSITION)
    return plausibility, lists, where


def common_items(
    left: xr.DataArray, predictions: xr.Dataset, on_missing: str
) -> tuple[xr.DataArray, xr.Dataset]:
    """Select the predictions of the left side's items, in its order."""
    if on_missing not in {"raise", "drop"}:
        raise ArgumentError("on_missing", expected="'raise' or 'drop'", found=repr(on_missing))
    items, predicted = left[ITEM].to_numpy(), predictions[ITEM].to_numpy()
    place = tables.match(items, predicted)
    extra = np.setdiff1d(np.arange(len(predicted)), place)
    lacking = place < 0
    if lacking.all():
        raise PredictionError(
            "predictions",
            expected=f"items such as {shown(list(items), 3)}",
            found=f"no item in common, but {shown(list(predicted), 3)}",
        )
    if on_missing == "raise" and (lacking.any() or len(extra)):
        sides = [
            (f"{int(lacking.sum())} annotated items without predictions: ", items[lacking]),
            (f"{len(extra)} predicted items without annotations: ", predicted[extra]),
        ]
        raise PredictionError(
            "predictions",
            expected="the same items in annotations and predictions",
            found="; ".join(text + shown(list(names)) for text, names in sides if len(names)),
            hint='on_missing="drop" leaves them out',
        )
    return left.isel({ITEM: ~lacking}), predictions.isel({ITEM: place[~lacking]})


def _widened(where: Space, predicted: npt.NDArray[Any]) -> Space:
    """Add predicted labels to a label space that is known only as far as it was named."""
    new = predicted[tables.match(predicted, where.labels) < 0]
    return where._replace(labels=np.concatenate([where.labels, new.astype(where.labels.dtype)]))


def _codes(predictions: xr.Dataset, labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Translate label codes into the plausibility's label space."""
    code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()
    vocabulary = predictions[LABEL].to_numpy()
    place = tables.match(vocabulary, labels)
    used = np.isin(np.arange(len(vocabulary)), code)
    stray = used & (place < 0)
    if stray.any() and not (used & (place >= 0)).any():
        raise PredictionError(
            "predictions",
            expected=f"labels such as {shown(list(labels), 3)}",
            found=f"no label in common, but {shown(list(vocabulary[used]), 3)}",
        )
    if stray.any():
        count = int(np.isin(code, np.flatnonzero(stray)).sum())
        warnings.warn(
            f"{shown(list(vocabulary[stray]))} ({count} predictions) are outside the label space "
            "of the annotations and count as wrong. If annotators could have said so, read the "
            "annotations with labels=.",
            DissensusWarning,
            stacklevel=2,
        )
    place = np.where(place < 0, OUTSIDE, place)
    return np.where(code >= 0, place[code], OUTSIDE)
