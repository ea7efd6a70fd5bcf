"""Any table in a file, read by the ending of its name, or in a folder of Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dissensus.data.formats._parquet import read_file, read_folder
from dissensus.data.formats._records import read_json
from dissensus.data.formats._table import Asked, Table
from dissensus.data.formats._text import ending, read_delimited
from dissensus.errors import FormatError

ENDINGS: Final = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson")
"""The endings of files that can be read; ``.gz`` may follow those of text files."""

_DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}


def read_table(path: Path, asked: Asked) -> Table:
    """Read a table by the ending of its file's name.

    Parameters
    ----------
    path : Path
        The file, or the folder.
    asked : Asked
        What the caller said of encoding and delimiter.

    Raises
    ------
    FormatError
        If the ending is unknown or the file is not what it says.
    """
    if path.is_dir():
        _refuse_delimiter(asked, "folder of Parquet files")
        return read_folder(path, asked)
    found = ending(path)
    if found not in ENDINGS:
        raise FormatError(
            path.name,
            expected=f"a name ending in {', '.join(ENDINGS)}",
            found=f"{found or 'no ending'}",
            hint="The ending says how to read the file: rename it",
        )
    if found in _DELIMITERS:
        return read_delimited(path, asked.encoding, asked.delimiter or _DELIMITERS[found])
    _refuse_delimiter(asked, f"{found} file")
    if found == ".parquet":
        return _parquet(path)
    return read_json(path, asked.encoding)


def _parquet(path: Path) -> Table:
    table = read_file(path)
    if table.num_rows == 0:
        raise FormatError(path.name, expected="at least one row", found="0 rows")
    return Table(table, path.name)


def _refuse_delimiter(asked: Asked, what: str) -> None:
    if asked.delimiter is not None:
        raise FormatError("delimiter", expected=f"None for a {what}", found=repr(asked.delimiter))
