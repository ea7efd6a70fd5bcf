"""Reader of a table in a file, whose extension determines its form, or in a Parquet folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dissensus.data.formats._parquet import read_file, read_folder
from dissensus.data.formats._records import read_json
from dissensus.data.formats._table import ReadOptions, Table
from dissensus.data.formats._text import ending, read_delimited
from dissensus.errors import FormatError

ENDINGS: Final = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson")
"""The extensions of files that can be read; text files may also end in ``.gz``."""
_DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}
_SHEETS: Final = (".xlsx", ".xls", ".ods", ".numbers")


def read_table(path: Path, options: ReadOptions) -> Table:
    """Read a table as its file's extension says, or raise a FormatError."""
    if path.is_dir():
        _refuse_delimiter(options, "folder of Parquet files")
        return read_folder(path, options)
    suffix = ending(path)
    if suffix not in ENDINGS:
        raise FormatError(
            path.name,
            expected=f"a name ending in {', '.join(ENDINGS)}",
            found=suffix or "no ending",
            hint="Save the sheet as CSV"
            if suffix in _SHEETS
            else "Rename the file: the ending determines how it is read",
        )
    if suffix in _DELIMITERS:
        return read_delimited(path, options.encoding, options.delimiter or _DELIMITERS[suffix])
    _refuse_delimiter(options, f"{suffix} file")
    if suffix != ".parquet":
        return read_json(path, options.encoding)
    table = read_file(path)
    if table.num_rows == 0:
        raise FormatError(path.name, expected="at least one row", found="0 rows")
    return Table(table, path.name)


def _refuse_delimiter(options: ReadOptions, source: str) -> None:
    if options.delimiter is not None:
        expected = f"None for a {source}"
        raise FormatError("delimiter", expected=expected, found=repr(options.delimiter))
