"""Annotations, predicted lists and settings, read from the arguments of statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.arguments import LARGEST, is_whole
from dissensus.data import tables
from dissensus.data.alignment import Systems, check_labels
from dissensus.data.rows import given_numbers
from dissensus.data.schema import check_annotations, check_form, is_checked, no_predictions
from dissensus.data.sets import OF_SETS
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import AnnotationError, ArgumentError, PredictionError, brief, shown
from dissensus.kernels.distances import Lists, lists_of
from dissensus.kernels.grouped import Grouped, grouped
from dissensus.kernels.types import Floats, Ints, Names

# Settings: numbers, and names that occur in the data.


def real(value: Any) -> float:
    """Return a float: NaN if ``value`` is not a Python or NumPy number, infinity if it overflows.

    Stricter than `dissensus.arguments.real`, which takes everything that ``float`` converts.
    """
    if not is_whole(value) and not isinstance(value, float | np.floating):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(name: str, value: Any, minimum: int) -> int:
    """Return a whole number, or raise."""
    if not is_whole(value) or not minimum <= int(value) <= LARGEST:
        raise ArgumentError(name, expected=f"a whole number, {minimum} or more", found=brief(value))
    return int(value)


def proportion(name: str, value: Any) -> float:
    """Return a number from 0 to below 1, or raise."""
    number = real(value)
    if not 0 <= number < 1:
        raise ArgumentError(name, expected="a number from 0 to below 1", found=brief(value))
    return number


def names_in(name: str, values: Any, expected: str) -> Names:
    """Return the names in a sequence, for `dissensus.data.tables.match`, or raise.

    Numbers become text if the sequence also has text, since an array has one type.

    Examples
    --------
    >>> names_in("pools", ("crowd", 2), "two names").tolist()
    ['crowd', '2']
    """
    row = np.iterable(values) and getattr(values, "ndim", 1) == 1
    listed = row and not isinstance(values, str | bytes | set | frozenset | Mapping)
    names = [_plain(value) for value in values] if listed else []
    if not listed or not all(map(_is_name, names)):
        raise ArgumentError(name, expected=expected, found=brief(values))
    if any(isinstance(value, str) for value in names):
        return np.array([str(value) for value in names], dtype=object)
    return np.asarray(names)


def places_in(name: str, values: Any, known: Names, expected: str, n: int | None = None) -> Ints:
    """Return the places of distinct names (``n``, if given) among known names, or raise."""
    names = names_in(name, values, expected)
    if (n is not None and len(names) != n) or not len(names):
        raise ArgumentError(name, expected=expected, found=f"{len(names)} names")
    place = tables.match(names, known)
    if (place < 0).any():
        raise ArgumentError(name, expected=expected, found=shown(list(names[place < 0])))
    if len(np.unique(place)) < len(place):
        raise ArgumentError(name, expected=f"{expected}, each once", found=shown(list(names)))
    return place


def positive_code(positive: Any, labels: Names) -> int:
    """Return the code of the positive label, or raise if it is not one of the labels."""
    code = -1 if positive is None else code_of(positive, labels)
    if code < 0:
        raise ArgumentError(
            "positive", expected=f"one of the labels {shown(list(labels))}", found=brief(positive)
        )
    return code


def code_of(label: Any, labels: Names) -> int:
    """Return the code of a label, -1 if unknown. True and False become 1 and 0, as in data."""
    label = _plain(label)
    if not _is_name(label):
        return -1
    label = int(label) if isinstance(label, bool) else label
    return int(tables.match(np.array([label]), labels)[0])


def spelled(values: Any) -> list[str]:
    """Return names as text, since lists in attributes of a file have one type."""
    return [str(value) for value in values]


def plain_label(label: Any) -> Any:
    """Return a label as Python's text or number."""
    return getattr(label, "item", lambda: label)()


