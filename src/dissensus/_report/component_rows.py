"""Rows of the summary of variance components, and how their intervals are written."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dissensus._wording import share
from dissensus.dims import POOL, SCALE
from dissensus.evaluation.doubts import DOUBT, marked
from dissensus.evaluation.rows import MODEL, PAIR


def row_of(frame: pd.DataFrame, quantity: str, pool: Any = None, pair: Any = None,
           scale: str | None = None, by: str = MODEL) -> Any:  # fmt: skip
    """Return one row of the summary, or None."""
    keep = (frame["quantity"] == quantity) & (frame["by"] == by)
    for column, value in ((POOL, pool), (PAIR, pair)):
        keep &= frame[column].isna() if value is None else frame[column] == value
    if scale is not None:
        keep &= frame[SCALE] == scale
    rows = frame[keep]
    return None if rows.empty else rows.iloc[0]


def interval(row: Any, digits: int = 2) -> str:
    """Write an interval, for a sentence: what is not to be relied on is said before it."""
    return f"{share(row['lower'], digits)} to {share(row['upper'], digits)}"


def between(row: Any, digits: int = 2) -> str:
    """Write an interval, for a table, with the mark of what is not to be relied on."""
    return marked(interval(row, digits), row[DOUBT])
