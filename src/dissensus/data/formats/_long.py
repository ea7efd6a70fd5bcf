"""Tables with one row per statement: the form that needs no format name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data.formats import wide
from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._parquet import FORMAT
from dissensus.data.formats._table import Asked, Table, missing_column
from dissensus.data.formats._text import ending, typed_labels
from dissensus.data.predictions import predictions
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.errors import AnnotationError

_OTHER_FORMS = (
    'If each annotator has a column, say format="wide"; if the columns count votes, format="counts"'
)


def read_annotations(path: Path, asked: Asked) -> xr.Dataset:
    """Read annotations, one a row."""
    table = read_table(path, asked)
    asked.notes["format"] = _form(path)
    return annotations_of(table, asked, {}, hint=_OTHER_FORMS)


def read_predictions(path: Path, asked: Asked) -> xr.Dataset:
    """Read predictions, one a row; or one system a column, if no other reading is possible."""
    table = read_table(path, asked)
    asked.notes["format"] = _form(path)
    if _is_wide(table, asked):
        systems = [name for name in table.columns if name != asked.columns[ITEM]]
        asked.notes["format"] = (
            f"wide (recognised: no column {SYSTEM!r} or {LABEL!r}; the systems are the columns "
            f"{', '.join(systems)})"
        )
        return wide.predictions_of(table, asked)
    columns = _chosen(table, asked, {}, hint='If each system has a column, say format="wide"')
    frame = _with_typed_labels(table, columns[LABEL], asked)
    try:
        return predictions(frame, **columns, kind=asked.kind, on_missing=asked.on_missing)
    except AnnotationError as problem:
        raise problem.relocated(table.place, table.name) from problem


def _form(path: Path) -> str:
    return FORMAT if path.is_dir() else ending(path).removeprefix(".")


def annotations_of(
    table: Table, asked: Asked, own: Mapping[str, str], *, hint: str = ""
) -> xr.Dataset:
    """Read annotations from a table of statements.

    Parameters
    ----------
    table : Table
        One row per statement.
    asked : Asked
        What the caller said.
    own : mapping from role to column name
        What the format calls the columns that the caller did not name.
    hint : str
        What to say to someone whose table lacks a column.
    """
    columns = _chosen(table, asked, own, hint)
    frame = _with_typed_labels(table, columns[LABEL], asked)
    try:
        return _annotations.annotations(frame, **columns, kind=asked.kind, labels=asked.labels)
    except AnnotationError as problem:
        raise problem.relocated(table.place, table.name) from problem


def _is_wide(table: Table, asked: Asked) -> bool:
    ordered = asked.columns.get("score") or asked.columns.get("rank")
    chosen = asked.named(SYSTEM) or asked.named(LABEL)
    names = set(table.columns)
    return (
        not ordered
        and not chosen
        and asked.columns[ITEM] in names
        and len(names) > 1
        and names.isdisjoint({SYSTEM, LABEL})
    )


def _chosen(table: Table, asked: Asked, own: Mapping[str, str], hint: str) -> dict[str, Any]:
    """Return the column for each role, all of them present."""
    columns = {
        role: asked.named(role) or own.get(role, name)
        for role, name in asked.columns.items()
        if name is not None
    }
    for role, name in columns.items():
        if name not in table.columns:
            advice = hint if role in {ANNOTATOR, SYSTEM, LABEL} else ""
            missing_column(table, name, role, advice)
    return columns


def _with_typed_labels(table: Table, label: str, asked: Asked) -> Any:
    if not table.text:
        return table.frame
    columns: dict[str, pd.Series[Any]] = dict(table.columns)
    try:
        columns[label] = typed_labels(columns[label], label, asked)
    except AnnotationError as problem:
        raise problem.relocated(table.place, table.name) from problem
    return columns