def plain_labels(labels: Names) -> list[Any]:
    """Return labels as Python's text or numbers."""
    return [plain_label(label) for label in labels]


def _plain(value: Any) -> Any:
    scalar = isinstance(value, np.generic | np.ndarray | xr.DataArray) and not value.ndim
    return value.item() if scalar else value


def _is_name(value: Any) -> bool:
    if isinstance(value, str):  # data cannot contain text with lone surrogates
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return isinstance(value, Real | Decimal)


# Annotations.


def read(
    annotations: Any, *, rankings: bool = False, continuous: bool = True, sets: bool = False
) -> xr.Dataset:
    """Return checked annotations, or raise for a kind that a statistic does not take."""
    annotations = no_predictions(annotations)
    if not isinstance(annotations, xr.Dataset):
        raise AnnotationError(
            "annotations",
            expected="an xarray.Dataset made by dissensus.annotations",
            found=type(annotations).__name__,
        )
    if not is_checked(annotations):
        check_form(annotations, {})
    kind = annotations.attrs["kind"]
    if kind == "ranking" and not rankings:
        raise AnnotationError(
            "annotations",
            expected="one label or number from each annotator and item",
            found='rankings (kind "ranking")',
            hint='For rankings: discrepancy_ratio(..., distance="ranking"), or kind="nominal" '
            "with each annotator's first choice",
        )
    if kind == "set" and not sets:
        raise AnnotationError(
            "annotations", expected="one label or number from each annotator and item",
            found='sets of labels (kind "set")',
            hint=OF_SETS,
        )  # fmt: skip
    if not continuous:
        refuse_kind(
            annotations, "continuous", "labels that can coincide",
            'Read ratings with kind="ordinal"; for measurements use discrepancy_ratio',
        )  # fmt: skip
    return annotations


def refuse_kind(annotations: xr.Dataset, kind: str, expected: str, hint: str) -> None:
    """Raise for annotations of the kind "nominal" or "continuous"."""
    if annotations.attrs["kind"] == kind:
        content = "numbers on a continuous scale"
        if kind == "nominal":
            content = f"labels such as {shown([annotations[LABEL].to_numpy()[0]])}"
        description = f'{content} (kind "{kind}")'
        raise AnnotationError("annotations", expected=expected, found=description, hint=hint)


def rows_of(annotations: xr.Dataset) -> Grouped:
    """Group rows by item and annotator, or raise for repeated labels without ``trial=``."""
    rows = grouped(
        annotations["item_code"].to_numpy(),
        annotations["annotator_code"].to_numpy(),
        annotations.sizes[ITEM],
    )
    if int(rows.n_annotators.sum()) < len(rows.order):
        check_annotations(annotations, {})  # raises unless there are trials; slow, as it sorts rows
    return rows


def of_two(annotations: xr.Dataset, annotators: Any = None) -> tuple[xr.Dataset, list[str]]:
    """Return the annotations and names of ``annotators``; if None, there must be only two."""
    known = annotations[ANNOTATOR].to_numpy()
    if annotators is None:
        two = _only_two(annotations)
    else:
        expected = f"two names, such as {shown(list(known), 3)}"
        two = places_in("annotators", annotators, known, expected, 2)
    of_both = np.isin(annotations["annotator_code"].to_numpy(), two)
    if not of_both.all():
        rows_of(annotations)  # raises for repeated rows, with the row numbers of the caller
        annotations = annotations.isel({ANNOTATION: of_both})
    return annotations, spelled(known[two])


def _only_two(annotations: xr.Dataset) -> Ints:
    """Return the codes of the only two annotators, or raise if there are fewer or more."""
    codes = np.unique(annotations["annotator_code"].to_numpy())
    names = list(annotations[ANNOTATOR].to_numpy()[codes])
    if len(codes) < 2:
        raise AnnotationError(
            "annotations", expected="two annotators", found=f"only {shown(names) or 'none'}"
        )
    if len(codes) > 2:
        raise ArgumentError(
            "annotators",
            expected="the names of two annotators",
            found=f"None, with {len(codes):,} annotators ({shown(names, 3)})",
            hint="For all annotators: krippendorff_alpha, fleiss_kappa or iota",
        )
    return codes


