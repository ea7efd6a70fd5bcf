"""One table in the clothes of many libraries."""

from __future__ import annotations

import warnings
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

CLOTHES = (
    "lists", "tuples", "pandas", "objects", "nullable", "arrow-backed", "categorical", "ordered",
    "text", "odd index", "polars", "lazy", "polars categorical", "pyarrow", "dictionary", "chunked",
    "duckdb", "twice named", "arrays", "masked",
)  # fmt: skip


def dressed(columns: dict[str, list[Any]], clothes: str) -> Any:
    """Return a table as some library holds it; as lists, where the library will not hold it."""
    if clothes == "lists":
        return columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _dressed(columns, clothes)
        except (Exception, pl.exceptions.PanicException):  # a library of its own mind
            return columns


def _dressed(columns: dict[str, list[Any]], clothes: str) -> Any:
    if clothes == "tuples":
        return {name: tuple(cells) for name, cells in columns.items()}
    if clothes == "arrays":
        return {name: np.array(cells) for name, cells in columns.items()}
    if clothes == "masked":
        return {name: np.ma.masked_array(cells, mask=False) for name, cells in columns.items()}
    if clothes.startswith("polars") or clothes == "lazy":
        return _polars(columns, clothes)
    if clothes in {"pyarrow", "dictionary", "chunked", "duckdb"}:
        return _arrow(columns, clothes)
    return _pandas(columns, clothes)


def _pandas(columns: dict[str, list[Any]], clothes: str) -> Any:
    frame = pd.DataFrame(columns, dtype=object if clothes == "objects" else None)
    if clothes == "nullable":
        return frame.convert_dtypes()
    if clothes == "arrow-backed":
        return frame.convert_dtypes(dtype_backend="pyarrow")
    if clothes == "text":
        return frame.astype("string")
    if clothes == "odd index":
        return frame.set_index(np.zeros(len(frame)))
    if clothes == "categorical":
        return frame.astype("category")
    if clothes == "ordered":
        return frame.apply(lambda column: column.astype("category").cat.as_ordered())
    if clothes == "twice named":
        return pd.concat([frame, frame.iloc[:, :1]], axis=1)
    return frame


def _polars(columns: dict[str, list[Any]], clothes: str) -> Any:
    frame = pl.DataFrame(columns, strict=False)
    if clothes == "polars categorical":
        text = [name for name, kind in frame.schema.items() if kind == pl.String]
        frame = frame.with_columns(pl.col(text).cast(pl.Categorical))
    return frame.lazy() if clothes == "lazy" else frame


def _arrow(columns: dict[str, list[Any]], clothes: str) -> Any:
    table = pa.table(columns)
    if clothes == "dictionary":
        table = pa.table(
            {name: table[name].combine_chunks().dictionary_encode() for name in columns}
        )
    if clothes == "chunked":
        half = table.num_rows // 2
        table = pa.concat_tables([table.slice(0, half), table.slice(half)])
    return duckdb.from_arrow(table) if clothes == "duckdb" else table


def clothes() -> st.SearchStrategy[str]:
    """Choose a library, lists more often than others."""
    return st.one_of(st.just("lists"), st.sampled_from(CLOTHES))
