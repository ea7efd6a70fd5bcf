"""Bringing predictions and plausibilities onto the same items and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data import tables
from dissensus.data.alignment import common_items
from dissensus.data.plausibility import Space, space
from dissensus.data.predictions import warn_of_outside
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import PredictionError, shown
from dissensus.kernels.overlap import block_bounds

OUTSIDE = -4
"""Code of a predicted label that is not in the label space."""


def align(
    plausibility: xr.DataArray,
    predictions: xr.Dataset,
    on_missing: str = "raise",
    *,
    checked: bool = False,
) -> tuple[xr.DataArray, xr.Dataset, Space]:
    """Return the plausibility and the lists of predictions on common items, and the label space.

    The lists are variables ``code``, ``start``, ``end`` (item, system, position), see
    `dissensus.kernels.overlap`, and ``length`` (item, system). ``checked`` says that their labels
    have been looked at: these are some of the items only, and might name none of the labels.

    Raises
    ------
    PredictionError
        If items differ (unless ``on_missing="drop"``), or no predicted label is known.
    """
    check_lists(predictions)
    plausibility, predictions = common_items(plausibility, predictions, on_missing)
    where = space(plausibility)
    if "labels" not in plausibility.attrs and not where.dense:
        where = _widened(where, predictions[LABEL].to_numpy())
    if not checked:
        check_labels(predictions, where.labels)
    code = _codes(predictions, where.labels)
    dims = (ITEM, SYSTEM, POSITION)
    block = predictions["block"].transpose(*dims).to_numpy()
    start, end = block_bounds(block)
    # Without the items' names: they may be spelled otherwise than in the plausibility.
    lists = xr.Dataset(
        {
            "code": (dims, code),
            "start": (dims, start),
            "end": (dims, end),
            "length": (dims[:2], (block > 0).sum(axis=2)),
        },
        coords={SYSTEM: predictions[SYSTEM].to_numpy()},
    )
    return plausibility, lists, where


def check_lists(predictions: Any) -> None:
    """Raise unless these are lists of labels, laid out as the schema says."""
    dims = (ITEM, SYSTEM, POSITION)
    found = ""
    if not isinstance(predictions, xr.Dataset):
        found = type(predictions).__name__
    elif "label_code" not in predictions:
        found = "numbers" if "value" in predictions else f"variables {list(predictions.data_vars)}"
    elif "block" not in predictions or LABEL not in predictions.coords:
        found = "a Dataset without 'block' or 'label' (are these annotations?)"
    elif set(predictions["label_code"].dims) != set(dims):
        found = f"dims {predictions['label_code'].dims}"
    if found:
        raise PredictionError(
            "predictions",
            expected=f"labels over {dims}, as a Dataset made by dissensus.predictions",
            found=found,
        )


def _widened(where: Space, predicted: npt.NDArray[Any]) -> Space:
    """Add predicted labels to a label space that is known only as far as it was named."""
    new = predicted[tables.match(predicted, where.labels) < 0]
    if (new.dtype.kind in "UO") == (where.labels.dtype.kind in "UO"):
        labels = np.concatenate([where.labels, new])
    else:
        labels = np.concatenate([where.labels.astype(np.str_), new.astype(np.str_)])
    size = int(where.sizes[0].sum())
    if len(labels) > size:
        raise PredictionError(
            "plausibility",
            expected="attrs['labels'], the whole label space, beside the candidate form",
            found=f"{len(labels)} labels in annotations and predictions, where the sizes of the "
            f"candidates add up to {size}",
        )
    return where._replace(labels=labels)


def check_labels(predictions: xr.Dataset, labels: npt.NDArray[Any]) -> None:
    """Raise if no predicted label is in the label space, and warn of those that are not."""
    code = predictions["label_code"].to_numpy()
    vocabulary = predictions[LABEL].to_numpy()
    place = tables.match(vocabulary, labels)
    count = np.bincount(code[code >= 0], minlength=len(vocabulary))
    stray = (count > 0) & (place < 0)
    if stray.any() and not ((count > 0) & (place >= 0)).any():
        raise PredictionError(
            "predictions",
            expected=f"labels such as {shown(list(labels), 3)}",
            found=f"no label in common, but {shown(list(vocabulary[count > 0]), 3)}",
        )
    if stray.any():
        warn_of_outside(
            " count as wrong", list(vocabulary[stray]), list(labels), int(count[stray].sum())
        )


def _codes(predictions: xr.Dataset, labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Translate label codes into the plausibility's label space."""
    code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()
    place = tables.match(predictions[LABEL].to_numpy(), labels)
    place = np.where(place < 0, OUTSIDE, place)
    return np.where(code >= 0, place[code], OUTSIDE)
