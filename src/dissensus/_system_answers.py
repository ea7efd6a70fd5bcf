"""What systems said about the annotated items, as the statistics read it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import tables
from dissensus._common_items import common_items
from dissensus._outside_labels import warn_of_outside
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import PredictionError, shown
from dissensus.kernels.types import Floats, Ints
from dissensus.schema import checked_predictions


class Systems(NamedTuple):
    """Predictions on the items of the annotations."""

    names: npt.NDArray[Any]
    """(system)"""
    present: npt.NDArray[np.bool_]
    """(item): whether the item has predictions; all, unless ``on_missing="drop"``."""
    predictions: xr.Dataset
    """Of the present items, in the order of the annotations."""


def systems_of(annotations: xr.Dataset, predictions: Any, on_missing: str = "raise") -> Systems:
    """Bring predictions onto the items of the annotations.

    Raises
    ------
    PredictionError
        If these are no predictions, or items differ (unless ``on_missing="drop"``).
    """
    predictions = checked_predictions(predictions)
    places = xr.DataArray(
        np.arange(annotations.sizes[ITEM]), dims=ITEM, coords={ITEM: annotations[ITEM].to_numpy()}
    )
    common, predictions = common_items(places, predictions, on_missing)
    present = np.zeros(annotations.sizes[ITEM], dtype=bool)
    present[common.to_numpy()] = True
    return Systems(predictions[SYSTEM].to_numpy(), present, predictions)


def said_by_systems(found: Systems, labels: npt.NDArray[Any]) -> Ints:
    """Return the label each system gave each item (item, system), as a code.

    Labels that annotators could not give have codes past the last label: they differ from all.
    Items without predictions have the code -1.

    Raises
    ------
    PredictionError
        If the predictions are lists or numbers, or no predicted label is known.

    Warns
    -----
    DissensusWarning
        If some predicted labels are outside the label space.
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
    """Return the number each system gave each item (item, system); NaN without predictions.

    Raises
    ------
    PredictionError
        If the predictions are lists or words.
    """
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
                hint='For labels without distances, distance="nominal"',
            )
        code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()[..., 0]
        values = labels[code]
    out = np.full((len(found.present), len(found.names)), np.nan)
    out[found.present] = values
    return out
