"""Files of text: bytes, tables between commas or tabs, and which labels are numbers.

Which labels of a file of text are numbers.
Whole numbers are recognised for every column (see `dissensus.data.tables`). Numbers with
fractions are recognised here, for labels only: an item called "1.10" is not the item "1.1".

Tables as text: values between commas or tabs, a header in the first line.
Every cell is read as text and only the empty cell is missing, so that a label "None" or "NA"
stays a label; what is a number is for the columns' readers to say.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from dissensus.data.formats._table import Asked, Table
from dissensus.errors import AnnotationError, FormatError, brief, shown
from dissensus.storage import is_store

_DECIMAL: Final = re.compile(r"-?(?=[0-9.])(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
"""What a program writes for a number; "007" and "1." are something else."""
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
"""What a person may mean as a number, "007" too."""


def typed_labels(
    column: pd.Series[Any], name: str, asked: Asked, place: Callable[[int], str] | None = None
) -> pd.Series[Any]:
    """Turn a column of text into numbers if it holds nothing else and nothing is lost.

    Parameters
    ----------
    column : pandas.Series
        Labels as text; missing ones are left alone.
    name : str
        What to call the column in errors.
    asked : Asked
        What the caller said: text stays text with kind="nominal", with ranks, and with a
        label space of text.
    place : callable, optional
        From the number of a row to where it stands in the file.

    Raises
    ------
    AnnotationError
        Where nobody said what the labels are, if some annotations are numbers and others are
        not, or if one number is written in two ways. (A system's answer may well be "garbage"
        where "2" was expected: predictions may mix.)

    Examples
    --------
    >>> typed_labels(pd.Series(["0.5", "1.25"]), "label", Asked({})).tolist()
    [0.5, 1.25]
    >>> typed_labels(pd.Series(["0.5", "x"]), "label", Asked({}, kind="nominal")).tolist()
    ['0.5', 'x']
    """
    if _stays_text(asked):
        return column
    distinct = [str(text) for text in column.dropna().unique()]
    decimal = [bool(text) and _DECIMAL.match(text) is not None for text in distinct]
    guessing = asked.kind is None and asked.labels is None
    problem = None
    if not all(decimal):
        if guessing and "annotator" in asked.columns:
            problem = _mixture(column, distinct, name)
    elif any(not text.lstrip("-").isdigit() for text in distinct):
        problem = _two_spellings(column, distinct, name) if guessing else None
        if problem is None:
            return column.map({text: float(text) for text in distinct}).astype("float64")
    if problem is not None:
        raise problem if place is None else problem.relocated(place)
    return column


def _stays_text(asked: Asked) -> bool:
    if asked.kind in {"nominal", "ranking"} or asked.kind == "continuous":
        return (
            True  # the last since `dissensus.data.tables.numbers` reads them, and says what is none
        )
    if asked.columns.get("rank") is not None or asked.columns.get("score") is not None:
        return True
    return asked.labels is not None and all(isinstance(label, str) for label in asked.labels)


def _mixture(column: pd.Series[Any], distinct: list[str], name: str) -> AnnotationError | None:
    number = next((text for text in distinct if _NUMBER.match(text)), None)
    word = next((text for text in distinct if not _NUMBER.match(text)), None)
    if number is None or word is None:
        return None
    return AnnotationError(
        f"column {name!r}",
        where=_rows_of(column, number, word),
        expected="all numbers or all text",
        found=f"a number ({number!r}) and text ({word!r})",
        hint='If all of them are names of labels, say kind="nominal", or list them with labels=',
    )


def _two_spellings(
    column: pd.Series[Any], distinct: list[str], name: str
) -> AnnotationError | None:
    spelled: dict[float, str] = {}
    for text in distinct:
        first = spelled.setdefault(float(text), text)
        if first.lstrip("-") != text.lstrip("-"):  # "-0.0" is what rounding leaves of zero
            return AnnotationError(
                f"column {name!r}",
                where=_rows_of(column, first, text),
                expected="one spelling for each number",
                found=f"{first!r} and {text!r}",
                hint='Say whether they are numbers, kind="continuous" or "ordinal", or names of '
                'labels, kind="nominal"',
            )
    return None


def _rows_of(column: pd.Series[Any], *texts: str) -> str:
    rows = [str((column == text).to_numpy().argmax()) for text in texts]
    return f"rows {' and '.join(rows)}"


# A file's bytes, and its text: what can go wrong before anything is understood.


LONGEST_LINE: Final = 1 << 28
"""Bytes. Whole files are held in memory, and a line several times over."""


def checked_path(path: str | os.PathLike[str], *, folder: bool = False) -> Path:
    """Return the path of a file that may be read, or of a folder of Parquet files if it may be one.

    Raises
    ------
    FormatError
        If it is no path, or that of another folder.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
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
            hint="Tables in memory are read by dissensus.annotations and dissensus.predictions",
        )
    place = Path(path)
    try:
        _require_file(str(path), place, folder)
    except OSError as problem:
        if isinstance(problem, FileNotFoundError):
            raise
        why = problem.strerror or str(problem)
        raise FormatError(brief(str(path)), expected="a file", found=f"{why}") from problem
    return place


