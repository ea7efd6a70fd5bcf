"""Parquet: a file, or all files in a folder, also where they are larger than memory.

Folders of Parquet files that are larger than memory: coded, sorted by item, and stored in Zarr.
Three passes over the files, row group by row group: the names that there are, how many rows each
chunk of items will have, and the rows themselves, which Dask shuffles to their chunk (through the
disk, or from worker to worker). In memory are the names, and the row groups at work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import xarray as xr

from dissensus.data import tables
from dissensus.data.annotations import coded_labels, grouped, whole_ranks
from dissensus.data.chunks import ITEM_CHUNKS, ROW_CHUNKS, items_at_once, stored
from dissensus.data.formats._table import Asked, Table, missing_column
from dissensus.data.formats._text import parquet_files, read_bytes
from dissensus.data.frames import columns
from dissensus.dims import ANNOTATION, ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import AnnotationError, FormatError, shown

# Parquet: a file, or all files in a folder as one table.


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


_NAMED: Final = {ITEM: "item_code", ANNOTATOR: "annotator_code", LABEL: "label_code",
                 POOL: "pool_code", "trial": "trial"}  # fmt: skip
"""What is spelled out in a table and coded in a Dataset."""


def store_partitioned(folder: Path, asked: Asked, items: int | None, store: Path) -> xr.Dataset:
    """Write annotations that lie in many Parquet files into a Zarr store, and open it.

    Parameters
    ----------
    folder : Path
        With the files, at any depth; they are read in the order of their names.
    asked : Asked
        What the caller said.
    items : int, optional
        Of a chunk.
    store : Path
        Where nothing is yet.
    """
    groups = _row_groups(folder, asked)
    n_rows = groups[-1].first + groups[-1].rows
    vocabulary = _vocabulary(groups, asked)
    n_items = len(vocabulary.names[ITEM])
    items = items_at_once(items, n_items, n_rows)
    notes = {"format": FORMAT, **vocabulary.attrs}
    coded = partial(_coded, vocabulary=vocabulary, items=items)
    n_chunks = -(-n_items // items)
    rows = sum(_computed(partial(_counted, coded=coded, n_chunks=n_chunks), groups))
    sizes = np.diff([*range(0, n_items, items), n_items])
    annotations = xr.Dataset(
        {name: (ANNOTATION, values) for name, values in _sorted(groups, coded, rows).items()},
        coords={dim: vocabulary.names[dim] for dim in (ITEM, ANNOTATOR, LABEL, POOL)
                if dim in vocabulary.names},
        attrs={**notes, ITEM_CHUNKS: sizes.tolist(),
               ROW_CHUNKS: rows.tolist()},
    )  # fmt: skip
    return stored(annotations, store)


class _Group(NamedTuple):
    """A row group of a file."""

    path: Path
    number: int
    first: int
    """The first of its rows, counted through all files."""
    rows: int
    roles: Mapping[str, str]
    """Columns by role."""

    def read(self, *roles: str) -> dict[str, pd.Series[Any]]:
        """Read the columns of some roles, or all."""
        import pyarrow.parquet as parquet

        wanted = {role: name for role, name in self.roles.items() if not roles or role in roles}
        names = list(dict.fromkeys(wanted.values()))
        table = parquet.ParquetFile(self.path).read_row_group(self.number, columns=names)
        return dict(columns(table, wanted, needed=tuple(wanted)))


def _row_groups(folder: Path, asked: Asked) -> list[_Group]:
    """Find the row groups that have rows, and see that each file has the columns."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    for role in (CLUSTER, STRATUM):
        if asked.columns.get(role) is not None:
            raise FormatError(
                f"{role}=", expected="None for a folder", found=repr(asked.columns[role]),
                hint=f"Read one file whole, where an item has a {role}",
            )  # fmt: skip
    roles = {role: asked.named(role) or role for role, name in asked.columns.items() if name}
    out: list[_Group] = []
    first = 0
    for path in sorted(parquet_files(folder)):
        try:
            with parquet.ParquetFile(path) as source:
                names, metadata = source.schema_arrow.names, source.metadata
        except (pa.ArrowException, OSError) as problem:
            raise FormatError(
                str(path.relative_to(folder)), expected="a whole Parquet file",
                found=f"damage ({str(problem).strip()[:200]})",
            ) from problem  # fmt: skip
        for role, name in roles.items():
            if name not in names:
                require_no_partition(path, folder, name)
                empty = pd.DataFrame(columns=pd.Index(names))
                missing_column(Table(empty, str(path.relative_to(folder))), name, role)
        for number in range(metadata.num_row_groups):
            rows = metadata.row_group(number).num_rows
            if rows:
                out.append(_Group(path, number, first, rows, roles))
            first += rows
    if not out:
        raise FormatError(
            str(folder), expected="Parquet files with rows in them", found="none of them"
        )
    return out


