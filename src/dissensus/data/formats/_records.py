"""Readers of JSON: tables of records, and parts of readers for exports of annotation tools."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data.formats._registry import recognised
from dissensus.data.formats._table import ReadOptions, Table
from dissensus.data.formats._text import read_text
from dissensus.data.predictions import predictions
from dissensus.dims import ITEM, LABEL
from dissensus.errors import FormatError, brief, relocated, shown, warn_caller

Record = dict[str, Any]


class _DoubledKeyError(Exception):
    """A JSON object has a key twice; ``json`` would silently keep only the last value."""


def _distinct(pairs: list[tuple[str, Any]]) -> Record:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        raise _DoubledKeyError(next(name for name in names if names.count(name) > 1))
    return out


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_distinct)


def read_records(path: Path, encoding: str) -> tuple[list[Record], list[str]]:
    """Return the records of a JSON or JSONL file, and a description of each record's place.

    Descriptions are "line 3" in JSONL files, and "entry 2" in JSON files.
    """
    lines = path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    text = read_text(path, encoding, lines=lines)
    if lines:
        return _from_lines(path, text)
    records = _from_list(path, text)
    return records, [f"entry {number}" for number in range(len(records))]


def _from_lines(path: Path, text: str) -> tuple[list[Record], list[str]]:
    records, places = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        record = _decoded(path, line.strip(), number)
        if not isinstance(record, dict):
            raise FormatError(
                path.name,
                where=f"line {number}",
                expected='a JSON object, such as {"item": 1, "annotator": "ann", "label": "x"}',
                found=_described(record),
                hint="If the file is one JSON list, give it the ending .json",
            )
        records.append(record)
        places.append(f"line {number}")
    return records, places


def _from_list(path: Path, text: str) -> list[Record]:
    content = _decoded(path, text.strip(), None)
    records = content if isinstance(content, list) else [content]
    for place, record in enumerate(records):
        if not isinstance(content, list) or not isinstance(record, dict):
            raise FormatError(
                path.name,
                where=f"entry {place}" if isinstance(content, list) else "",
                expected='a list of records, such as [{"item": 1, "annotator": "a", "label": "x"}]',
                found=_described(record),
                hint=looks_like(content) or 'pandas writes it with to_json(orient="records")',
            )
    if not records:
        raise FormatError(path.name, expected="at least one record", found="an empty list")
    return records


def looks_like(columns: Any, contents: str | None = None) -> str:
    """Return a hint if the content seems to be a file of a known tool, else "".

    ``columns`` is a table or a JSON object; the value of its first field is examined too.
    ``contents`` is "annotations", "predictions" or None for both.
    """
    first = next(iter(columns.values()), None) if isinstance(columns, dict) else None
    for names in (columns, first):
        known = recognised(names, contents) if isinstance(names, Mapping) else None
        if known is not None:
            return f"The file looks like {known.summary}: read it with format={known.name!r}"
    return ""


def read_document(path: Path, encoding: str) -> Record:
    """Return the content of a JSON file, or raise unless it is an object."""
    content = _decoded(path, read_text(path, encoding).strip(), None)
    if not isinstance(content, dict):
        raise FormatError(path.name, expected="a JSON object", found=_described(content))
    return content


def _decoded(path: Path, text: str, line: int | None) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        several = line is None and problem.msg == "Extra data"
        raise FormatError(
            path.name,
            where=f"line {line or problem.lineno}, column {problem.colno}",
            expected="JSON",
            found=problem.msg,
            hint="If each line is an object, give the file the ending .jsonl" if several else "",
        ) from problem
    except _DoubledKeyError as problem:
        where = "" if line is None else f"line {line}"
        raise FormatError(
            path.name,
            where=where,
            expected="distinct names in each record",
            found=f"{str(problem)!r} twice in one record",
        ) from problem
    except RecursionError as problem:
        description = "JSON nested too deeply to read"
        raise FormatError(path.name, expected="a table", found=description) from problem


def _described(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with the names {shown(list(value))}"
    return f"{type(value).__name__} {str(value)[:40]}"


def read_json(path: Path, encoding: str) -> Table:
    """Read a table of records; if a record lacks a field, the cell is missing."""
    records, places = read_records(path, encoding)
    names = dict.fromkeys(name for record in records for name in record)
    columns = {}
    for name in names:
        cells = np.fromiter((row.get(name) for row in records), object, len(records))
        columns[name] = pd.Series(cells, dtype=object)
    return Table(columns, path.name, place=lambda row: places[row].replace("entry", "row"))


@dataclass
class Export:
    """The annotations or predictions in an export of an annotation tool, collected as columns."""

    path: Path
    options: ReadOptions
    noun: str
    """The tool's plural word for annotations or predictions."""
    cells: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """By role: the cells of the column."""
    places: list[str] = field(default_factory=list)
    """The place of each row in the file."""
    left_out: Counter[str] = field(default_factory=Counter)
    """By reason: the number of annotations or predictions that were left out."""

    @property
    def sets(self) -> bool:
        """Whether to read answers as sets of labels."""
        return self.options.kind == "set"

    def error(self, where: str, expected: str, found: str, hint: str = "") -> FormatError:
        """Return an error about a place in the file."""
        return FormatError(self.path.name, where=where, expected=expected, found=found, hint=hint)

    def add(self, place: str, cells: Record) -> None:
        """Add a row."""
        self.places.append(place)
        for role, cell in cells.items():
            self.cells[role].append(cell)

    def chosen(
        self, names: Sequence[str], expected: str, expected_named: str, introduction: str
    ) -> str:
        """Return the name of the control or question to read: the only one, or that of label=.

        ``names`` are those in the file; the other arguments are texts for the error if there is no
        such name.
        """
        wanted = self.options.named(LABEL)
        if wanted is None and len(names) == 1:
            return names[0]
        if wanted is None and LABEL in names:  # "label" is the default, but may also be a name
            return LABEL
        if wanted in names:
            return str(wanted)
        raise self.error(
            "",
            expected if wanted is None else expected_named,
            f"{introduction} {shown(sorted(names))}" if names else "none",
            "Name one of them with label=" if names else "",
        )

    def objects(self, place: str, value: Any, name: str) -> list[Record]:
        """Return ``value`` if it is a list of objects, [] if it is None; else raise."""
        values = [] if value is None else value
        if not isinstance(values, list) or not all(isinstance(entry, dict) for entry in values):
            raise self.error(place, f"{name} as objects, in a list", brief(value))
        return values

    def cell(self, place: str, role: str, fields: Record, source: str) -> Any:
        """Return the value of the field that the caller named for a role; raise if it is missing.

        For items the default is the field "id". ``source`` describes the fields in the message.
        """
        options = self.options
        name = options.named(ITEM) or "id" if role == ITEM else str(options.columns[role])
        if fields.get(name) is None:
            raise self.error(
                place,
                f"a field {name!r} of {source} to read as {role}",
                f"the fields {shown(list(fields), 12) or 'none'}",
                f"Name another field with {role}=",
            )
        return fields[name]

    def annotations(
        self, labels: Sequence[Any] | None = None, kind: str | None = None
    ) -> xr.Dataset:
        """Return the rows as annotations.

        ``labels`` and ``kind`` are used if the caller did not pass labels= and kind=.
        """
        self._warn_of_left_out()
        roles = {role: role for role in self.cells}
        labels = self.options.labels if self.options.labels is not None else labels
        kind = self.options.kind or kind
        with relocated(self.places.__getitem__, self.path.name):
            return _annotations.annotations(self.cells, **roles, kind=kind, labels=labels)

    def predictions(self) -> xr.Dataset:
        """Return the rows as predictions."""
        self._warn_of_left_out()
        rank = "rank" if "rank" in self.cells else None
        kind, on_missing = self.options.kind, self.options.on_missing
        with relocated(self.places.__getitem__, self.path.name):
            return predictions(self.cells, rank=rank, kind=kind, on_missing=on_missing)

    def _warn_of_left_out(self) -> None:
        for reason, count in self.left_out.items():
            self.options.notes[f"{reason}_{self.noun}"] = count
        if self.left_out:
            counts = " and ".join(f"{n} {reason}" for reason, n in sorted(self.left_out.items()))
            warn_caller(f"{self.path.name}: {counts} {self.noun} without a label are left out")
