"""The schema of annotations and predictions, and its checks.

Annotations are an `xarray.Dataset` whose rows are along the dim ``annotation``. Names are in the
index coordinates, and variables contain integer codes of these names:

==================  ============  ===================================================
variable            dims          meaning
==================  ============  ===================================================
``item_code``       annotation    place of the item in the coordinate ``item``
``annotator_code``  annotation    place of the annotator in ``annotator``
``label_code``      annotation    place of the label in ``label`` (not for numbers)
``value``           annotation    the number given (kind "continuous" only)
``rank``            annotation    1 for the first choice; ties share a rank ("ranking")
``confidence``      annotation    how sure the annotator was, in [0, 1] (optional)
``trial``           annotation    number of the repetition (optional)
``pool_code``       annotation    place of the annotator's group in ``pool`` (optional)
``cluster_code``    item          place of the item's cluster in ``cluster`` (optional)
``stratum_code``    item          place of the item's stratum in ``stratum`` (optional)
``member``          label,        whether an answer contains a label of ``element`` ("set")
                    element
==================  ============  ===================================================

Attributes: ``kind`` ("nominal", "ordinal", "continuous", "ranking", "set") and ``kind_source``:
"given", or why the kind was inferred.

Predictions are a Dataset too. A prediction is a list of labels along ``position``, or a number:

==================  ========================  ============================================
variable            dims                      meaning
==================  ========================  ============================================
``label_code``      item, system, position    place in ``label``; -1 past the end of a list
``block``           item, system, position    1 for the first block; ties share a block
``score``           item, system, position    the score that orders a list (optional)
``value``           item, system              the predicted number (kind "continuous")
==================  ========================  ============================================

Attributes: ``kind`` ("nominal", "ranking", "continuous", "set"). A set is a list of one block, and
can be empty. The attributes ``separator`` and ``none`` are the text between its labels and the word
for an empty set.

Annotations and predictions can be stored with ``to_netcdf`` and opened with `xarray.open_dataset`;
`validate` checks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data.pairs import are_votes, checked_pairs
from dissensus.data.prediction_schema import check_predictions, checked_names
from dissensus.data.rows import (
    given_numbers,
    label_counts,
    ranking_code,
    ranks,
    statements_per,
    voices_per,
)
from dissensus.data.sets import OF_PREDICTED_SETS, joined
from dissensus.dims import (
    ANNOTATION,
    ANNOTATOR,
    CLUSTER,
    ELEMENT,
    ITEM,
    LABEL,
    POOL,
    STRATUM,
    SYSTEM,
)
from dissensus.errors import AnnotationError, PredictionError, brief, shown

__all__ = [
    "CODES",
    "KINDS",
    "PART",
    "check_annotations",
    "check_form",
    "check_predictions",
    "checked_annotations",
    "checked_predictions",
    "given_numbers",
    "label_counts",
    "no_predictions",
    "ranking_code",
    "ranks",
    "statements_per",
    "validate",
    "voices_per",
]

KINDS: Final = ("nominal", "ordinal", "continuous", "ranking", "set")

CODES: Final = {
    "item_code": (ANNOTATION, ITEM),
    "annotator_code": (ANNOTATION, ANNOTATOR),
    "label_code": (ANNOTATION, LABEL),
    "pool_code": (ANNOTATION, POOL),
    "cluster_code": (ITEM, CLUSTER),
    "stratum_code": (ITEM, STRATUM),
}
"""The dimension of each variable of codes, and the coordinate with the names."""

NUMBERS: Final = {
    "value": (-np.inf, np.inf, "a finite number"),
    "rank": (1, np.inf, "1 for the first choice, 2 for the next, ..."),
    "confidence": (0.0, 1.0, "a number from 0 to 1"),
}
"""Minimum, maximum and a description of each numeric variable along ``annotation``."""
PART: Final = "is_part"
"""Attribute of a part of annotations, such as a chunk, which may have no rows."""


def check_annotations(annotations: xr.Dataset, columns: Mapping[str, str]) -> None:
    """Raise unless the annotations follow the schema.

    Parameters
    ----------
    annotations : xarray.Dataset
    columns : mapping from role to column name
        The caller's names of the columns, for error messages.

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
    _check_repeats(annotations, columns)
    if annotations.attrs["kind"] == "ranking":
        _check_no_gap(annotations, columns)


