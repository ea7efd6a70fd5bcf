"""Readers of files: tables by the extension of the file, files of other tools by a format name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import xarray as xr

from dissensus import arguments
from dissensus.data.chunks import chunked, new_store, opened, stored
from dissensus.data.formats._registry import FORMATS, Format, get, names
from dissensus.data.formats._table import ReadOptions
from dissensus.data.formats._text import checked_path, is_folder
from dissensus.data.predictions import check_on_missing
from dissensus.errors import AnnotationError, FormatError, PredictionError, brief
from dissensus.storage import is_store
from dissensus.wording import listed

_WITH_LISTS = ("argilla", "label-studio", "lewidi", "prodigy")
"""Formats in which an answer can be a list of labels."""

__all__ = ["FORMATS", "Format", "get", "names", "read_annotations", "read_predictions"]


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
    separator: str | None = None,
    none: Any = None,
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
        .json (a list of records) or .jsonl; or a file in a named format; or a folder of Parquet
        files, also in subfolders; or a store made with ``store=``. Text files may be compressed
        (.gz).
    format : str, optional
        A name in ``dissensus.formats.names()``. Annotation tools: "argilla", "crowd-kit",
        "label-studio", "prodigy". Data sets: "arena" (votes on pairs), "judge-bench", "lewidi".
        Evaluation tools, whose scorers or judges are the annotators: "deepeval", "inspect-ai",
        "lm-eval", "promptfoo". Other tables: "counts", "pairs" (votes), "wide". The documentation
        of a format is ``help(dissensus.formats.get(name).module)``.
    item, annotator, label, rank, confidence, pool, cluster, stratum, trial, kind, labels
        As in `dissensus.annotations`. Named formats have other default names of columns.
    separator, none
        As in `dissensus.annotations`, for sets. Sets (``kind="set"``) are read from single files
        without a format, and from "argilla", "label-studio", "lewidi" and "prodigy".
    encoding : str
        Encoding of text files.
    delimiter : str, optional
        Character between cells, if it is not a comma (.csv) or a tab (.tsv).
    chunks : int, optional
        Number of items in a chunk, see `dissensus.chunked`.
    store : path, optional
        Path of a new Zarr store. The annotations are written to the store, sorted by item, and
        returned in chunks. A folder of Parquet files may then be larger than memory: only names and
        a few row groups are in memory at a time.

    Returns
    -------
    xarray.Dataset
        Annotations; with format "arena" votes on pairs, as from `dissensus.pairs`.
        ``attrs["format"]`` describes how the file was read.

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
    _refuse_sets(kind, separator, none, format, folder=is_folder(path))
    options = ReadOptions(
        columns, kind=kind, labels=labels, encoding=encoding, delimiter=delimiter,
        separator=separator, none=none,
    )  # fmt: skip
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


def _refuse_sets(
    kind: Any, separator: Any, none: Any, format: Any, *, folder: bool = False,  # noqa: A002
    error: type[AnnotationError] = AnnotationError,
) -> None:  # fmt: skip
    """Raise if arguments for sets are given for a folder or a format that does not take them."""
    if format is None and not folder:
        return
    is_set = isinstance(kind, str) and kind == "set"
    name = None if format is None else get(format).name
    make = "predictions" if error is PredictionError else "annotations"
    with_lists = [form.name for form in FORMATS if form.name in _WITH_LISTS and make in form.reads]
    lists = name in with_lists
    given = {"kind": kind if is_set and not lists else None, "separator": separator, "none": none}
    for argument, value in given.items():
        if value is not None and lists:
            raise error(
                argument, expected=f"None with format={name!r}, whose answers are lists",
                found=brief(value),
            )  # fmt: skip
        if value is not None:
            raise error(
                argument, expected="no sets, which are read from single files without a format, "
                f"and from {listed(with_lists)}",
                found=brief(value), hint="Read the table with pandas, then "
                f"dissensus.{make}(frame, kind='set', ...)",
            )  # fmt: skip


def _reopened(
    path: Path, options: ReadOptions, chunks: int | None, target: Path | None
) -> xr.Dataset:
    """Open a Zarr store of annotations, or raise if other arguments are not the defaults."""
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
        description = f"a damaged store, or another store ({str(problem)[:200]})"
        raise FormatError(brief(str(path)), expected=expected, found=description) from problem
    for name in ("item_code", "annotator_code"):
        if name not in ann:
            hint = "dx.read_annotations(..., store=) makes one"
            description = f"a store without {name}"
            raise FormatError(brief(str(path)), expected=expected, found=description, hint=hint)
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
    separator: str | None = None,
    none: Any = None,
    on_missing: str = "raise",
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> xr.Dataset:
    r"""Read predictions from a file.

    A table with an item column, but without system and label columns, is read as a wide table: each
    further column is a system. If a table has item and system columns but no label column, and all
    further columns are numbers, these are the probabilities of labels. In both cases
    ``attrs["format"]`` describes the form.

    Parameters
    ----------
    path : path
        As in `read_annotations`.
    format : str, optional
        "wide"; an annotation tool: "argilla", "label-studio"; or an evaluation tool, whose scorers
        or judges are the systems: "deepeval", "inspect-ai", "lm-eval", "promptfoo".
    item, system, label, score, rank, kind, separator, none, on_missing
        As in `dissensus.predictions`. Sets (``kind="set"``) are read without a format, or from
        "argilla" and "label-studio".
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
    _refuse_sets(kind, separator, none, format, error=PredictionError)
    options = ReadOptions(
        columns, kind, None, on_missing, encoding, delimiter, separator=separator, none=none,
        error=PredictionError,
    )  # fmt: skip
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
        hint = f"dx.read_{known.reads[0]}(path, format={known.name!r}) reads such a file"
        raise FormatError("format", expected=expected, found=repr(format), hint=hint)
    options.notes["format"] = known.name
    return known.module
