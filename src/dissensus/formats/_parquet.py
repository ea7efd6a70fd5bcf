"""Parquet: a file, or all files in a folder as one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dissensus.errors import FormatError, shown
from dissensus.formats._source import parquet_files, read_bytes
from dissensus.formats._table import Asked, Table

FORMAT: Final = "parquet, a folder of files"
"""What `dissensus.read_annotations` notes of them."""
_INDEX: Final = "__index_level_"
"""What begins so is the index of a pandas dataframe, and no column of its."""


def read_file(path: Path, name: str | None = None, wanted: Sequence[str] = ()) -> Any:
    """Read a file into a table of pyarrow: the columns wanted, or all if some are not there.

    Raises
    ------
    FormatError
        If it is damaged, or two columns share a name; in complaints the file is called ``name``.
    """
    import pyarrow.parquet as parquet

    name = path.name if name is None else name
    try:
        source = parquet.ParquetFile(pa.BufferReader(read_bytes(path, name)))
        names = source.schema_arrow.names
        some = list(wanted) if wanted and set(wanted) <= set(names) else None
        table = source.read(columns=some) if len(set(names)) == len(names) else None
    except (pa.ArrowException, OSError) as problem:
        raise FormatError(
            name, expected="a whole Parquet file", found=f"damage ({str(problem).strip()[:200]})"
        ) from problem
    if table is None:
        doubled = sorted({name for name in names if names.count(name) > 1})
        raise FormatError(
            name, expected="distinct column names", found=f"{shown(doubled)} more than once"
        )
    return table


def read_folder(folder: Path, asked: Asked) -> Table:
    """Read all files in a folder as one table, in memory: the columns asked for, or all.

    Raises
    ------
    FormatError
        Of a file that is damaged, or without a column of the first one; if there are no rows.
    """
    paths = sorted(parquet_files(folder))
    names = [str(path.relative_to(folder)) for path in paths]
    wanted = list(dict.fromkeys(name for name in asked.columns.values() if name is not None))
    parts = [read_file(path, name, wanted) for path, name in zip(paths, names, strict=True)]
    for path, part in zip(paths, parts, strict=True):
        for column in set(wanted) - set(part.column_names):
            require_no_partition(path, folder, column)
    if not set(wanted) <= set(parts[0].column_names):  # a wide table, or no table of ours
        wanted = [name for name in parts[0].column_names if not name.startswith(_INDEX)]
    whole = _together(parts, names, wanted)
    if whole.num_rows == 0:
        raise FormatError(f"{str(folder)!r}", expected="at least one row", found="0 rows")
    ends = np.cumsum([part.num_rows for part in parts])

    def place(row: int) -> str:
        file = int(np.searchsorted(ends, row, side="right"))
        return f"{names[file]}, row {row - (ends[file] - parts[file].num_rows)}"

    return Table(whole, str(folder), place=place)


def _together(parts: list[Any], names: list[str], wanted: list[str]) -> Any:
    """Put tables under one another; whole numbers of several sizes become the largest."""
    whole = parts[0].select(wanted)
    for part, name in zip(parts[1:], names[1:], strict=True):
        missing = [column for column in wanted if column not in part.column_names]
        if missing:
            raise FormatError(
                name, expected=f"the columns of {names[0]}", found=f"none called {shown(missing)}"
            )
        try:
            whole = pa.concat_tables([whole, part.select(wanted)], promote_options="permissive")
        except pa.ArrowException as problem:
            raise FormatError(
                name, expected="columns of the types that they have in the files before it",
                found=str(problem).strip()[:200],
            ) from problem  # fmt: skip
    return whole


def require_no_partition(path: Path, folder: Path, name: str) -> None:
    """Raise if a column is in the names of folders, as ``annotator=x/``."""
    for part in path.relative_to(folder).parts[:-1]:
        if part.startswith(f"{name}="):
            raise FormatError(
                f"{path.relative_to(folder)}: column {name!r}", expected="a column in the file",
                found=f"the name of the folder {part!r}",
                hint="Write the files without partitions by it, or by another column",
            )  # fmt: skip
