"""Files in: tables by the ending of their name, and the exports of annotation tools by name.

The registry below is the only list of named formats: a new one is a module with
``read_annotations`` or ``read_predictions`` (or both), a test, and a line here.
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

from dissensus.data.chunks import checked_items, chunked, new_store, opened, stored
from dissensus.data.formats._table import Asked
from dissensus.data.formats._text import checked_path, is_folder
from dissensus.errors import FormatError, PredictionError, brief
from dissensus.storage import is_store


@dataclass(frozen=True)
class Format:
    """What the library knows of a format without loading its reader.

    Examples
    --------
    >>> import dissensus as dx
    >>> prodigy = dx.formats.get("prodigy")
    >>> prodigy.reads, prodigy.summary
    (('annotations',), 'the JSONL of Prodigy, one decision a line')
    """

    name: str
    reads: tuple[str, ...]
    """"annotations", "predictions"."""
    summary: str

    @property
    def module(self) -> ModuleType:
        """The reader, loaded."""
        return import_module(f"dissensus.data.formats.{self.name.replace('-', '_')}")


FORMATS: Final = (
    Format("argilla", ("annotations", "predictions"), "the records of Argilla 2 as JSON"),
    Format("counts", ("annotations",), "an item column, then one column of votes per label"),
    Format("crowd-kit", ("annotations",), "a table with the columns task, worker, label"),
    Format("label-studio", ("annotations", "predictions"), "the JSON export of Label Studio"),
    Format("prodigy", ("annotations",), "the JSONL of Prodigy, one decision a line"),
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
    """Return what is known of one format; hyphens and capitals do not matter.

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
    r"""Read what the annotators said from a file.

    In CSV and TSV files every cell is text and only the empty cell is missing: "None" and
    "NA" are labels like others. Labels that are numbers throughout are read as numbers.

    Parameters
    ----------
    path : path
        A table with one row per statement, ending in .csv, .tsv, .parquet, .json (a list of
        records) or .jsonl; or a file in a named format. Text files may be packed (.gz). Or a
        folder of Parquet files, at any depth; or what ``store=`` made.
    format : str, optional
        A name in ``dissensus.formats.names()``: "argilla", "counts", "crowd-kit", "label-studio",
        "prodigy" or "wide".
    item, annotator, label, rank, confidence, pool, cluster, stratum, trial, kind, labels
        As in `dissensus.annotations`. A named format has its own names for the columns.
    encoding : str
        Of text files.
    delimiter : str, optional
        What separates the cells, if not a comma (.csv) or a tab (.tsv).
    chunks : int, optional
        Cut the annotations into chunks of so many items, see `dissensus.chunked`.
    store : path, optional
        A Zarr store to make, from which the chunks are read. A folder of Parquet files may then
        be larger than memory, which holds the names and a few row groups at a time. Rows are
        sorted by item on the way.

    Returns
    -------
    xarray.Dataset
        Annotations. ``attrs["format"]`` says how the file was read.

    Raises
    ------
    FormatError
        If the file is not what it should be, naming the line.
    AnnotationError
        If what it says is not, see `dissensus.annotations`.

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
    asked = Asked(columns, kind=kind, labels=labels, encoding=encoding, delimiter=delimiter)
    if chunks is not None:
        chunks = checked_items(chunks, "chunks")
    kept = None if store is None else new_store(store)
    if format is None and is_folder(path):
        if is_store(Path(path)):
            return _again(Path(path), asked, chunks, kept)
        if kept is not None:
            from dissensus.data.formats._parquet import store_partitioned

            return store_partitioned(Path(path), asked, chunks, kept)
    place = checked_path(path, folder=format is None)
    ann = _reader("annotations", format, asked).read_annotations(place, asked)
    assert isinstance(ann, xr.Dataset)
    ann = ann.assign_attrs(asked.notes)
    if kept is not None:
        return stored(chunked(ann, chunks), kept)
    return ann if chunks is None else chunked(ann, chunks)


def _again(path: Path, asked: Asked, chunks: int | None, store: Path | None) -> xr.Dataset:
    """Open annotations that were stored."""
    if store is not None:
        raise FormatError("store=", expected="None for a Zarr store", found=brief(str(store)))
    plain = {role: role if role in _NEEDED else None for role in asked.columns}
    said = {role: name for role, name in asked.columns.items() if name != plain[role]}
    said |= {name: value for name in ("kind", "labels", "delimiter")
             if (value := getattr(asked, name)) is not None}  # fmt: skip
    for name, value in said.items():
        raise FormatError(
            f"{name}=", expected="what it is by default, for a Zarr store of annotations",
            found=brief(value),
        )  # fmt: skip
    try:
        found = opened(path)
    except (ValueError, KeyError, OSError) as problem:
        raise FormatError(
            brief(str(path)), expected="a Zarr store of annotations",
            found=f"a damaged one, or another ({str(problem)[:200]})",
        ) from problem  # fmt: skip
    missing = [f"{role}_code" for role in _NEEDED[:2] if f"{role}_code" not in found]
    if missing:
        raise FormatError(
            brief(str(path)), expected="a Zarr store of annotations",
            found=f"one without {missing[0]}",
            hint="dx.read_annotations(..., store=) makes one",
        )  # fmt: skip
    return found if chunks is None else chunked(found, chunks)


_NEEDED: Final = ("item", "annotator", "label")


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
    r"""Read what the systems said from a file.

    A table with an item column but neither a system nor a label column is taken for a wide
    one, each further column being a system; ``attrs["format"]`` then says so.

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
        Predictions. ``attrs["format"]`` says how the file was read.

    Raises
    ------
    FormatError
        If the file is not what it should be, naming the line.
    PredictionError
        If what it says is not, see `dissensus.predictions`.

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
    asked = Asked(
        columns, kind=kind, on_missing=on_missing, encoding=encoding, delimiter=delimiter,
        error=PredictionError,
    )  # fmt: skip
    if not isinstance(on_missing, str) or on_missing not in {"raise", "drop"}:
        raise PredictionError("on_missing", expected="'raise' or 'drop'", found=repr(on_missing))
    place = checked_path(path, folder=format is None)
    pred = _reader("predictions", format, asked).read_predictions(place, asked)
    assert isinstance(pred, xr.Dataset)
    return pred.assign_attrs(asked.notes)


def _reader(what: str, format: str | None, asked: Asked) -> ModuleType:  # noqa: A002
    if format is None:
        return import_module("dissensus.data.formats._long")
    found = get(format)
    if what not in found.reads:
        able = [other.name for other in FORMATS if what in other.reads]
        raise FormatError(
            "format", expected=f"one of {', '.join(able)}, or None, for {what}", found=repr(format)
        )
    asked.notes["format"] = found.name
    return found.module
