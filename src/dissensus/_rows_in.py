"""Tables that are no dataframes: rows, and the data sets of Hugging Face's `datasets`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dissensus.errors import AnnotationError, brief, shown


def is_rows(frame: Any) -> bool:
    """Say whether these are rows, each a mapping from column to cell.

    Examples
    --------
    >>> is_rows([{"item": 1}]), is_rows({"item": [1]}), is_rows("item")
    (True, False, False)
    """
    rows = isinstance(frame, Sequence) and not isinstance(frame, str | bytes)
    return rows and len(frame) > 0 and any(isinstance(row, Mapping) for row in frame)


def of_rows(rows: Sequence[Any], error: type[AnnotationError]) -> dict[str, list[Any]]:
    """Return the columns of rows; a cell that a row does not have is missing.

    Examples
    --------
    >>> of_rows([{"item": 1}, {"item": 2, "pool": "a"}], AnnotationError)
    {'item': [1, 2], 'pool': [None, 'a']}
    """
    odd = next((n for n, row in enumerate(rows) if not isinstance(row, Mapping)), None)
    if odd is not None:
        raise error(
            "the table", where=f"row {odd}", found=brief(rows[odd]),
            expected="a mapping from column to cell, as other rows",
        )  # fmt: skip
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def is_hub(frame: Any) -> bool:
    """Say whether this is of Hugging Face's `datasets`, without loading that."""
    return type(frame).__module__.partition(".")[0] == "datasets"


def of_hub(data: Any, error: type[AnnotationError]) -> dict[str, pd.Series[Any]]:
    """Return the columns of a data set; classes by their names, those that are missing as missing.

    Raises
    ------
    AnnotationError
        If it is several data sets, or one that is read as it is gone through.
    """
    if isinstance(data, Mapping):
        raise error(
            "the table", expected="one data set", found=f"the splits {shown(list(data))}",
            hint=f"Choose one of them, such as data[{next(iter(data), 'train')!r}]",
        )  # fmt: skip
    if not hasattr(data, "with_format") or not hasattr(data, "__len__"):
        raise error(
            "the table", expected="a data set that is here as a whole", found=type(data).__name__,
            hint="Take its rows: list(data)",
        )  # fmt: skip
    table = data.with_format("arrow")[:]
    out = {}
    for name in table.column_names:
        column = table[name].to_pandas(integer_object_nulls=True)
        out[str(name)] = _named(column, getattr(data.features[name], "names", None))
    return out


def _named(codes: pd.Series[Any], names: Sequence[str] | None) -> pd.Series[Any]:
    """Return classes by name, in their order; a code below 0 is how a missing one is written."""
    if names is None:
        return codes
    known = codes.fillna(-1).astype("int64").clip(-1).to_numpy()
    return pd.Series(pd.Categorical.from_codes(known, categories=pd.Index(names)))
