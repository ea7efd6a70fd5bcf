"""Predictions aligned with the annotated items, for statistics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.predictions import warn_of_outside
from dissensus.data.schema import checked_predictions
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import PredictionError, shown
from dissensus.kernels.types import Array, Flags, Floats, Ints


def common_items[Left: (xr.DataArray, xr.Dataset)](
    left: Left, predictions: xr.Dataset, on_missing: str
) -> tuple[Left, xr.Dataset]:
    """Select the predictions of the items on the left side, in the same order."""
    arguments.one_of("on_missing", on_missing, ("raise", "drop"))
    items, predicted = left[ITEM].to_numpy(), predictions[ITEM].to_numpy()
    again = pd.Index(predicted).duplicated()
    if again.any():
        raise PredictionError(
            "predictions", expected="each item once", found=f"{shown(list(predicted[again]))} again"
        )
    place = tables.match(items, predicted)
    lacking = place < 0
    wanted = np.zeros(len(predicted), dtype=bool)
    wanted[place[~lacking]] = True
    extra = np.flatnonzero(~wanted)
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
            hint='Use on_missing="drop" to leave out the others',
        )
    if lacking.any():  # else spare the draws a copy
        left = left.isel({ITEM: ~lacking})
    place = place[~lacking]
    if len(place) < len(predicted) or (np.diff(place) != 1).any():  # and so with predictions
        predictions = predictions.isel({ITEM: place})
    return left, predictions


class Systems(NamedTuple):
    """Predictions on the items of the annotations."""

    names: Array
    """(system)"""
    present: Flags
    """(item): whether the item has predictions; always, unless ``on_missing="drop"``."""
    predictions: xr.Dataset
    """Predictions of these items, in the order of the annotations."""


def systems_of(annotations: xr.Dataset, predictions: Any, on_missing: str = "raise") -> Systems:
    """Align predictions with the items of the annotations."""
    predictions = checked_predictions(predictions)
    places = xr.DataArray(
        np.arange(annotations.sizes[ITEM]), dims=ITEM, coords={ITEM: annotations[ITEM].to_numpy()}
    )
    common, predictions = common_items(places, predictions, on_missing)
    present = np.zeros(annotations.sizes[ITEM], dtype=bool)
    present[common.to_numpy()] = True
    return Systems(predictions[SYSTEM].to_numpy(), present, predictions)


def said_by_systems(found: Systems, labels: Array) -> Ints:
    """Return the code of each system's predicted label: (item, system).

    Labels that annotators could not give have codes above the last label, so that they differ from
    all annotations. Items without predictions have the code -1.
    """
    predictions = found.predictions
    if "label_code" not in predictions or predictions.sizes[POSITION] != 1:
        kind = predictions.attrs["kind"]
        raise PredictionError(
            "predictions",
            expected="one label from each system and item",
            found=f'numbers (kind "{kind}")' if kind == "continuous" else f"lists (kind {kind!r})",
            hint='Numbers: distance="squared". Lists: distance="jaccard" or "ranking"',
        )
    vocabulary = predictions[LABEL].to_numpy()
    place = tables.match(vocabulary, labels)
    code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()[..., 0]
    stray = np.unique(code[place[code] < 0])
    if len(stray) and (place[code] < 0).all():
        raise PredictionError(
            "predictions",
            expected=f"labels such as {shown(list(labels), 3)}",
            found=f"no label in common, but {shown(list(vocabulary[stray]), 3)}",
        )
    if len(stray):
        count = int((place[code] < 0).sum())
        warn_of_outside(" agree with nobody", list(vocabulary[stray]), list(labels), count)
    place[stray] = len(labels) + np.arange(len(stray))
    out = np.full((len(found.present), len(found.names)), -1, dtype=np.int64)
    out[found.present] = place[code]
    return out


def numbers_by_systems(found: Systems) -> Floats:
    """Return the number that each system predicts: (item, system); NaN without predictions."""
    predictions = found.predictions
    if "value" in predictions:
        values = predictions["value"].transpose(ITEM, SYSTEM).to_numpy()
    else:
        labels = predictions[LABEL].to_numpy()
        if labels.dtype.kind not in "iuf" or predictions.sizes[POSITION] != 1:
            raise PredictionError(
                "predictions",
                expected="one number from each system and item",
                found=f"text such as {labels[0]!r}" if labels.dtype.kind not in "iuf" else "lists",
                hint='For labels without distances use distance="nominal"',
            )
        code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()[..., 0]
        values = labels[code]
    out = np.full((len(found.present), len(found.names)), np.nan)
    out[found.present] = values
    return out
