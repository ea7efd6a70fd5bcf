"""The distances of numbers on a ratio scale."""

from __future__ import annotations

import numpy as np
import xarray as xr

from dissensus.dims import ITEM
from dissensus.errors import AnnotationError, shown
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.types import Floats
from dissensus.statistics._distances import TABLE, Disagreement, from_table
from dissensus.statistics._statements import numbers_of


def ratio_disagreement(annotations: xr.Dataset, rows: Grouped) -> Disagreement:
    r"""Prepare :math:`((a - b) / (a + b))^2`, which is 0 between two zeros.

    Raises
    ------
    AnnotationError
        If a number is below 0, or more than 3,000 of them are distinct.
    """
    given = numbers_of(annotations)
    below = np.flatnonzero(given < 0)
    if len(below):
        row = int(below[0])
        item = annotations[ITEM].to_numpy()[annotations["item_code"].to_numpy()[row]]
        raise AnnotationError(
            "annotations",
            where=f"row {row} (item {shown([item])})",
            expected='numbers of 0 or more, with level="ratio"',
            found=f"{given[row]}",
            hint='For numbers around 0, level="interval"',
        )
    values, codes = np.unique(given, return_inverse=True)
    if len(values) > TABLE:
        raise AnnotationError(
            "annotations",
            expected=f'up to {TABLE:,} distinct numbers, with level="ratio"',
            found=f"{len(values):,}: their distances are a table of all pairs",
            hint='Round the numbers, or take level="interval", which needs no table',
        )
    return from_table(rows, codes, apart(values))


def apart(values: Floats) -> Floats:
    """Return the distances of all pairs.

    Examples
    --------
    >>> apart(np.array([0.0, 1.0, 3.0]))
    array([[0.  , 1.  , 1.  ],
           [1.  , 0.  , 0.25],
           [1.  , 0.25, 0.  ]])
    """
    values = values / 2.0 if values.max(initial=0.0) > 1e300 else values  # else no float holds sums
    total = values[:, None] + values[None, :]
    return ((values[:, None] - values[None, :]) / np.where(total > 0, total, 1.0)) ** 2
