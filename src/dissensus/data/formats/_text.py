"""Readers of files as bytes and as text, and of CSV and TSV tables.

Every cell of a CSV or TSV table is read as text, and only empty cells are missing: "None" and "NA"
are ordinary labels. Numbers are recognised later, column by column.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from dissensus.data.formats._table import Table
from dissensus.data.frames import require_distinct
from dissensus.errors import FormatError, brief
from dissensus.storage import is_store

LONGEST_LINE: Final = 1 << 28
"""Maximum length of a line in bytes: the whole file is in memory, and each line several times."""


def checked_path(path: str | os.PathLike[str], *, folder: bool = False) -> Path:
    """Return the path of a file, or raise; with ``folder``, it may be a folder of Parquet files.

    >>> checked_path(".")
    Traceback (most recent call last):
    ...
    dissensus.errors.FormatError: '.': expected a file; found a folder...
    """
    if not isinstance(path, str | os.PathLike):
        raise FormatError(
            "path",
            expected="the path of a file",
            found=type(path).__name__,
            hint="For tables in memory use dissensus.annotations and dissensus.predictions, or "
            "dissensus.from_matrix if each annotator has a column. Tables that count votes are "
            'read only from files: table.to_csv("votes.csv", index=False)',
        )
    place = Path(path)
    try:
        _require_file(str(path), place, folder)
    except FileNotFoundError:
        raise
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise FormatError(brief(str(path)), expected="a file", found=reason) from problem
    return place


def is_folder(path: Any) -> bool:
    """Return whether a value is the path of a folder; False if it is not a path."""
    try:
        return Path(path).is_dir()
    except (TypeError, ValueError, OSError):
        return False


def _require_file(name: str, place: Path, folder: bool) -> None:
    if "\0" in name:  # some functions raise a ValueError, others do not find the file
        raise FormatError(brief(name), expected="the path of a file", found="a NUL character")
    if place.is_dir():
        if is_store(place):
            raise FormatError(f"{name!r}", expected="a file", found="a Zarr store")
        if folder and any(parquet_files(place)):
            return
        names = sorted(entry.name for entry in place.iterdir() if entry.is_file())
        hint = f"Name one of the files in it, such as {names[0]!r}" if names else ""
        expected = "a file, or a folder of Parquet files" if folder else "a file"
        raise FormatError(f"{name!r}", expected=expected, found="a folder", hint=hint)
    if place.is_symlink() and not place.exists():
        description = "a link to a missing file, or to itself"
        raise FormatError(f"{name!r}", expected="a file", found=description)
    if not place.exists():
        raise FileNotFoundError(f"no such file: {name!r}")
    if not place.is_file():  # reading a pipe or a device may never end
        raise FormatError(f"{name!r}", expected="a file", found="a pipe or a device")


def parquet_files(folder: Path) -> Iterator[Path]:
    """Yield the Parquet files in a folder and its subfolders.

    Files and folders whose names begin with a dot or an underscore are skipped: programs keep
    metadata there.
    """
    for path in folder.rglob("*"):
        hidden = any(part[0] in "._" for part in path.relative_to(folder).parts)
        if path.suffix.lower() == ".parquet" and path.is_file() and not hidden:
            yield path


def ending(path: Path) -> str:
    """Return the extension of a file in lower case; a final ``.gz`` is ignored.

    >>> ending(Path("ratings.CSV")), ending(Path("ratings.tsv.gz"))
    ('.csv', '.tsv')
    """
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def read_bytes(path: Path, name: str | None = None) -> bytes:
    """Return the contents of a file, decompressed if it is ``.gz``; raise if it is empty.

    ``name`` is the name of the file in messages.
    """
    name = path.name if name is None else name
    try:
        data = path.read_bytes()
    except OSError as problem:
        reason = str(problem.strerror or problem)
        raise FormatError(name, expected="a file that may be read", found=reason) from problem
    if path.name.lower().endswith(".gz") and data:
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as problem:
            reason = f"damage ({problem})"
            raise FormatError(name, expected="a whole gzip file", found=reason) from problem
    if not data:
        raise FormatError(name, expected="a table", found="an empty file (0 bytes)")
    return data


def read_text(path: Path, encoding: str, *, lines: bool = False) -> str:
    """Return the contents of a text file, without a byte order mark.

    With ``lines`` a line is a row, and must not be longer than `LONGEST_LINE`.
    """
    data = read_bytes(path)
    if lines:
        require_lines(path, data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        raise _undecodable(path, data, encoding, problem) from problem
    except (LookupError, UnicodeError) as problem:
        expected = "the name of an encoding in Python, such as 'cp1252'"
        raise FormatError("encoding", expected=expected, found=repr(encoding)) from problem
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise FormatError(path.name, expected="a table", found="only blanks")
    if "\0" in text:
        offset = text.index("\0")
        raise FormatError(
            path.name,
            where=f"line {text.count('\n', 0, offset) + 1}",
            expected="text",
            found=f"a NUL character at offset {offset}",
            hint="For a binary file, correct the ending; for UTF-16, use encoding='utf-16'",
        )
    return text


def require_lines(path: Path, data: bytes) -> None:
    """Raise if a line is longer than `LONGEST_LINE`."""
    start = 0
    while len(data) - start > LONGEST_LINE:  # find the last line end in the next block of bytes
        end = max(data.rfind(mark, start, start + LONGEST_LINE) for mark in (b"\n", b"\r"))
        if end < 0:
            raise FormatError(
                path.name,
                where=f"line {data.count(b'\n', 0, start) + 1}",
                expected=f"lines of at most {LONGEST_LINE:,} bytes",
                found="a longer line",
                hint="The file must be a table of text with one row per line",
            )
        start = end + 1


def _undecodable(
    path: Path, data: bytes, encoding: str, problem: UnicodeDecodeError
) -> FormatError:
    if data.startswith(b"PK\x03\x04"):
        return FormatError(
            path.name, expected=f"text in {encoding}",
            found="a zip archive, such as an Excel workbook", hint="Save the sheet as CSV",
        )  # fmt: skip
    wide: Any = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    guess = "utf-16" if wide else "cp1252"
    origin = "as its first two bytes say" if wide else "which spreadsheets on Windows use"
    return FormatError(
        path.name,
        where=f"line {data.count(b'\n', 0, problem.start) + 1}",
        expected=f"text in {encoding}",
        found=f"the byte 0x{data[problem.start]:02x} at offset {problem.start}",
        hint=f"Name the encoding of the file, for example encoding={guess!r}, {origin}",
    )


_LONGEST: Final = 2**31 - 1
"""Maximum number of characters in a cell; Python's ``csv`` has a smaller default."""