def check_form(annotations: xr.Dataset, columns: Mapping[str, str]) -> None:
    """Raise unless the variables exist, and their codes and numbers are within bounds.

    Each row is checked alone: only `check_annotations` finds repeated labels.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    >>> dx.schema.check_form(ann, {})
    >>> dx.schema.check_form(ann.assign(label_code=("annotation", [0, 5, 1])), {})
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: coordinate 'label': expected a name for each code in...
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
    if annotations.attrs["kind"] == "set":
        needed.append("member")
    missing = [name for name in needed if name not in annotations]
    if missing:
        expected, description = f"the variables {', '.join(needed)}", f"no {', '.join(missing)}"
        raise AnnotationError("annotations", expected=expected, found=description)
    if annotations.attrs["kind"] == "set":
        _check_member(annotations)
        needed.remove("member")
    for name in (*needed, *NUMBERS, "trial"):
        if name in annotations and annotations[name].dims != (ANNOTATION,):
            expected = f"one value along {ANNOTATION!r} for each row"
            raise AnnotationError(
                name, expected=expected, found=f"the dims {annotations[name].dims}"
            )
    if annotations.sizes[ANNOTATION] == 0 and PART not in annotations.attrs:
        raise AnnotationError("annotations", expected="at least one row", found="0 rows")


def _check_member(annotations: xr.Dataset) -> None:
    """Raise unless ``member`` (label, element) agrees with the names of the answers."""
    member = annotations["member"]
    if member.dims != (LABEL, ELEMENT) or member.dtype != bool:
        raise AnnotationError(
            "member", expected=f"true or false over {(LABEL, ELEMENT)}",
            found=f"{member.dtype} over {member.dims}",
        )  # fmt: skip
    elements = checked_names(annotations, ELEMENT, AnnotationError).to_numpy()
    words = {name: annotations.attrs.get(name) for name in ("separator", "none")}
    for name, word in words.items():
        if not isinstance(word, str):
            raise AnnotationError(f"attrs[{name!r}]", expected="text", found=brief(word))
    answers = joined(elements, member.to_numpy(), str(words["separator"]), str(words["none"]))
    stated = checked_names(annotations, LABEL, AnnotationError).to_numpy()
    wrong = [k for k, answer in enumerate(answers) if stated[k] != answer]
    if wrong:
        raise AnnotationError(
            "member", where=f"answer {brief(stated[wrong[0]])}",
            expected="the labels in the name of the answer",
            found=brief(answers[wrong[0]]),
            hint="A selection of elements would change answers: read the table again without them",
        )  # fmt: skip


def _check_codes(annotations: xr.Dataset, name: str, dim: str, vocabulary: str) -> None:
    if vocabulary not in annotations.indexes or annotations[name].dims != (dim,):
        raise AnnotationError(
            name,
            expected=f"codes along {dim!r} into the index coordinate {vocabulary!r}",
            found=f"dims {annotations[name].dims} and indexes {list(annotations.indexes)}",
        )
    names = checked_names(annotations, vocabulary, AnnotationError)
    codes = annotations[name].to_numpy()
    if codes.dtype.kind not in "iu":
        raise AnnotationError(name, expected="integer codes", found=str(codes.dtype))
    if codes.max(initial=-1) >= len(names):
        # An example is isel(item=slice(30)): xarray selects names of items, but keeps all rows.
        raise AnnotationError(
            f"coordinate {vocabulary!r}",
            expected=f"a name for each code in {name!r}, up to {codes.max()}",
            found=f"{len(names)} names",
            hint=_selection(annotations, vocabulary),
        )
    bad = np.flatnonzero(codes < 0)
    if len(bad):
        expected, row = f"a code from 0 to {len(names) - 1}", int(bad[0])
        raise AnnotationError(name, where=f"row {row}", expected=expected, found=str(codes[row]))


def _selection(annotations: xr.Dataset, dim: str) -> str:
    """Return advice on how to select names of a dim, such as items, without isel or sel."""
    roles = ("rank", "confidence", "trial")
    more = [role for role in roles if role in annotations]
    more += [group for group in (POOL, CLUSTER, STRATUM) if f"{group}_code" in annotations]
    columns = "".join(f', {name}="{name}"' for name in more)
    kind = annotations.attrs["kind"]
    labels = "" if kind == "continuous" else ", with labels= as before"
    if kind == "set":
        words = ("separator", "none")
        columns += "".join(f", {name}={annotations.attrs[name]!r}" for name in words)
    return (
        f"A subset taken with isel or sel over {dim!r} is not valid: it has fewer names, but all "
        "rows. Select rows of all annotations instead: frame = dx.to_dataframe(annotations), "
        f"then dx.annotations(frame[frame[{dim!r}].isin(names)]{columns}, kind={kind!r}){labels}"
    )


def _check_numbers(annotations: xr.Dataset, name: str, columns: Mapping[str, str]) -> None:
    low, high, expected = NUMBERS[name]
    role = LABEL if name == "value" else name
    values = annotations[name].to_numpy()
    kinds = "iu" if name == "rank" else "iuf"
    if values.dtype.kind not in kinds:
        words = "whole numbers" if name == "rank" else "numbers"
        raise AnnotationError(_called(role, columns), expected=words, found=str(values.dtype))
    bad = np.flatnonzero(~np.isfinite(values) | (values < low) | (values > high))
    if len(bad):
        row = int(bad[0])
        advice = "Map other scales of confidence to [0, 1] first, and report the mapping"
        raise AnnotationError(
            _called(role, columns),
            where=f"row {row} ({_row_names(annotations, row)})",
            expected=expected,
            found=str(values[row]),
            hint=advice if name == "confidence" else "",
        )


def _check_repeats(annotations: xr.Dataset, columns: Mapping[str, str]) -> None:
    """Raise if an annotator labels an item twice, or ranks a label twice."""
    key, ranking = ranking_code(annotations), annotations.attrs["kind"] == "ranking"
    if ranking:
        key = key * annotations.sizes[LABEL] + annotations["label_code"].to_numpy()
    elif "pool_code" in annotations:  # an annotator may label an item once in each pool
        key = key * annotations.sizes[POOL] + annotations["pool_code"].to_numpy()
    repeated = np.flatnonzero(pd.Series(key).duplicated().to_numpy())
    if not len(repeated):
        return
    row = int(repeated[0])
    first = int(np.flatnonzero(key == key[row])[0])
    expected = (
        "each label once in a ranking" if ranking else "one label for each item and annotator"
    )
    name = "value" if annotations.attrs["kind"] == "continuous" else "rank" if ranking else ""
    if name:
        values = annotations[name].to_numpy()
    else:
        values = annotations[LABEL].to_numpy()[annotations["label_code"].to_numpy()]
    noun, second = ("ranks", LABEL) if ranking else ("labels", ANNOTATOR)
    trial = ", once in each trial" if "trial" in annotations else ""
    trial += ", in each pool" if "pool_code" in annotations and not ranking else ""
    raise AnnotationError(
        f"columns {columns.get(ITEM, ITEM)!r} and {columns.get(second, second)!r}",
        where=f"rows {first} and {row} ({_row_names(annotations, row)})",
        expected=expected + trial,
        found=f"the {noun} {shown([values[first], values[row]])} (repeated rows: {len(repeated)})",
        hint="For repetitions, name the column of their numbers with trial=; "
        + (
            ""
            if ranking
            else 'if an answer can contain several labels, pass kind="set", or, if these are '
            "ranked, name the column of ranks with rank=; "
        )
        + "if a row is stored twice, remove the copy",
    )


def _check_no_gap(annotations: xr.Dataset, columns: Mapping[str, str]) -> None:
    """Raise unless the ranks of each ranking are 1, 2, ..., L without a gap; ties share a rank."""
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
            where=f"row {row} ({_row_names(annotations, row)})",
            expected=f"rank {before + 1} before rank {ranks[row]}: ranks count blocks, "
            "so the next whole number follows a tie (1, 1, 2)",
            found=f"a step from {before} to {ranks[row]}",
            hint=dense("item", "annotator"),
        )


def dense(*dims: str) -> str:
    """Return how ranks that skip numbers after ties become ranks without gaps.

    >>> dense("item")
    'For ranks such as 1, 1, 3 or 1.5, 1.5, 3: table.groupby(["item"])["rank"].rank("dense")'
    """
    keys = ", ".join(f'"{dim}"' for dim in dims)
    return (
        f'For ranks such as 1, 1, 3 or 1.5, 1.5, 3: table.groupby([{keys}])["rank"].rank("dense")'
    )


def _row_names(annotations: xr.Dataset, row: int) -> str:
    dims = (ITEM, ANNOTATOR, LABEL) if "label_code" in annotations else (ITEM, ANNOTATOR)
    code = {dim: int(annotations[f"{dim}_code"].to_numpy()[row]) for dim in dims}
    return ", ".join(f"{dim} {shown([annotations[dim].to_numpy()[code[dim]]])}" for dim in dims)


_CHECKED: ContextVar[WeakValueDictionary[int, xr.Dataset] | None] = ContextVar(
    "checked", default=None
)


@contextmanager
def checked_once() -> Iterator[None]:
    """Inside this context, check each Dataset only once; it must not be changed afterwards."""
    token = _CHECKED.set(WeakValueDictionary())
    try:
        yield
    finally:
        _CHECKED.reset(token)


def is_checked(data: xr.Dataset) -> bool:
    """Return whether this Dataset was checked already inside `checked_once`."""
    known = _CHECKED.get()
    return known is not None and known.get(id(data)) is data


def validate(data: xr.Dataset) -> xr.Dataset:
    """Check that a Dataset of annotations (or of predictions, or votes) follows the schema.

    Parameters
    ----------
    data : xarray.Dataset
        From `annotations`, `predictions` or `pairs`, or made without them.

    Returns
    -------
    xarray.Dataset
        The same object, so that calls can be chained.

    Raises
    ------
    AnnotationError
        The error names the variable, the row or item, what was expected and what was found.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": ["a", "b"], "label": ["x", "y"]})
    >>> dx.validate(ann) is ann
    True
    """
    if not isinstance(data, xr.Dataset):
        raise AnnotationError(
            "annotations",
            expected="an xarray.Dataset made by dissensus.annotations",
            found=type(data).__name__,
        )
    if is_checked(data):
        return data
    if are_votes(data):
        checked_pairs(data)
    elif SYSTEM in data.dims:
        check_predictions(data)
    else:
        check_annotations(data, {})
    return as_checked(data)


def as_checked(data: xr.Dataset) -> xr.Dataset:
    """Mark a Dataset as checked, if inside `checked_once`, and return it."""
    known = _CHECKED.get()
    if known is not None:
        known[id(data)] = data
    return data


def checked_annotations(data: Any) -> xr.Dataset:
    """Return annotations that follow the schema, or raise; predictions and votes are refused.

    Examples
    --------
    >>> import dissensus as dx
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> dx.schema.checked_annotations(pred)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations: expected labels of annotators...
    """
    return validate(no_predictions(data))


def no_predictions(data: Any) -> Any:
    """Return data (the node of a DataTree as a Dataset), or raise for predictions and votes.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1], "annotator": ["a"], "label": ["x"]})
    >>> dx.schema.no_predictions(ann) is ann
    True
    """
    data = _dataset(data)
    if isinstance(data, xr.Dataset) and data.attrs.get("kind") == "pair":
        raise AnnotationError(
            "annotations",
            expected="labels of annotators, a Dataset made by dissensus.annotations",
            found="votes on pairs",
            hint="models.bradley_terry takes them",
        )
    if isinstance(data, xr.Dataset) and SYSTEM in data.dims:
        raise AnnotationError(
            "annotations",
            expected="labels of annotators, a Dataset made by dissensus.annotations",
            found="predictions: a Dataset with the dim 'system'",
            hint="Annotations are the first argument, predictions the second",
        )
    return data


def checked_predictions(data: Any, *, sets: bool = False) -> xr.Dataset:
    """Return predictions that follow the schema, or raise; annotations and votes are refused.

    Predicted sets of labels are refused too, unless ``sets`` is true.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1], "annotator": ["a"], "label": ["x"]})
    >>> dx.schema.checked_predictions(ann)
    Traceback (most recent call last):
    ...
    dissensus.errors.PredictionError: predictions: expected predictions of systems...
    """
    data = _dataset(data)
    if not isinstance(data, xr.Dataset) or SYSTEM not in data.dims:
        of = f", with the dims {tuple(data.dims)}" if isinstance(data, xr.Dataset) else ""
        raise PredictionError(
            "predictions",
            expected="predictions of systems, a Dataset made by dissensus.predictions",
            found=f"{type(data).__name__}{of}",
        )
    if are_votes(data):
        raise PredictionError(
            "predictions", expected="one label, a list or a number from each system and item",
            found="votes or verdicts on pairs, from dissensus.pairs",
            hint="models.bradley_terry, evaluate and plan accept them together with votes",
        )  # fmt: skip
    if data.attrs.get("kind") == "set" and not sets:
        raise PredictionError(
            "predictions", expected="one label, a list or a number from each system and item",
            found='sets of labels (kind "set")', hint=OF_PREDICTED_SETS,
        )  # fmt: skip
    return validate(data)


def _dataset(data: Any) -> Any:
    """Return the Dataset of a DataTree node, such as ``evaluation["annotations"]``."""
    return data.to_dataset() if isinstance(data, xr.DataTree) else data