class _Vocabulary(NamedTuple):
    """All names, and what the labels are."""

    raw: dict[str, pd.Index[Any]]
    """What stands in the files, by role."""
    codes: dict[str, npt.NDArray[np.int64]]
    """The code of each of these."""
    names: dict[str, npt.NDArray[Any]]
    attrs: dict[str, Any]


def _vocabulary(groups: Sequence[_Group], asked: Asked) -> _Vocabulary:
    """Collect the names in all files, and code them as one table would be."""
    spelled = [role for role in _NAMED if role in groups[0].roles]
    if asked.kind == "continuous":
        spelled.remove(LABEL)
    found = _computed(partial(_distinct, roles=spelled), groups)
    raw, codes, names = {}, {}, {}
    attrs = {"kind": asked.kind, "kind_source": "given"}
    for role in spelled:
        values = pd.concat([part[role] for part in found], ignore_index=True).drop_duplicates()
        name = groups[0].roles[role]
        try:
            if role == LABEL:
                said, kind, source = coded_labels(
                    values, name, asked.kind, asked.labels, "rank" in groups[0].roles
                )
                attrs = {"kind": kind, "kind_source": source}
                if not isinstance(said, tables.Encoded):  # numbers, and no names
                    continue
                encoded = said
            else:
                encoded = grouped(values, name) if role == POOL else tables.encode(values, name)
        except AnnotationError as problem:  # its rows are those of a list of names
            raise problem.relocated(lambda _: "some file", "") from problem
        raw[role], codes[role], names[role] = pd.Index(values), encoded.codes, encoded.values
    return _Vocabulary(raw, codes, names, attrs)


def _distinct(group: _Group, roles: Sequence[str]) -> dict[str, pd.Series[Any]]:
    """Return the names in a row group, in the order of their first appearance."""
    found = group.read(*roles)
    with _place(group):
        for role, values in found.items():
            tables.present(values, group.roles[role])
    return {role: values.drop_duplicates() for role, values in found.items()}


def _coded(group: _Group, *, vocabulary: _Vocabulary, items: int) -> pd.DataFrame:
    """Return a row group in codes and numbers, with the chunk that each row belongs to."""
    out: dict[str, npt.NDArray[Any]] = {}
    with _place(group):
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


@contextmanager
def _place(group: _Group) -> Iterator[None]:
    """Name the file and the row group of a row that cannot be used."""
    try:
        yield
    except AnnotationError as problem:
        named = f"row group {group.number}, row "
        raise problem.relocated(lambda row: f"{named}{row}", group.path.name) from problem


def _counted(group: _Group, coded: Any, n_chunks: int) -> npt.NDArray[np.int64]:
    """Count a row group's rows by chunk."""
    return np.bincount(coded(group)["chunk"], minlength=n_chunks)


def _sorted(groups: Sequence[_Group], coded: Any, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return all rows, item by item, as Dask arrays of one chunk length."""
    import dask.array as da
    import dask.dataframe as dd

    like = coded(groups[0]).iloc[:0]
    table = dd.from_map(coded, groups, meta=like)
    parts = table.set_index("chunk", divisions=list(range(len(rows) + 1))).to_delayed()
    columns = [name for name in like.columns if name not in {"chunk", "row"}]
    at_once = -(-int(rows.sum()) // len(rows))
    arrays = {}
    for name in columns:
        pieces = [
            da.from_delayed(_column(part, name), shape=(int(n),), dtype=like[name].dtype)
            for part, n in zip(parts, rows, strict=True)
        ]
        arrays[name] = da.concatenate(pieces).rechunk(at_once)
    return arrays


def _column(part: Any, name: str) -> Any:
    """Return a column of a chunk, in the order of items, and of rows within an item."""
    import dask

    return dask.delayed(_in_order)(part, name)


def _in_order(part: pd.DataFrame, name: str) -> npt.NDArray[Any]:
    order = np.lexsort((part["row"], part["item_code"]))
    return part[name].to_numpy()[order]


def _computed(function: Any, jobs: Iterable[Any]) -> Any:
    import dask

    return dask.compute(*(dask.delayed(function)(job) for job in jobs))
