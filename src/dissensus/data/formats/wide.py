"""Wide tables: an item column, then one column per annotator (or per system).

An empty cell is a label that was not given; an annotator or an item without any is kept.
Annotators are the columns that have no other role (``cluster=``, ``stratum=``). There is one
label to a cell: rankings, confidences and trials need a table with one row per statement.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.annotations import grouped
from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._table import Asked, Table, missing_column
from dissensus.data.formats._text import typed_labels
from dissensus.data.nested import cells_of, from_matrix
from dissensus.data.predictions import predictions
from dissensus.data.schema import validate
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, STRATUM, SYSTEM
from dissensus.errors import AnnotationError, PredictionError, shown

_WHY = "there is one label to a cell, and the columns are named after who gave it"


def read_annotations(path: Path, asked: Asked) -> xr.Dataset:
    """Read a table of items by annotators."""
    asked.refuse("wide", _WHY, ANNOTATOR, LABEL, "rank", "confidence", "pool", "trial")
    table = read_table(path, asked)
    items, columns = split(table, asked, "annotators")
    cells = _typed(table, columns, asked)
    frame = pd.DataFrame(cells)
    frame.index = pd.Index(items, dtype=object)
    try:
        ann = from_matrix(frame, kind=asked.kind, labels=asked.labels)
    except AnnotationError as problem:
        raise problem.relocated(lambda row: f"row {row}", table.name) from problem
    return with_groups(ann, table, asked)


def read_predictions(path: Path, asked: Asked) -> xr.Dataset:
    """Read a table of items by systems."""
    asked.refuse("wide", _WHY, SYSTEM, LABEL, "score", "rank")
    return predictions_of(read_table(path, asked), asked)


def predictions_of(table: Table, asked: Asked) -> xr.Dataset:
    """Read the predictions in a table of items by systems; an empty cell is a missing one."""
    items, columns = split(table, asked, "systems")
    frame = pd.DataFrame(_typed(table, columns, asked))
    names, blank = list(frame.columns), frame.isna().to_numpy()
    if blank.any() and asked.on_missing == "raise":
        first, which = (int(place) for place in np.argwhere(blank)[0])
        raise PredictionError(
            f"{table.name}: column {names[which]!r}",
            where=f"{table.place(first)} (item {items[first]!r})",
            expected="a prediction of every system for every item",
            found=f"an empty cell ({int(blank.sum())} in all)",
            hint='on_missing="drop" leaves those items out for all systems',
        )
    kept = np.flatnonzero(~blank.any(axis=1))
    if not len(kept):
        raise PredictionError(
            table.name, expected="an item for which every system has a prediction",
            found=f"none among {len(items)} items",
        )  # fmt: skip
    if len(kept) < len(items):
        asked.notes["items_dropped"] = len(items) - len(kept)
    row, column = np.repeat(kept, len(names)), np.tile(np.arange(len(names)), len(kept))
    long = {
        ITEM: [items[place] for place in row],
        SYSTEM: [names[place] for place in column],
        LABEL: cells_of(frame, row, column),
    }
    try:
        return predictions(long, kind=asked.kind, on_missing=asked.on_missing)
    except AnnotationError as problem:
        raise problem.relocated(
            lambda n: f"{table.place(int(row[n]))}, column {names[column[n]]!r}", table.name
        ) from problem


def split(table: Table, asked: Asked, what: str) -> tuple[list[Any], dict[str, pd.Series[Any]]]:
    """Return the items, each once, and the columns that stand for annotators, systems or labels."""
    columns = dict(table.columns)
    roles = {
        role: str(asked.columns[role])
        for role in (ITEM, CLUSTER, STRATUM)
        if asked.columns.get(role) is not None
    }
    for role, name in roles.items():
        if name not in columns:
            missing_column(table, name, role)
    item = columns[roles[ITEM]]
    try:
        encoded = tables.encode(item, roles[ITEM], error=asked.error)
    except AnnotationError as problem:
        raise problem.relocated(table.place, table.name) from problem
    if len(encoded.values) < len(item):
        row = int(np.flatnonzero(pd.Series(encoded.codes).duplicated())[0])
        first = int(np.flatnonzero(encoded.codes == encoded.codes[row])[0])
        raise asked.error(
            f"{table.name}: column {roles[ITEM]!r}",
            where=f"{table.place(first)} and {table.place(row)}",
            expected="each item in one row",
            found=f"{shown([encoded.values[encoded.codes[row]]])} in both",
            hint="A table with one row per statement needs no format=",
        )
    rest = {name: values for name, values in columns.items() if name not in roles.values()}
    if not rest:
        raise asked.error(
            table.name, expected=f"columns of {what} beside {shown(list(roles.values()))}",
            found="none",
        )  # fmt: skip
    return encoded.values[encoded.codes].tolist(), rest


def _typed(
    table: Table, columns: dict[str, pd.Series[Any]], asked: Asked
) -> dict[str, pd.Series[Any]]:
    """Recognise numbers in the cells of a file of text, all columns together."""
    if not table.text:
        return columns
    rows, names = len(next(iter(columns.values()))), list(columns)
    cells = pd.concat(list(columns.values()), ignore_index=True)
    try:
        cells = typed_labels(cells, LABEL, asked)
    except AnnotationError as problem:
        raise problem.relocated(
            lambda n: f"{table.place(n % rows)}, column {names[n // rows]!r}", table.name
        ) from problem
    return {
        name: cells[place * rows : (place + 1) * rows].reset_index(drop=True)
        for place, name in enumerate(names)
    }


def with_groups(ann: xr.Dataset, table: Table, asked: Asked) -> xr.Dataset:
    """Add the clusters and strata of a table that has one row for each item, in order."""
    for dim in (CLUSTER, STRATUM):
        name = asked.columns.get(dim)
        if name is None:
            continue
        try:
            found = grouped(table.columns[name], name)
        except AnnotationError as problem:
            raise problem.relocated(table.place, table.name) from problem
        ann = ann.assign_coords({dim: found.values})
        ann[f"{dim}_code"] = (ITEM, found.codes)
    return validate(ann)
