"""Tables as text: values between commas or tabs, a header in the first line.

Every cell is read as text and only the empty cell is missing, so that a label "None" or "NA"
stays a label; what is a number is for the columns' readers to say.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from dissensus.errors import FormatError, shown
from dissensus.formats._source import read_text
from dissensus.formats._table import Table

_LONGEST: Final = 2**31 - 1
"""Characters in a cell; the limit of Python's reader is made for smaller ones."""


def read_delimited(path: Path, encoding: str, delimiter: str) -> Table:
    """Read a table of text.

    Raises
    ------
    FormatError
        On a row with more or fewer cells than the header, a doubled column name, an
        unfinished quotation: with the number of the line.
    """
    text = read_text(path, encoding, lines=True)
    header = next(row for _, row in _rows(path, text, delimiter))
    _check_header(path, header, delimiter)
    if '"' in text:
        _check_quotes(path, text, delimiter, len(header))
    table = _parsed(path, text, delimiter, header)
    if table.num_rows == 0:
        raise FormatError(path.name, expected="rows below the header", found="only a header")
    frame = {name: pd.Series(column.to_pandas()) for name, column in
             zip(table.column_names, table.columns, strict=True)}  # fmt: skip
    return Table(frame, path.name, text=True, place=_placer(path, text, delimiter))


def _parsed(path: Path, text: str, delimiter: str, header: list[str]) -> pa.Table:
    try:
        data = text.encode("utf-8") + b"\n"
    except UnicodeEncodeError as problem:  # "utf-7" and its like can spell it
        raise FormatError(
            path.name,
            where=f"line {text.count('\n', 0, problem.start) + 1}",
            expected="text",
            found=f"half of a surrogate pair at offset {problem.start}",
        ) from problem
    ragged: list[Any] = []

    def remember(row: Any) -> str:
        ragged.append(row)
        return "skip"

    table = pa.csv.read_csv(
        pa.BufferReader(data),
        # In one thread, since only then are the rows numbered; in large blocks, since no
        # row may be longer than one.
        read_options=pa.csv.ReadOptions(
            use_threads=False, block_size=min(max(len(data), 1 << 20), 1 << 30)
        ),
        parse_options=pa.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=remember
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
            quoted_strings_can_be_null=True,
        ),
    )
    if ragged:
        line = _line(path, text, delimiter, ragged[0].number - 1)
        raise _ragged(path, line, len(header), ragged[0].actual_columns)
    return table


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the number of its last line."""
    before = csv.field_size_limit(_LONGEST)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        yield from ((rows.line_num, row) for row in rows if row)
    except csv.Error as problem:
        raise FormatError(
            path.name,
            where=f"line {rows.line_num}",
            expected="quotation marks that come in pairs around whole cells",
            found=str(problem),
        ) from problem
    finally:
        csv.field_size_limit(before)


def _check_header(path: Path, header: list[str], delimiter: str) -> None:
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise FormatError(
            path.name,
            where="line 1",
            expected="distinct column names",
            found=f"{shown(doubled)} more than once",
        )
    other = next((mark for mark in ";\t,|" if mark != delimiter and mark in header[0]), None)
    if len(header) == 1 and other is not None:
        raise FormatError(
            path.name,
            where="line 1",
            expected=f"column names separated by {delimiter!r}",
            found=repr(header[0]),
            hint=f"Name what separates them: delimiter={other!r}",
        )


def _check_quotes(path: Path, text: str, delimiter: str, width: int) -> None:
    """Go through quoted text strictly: a forgotten mark would swallow the rows up to the next."""
    for line, row in _rows(path, text, delimiter):
        if len(row) != width:
            raise _ragged(path, line, width, len(row))


def _ragged(path: Path, line: int, expected: int, found: int) -> FormatError:
    return FormatError(
        path.name,
        where=f"line {line}",
        expected=f"{expected} cells, as in the header",
        found=str(found),
        hint="A cell that contains the separator belongs in quotation marks"
        if found > expected
        else "An empty cell needs its separator all the same",
    )


def _line(path: Path, text: str, delimiter: str, row: int) -> int:
    """Find the line that ends a row, the header being row 0."""
    for number, (line, _) in enumerate(_rows(path, text, delimiter)):
        if number == row:
            return line
    return 0


def _placer(path: Path, text: str, delimiter: str) -> Any:
    return lambda row: f"line {_line(path, text, delimiter, row + 1)}"
