"""Any table in a file, read by the ending of its name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa

from dissensus.errors import FormatError, shown
from dissensus.formats._delimited import read_delimited
from dissensus.formats._records import read_json
from dissensus.formats._source import ending, read_bytes
from dissensus.formats._table import Asked, Table

ENDINGS: Final = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson")
"""The endings of files that can be read; ``.gz`` may follow those of text files."""

_DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}


def read_table(path: Path, asked: Asked) -> Table:
    """Read a table by the ending of its file's name.

    Parameters
    ----------
    path : Path
        The file.
    asked : Asked
        What the caller said of encoding and delimiter.

    Raises
    ------
    FormatError
        If the ending is unknown or the file is not what it says.
    """
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
    if asked.delimiter is not None:
        raise FormatError(
            "delimiter", expected=f"None for a {found} file", found=repr(asked.delimiter)
        )
    if found == ".parquet":
        return _read_parquet(path)
    return read_json(path, asked.encoding)


def _read_parquet(path: Path) -> Table:
    import pyarrow.parquet as parquet

    try:
        source = parquet.ParquetFile(pa.BufferReader(read_bytes(path)))
        names = source.schema_arrow.names
        table = source.read() if len(set(names)) == len(names) else None
    except (pa.ArrowException, OSError) as problem:
        raise FormatError(
            path.name,
            expected="a whole Parquet file",
            found=f"damage ({str(problem).strip()[:200]})",
        ) from problem
    if table is None:
        doubled = sorted({name for name in names if names.count(name) > 1})
        raise FormatError(
            path.name, expected="distinct column names", found=f"{shown(doubled)} more than once"
        )
    if table.num_rows == 0:
        raise FormatError(path.name, expected="at least one row", found="0 rows")
    return Table(table, path.name)
