"""Rows that say what is known to be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.known_labels import codes_of_all
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, brief
from dissensus.statistics._confident import Confident


def right(annotations: xr.Dataset, confident: Confident, truth: Any) -> npt.NDArray[np.bool_]:
    """Return which rows say what is true (row, in the order of ``confident``).

    Raises
    ------
    ArgumentError
        If an item has no known label, or one that could not have been given; and for rankings.
    """
    if confident.lists is not None:
        raise ArgumentError(
            "truth",
            expected="None, of rankings: no two need be right in the same way",
            found=brief(truth),
            hint="Pass accuracy=",
        )
    items, closed = annotations[ITEM].to_numpy(), "value" not in annotations
    code = codes_of_all(truth, items, confident.labels, closed=closed)
    return np.asarray(code[confident.item] == confident.said)
