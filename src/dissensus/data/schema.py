"""The written form of annotations and predictions, and the checks that hold them to it.

Annotations are an `xarray.Dataset`. Rows live along ``annotation`` and hold integer codes
into the index coordinates, which spell out the names:

==================  ============  ===================================================
variable            dims          meaning
==================  ============  ===================================================
``item_code``       annotation    place of the item in the coordinate ``item``
``annotator_code``  annotation    place of the annotator in ``annotator``
``label_code``      annotation    place of the label in ``label`` (not for numbers)
``value``           annotation    the number given (kind "continuous" only)
``rank``            annotation    1 for the first choice, ties share a rank ("ranking")
``confidence``      annotation    how sure the annotator was, in [0, 1] (optional)
``trial``           annotation    which repetition this is (optional)
``pool_code``       annotation    place of the annotator's group in ``pool`` (optional)
``cluster_code``    item          place of the item's cluster in ``cluster`` (optional)
``stratum_code``    item          place of the item's stratum in ``stratum`` (optional)
==================  ============  ===================================================

Attributes: ``kind`` ("nominal", "ordinal", "continuous", "ranking") and ``kind_source``,
which says whether the kind was given or why it was inferred.

Predictions are a Dataset as well, over ``item`` x ``system`` x ``position``:

==================  ========================  ============================================
variable            dims                      meaning
==================  ========================  ============================================
``label_code``      item, system, position    place in ``label``; -1 past the end of a list
``block``           item, system, position    1 for the first block; ties share a block
``score``           item, system, position    the score a list was ordered by (optional)
``value``           item, system              the number predicted (kind "continuous")
==================  ========================  ============================================

Attributes: ``kind`` ("nominal", "ranking", "continuous").

Both survive ``to_netcdf`` and `xarray.open_dataset`; `validate` re-checks either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data.rows import given_numbers as given_numbers
from dissensus.data.rows import label_counts as label_counts
from dissensus.data.rows import ranking_code as ranking_code
from dissensus.data.rows import ranks as ranks
from dissensus.data.rows import statements_per as statements_per
from dissensus.data.rows import voices_per as voices_per
from dissensus.dims import (
    ANNOTATION,
    ANNOTATOR,
    CLUSTER,
    ITEM,
    LABEL,
    POOL,
    POSITION,
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
    "require_two_annotators",
    "statements_per",
    "validate",
    "voices_per",
]

# The checks that hold annotations to the schema that `dissensus.schema` writes down.


KINDS: Final = ("nominal", "ordinal", "continuous", "ranking")

CODES: Final = {
    "item_code": (ANNOTATION, ITEM),
    "annotator_code": (ANNOTATION, ANNOTATOR),
    "label_code": (ANNOTATION, LABEL),
    "pool_code": (ANNOTATION, POOL),
    "cluster_code": (ITEM, CLUSTER),
    "stratum_code": (ITEM, STRATUM),
}
"""The dimension that each variable of codes lives on, and the coordinate it points into."""

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


# The checks that hold predictions to the schema that `dissensus.schema` writes down.


PREDICTION_KINDS: Final = ("nominal", "ranking", "continuous")


_WHOLE: Final = 0.01
"""How far from 1 an item's probabilities may add up, which are often rounded."""


