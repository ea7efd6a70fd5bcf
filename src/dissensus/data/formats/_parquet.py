"""Readers of a Parquet file, and of a folder of Parquet files that may be larger than memory.

With ``store=`` the rows of a folder are encoded, sorted by item, and written to Zarr. This takes
three passes over the files, row group by row group. The first pass collects the names of items,
annotators and labels. The second pass counts the rows of each chunk of items. In the third pass,
Dask moves the rows to their chunks (through the disk, or from worker to worker). Only the names and
the current row groups are in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import xarray as xr

from dissensus.data import tables
from dissensus.data.annotations import coded_labels, grouped, whole_ranks
from dissensus.data.chunks import ITEM_CHUNKS, ROW_CHUNKS, items_at_once, stored
from dissensus.data.formats._table import ReadOptions, Table
from dissensus.data.formats._text import parquet_files, read_bytes
from dissensus.data.frames import columns, require_columns, require_distinct
from dissensus.dims import ANNOTATION, ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import FormatError, relocated, shown
from dissensus.kernels.types import Array, Ints

FORMAT: Final = "parquet, a folder of files"
"""The attribute "format" of annotations read from a folder."""
_INDEX: Final = "__index_level_"
"""Prefix of the columns in which pandas stores the index of a dataframe."""


def read_file(path: Path, name: str | None = None, wanted: Sequence[str] = ()) -> Any:
    """Read a file into a pyarrow table.

    The table has the ``wanted`` columns, or all columns if one of them is missing.
    """
    name = path.name if name is None else name
    try:
        source = parquet.ParquetFile(pa.BufferReader(read_bytes(path, name)))
        names = source.schema_arrow.names
        require_distinct(names, FormatError, name)
        selected = list(wanted) if wanted and set(wanted) <= set(names) else None
        return source.read(columns=selected)
    except (pa.ArrowException, OSError) as problem:
        raise _damaged(name, problem) from problem


def _damaged(name: str, problem: Exception) -> FormatError:
    damage = f"damage ({str(problem).strip()[:200]})"
    return FormatError(name, expected="a whole Parquet file", found=damage)


def read_folder(folder: Path, options: ReadOptions) -> Table:
    """Read all files in a folder as one table in memory.

    The table has the columns that ``options`` name, or all columns if the first file lacks one.
    """
    paths = sorted(parquet_files(folder))
    names = [str(path.relative_to(folder)) for path in paths]
    wanted = list(dict.fromkeys(name for name in options.columns.values() if name is not None))
    parts = [read_file(path, name, wanted) for path, name in zip(paths, names, strict=True)]
    for path, part in zip(paths, parts, strict=True):
        for column in set(wanted) - set(part.column_names):
            require_no_partition(path, folder, column)
    if not set(wanted) <= set(parts[0].column_names):  # such as a wide table
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
    """Concatenate tables; integer columns of different widths get the largest width."""
    whole = parts[0].select(wanted)
    for part, name in zip(parts[1:], names[1:], strict=True):
        missing = [column for column in wanted if column not in part.column_names]
        if missing:
            expected, description = f"the columns of {names[0]}", f"none called {shown(missing)}"
            raise FormatError(name, expected=expected, found=description)
        try:
            whole = pa.concat_tables([whole, part.select(wanted)], promote_options="permissive")
        except pa.ArrowException as problem:
            expected = "columns of the same types as in the files before"
            description = str(problem).strip()[:200]
            raise FormatError(name, expected=expected, found=description) from problem
    return whole


def require_no_partition(path: Path, folder: Path, name: str) -> None:
    """Raise if folder names contain the values of a column, as in ``annotator=x/``."""
    for part in path.relative_to(folder).parts[:-1]:
        if part.startswith(f"{name}="):
            raise FormatError(
                f"{path.relative_to(folder)}: column {name!r}",
                expected="a column in the file",
                found=f"the name of the folder {part!r}",
                hint="Write the files without partitions by this column",
            )


_NAMED: Final = {ITEM: "item_code", ANNOTATOR: "annotator_code", LABEL: "label_code",
                 POOL: "pool_code", "trial": "trial"}  # fmt: skip
"""Roles whose columns contain names, and the variable of the Dataset for each role."""


def store_partitioned(
    folder: Path, options: ReadOptions, items: int | None, store: Path
) -> xr.Dataset:
    """Write the annotations in a folder of Parquet files to a new Zarr store, and open the store.

    ``items`` is the number of items in a chunk. Files are read in the order of their names.
    """
    groups = _row_groups(folder, options)
    n_rows = groups[-1].first + groups[-1].rows
    vocabulary = _vocabulary(groups, options)
    n_items = len(vocabulary.names[ITEM])
    items = items_at_once(items, n_items, n_rows)
    coded = partial(_coded, vocabulary=vocabulary, items=items)
    n_chunks = -(-n_items // items)
    rows = sum(_computed(partial(_rows_per_chunk, coded=coded, n_chunks=n_chunks), groups))
    sizes = np.diff([*range(0, n_items, items), n_items]).tolist()
    dims = [dim for dim in (ITEM, ANNOTATOR, LABEL, POOL) if dim in vocabulary.names]
    annotations = xr.Dataset(
        {name: (ANNOTATION, values) for name, values in _sorted(groups, coded, rows).items()},
        coords={dim: vocabulary.names[dim] for dim in dims},
        attrs={"format": FORMAT, **vocabulary.attrs, ITEM_CHUNKS: sizes, ROW_CHUNKS: rows.tolist()},
    )
    return stored(annotations, store)


class _Group(NamedTuple):
    """A row group of a file."""

    path: Path
    number: int
    first: int
    """The number of its first row, counted over all files."""
    rows: int
    roles: Mapping[str, str]
    """The name of the column for each role."""

    def read(self, *roles: str) -> dict[str, pd.Series[Any]]:
        """Return the columns of these roles, or of all roles."""
        wanted = {role: name for role, name in self.roles.items() if not roles or role in roles}
        names = list(dict.fromkeys(wanted.values()))
        table = parquet.ParquetFile(self.path).read_row_group(self.number, columns=names)
        return columns(table, wanted, needed=tuple(wanted))

    def located(self) -> AbstractContextManager[None]:
        """Inside this context, errors about rows name the file and the row group."""
        return relocated(f"row group {self.number}, row {{}}".format, self.path.name)


def _row_groups(folder: Path, options: ReadOptions) -> list[_Group]:
    """Return the row groups that are not empty, or raise if a file lacks a column."""
    for role in (CLUSTER, STRATUM):
        if options.columns.get(role) is not None:
            hint = f"Read a single file, where an item has a {role}"
            column = repr(options.columns[role])
            raise FormatError(f"{role}=", expected="None for a folder", found=column, hint=hint)
    roles = {role: options.named(role) or role for role, name in options.columns.items() if name}
    out: list[_Group] = []
    first = 0
    for path in sorted(parquet_files(folder)):
        try:
            with parquet.ParquetFile(path) as source:
                names, metadata = source.schema_arrow.names, source.metadata
        except (pa.ArrowException, OSError) as problem:
            raise _damaged(str(path.relative_to(folder)), problem) from problem
        for name in roles.values():
            if name not in names:
                require_no_partition(path, folder, name)
        require_columns(roles, names, FormatError, str(path.relative_to(folder)))
        for number in range(metadata.num_row_groups):
            rows = metadata.row_group(number).num_rows
            if rows:
                out.append(_Group(path, number, first, rows, roles))
            first += rows
    if not out:
        raise FormatError(str(folder), expected="Parquet files with rows", found="no rows")
    return out


class _Vocabulary(NamedTuple):
    """All names in the files by role, and the kind of the labels."""

    raw: dict[str, pd.Index[Any]]
    """Names as the files spell them."""
    codes: dict[str, Ints]
    """The code of each of the names in ``raw``."""
    names: dict[str, Array]
    """Names as annotations contain them; codes are places in these arrays."""
    attrs: dict[str, Any]
    """The attributes ``kind`` and ``kind_source``."""


def _vocabulary(groups: Sequence[_Group], options: ReadOptions) -> _Vocabulary:
    """Return the names in all files, with the codes that they would have in a single table."""
    spelled = [role for role in _NAMED if role in groups[0].roles]
    if options.kind == "continuous":
        spelled.remove(LABEL)
    parts = _computed(partial(_distinct, roles=spelled), groups)
    raw, codes, names = {}, {}, {}
    attrs = {"kind": options.kind, "kind_source": "given"}
    for role in spelled:
        values = pd.concat([part[role] for part in parts], ignore_index=True).drop_duplicates()
        name = groups[0].roles[role]
        with relocated(lambda _: "some file"):  # the row number of an error is a place in values
            if role == LABEL:
                ranked = "rank" in groups[0].roles
                labels, kind, source = coded_labels(
                    values, name, options.kind, options.labels, ranked
                )
                attrs = {"kind": kind, "kind_source": source}
                if not isinstance(labels, tables.Encoded):  # numbers
                    continue
                encoded = labels
            else:
                encoded = grouped(values, name) if role == POOL else tables.encode(values, name)
        raw[role], codes[role], names[role] = pd.Index(values), encoded.codes, encoded.values
    return _Vocabulary(raw, codes, names, attrs)


def _distinct(group: _Group, roles: Sequence[str]) -> dict[str, pd.Series[Any]]:
    """Return the names in a row group, in the order of their first appearance."""
    names = group.read(*roles)
    with group.located():
        for role, values in names.items():
            tables.present(values, group.roles[role])
    return {role: values.drop_duplicates() for role, values in names.items()}


def _coded(group: _Group, *, vocabulary: _Vocabulary, items: int) -> pd.DataFrame:
    """Return the rows of a row group as codes and numbers, each with its chunk and row number."""
    out: dict[str, Array] = {}
    with group.located():
        for role, values in group.read().items():
            name = group.roles[role]
            if role in vocabulary.raw:
                codes = vocabulary.codes[role][vocabulary.raw[role].get_indexer(pd.Index(values))]
                out[_NAMED[role]] = vocabulary.names[role][codes] if role == "trial" else codes
            elif role == "rank":
                out[role] = whole_ranks(values, name)
            else:
                out["value" if role == LABEL else role] = tables.numbers(values, name)
    n_rows = len(out["item_code"])
    order = {"chunk": out["item_code"] // items, "row": group.first + np.arange(n_rows)}
    return pd.DataFrame(order | out)


def _rows_per_chunk(group: _Group, coded: Any, n_chunks: int) -> Ints:
    """Return the number of rows of a row group in each chunk (chunk)."""
    return np.bincount(coded(group)["chunk"], minlength=n_chunks)


def _sorted(groups: Sequence[_Group], coded: Any, rows: Ints) -> dict[str, Any]:
    """Return the columns of all rows, sorted by item, as Dask arrays with equal chunks.

    ``rows`` (chunk) are numbers of rows.
    """
    import dask
    import dask.array as da
    import dask.dataframe as dd

    like = coded(groups[0]).iloc[:0]
    table = dd.from_map(coded, groups, meta=like)
    parts = table.set_index("chunk", divisions=list(range(len(rows) + 1))).to_delayed()
    at_once = -(-int(rows.sum()) // len(rows))
    arrays = {}
    for name in like.columns.drop(["chunk", "row"]):
        pieces = [
            da.from_delayed(dask.delayed(_in_order)(part, name), (int(n),), like[name].dtype)
            for part, n in zip(parts, rows, strict=True)
        ]
        arrays[name] = da.concatenate(pieces).rechunk(at_once)
    return arrays


def _in_order(part: pd.DataFrame, name: str) -> Array:
    """Return a column of a chunk, sorted by item and, within an item, by row."""
    order = np.lexsort((part["row"], part["item_code"]))
    return part[name].to_numpy()[order]


def _computed(function: Any, jobs: Iterable[Any]) -> Any:
    import dask

    return dask.compute(*(dask.delayed(function)(job) for job in jobs))
