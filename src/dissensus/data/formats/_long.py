"""Readers of tables with one row per annotation or prediction; they need no format name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data.formats import wide
from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._parquet import FORMAT
from dissensus.data.formats._records import looks_like
from dissensus.data.formats._table import ReadOptions, Table, is_number, typed_labels
from dissensus.data.formats._text import ending
from dissensus.data.frames import require_columns
from dissensus.data.predictions import PROBABILITY, predictions
from dissensus.data.sets import are_marks
from dissensus.data.tables import numbers
from dissensus.dims import ITEM, LABEL, SYSTEM
from dissensus.errors import FormatError, PredictionError, relocated, shown

_OTHER_FORMS = (
    'If each annotator has a column, use format="wide"; if the columns count votes, format="counts"'
)


_LONG: Final = "If each row is one prediction, name the columns with system= and label="


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read annotations from a table with one annotation per row."""
    table = read_table(path, options)
    options.notes["format"] = _form(path)
    return annotations_of(table, options, {}, hint=_OTHER_FORMS)


def read_predictions(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read predictions, one per row or, without system and label columns, from a wide table."""
    table = read_table(path, options)
    options.notes["format"] = _form(path)
    if _is_wide(table, options):
        systems = [name for name in table.columns if name != options.columns[ITEM]]
        _refuse_labels(table, systems, options)
        options.notes["format"] = (
            f"wide (recognised: no column {SYSTEM!r} or {LABEL!r}; the systems are the columns "
            f"{', '.join(systems)})"
        )
        return wide.predictions_of(table, options, _LONG)
    if _of_probabilities(table, options):
        options.notes["format"] += " (recognised: each label has a column of probabilities)"
        with relocated(table.place, table.name):
            frame = _with_numbers(table, options)
            return predictions(
                frame, *(str(options.columns[role]) for role in (ITEM, SYSTEM, LABEL)),
                kind=options.kind, on_missing=options.on_missing,
            )  # fmt: skip
    columns = _chosen(
        table, options, {}, "predictions", 'If each system has a column, use format="wide"'
    )
    with relocated(table.place, table.name):
        frame = _with_typed_labels(table, columns[LABEL], options)
        return predictions(
            frame, **columns, kind=options.kind, separator=options.separator, none=options.none,
            on_missing=options.on_missing,
        )  # fmt: skip


def _form(path: Path) -> str:
    return FORMAT if path.is_dir() else ending(path).removeprefix(".")


def annotations_of(
    table: Table, options: ReadOptions, names: Mapping[str, str], *, hint: str = ""
) -> xr.Dataset:
    """Read annotations from a table with one annotation per row.

    ``names`` are the format's default names of columns, by role.
    """
    columns = _chosen(table, options, names, "annotations", hint)
    with relocated(table.place, table.name):
        frame = _with_typed_labels(table, columns[LABEL], options)
        return _annotations.annotations(
            frame, **columns, kind=options.kind, labels=options.labels,
            separator=options.separator, none=options.none,
        )  # fmt: skip


def _is_wide(table: Table, options: ReadOptions) -> bool:
    names = set(table.columns)
    chosen = options.columns.get("score") or options.columns.get("rank")
    chosen = chosen or options.named(SYSTEM) or options.named(LABEL)
    item = options.columns[ITEM]
    return not chosen and item in names and len(names) > 1 and names.isdisjoint({SYSTEM, LABEL})


def _of_probabilities(table: Table, options: ReadOptions) -> bool:
    """Return whether all columns except the item and system columns may be probabilities."""
    names, table_columns = options.columns, set(table.columns)
    absent = {names[LABEL], names["score"] or PROBABILITY}
    if not {names[ITEM], names[SYSTEM]} <= table_columns or absent & table_columns or names["rank"]:
        return False
    rest = table_columns - {names[ITEM], names[SYSTEM]}
    first = [str(table.columns[name].iloc[0]) for name in rest if len(table.columns[name])]
    return len(first) > 1 and all(map(is_number, first)) and names["score"] in (None, PROBABILITY)


def _with_numbers(table: Table, options: ReadOptions) -> Any:
    if not table.text:
        return table.frame
    names = {options.columns[ITEM], options.columns[SYSTEM]}
    return {
        name: column if name in names else numbers(column, str(name), PredictionError)
        for name, column in table.columns.items()
    }


def _refuse_labels(table: Table, systems: list[str], options: ReadOptions) -> None:
    """Raise if ``systems``, names of columns, are labels of sets and not systems."""
    if options.kind != "set" or not all(are_marks(table.columns[name]) for name in systems):
        return
    raise FormatError(
        f"{table.name}: the columns",
        expected="a column 'system', if each column is a label",
        found=f"only 0 and 1 in {shown(systems, 12)}",
        hint="Add a column with the name of the system",
    )


def _chosen(
    table: Table, options: ReadOptions, own: Mapping[str, str], contents: str, hint: str
) -> dict[str, Any]:
    """Return the name of the column for each role, or raise if a column is missing."""
    columns = {
        role: options.named(role) or own.get(role, name)
        for role, name in options.columns.items()
        if name is not None
    }
    missing = [name for name in columns.values() if name not in table.columns]
    if options.kind == "set" and missing == [columns[LABEL]] and not options.named(LABEL):
        return columns  # perhaps each label of the sets has a column
    if missing and (of_tool := looks_like(table.columns, contents)):
        raise FormatError(
            f"{table.name}: the columns", expected=shown(list(columns.values())),
            found=shown(list(table.columns), 12), hint=of_tool,
        )  # fmt: skip
    require_columns(columns, list(table.columns), FormatError, table.name, hint)
    return columns


def _with_typed_labels(table: Table, label: str, options: ReadOptions) -> Any:
    if not table.text or label not in table.columns:
        return table.frame
    columns = dict(table.columns)
    return columns | {label: typed_labels(columns[label], label, options)}