def read_delimited(path: Path, encoding: str, delimiter: str) -> Table:
    """Read a CSV or TSV table; all its cells are text."""
    text = read_text(path, encoding, lines=True)
    header = next(row for _, row in _rows(path, text, delimiter))
    _check_header(path, header, delimiter)
    # If a closing quotation mark is missing, all rows up to the next mark become one cell.
    if '"' in text:
        for line, row in _rows(path, text, delimiter):
            if len(row) != len(header):
                raise _ragged(path, line, len(header), len(row))
    table = _parsed(path, text, delimiter, header)
    if table.num_rows == 0:
        raise FormatError(path.name, expected="rows below the header", found="only a header")
    frame = {name: pd.Series(table[name].to_pandas()) for name in table.column_names}
    # Row 0 of the file is the header: row n of the table is row n + 1 of the file.
    place = lambda row: f"line {_line(path, text, delimiter, row + 1)}"  # noqa: E731
    return Table(frame, path.name, text=True, place=place)


def _parsed(path: Path, text: str, delimiter: str, header: list[str]) -> pa.Table:
    try:
        data = text.encode("utf-8") + b"\n"
    except UnicodeEncodeError as problem:  # some encodings, such as "utf-7", allow this
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
        # pyarrow numbers rows only in one thread, and a block must be longer than any row.
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
    """Yield the number of the last line and the cells of each row that is not blank."""
    before = csv.field_size_limit(_LONGEST)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        yield from ((rows.line_num, row) for row in rows if row)
    except csv.Error as problem:
        raise FormatError(
            path.name,
            where=f"line {rows.line_num}",
            expected="pairs of quotation marks around whole cells",
            found=str(problem),
        ) from problem
    finally:
        csv.field_size_limit(before)


def _check_header(path: Path, header: list[str], delimiter: str) -> None:
    require_distinct(header, FormatError, path.name, "line 1")
    other = next((mark for mark in ";\t,|" if mark != delimiter and mark in header[0]), None)
    if len(header) == 1 and other is not None:
        raise FormatError(
            path.name,
            where="line 1",
            expected=f"column names separated by {delimiter!r}",
            found=repr(header[0]),
            hint=f"Name the separator: delimiter={other!r}",
        )


def _ragged(path: Path, line: int, width: int, cells: int) -> FormatError:
    hint = "Write a cell that contains the separator in quotation marks"
    return FormatError(
        path.name,
        where=f"line {line}",
        expected=f"{width} cells, as in the header",
        found=str(cells),
        hint=hint if cells > width else "An empty cell needs a separator too",
    )


def _line(path: Path, text: str, delimiter: str, row: int) -> int:
    """Return the number of the last line of a row; the header is row 0."""
    for number, (line, _) in enumerate(_rows(path, text, delimiter)):
        if number == row:
            return line
    return 0
