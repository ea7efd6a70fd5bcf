"""Readers of files: tables by file name extension, exports of annotation tools by format name.

`FORMATS` is the only list of named formats. To add one, write a module with ``read_annotations``
or ``read_predictions`` (or both) and a test, and add a line to the list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import xarray as xr

from dissensus import arguments
from dissensus.data.chunks import chunked, new_store, opened, stored
from dissensus.data.formats._table import ReadOptions
from dissensus.data.formats._text import checked_path, is_folder
from dissensus.data.predictions import check_on_missing
from dissensus.errors import FormatError, PredictionError, brief
from dissensus.storage import is_store


@dataclass(frozen=True)
class Format:
    """A format, described without loading its reader.

    Examples
    --------
    >>> import dissensus as dx
    >>> prodigy = dx.formats.get("prodigy")
    >>> prodigy.reads, prodigy.summary
    (('annotations',), 'the JSONL of Prodigy, one decision per line')
    """

    name: str
    reads: tuple[str, ...]
    """"annotations", "predictions"."""
    summary: str

    @property
    def module(self) -> ModuleType:
        """The module of the reader."""
        return import_module(f"dissensus.data.formats.{self.name.replace('-', '_')}")


FORMATS: Final = (
    Format("argilla", ("annotations", "predictions"), "the records of Argilla 2 as JSON"),
    Format("counts", ("annotations",), "an item column, then one column of votes per label"),
    Format("crowd-kit", ("annotations",), "a table with the columns task, worker, label"),
    Format("label-studio", ("annotations", "predictions"), "the JSON export of Label Studio"),
    Format("prodigy", ("annotations",), "the JSONL of Prodigy, one decision per line"),
    Format(
        "wide",
        ("annotations", "predictions"),
        "an item column, then one column per annotator or system",
    ),
)


def names() -> list[str]:
    """Return the names of all formats.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.formats.names()
    ['argilla', 'counts', 'crowd-kit', 'label-studio', 'prodigy', 'wide']
    """
    return [known.name for known in FORMATS]


def get(name: str) -> Format:
    """Return the description of a format; hyphens and capitals do not matter.

    Raises
    ------
    FormatError
        If there is no such format.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.formats.get("Label Studio").reads
    ('annotations', 'predictions')
    """
    wanted = re.sub("[-_ ]", "", str(name)).lower()
    for known in FORMATS:
        if known.name.replace("-", "") == wanted:
            return known
    raise FormatError("format", expected=f"one of {', '.join(names())}, or None", found=repr(name))


def read_annotations(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 (the word a person looks for)
    *,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    rank: str | None = None,
    confidence: str | None = None,
    pool: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    trial: str | None = None,
    kind: str | None = None,
    labels: Sequence[Any] | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    chunks: int | None = None,
    store: str | os.PathLike[str] | None = None,
) -> xr.Dataset:
    r"""Read annotations from a file.

    In CSV and TSV files every cell is text, and only empty cells are missing: "None" and "NA" are
    ordinary labels. If all labels are numbers, they are read as numbers.

    Parameters
    ----------
    path : path
        A table with one row per annotation, in a file with the extension .csv, .tsv, .parquet,
        .json (a list of records) or .jsonl; or a file in a named format. Text files may be
        compressed (.gz). Or a folder of Parquet files, also in subfolders; or a store made with
        ``store=``.
    format : str, optional
        A name in ``dissensus.formats.names()``: "argilla", "counts", "crowd-kit", "label-studio",
        "prodigy" or "wide".
    item, annotator, label, rank, confidence, pool, cluster, stratum, trial, kind, labels
        As in `dissensus.annotations`. Named formats have other default names of columns.
    encoding : str
        Encoding of text files.
    delimiter : str, optional
        Character between cells, if it is not a comma (.csv) or a tab (.tsv).
    chunks : int, optional
        Number of items in a chunk, see `dissensus.chunked`.
    store : path, optional
        Path of a new Zarr store, from which chunks are then read. A folder of Parquet files may be
        larger than memory, since only names and a few row groups are in memory at a time. Rows are
        sorted by item.

    Returns
    -------
    xarray.Dataset
        Annotations. ``attrs["format"]`` describes how the file was read.

    Raises
    ------
    FormatError
        If the file cannot be read; the error names the line.
    AnnotationError
        If the contents are invalid, see `dissensus.annotations`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import dissensus as dx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.csv")
    ...     _ = path.write_text("item,ann,bob\n1,cat,dog\n2,,cat\n")
    ...     ann = dx.read_annotations(path, format="wide")
    >>> ann.sizes["annotation"], ann["annotator"].values.tolist(), ann.attrs["format"]
    (3, ['ann', 'bob'], 'wide')
    """
    columns = {
        "item": item, "annotator": annotator, "label": label, "rank": rank, "trial": trial,
        "confidence": confidence, "pool": pool, "cluster": cluster, "stratum": stratum,
    }  # fmt: skip
    options = ReadOptions(columns, kind=kind, labels=labels, encoding=encoding, delimiter=delimiter)
    if chunks is not None:
        chunks = arguments.whole("chunks", chunks)
    target = None if store is None else new_store(store)
    if format is None and is_folder(path):
        if is_store(Path(path)):
            return _reopened(Path(path), options, chunks, target)
        if target is not None:
            from dissensus.data.formats._parquet import store_partitioned

            return store_partitioned(Path(path), options, chunks, target)
    place = checked_path(path, folder=format is None)
    ann = _reader("annotations", format, options).read_annotations(place, options)
    assert isinstance(ann, xr.Dataset)
    ann = ann.assign_attrs(options.notes)
    if target is not None:
        return stored(chunked(ann, chunks), target)
    return ann if chunks is None else chunked(ann, chunks)


def _reopened(
    path: Path, options: ReadOptions, chunks: int | None, target: Path | None
) -> xr.Dataset:
    """Open stored annotations; all other arguments must have their default values."""
    if target is not None:
        raise FormatError("store=", expected="None for a Zarr store", found=brief(str(target)))
    given: dict[str, Any] = {
        role: name
        for role, name in options.columns.items()
        if name != (role if role in {"item", "annotator", "label"} else None)
    }
    given |= {"kind": options.kind, "labels": options.labels, "delimiter": options.delimiter}
    for name, value in given.items():
        if value is not None or name in options.columns:
            expected = "the default, for a Zarr store of annotations"
            raise FormatError(f"{name}=", expected=expected, found=brief(value))
    expected = "a Zarr store of annotations"
    try:
        ann = opened(path)
    except (ValueError, KeyError, OSError) as problem:
        found = f"a damaged store, or another store ({str(problem)[:200]})"
        raise FormatError(brief(str(path)), expected=expected, found=found) from problem
    for name in ("item_code", "annotator_code"):
        if name not in ann:
            hint = "dx.read_annotations(..., store=) makes one"
            found = f"a store without {name}"
            raise FormatError(brief(str(path)), expected=expected, found=found, hint=hint)
    return ann if chunks is None else chunked(ann, chunks)


def read_predictions(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 (the word a person looks for)
    *,
    item: str = "item",
    system: str = "system",
    label: str = "label",
    score: str | None = None,
    rank: str | None = None,
    kind: str | None = None,
    on_missing: str = "raise",
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> xr.Dataset:
    r"""Read predictions from a file.

    If a table has an item column but neither a system nor a label column, it is read as a wide
    table, in which every other column is a system. ``attrs["format"]`` then says so.

    Parameters
    ----------
    path : path
        As in `read_annotations`.
    format : str, optional
        "wide", "argilla" or "label-studio".
    item, system, label, score, rank, kind, on_missing
        As in `dissensus.predictions`.
    encoding, delimiter
        As in `read_annotations`.

    Returns
    -------
    xarray.Dataset
        Predictions. ``attrs["format"]`` describes how the file was read.

    Raises
    ------
    FormatError
        If the file cannot be read; the error names the line.
    PredictionError
        If the contents are invalid, see `dissensus.predictions`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import dissensus as dx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     _ = path.write_text("item,m1,m2\n1,cat,dog\n2,dog,cat\n")
    ...     pred = dx.read_predictions(path)
    >>> pred.attrs["format"]
    "wide (recognised: no column 'system' or 'label'; the systems are the columns m1, m2)"
    """
    columns = {"item": item, "system": system, "label": label, "score": score, "rank": rank}
    options = ReadOptions(
        columns, kind, None, on_missing, encoding, delimiter, error=PredictionError
    )
    check_on_missing(on_missing)
    place = checked_path(path, folder=format is None)
    pred = _reader("predictions", format, options).read_predictions(place, options)
    assert isinstance(pred, xr.Dataset)
    return pred.assign_attrs(options.notes)


def _reader(contents: str, format: str | None, options: ReadOptions) -> ModuleType:  # noqa: A002
    if format is None:
        return import_module("dissensus.data.formats._long")
    known = get(format)
    if contents not in known.reads:
        able = ", ".join(other.name for other in FORMATS if contents in other.reads)
        expected = f"one of {able}, or None, for {contents}"
        raise FormatError("format", expected=expected, found=repr(format))
    options.notes["format"] = known.name
    return known.module