def codes_in(annotations: xr.Dataset, *dims: str) -> tuple[Ints, ...]:
    """Return the codes of each row along some dims."""
    return tuple(annotations[f"{dim}_code"].to_numpy().astype(np.int64) for dim in dims)


def labels_of(annotations: xr.Dataset) -> tuple[Ints, Names]:
    """Return label codes (row) and the labels; each distinct number is a label."""
    if "value" not in annotations:
        return annotations["label_code"].to_numpy(), annotations[LABEL].to_numpy()
    codes, values = pd.factorize(annotations["value"].to_numpy(), sort=True)
    return codes.astype(np.int64), np.asarray(values)


def ordered_labels_of(annotations: xr.Dataset) -> tuple[Ints, Names]:
    """Return label codes (row) and the ordered labels, or raise if there is no order."""
    hint = 'Read them with kind="ordinal", and text with labels=[...] in order'
    refuse_kind(annotations, "nominal", "labels in an order", hint)
    return labels_of(annotations)


def numbers_of(annotations: xr.Dataset) -> Floats:
    """Return the labels (row) as numbers, or raise if labels are names."""
    hint = 'Use a nominal distance, or read whole numbers with kind="ordinal"'
    refuse_kind(annotations, "nominal", "numbers, which have distances", hint)
    labels = annotations[LABEL].to_numpy() if LABEL in annotations.coords else np.empty(0)
    inexact = [
        label for label in labels.tolist() if labels.dtype.kind == "i" and float(label) != label
    ]
    if inexact:
        raise AnnotationError(
            "annotations",
            expected=f"whole numbers up to {2**53:,}, for exact distances",
            found=f"{shown(inexact)}, which floating-point numbers cannot represent",
            hint="Subtract the same number from all numbers: distances do not change",
        )
    return given_numbers(annotations)


# The lists of labels that systems predict, in the codes of the annotations.


class SystemLists(NamedTuple):
    """Predicted lists of labels; a single label is a list of length 1."""

    labels: Names
    """The labels of the annotations, followed by labels that only systems use."""
    code: Ints
    """(item, system, position): -1 after the end of a list, and for items without a list."""
    block: Ints
    """(item, system, position): block of the label, best first; labels of a block are tied."""

    def of(self, system: int) -> Lists:
        """Return one system's lists, one for each item."""
        code, block = self.code[:, system], self.block[:, system]
        item, position = np.nonzero(code >= 0)
        return lists_of(item, code[item, position], block[item, position], len(code))


def lists_by_systems(systems: Systems, labels: Names) -> SystemLists:
    """Return the labels that each system lists for each item.

    Raise if the predictions are numbers, or have no label in common with the annotations.
    """
    predictions = systems.predictions
    if "label_code" not in predictions:
        raise PredictionError(
            "predictions",
            expected="labels from each system and item",
            found='numbers (kind "continuous")',
            hint='For numbers, distance="squared"',
        )
    vocabulary = predictions[LABEL].to_numpy()
    place = tables.match(vocabulary, labels)
    code, block = (
        predictions[name].transpose(ITEM, SYSTEM, POSITION).to_numpy()
        for name in ("label_code", "block")
    )
    stray = check_labels(predictions, labels, ", which no annotator names")
    place[stray] = len(labels) + np.arange(len(stray))
    shape = (len(systems.present), *code.shape[1:])
    out = SystemLists(
        np.concatenate([labels.astype(object), vocabulary[stray].astype(object)]),
        np.full(shape, -1, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
    )
    out.code[systems.present] = np.where(code < 0, -1, place[code])
    out.block[systems.present] = block
    return out
