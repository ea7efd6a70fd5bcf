"""Tables as JSON: a list of records, or one record a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dissensus.data.formats._table import Table
from dissensus.data.formats._text import read_text
from dissensus.errors import FormatError, shown

Record = dict[str, Any]


class _DoubledKeyError(Exception):
    """A key stands twice in one object; JSON would silently keep the last."""


def _distinct(pairs: list[tuple[str, Any]]) -> Record:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        raise _DoubledKeyError(next(name for name in names if names.count(name) > 1))
    return out


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_distinct)


def read_records(path: Path, encoding: str) -> tuple[list[Record], list[int] | None]:
    """Read the records of a JSON file, or of a file with one JSON object a line.

    Returns
    -------
    list of dict, and list of int or None
        The records, and the line of each in a file of lines.

    Raises
    ------
    FormatError
        If the file is no such JSON, saying where.
    """
    lines = path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    text = read_text(path, encoding, lines=lines)
    return _from_lines(path, text) if lines else (_from_list(path, text), None)


def _from_lines(path: Path, text: str) -> tuple[list[Record], list[int]]:
    records, numbers = [], []
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
                hint="A file that is one JSON list is read under the ending .json",
            )
        records.append(record)
        numbers.append(number)
    return records, numbers


def _from_list(path: Path, text: str) -> list[Record]:
    found = _decoded(path, text.strip(), None)
    records = found if isinstance(found, list) else [found]
    for place, record in enumerate(records):
        if not isinstance(found, list) or not isinstance(record, dict):
            raise FormatError(
                path.name,
                where=f"entry {place}" if isinstance(found, list) else "",
                expected='a list of records, such as [{"item": 1, "annotator": "a", "label": "x"}]',
                found=_described(record),
                hint='pandas writes it with to_json(orient="records")',
            )
    if not found:
        raise FormatError(path.name, expected="at least one record", found="an empty list")
    return records


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
            hint="A file with one object a line is read under the ending .jsonl" if several else "",
        ) from problem
    except _DoubledKeyError as problem:
        raise FormatError(
            path.name,
            where="" if line is None else f"line {line}",
            expected="distinct names in each record",
            found=f"{str(problem)!r} twice in one",
        ) from problem
    except RecursionError as problem:
        raise FormatError(
            path.name, expected="a table", found="JSON nested too deeply to read"
        ) from problem


def _described(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with the names {shown(list(value))}"
    return f"{type(value).__name__} {str(value)[:40]}"


def tabulated(records: Iterable[Record]) -> dict[str, pd.Series[Any]]:
    """Turn records into columns; what a record does not say is missing.

    Examples
    --------
    >>> tabulated([{"item": 1}, {"item": 2, "note": "x"}])["note"].tolist()
    [None, 'x']
    """
    rows = list(records)
    names = dict.fromkeys(name for record in rows for name in record)
    return {
        name: pd.Series(
            np.fromiter((row.get(name) for row in rows), object, len(rows)), dtype=object
        )
        for name in names
    }


def read_json(path: Path, encoding: str) -> Table:
    """Read a table of records."""
    records, lines = read_records(path, encoding)

    def place(row: int) -> str:
        return f"row {row}" if lines is None else f"line {lines[row]}"

    return Table(tabulated(records), path.name, place=place)
