"""The checks that hold annotations to the schema that `dissensus.schema` writes down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus._annotation_rows import ranking_code
from dissensus.dims import ANNOTATION, ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import AnnotationError, brief, shown

KINDS: Final = ("nominal", "ordinal", "continuous", "ranking")

CODES: Final = {
    "item_code": (ANNOTATION, ITEM),
    "annotator_code": (ANNOTATION, ANNOTATOR),
    "label_code": (ANNOTATION, LABEL),
    "pool_code": (ANNOTATION, POOL),
    "cluster_code": (ITEM, CLUSTER),
    "stratum_code": (ITEM, STRATUM),
}
"""Each variable of codes: the dimension it lives on, and the coordinate it points into."""

NUMBERS: Final = {
    "value": (-np.inf, np.inf, "a finite number"),
    "rank": (1, np.inf, "1 for the first choice, 2 for the next, ..."),
    "confidence": (0.0, 1.0, "a number from 0 to 1"),
}
"""Each variable of numbers along the annotations: its bounds, and what to say of them."""


PART: Final = "is_part"
"""Attribute of annotations that are cut out of others, and may be of items nobody spoke about."""


def check_annotations(annotations: xr.Dataset, columns: Mapping[str, str]) -> None:
    """Raise unless the annotations keep to the schema.

    Parameters
    ----------
    annotations : xarray.Dataset
        Annotations.
    columns : mapping from role to column name
        What the caller calls the columns; the complaint is made in those words.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    >>> dx.schema.check_annotations(ann, {})
    >>> dx.schema.check_annotations(ann.isel(annotation=[0, 0, 1]), {"item": "case"})
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: columns 'case' and 'annotator', rows 0 and 1 (item 1, ...
    """
    check_form(annotations, columns)
    _check_said_once(annotations, columns)
    if annotations.attrs["kind"] == "ranking":
        _check_no_gap(annotations, columns)


def check_form(annotations: xr.Dataset, columns: Mapping[str, str]) -> None:
    """Raise unless the variables are there, and their codes and numbers within bounds.

    What can be seen row by row, without sorting them; whether somebody said a thing twice cannot.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    >>> dx.schema.check_form(ann, {})
    >>> dx.schema.check_form(ann.assign(label_code=("annotation", [0, 5, 1])), {})
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: label_code, row 1: expected a code from 0 to 1; found 5
    """
    kind = annotations.attrs.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise AnnotationError("attrs['kind']", expected=f"one of {KINDS}", found=brief(kind))
    _check_variables(annotations)
    for name, (dim, vocabulary) in CODES.items():
        if name in annotations:
            _check_codes(annotations, name, dim, vocabulary)
    for name in NUMBERS:
        if name in annotations:
            _check_numbers(annotations, name, columns)


def _called(role: str, columns: Mapping[str, str]) -> str:
    return f"column {columns[role]!r}" if role in columns else role


def _check_variables(annotations: xr.Dataset) -> None:
    needed = ["item_code", "annotator_code"]
    needed.append("value" if annotations.attrs["kind"] == "continuous" else "label_code")
    if annotations.attrs["kind"] == "ranking":
        needed.append("rank")
    missing = [name for name in needed if name not in annotations]
    if missing:
        raise AnnotationError(
            "annotations",
            expected=f"the variables {', '.join(needed)}",
            found=f"no {', '.join(missing)}",
        )
    for name in (*needed, *NUMBERS, "trial"):
        if name in annotations and annotations[name].dims != (ANNOTATION,):
            raise AnnotationError(
                name,
                expected=f"one value along {ANNOTATION!r} for each row",
                found=f"the dims {annotations[name].dims}",
            )
    if annotations.sizes[ANNOTATION] == 0 and PART not in annotations.attrs:
        raise AnnotationError("annotations", expected="at least one row", found="0 rows")


def _check_codes(annotations: xr.Dataset, name: str, dim: str, vocabulary: str) -> None:
    if vocabulary not in annotations.indexes or annotations[name].dims != (dim,):
        raise AnnotationError(
            name,
            expected=f"codes along {dim!r} into the index coordinate {vocabulary!r}",
            found=f"dims {annotations[name].dims} and indexes {list(annotations.indexes)}",
        )
    names = annotations.indexes[vocabulary]
    if names.hasnans or names.has_duplicates:
        doubled = names[names.duplicated()]
        raise AnnotationError(
            f"coordinate {vocabulary!r}",
            expected="distinct names, none missing",
            found="a missing one" if names.hasnans else f"{shown(list(doubled))} more than once",
        )
    codes = annotations[name].to_numpy()
    if codes.dtype.kind not in "iu":
        raise AnnotationError(name, expected="integer codes", found=str(codes.dtype))
    bad = np.flatnonzero((codes < 0) | (codes >= len(names)))
    if len(bad):
        raise AnnotationError(
            name,
            where=f"row {bad[0]}",
            expected=f"a code from 0 to {len(names) - 1}",
            found=str(codes[bad[0]]),
        )


def _check_numbers(annotations: xr.Dataset, name: str, columns: Mapping[str, str]) -> None:
    low, high, expected = NUMBERS[name]
    role = LABEL if name == "value" else name
    values = annotations[name].to_numpy()
    kinds = "iu" if name == "rank" else "iuf"
    if values.dtype.kind not in kinds:
        what = "whole numbers" if name == "rank" else "numbers"
        raise AnnotationError(_called(role, columns), expected=what, found=str(values.dtype))
    bad = np.flatnonzero(~np.isfinite(values) | (values < low) | (values > high))
    if len(bad):
        row = int(bad[0])
        advice = "Map other scales of confidence to [0, 1] first, and say how"
        raise AnnotationError(
            _called(role, columns),
            where=f"row {row} ({_who(annotations, row)})",
            expected=expected,
            found=str(values[row]),
            hint=advice if name == "confidence" else "",
        )


def _check_said_once(annotations: xr.Dataset, columns: Mapping[str, str]) -> None:
    """One annotator says one thing about one item (per pool and trial, per label in a ranking)."""
    key, ranking = ranking_code(annotations), annotations.attrs["kind"] == "ranking"
    if ranking:
        key = key * annotations.sizes[LABEL] + annotations["label_code"].to_numpy()
    elif "pool_code" in annotations:  # the same people with two tools, say
        key = key * annotations.sizes[POOL] + annotations["pool_code"].to_numpy()
    again = np.flatnonzero(pd.Series(key).duplicated().to_numpy())
    if not len(again):
        return
    row = int(again[0])
    first = int(np.flatnonzero(key == key[row])[0])
    expected = (
        "each label once in a ranking" if ranking else "one label for each item and annotator"
    )
    name = "value" if annotations.attrs["kind"] == "continuous" else "rank" if ranking else ""
    said = annotations[name].to_numpy() if name else _restored(annotations, LABEL)
    what, second = ("ranks", LABEL) if ranking else ("labels", ANNOTATOR)
    trial = ", once in each trial" if "trial" in annotations else ""
    trial += ", in each pool" if "pool_code" in annotations and not ranking else ""
    raise AnnotationError(
        f"columns {columns.get(ITEM, ITEM)!r} and {columns.get(second, second)!r}",
        where=f"rows {first} and {row} ({_who(annotations, row)})",
        expected=expected + trial,
        found=f"the {what} {shown([said[first], said[row]])} (repeated rows: {len(again)})",
        hint="If these are repetitions, name the column that numbers them with trial=; if a row "
        "was stored twice, leave out the copy",
    )


def _check_no_gap(annotations: xr.Dataset, columns: Mapping[str, str]) -> None:
    """Ranks of one ranking are 1, 2, ..., L without a gap; ties share a rank."""
    ranks = annotations["rank"].to_numpy()
    ranking = ranking_code(annotations)
    order = np.lexsort((ranks, ranking))
    step = np.diff(ranks[order], prepend=0)
    starts = np.diff(ranking[order], prepend=-1) != 0
    step[starts] = ranks[order][starts]
    gap = np.flatnonzero(step > 1)
    if len(gap):
        row = int(order[gap[0]])
        before = ranks[row] - step[gap[0]]
        raise AnnotationError(
            _called("rank", columns),
            where=f"row {row} ({_who(annotations, row)})",
            expected=f"rank {before + 1} before rank {ranks[row]}: ranks count blocks, "
            "so after a tie comes the next whole number (1, 1, 2)",
            found=f"a step from {before} to {ranks[row]}",
        )


def _restored(annotations: xr.Dataset, dim: str) -> npt.NDArray[Any]:
    """Spell out the codes of one vocabulary, row by row."""
    return np.asarray(annotations[dim].to_numpy()[annotations[f"{dim}_code"].to_numpy()])


def _who(annotations: xr.Dataset, row: int) -> str:
    dims = (ITEM, ANNOTATOR, LABEL) if "label_code" in annotations else (ITEM, ANNOTATOR)
    code = {dim: int(annotations[f"{dim}_code"].to_numpy()[row]) for dim in dims}
    return ", ".join(f"{dim} {shown([annotations[dim].to_numpy()[code[dim]]])}" for dim in dims)