def is_folder(path: Any) -> bool:
    """Return whether there is a folder of that name, whatever else may be wrong with it."""
    try:
        return Path(path).is_dir()
    except (TypeError, ValueError, OSError):
        return False


def _require_file(name: str, place: Path, folder: bool) -> None:
    if "\0" in name:  # where some functions raise, and others say that there is no such file
        raise FormatError(brief(name), expected="the path of a file", found="a NUL character in it")
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
        raise FormatError(
            f"{name!r}", expected="a file", found="a link that leads nowhere, or to itself"
        )
    if not place.exists():
        raise FileNotFoundError(f"no such file: {name!r}")
    if not place.is_file():  # of a pipe or a device nobody knows whether it ends
        raise FormatError(f"{name!r}", expected="a file", found="a pipe or a device")


def parquet_files(folder: Path) -> Iterator[Path]:
    """Find the Parquet files in a folder, at any depth.

    What begins with a dot or an underscore is no data: programs keep their own things there.
    """
    return (
        path for path in folder.rglob("*")
        if path.suffix.lower() == ".parquet" and path.is_file()
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )  # fmt: skip


def ending(path: Path) -> str:
    """Return what the name ends in, in small letters, looking past ``.gz``.

    Examples
    --------
    >>> ending(Path("ratings.CSV")), ending(Path("ratings.tsv.gz"))
    ('.csv', '.tsv')
    """
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def read_bytes(path: Path, name: str | None = None) -> bytes:
    """Read a file, unpacking ``.gz``; an empty one is an error. Complaints call it ``name``."""
    name = path.name if name is None else name
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise FormatError(
            name, expected="a file that may be read", found=str(problem.strerror or problem)
        ) from problem
    if path.name.lower().endswith(".gz") and data:
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as problem:
            raise FormatError(
                name, expected="a whole gzip file", found=f"damage ({problem})"
            ) from problem
    if not data:
        raise FormatError(name, expected="a table", found="an empty file (0 bytes)")
    return data


def read_text(path: Path, encoding: str, *, lines: bool = False) -> str:
    """Read a text file, without its byte order mark; one with a row a line, if of ``lines``.

    Raises
    ------
    FormatError
        On bytes that are no text in this encoding, on NUL characters, and on lines without an
        end, saying where.
    """
    data = read_bytes(path)
    if lines:
        require_lines(path, data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        raise _undecodable(path, data, encoding, problem) from problem
    except (LookupError, UnicodeError) as problem:
        raise FormatError(
            "encoding", expected="a name Python knows, such as 'cp1252'", found=repr(encoding)
        ) from problem
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise FormatError(path.name, expected="a table", found="nothing but blanks")
    if "\0" in text:
        offset = text.index("\0")
        raise FormatError(
            path.name,
            where=f"line {text.count('\n', 0, offset) + 1}",
            expected="text",
            found=f"a NUL character at offset {offset}",
            hint="Is it binary, or UTF-16? Then name the ending or the encoding, encoding='utf-16'",
        )
    return text


def require_lines(path: Path, data: bytes) -> None:
    """Raise if a line is longer than that of any table.

    Examples
    --------
    >>> require_lines(Path("a.csv"), b"item,annotator,label")
    """
    start = 0
    while len(data) - start > LONGEST_LINE:  # from the last line end within reach to the next
        end = max(data.rfind(mark, start, start + LONGEST_LINE) for mark in (b"\n", b"\r"))
        if end < 0:
            raise FormatError(
                path.name,
                where=f"line {data.count(b'\n', 0, start) + 1}",
                expected=f"lines of at most {LONGEST_LINE:,} bytes",
                found="a longer one",
                hint="Is it a table of text, with one row a line?",
            )
        start = end + 1


def _undecodable(
    path: Path, data: bytes, encoding: str, problem: UnicodeDecodeError
) -> FormatError:
    wide: Any = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    guess = "utf-16" if wide else "cp1252"
    origin = "as its first two bytes say" if wide else "as spreadsheets on Windows write"
    return FormatError(
        path.name,
        where=f"line {data.count(b'\n', 0, problem.start) + 1}",
        expected=f"text in {encoding}",
        found=f"the byte 0x{data[problem.start]:02x} at offset {problem.start}",
        hint=f"Name the encoding it was written in, for example encoding={guess!r}, {origin}",
    )


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
