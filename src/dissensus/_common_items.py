"""Bringing predictions onto the items that were annotated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import tables
from dissensus.dims import ITEM
from dissensus.errors import PredictionError, shown
from dissensus.registry import one_of


def common_items[Left: (xr.DataArray, xr.Dataset)](
    left: Left, predictions: xr.Dataset, on_missing: str
) -> tuple[Left, xr.Dataset]:
    """Select the predictions of the left side's items, in its order."""
    one_of("on_missing", on_missing, ("raise", "drop"))
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
            hint='on_missing="drop" leaves them out',
        )
    if lacking.any():  # else spare the draws a copy
        left = left.isel({ITEM: ~lacking})
    place = place[~lacking]
    if len(place) < len(predicted) or (np.diff(place) != 1).any():  # and so with predictions
        predictions = predictions.isel({ITEM: place})
    return left, predictions