def are_probabilities(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Say of each item (the first dimension) whether its scores are probabilities; NaN is none."""
    total = np.nansum(scores, axis=1)
    return np.asarray(~(scores < 0).any(axis=1) & (np.abs(total - 1.0) <= _WHOLE))


def check_predictions(predictions: xr.Dataset) -> None:
    """Raise unless the predictions keep to the schema.

    Parameters
    ----------
    predictions : xarray.Dataset
        As made by `dissensus.predictions`, or by hand.

    Raises
    ------
    PredictionError
        Naming the variable, the item and system, what was expected and what was found.

    Examples
    --------
    >>> import dissensus as dx
    >>> pred = dx.predictions({"item": [1, 1], "system": ["m", "n"], "label": ["x", "y"]})
    >>> dx.schema.check_predictions(pred)
    >>> dx.schema.check_predictions(pred.assign(block=0 * pred["block"]))
    Traceback (most recent call last):
    ...
    dissensus.errors.PredictionError: block, item 1, system 'm': expected a block for each label...
    """
    kind = predictions.attrs.get("kind")
    if not isinstance(kind, str) or kind not in PREDICTION_KINDS:
        raise PredictionError(
            "attrs['kind']", expected=f"one of {PREDICTION_KINDS}", found=repr(kind)
        )
    dims = (ITEM, SYSTEM) if kind == "continuous" else (ITEM, SYSTEM, POSITION)
    for name in ("value",) if kind == "continuous" else ("label_code", "block"):
        if name not in predictions or set(predictions[name].dims) != set(dims):
            found = f"dims {predictions[name].dims}" if name in predictions else "no such variable"
            raise PredictionError(name, expected=f"a variable with dims {dims}", found=found)
    for name in (ITEM, SYSTEM) if kind == "continuous" else (ITEM, SYSTEM, LABEL):
        _check_names(predictions, name)
    if predictions.sizes[ITEM] == 0 or predictions.sizes[SYSTEM] == 0:
        raise PredictionError(
            "predictions", expected="at least one item and one system",
            found=f"{predictions.sizes[ITEM]} items, {predictions.sizes[SYSTEM]} systems",
        )  # fmt: skip
    if kind == "continuous":
        values = predictions["value"].transpose(*dims).to_numpy()
        good = np.isfinite(values) if values.dtype.kind in "iuf" else np.zeros(values.shape, bool)
        _require(predictions, "value", good, "a finite number")
    else:
        _check_lists(predictions, dims)


def _check_names(predictions: xr.Dataset, name: str) -> None:
    names = predictions.indexes.get(name)
    if names is None or names.hasnans or names.has_duplicates:
        doubled = [] if names is None else list(names[names.duplicated()])
        raise PredictionError(
            f"coordinate {name!r}",
            expected="an index of distinct names, none missing",
            found=f"{shown(doubled)} more than once" if doubled else "none, or a missing name",
        )


def _check_lists(predictions: xr.Dataset, dims: tuple[str, ...]) -> None:
    code = predictions["label_code"].transpose(*dims).to_numpy()
    block = predictions["block"].transpose(*dims).to_numpy()
    for name, values in (("label_code", code), ("block", block)):
        if values.dtype.kind not in "iu":
            raise PredictionError(name, expected="whole numbers", found=str(values.dtype))
    listed, n_labels = code >= 0, predictions.sizes[LABEL]
    _require(predictions, "label_code", (code >= -1) & (code < n_labels),
             f"a code from 0 to {n_labels - 1}, or -1 past the end of a list")  # fmt: skip
    _require(predictions, "label_code", listed[..., 0], "at least one label in each list")
    _require(predictions, "block", (block > 0) == listed, "a block for each label, 0 past the end")
    step = np.diff(block, axis=-1, prepend=0)
    rising = (step == 0) | (step == 1) | ~listed
    rising[..., 1:] &= listed[..., :-1] | ~listed[..., 1:]  # no label after the end of a list
    rising[..., 0] &= block[..., 0] == 1
    _require(predictions, "block", rising, "blocks that count 1, 1, 2, ... along a list")
    ordered = np.sort(np.where(listed, code, -1 - np.arange(code.shape[-1])), axis=-1)
    again = (np.diff(ordered, axis=-1) == 0).any(axis=-1)
    _require(predictions, "label_code", ~again, "each label once in a list")
    if predictions.attrs["kind"] == "nominal":
        _require(predictions, "label_code", listed.sum(axis=-1) == 1, "one label in each list")


def _require(
    predictions: xr.Dataset, name: str, good: npt.NDArray[np.bool_], expected: str
) -> None:
    """Raise naming the first item and system for which something does not hold."""
    if good.all():
        return
    item, system = (int(place) for place in np.argwhere(~good)[0][:2])
    raise PredictionError(
        name,
        where=f"item {shown([predictions[ITEM].to_numpy()[item]])}, "
        f"system {shown([predictions[SYSTEM].to_numpy()[system]])}",
        expected=expected,
        found=str(predictions[name].transpose(ITEM, SYSTEM, ...).to_numpy()[item, system]),
    )


_CHECKED: ContextVar[WeakValueDictionary[int, xr.Dataset] | None] = ContextVar(
    "checked", default=None
)


@contextmanager
def checked_once() -> Iterator[None]:
    """Check each Dataset once inside this context, whose Datasets must not be changed."""
    token = _CHECKED.set(WeakValueDictionary())
    try:
        yield
    finally:
        _CHECKED.reset(token)


def validate(data: xr.Dataset) -> xr.Dataset:
    """Check that a Dataset of annotations (or of predictions) keeps to the schema.

    Parameters
    ----------
    data : xarray.Dataset
        As made by `annotations` or `predictions`, or by hand.

    Returns
    -------
    xarray.Dataset
        The same object, so that calls can be chained.

    Raises
    ------
    AnnotationError
        Naming the variable, the row or item, what was expected and what was found.

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
    known = _CHECKED.get()
    if known is not None and known.get(id(data)) is data:
        return data
    if SYSTEM in data.dims:
        check_predictions(data)
    else:
        check_annotations(data, {})
    if known is not None:
        known[id(data)] = data
    return data


def checked_annotations(data: Any) -> xr.Dataset:
    """Return annotations that keep to the schema, or raise; predictions are none.

    Examples
    --------
    >>> import dissensus as dx
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> dx.schema.checked_annotations(pred)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations: expected what annotators said...
    """
    return validate(no_predictions(data))


def no_predictions(data: Any) -> Any:
    """Return data as it is, taken out of its node, or raise if they are predictions.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1], "annotator": ["a"], "label": ["x"]})
    >>> dx.schema.no_predictions(ann) is ann
    True
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> dx.schema.no_predictions(pred)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations: expected what annotators said...
    """
    data = _dataset(data)
    if isinstance(data, xr.Dataset) and SYSTEM in data.dims:
        raise AnnotationError(
            "annotations",
            expected="what annotators said, a Dataset made by dissensus.annotations",
            found="predictions: a Dataset with the dim 'system'",
            hint="Annotations come first, then predictions",
        )
    return data


def checked_predictions(data: Any) -> xr.Dataset:
    """Return predictions that keep to the schema, or raise; annotations are none.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1], "annotator": ["a"], "label": ["x"]})
    >>> dx.schema.checked_predictions(ann)
    Traceback (most recent call last):
    ...
    dissensus.errors.PredictionError: predictions: expected what systems said...
    """
    data = _dataset(data)
    if not isinstance(data, xr.Dataset) or SYSTEM not in data.dims:
        of = f", with the dims {tuple(data.dims)}" if isinstance(data, xr.Dataset) else ""
        raise PredictionError(
            "predictions",
            expected="what systems said, a Dataset made by dissensus.predictions",
            found=f"{type(data).__name__}{of}",
        )
    return validate(data)


def _dataset(data: Any) -> Any:
    """Take the Dataset out of a node, such as ``evaluation["annotations"]``."""
    return data.to_dataset() if isinstance(data, xr.DataTree) else data


def require_two_annotators(annotations: xr.Dataset, *, every_item: bool = True) -> None:
    """Raise unless two annotators spoke about each item (or about one at least).

    Parameters
    ----------
    annotations : xarray.Dataset
        Annotations.
    every_item : bool
        Every item needs two annotators; else it is enough that some item has them.

    Raises
    ------
    AnnotationError
        Naming the items, or the only annotator.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    >>> dx.schema.require_two_annotators(ann, every_item=False)
    >>> dx.schema.require_two_annotators(ann)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations, item 2: expected two annotators or more ...
    """
    people = np.flatnonzero(voices_per(annotations, ANNOTATOR))
    if len(people) < 2:
        raise AnnotationError(
            "annotations",
            expected="two annotators or more, to see how far they agree",
            found=f"only {shown(list(annotations[ANNOTATOR].to_numpy()[people])) or 'none'}",
        )
    few = voices_per(annotations, ITEM) < 2
    if few.all() or (every_item and few.any()):
        names = annotations[ITEM].to_numpy()[few]
        raise AnnotationError(
            "annotations",
            where=f"item{'s' if len(names) > 1 else ''} {shown(list(names))}",
            expected="two annotators or more "
            + ("for every item" if every_item else "for one item at least"),
            found=f"{len(names)} of {annotations.sizes[ITEM]} items with fewer",
            hint="Leave those items out" if not few.all() else "",
        )
