"""Rows that say what is known to be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import tables
from dissensus._item_weights import by_item
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, brief, shown
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
    items = annotations[ITEM].to_numpy()
    if isinstance(truth, str | bytes | set | frozenset | xr.Dataset | xr.DataTree):
        raise ArgumentError("truth", expected="a label for each item", found=brief(truth))
    given = by_item(truth, items, "truth", "label")
    missing = pd.isna(given)
    if missing.any():
        lacking = shown(list(items[missing]))
        raise ArgumentError("truth", expected="a label for every item", found=f"none for {lacking}")
    try:
        known = np.array(given.tolist())
        known = known.astype(np.int64) if known.dtype.kind == "b" else known  # as labels are read
        code = tables.match(known, confident.labels)
    except (TypeError, ValueError) as problem:  # such as lists, which name no label
        raise ArgumentError(
            "truth", expected="a label for each item", found=str(problem)
        ) from problem
    strange = code < 0
    if strange.any() and "value" not in annotations:
        raise ArgumentError(
            "truth",
            where=f"item {shown([items[strange][0]])}",
            expected=f"one of the labels {shown(list(confident.labels))}",
            found=shown(list(given[strange][:1])),
            hint="If nobody gave it, read the annotations with labels=[...], the whole label space",
        )
    return np.asarray(code[confident.item] == confident.said)
