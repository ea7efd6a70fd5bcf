"""Wide tables: an item column, then one column per annotator (or per system).

A cell contains one label; empty cells are missing labels. All columns except those of items,
clusters and strata are annotators or systems. Annotators and items without labels are kept. For
rankings, confidences and trials use a table with one row per annotation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.annotations import grouped
from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._table import ReadOptions, Table, typed_labels
from dissensus.data.frames import require_columns
from dissensus.data.nested import cells_of, from_matrix
from dissensus.data.predictions import predictions
from dissensus.data.schema import validate
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, STRATUM, SYSTEM
from dissensus.errors import FormatError, PredictionError, relocated, shown

Columns = dict[str, "pd.Series[Any]"]

_REASON = "a cell contains one label, and the columns are annotators or systems"


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read a table of items (rows) by annotators (columns)."""
    roles = (ANNOTATOR, LABEL, "rank", "confidence", "pool", "trial")
    options.refuse("wide", _REASON, *roles)
    table = read_table(path, options)
    return annotations_in(table, options, *split(table, options, "annotators"))


def annotations_in(
    table: Table, options: ReadOptions, items: list[Any], columns: Columns
) -> xr.Dataset:
    """Return annotations; ``columns`` are the labels of each annotator.

    Clusters and strata are columns of the table.
    """
    frame = pd.DataFrame(_typed(table, columns, options))
    frame.index = pd.Index(items, dtype=object)
    with relocated("row {}".format, table.name):
        ann = from_matrix(frame, kind=options.kind, labels=options.labels)
    return with_groups(ann, table, options)


def read_predictions(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read a table of items (rows) by systems (columns)."""
    options.refuse("wide", _REASON, SYSTEM, LABEL, "score", "rank")
    return predictions_of(read_table(path, options), options)


_NO_FORMAT: Final = "A table with one row per label needs no format="


def predictions_of(table: Table, options: ReadOptions, hint: str = _NO_FORMAT) -> xr.Dataset:
    """Return the predictions in a table of items by systems; an empty cell is a missing one.

    ``hint`` is the advice if an item is in two rows.
    """
    return predictions_in(table, options, *split(table, options, "systems", hint))


def predictions_in(
    table: Table, options: ReadOptions, items: list[Any], columns: Columns,
    empty: str = "an empty cell",
) -> xr.Dataset:  # fmt: skip
    """Return predictions; ``columns`` are the predictions of each system.

    ``empty`` describes a missing prediction in messages.
    """
    frame = pd.DataFrame(_typed(table, columns, options))
    kept, names = _complete(table, options, items, frame, empty), list(frame.columns)
    row, column = np.repeat(kept, len(names)), np.tile(np.arange(len(names)), len(kept))
    long = {
        ITEM: [items[place] for place in row],
        SYSTEM: [names[place] for place in column],
        LABEL: cells_of(frame, row, column),
    }
    with relocated(
        lambda n: f"{table.place(int(row[n]))}, column {names[column[n]]!r}", table.name
    ):
        return predictions(
            long, kind=options.kind, separator=options.separator, none=options.none,
            on_missing=options.on_missing,
        )  # fmt: skip


def _complete(
    table: Table, options: ReadOptions, items: list[Any], frame: pd.DataFrame, empty: str
) -> npt.NDArray[np.intp]:
    """Return the numbers of the rows in which every system has a prediction.

    Raise if there are other rows and ``on_missing="raise"``, or if no row is left.
    """
    blank = frame.isna().to_numpy()
    if blank.any() and options.on_missing == "raise":
        first, column = (int(place) for place in np.argwhere(blank)[0])
        raise PredictionError(
            f"{table.name}: column {frame.columns[column]!r}",
            where=f"{table.place(first)} (item {items[first]!r})",
            expected="a prediction of every system for every item",
            found=f"{empty} ({int(blank.sum())} in all)",
            hint='Use on_missing="drop" to leave out these items for all systems',
        )
    kept = np.flatnonzero(~blank.any(axis=1))
    if not len(kept):
        expected = "an item for which every system has a prediction"
        raise PredictionError(table.name, expected=expected, found=f"none among {len(items)} items")
    if len(kept) < len(items):
        options.notes["items_dropped"] = len(items) - len(kept)
    return kept


def split(
    table: Table, options: ReadOptions, columns_of: str, hint: str = _NO_FORMAT
) -> tuple[list[Any], Columns]:
    """Return the distinct items, and the columns of annotators, systems or labels."""
    columns = dict(table.columns)
    roles = {
        role: str(options.columns[role])
        for role in (ITEM, CLUSTER, STRATUM)
        if options.columns.get(role) is not None
    }
    require_columns(roles, list(columns), FormatError, table.name)
    items = distinct(table, options, columns[roles[ITEM]], roles[ITEM], hint)
    rest = {name: values for name, values in columns.items() if name not in roles.values()}
    if not rest:
        expected = f"columns of {columns_of} beside {shown(list(roles.values()))}"
        raise options.error(table.name, expected=expected, found="none")
    return items, rest


def distinct(
    table: Table, options: ReadOptions, column: pd.Series[Any], name: str,
    hint: str = _NO_FORMAT,
) -> list[Any]:  # fmt: skip
    """Return the items of the rows, or raise with ``hint`` if an item is in two rows."""
    with relocated(table.place, table.name):
        encoded = tables.encode(column, name, error=options.error)
    doubled = np.flatnonzero(pd.Series(encoded.codes).duplicated())
    if len(doubled):
        row = int(doubled[0])
        first = int(np.flatnonzero(encoded.codes == encoded.codes[row])[0])
        raise options.error(
            f"{table.name}: column {name!r}",
            where=f"{table.place(first)} and {table.place(row)}",
            expected="each item in one row",
            found=f"{shown([encoded.values[encoded.codes[row]]])} in both",
            hint=hint,
        )
    return list(encoded.values[encoded.codes].tolist())


def _typed(table: Table, columns: Columns, options: ReadOptions) -> Columns:
    """Return columns of labels, in which `typed_labels` has converted all cells of a text file.

    All columns are converted together, because a label is the same in each column.
    """
    if not table.text:
        return columns
    rows, names = len(next(iter(columns.values()))), list(columns)
    cells = pd.concat(list(columns.values()), ignore_index=True)
    with relocated(lambda n: f"{table.place(n % rows)}, column {names[n // rows]!r}", table.name):
        cells = typed_labels(cells, LABEL, options)
    return {
        name: cells[place * rows : (place + 1) * rows].reset_index(drop=True)
        for place, name in enumerate(names)
    }


def with_groups(ann: xr.Dataset, table: Table, options: ReadOptions) -> xr.Dataset:
    """Return annotations with the clusters and strata that ``options`` name.

    The table must have one row for each item, in the order of the items.
    """
    for dim in (CLUSTER, STRATUM):
        name = options.columns.get(dim)
        if name is not None:
            with relocated(table.place, table.name):
                groups = grouped(table.columns[name], name)
            ann = ann.assign_coords({dim: groups.values})
            ann[f"{dim}_code"] = (ITEM, groups.codes)
    return validate(ann)
