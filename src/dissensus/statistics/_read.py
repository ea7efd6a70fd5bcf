"""What statistics read: annotations, lists of systems, and settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.alignment import Systems
from dissensus.data.predictions import warn_of_outside
from dissensus.data.rows import given_numbers
from dissensus.data.schema import check_annotations, check_form, no_predictions
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import AnnotationError, ArgumentError, PredictionError, brief, shown
from dissensus.kernels.distances import Lists, lists_of
from dissensus.kernels.grouped import Grouped, grouped
from dissensus.kernels.types import Floats, Ints

# Settings of statistics that are no names: flags, numbers, and names found in the data.


LARGEST: Final = 2**63 - 1
"""No file holds a larger whole number."""


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number; true, false and lengths of time are none.

    Examples
    --------
    >>> is_whole(3), is_whole(np.int8(3)), is_whole(True), is_whole(3.0)
    (True, True, False, False)
    """
    fits = isinstance(value, int | np.integer)
    return fits and not isinstance(value, bool | np.timedelta64)


def real(value: Any) -> float:
    """Return a number, NaN for what is none, and an infinity for what no float can hold.

    Examples
    --------
    >>> real(1), real(0.5), real("0.5"), real(True), real(10**400)
    (1.0, 0.5, nan, nan, inf)
    """
    if not is_whole(value) and not isinstance(value, float | np.floating):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number, or raise."""
    if not is_whole(value) or not least <= int(value) <= LARGEST:
        raise ArgumentError(name, expected=f"a whole number, {least} or more", found=brief(value))
    return int(value)


def proportion(name: str, value: Any) -> float:
    """Return a number from 0 to below 1, or raise."""
    number = real(value)
    if not 0 <= number < 1:
        raise ArgumentError(name, expected="a number from 0 to below 1", found=brief(value))
    return number


def names_in(name: str, values: Any, expected: str) -> npt.NDArray[Any]:
    """Return names given in a sequence, to look up with `dissensus.data.tables.match`, or raise.

    Of text and numbers together, numbers are spelled out: an array holds one kind of thing.

    Examples
    --------
    >>> names_in("pools", ("crowd", 2), "two names").tolist()
    ['crowd', '2']
    """
    row = np.iterable(values) and getattr(values, "ndim", 1) == 1
    if not row or isinstance(values, str | bytes | set | frozenset | Mapping):
        raise ArgumentError(name, expected=expected, found=brief(values))
    given = [_plain(value) for value in values]
    if not all(_is_name(value) for value in given):
        raise ArgumentError(name, expected=expected, found=brief(values))
    if any(isinstance(value, str) for value in given):
        return np.array([str(value) for value in given], dtype=object)
    return np.asarray(given)


def code_of(label: Any, labels: npt.NDArray[Any]) -> int:
    """Return the place of a label among the labels, -1 if it is none of them.

    True and False are 1 and 0, as where annotations are read.

    Examples
    --------
    >>> code_of(True, np.array([0, 1])), code_of([], np.array([0, 1]))
    (1, -1)
    """
    label = _plain(label)
    if not _is_name(label):
        return -1
    label = int(label) if isinstance(label, bool) else label
    return int(tables.match(np.array([label]), labels)[0])


def spelled(values: Any) -> list[str]:
    """Return names as text: attributes of a file are lists of one kind of thing."""
    return [str(value) for value in values]


def plain_label(label: Any) -> Any:
    """Return a label as text or a number, not as NumPy holds it."""
    return getattr(label, "item", lambda: label)()


def _plain(value: Any) -> Any:
    """Take a value out of an array of no dims, and NumPy's numbers and text for Python's."""
    if isinstance(value, np.generic | np.ndarray | xr.DataArray) and not value.ndim:
        return value.item()
    return value


def _is_name(value: Any) -> bool:
    """Whether annotators, pools and labels can be called so."""
    if isinstance(value, str):  # half of a surrogate pair is refused where data are read
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return isinstance(value, Real | Decimal)


# What annotators said, as the statistics read it.


def read(annotations: Any, *, rankings: bool = False) -> xr.Dataset:
    """Return annotations of which a statistic can be taken.

    Parameters
    ----------
    annotations : Dataset
        Annotations.
    rankings : bool
        Whether the statistic knows what to do with rankings.

    Raises
    ------
    AnnotationError
        If they do not keep to the schema, or are rankings and should not be.
    """
    annotations = no_predictions(annotations)
    if not isinstance(annotations, xr.Dataset):
        raise AnnotationError(
            "annotations",
            expected="an xarray.Dataset made by dissensus.annotations",
            found=type(annotations).__name__,
        )
    check_form(annotations, {})
    if annotations.attrs["kind"] == "ranking" and not rankings:
        raise AnnotationError(
            "annotations",
            expected="one label or number from each annotator and item",
            found='rankings (kind "ranking")',
            hint='For rankings: discrepancy_ratio(..., distance="ranking"), or kind="nominal" '
            "with each annotator's first choice",
        )
    return annotations


def rows_of(annotations: xr.Dataset) -> Grouped:
    """Group rows by item and annotator; nobody may say two things of an item without a trial."""
    rows = grouped(
        annotations["item_code"].to_numpy(),
        annotations["annotator_code"].to_numpy(),
        annotations.sizes[ITEM],
    )
    if int(rows.voices.sum()) < len(rows.order):
        check_annotations(annotations, {})  # is right about repetitions, but has to sort all rows
    return rows


def labels_of(annotations: xr.Dataset) -> tuple[Ints, npt.NDArray[Any]]:
    """Return label codes (row) and what they stand for; numbers count as labels of their own."""
    if "value" not in annotations:
        return annotations["label_code"].to_numpy(), annotations[LABEL].to_numpy()
    codes, values = pd.factorize(annotations["value"].to_numpy(), sort=True)
    return codes.astype(np.int64), np.asarray(values)


def ordered_labels_of(annotations: xr.Dataset) -> tuple[Ints, npt.NDArray[Any]]:
    """Do the same for labels in an order, or raise if none is known."""
    if annotations.attrs["kind"] == "nominal":
        labels = annotations[LABEL].to_numpy()
        raise AnnotationError(
            "annotations",
            expected="labels in an order",
            found=f'kind "nominal", with labels such as {shown([labels[0]])}',
            hint='Read them with kind="ordinal", and text with labels=[...] in order',
        )
    return labels_of(annotations)


def numbers_of(annotations: xr.Dataset) -> Floats:
    """Return the numbers given (row), or raise if labels are names."""
    if annotations.attrs["kind"] == "nominal":
        labels = annotations[LABEL].to_numpy()
        raise AnnotationError(
            "annotations",
            expected="numbers: names have no distances",
            found=f'kind "nominal", with labels such as {shown([labels[0]])}',
            hint='Take a nominal distance, or read whole numbers with kind="ordinal"',
        )
    _check_exact(annotations)
    return given_numbers(annotations)


def _check_exact(annotations: xr.Dataset) -> None:
    """Raise if labels are whole numbers that become others, maybe equal ones, as floats."""
    labels = annotations[LABEL].to_numpy() if LABEL in annotations.coords else np.empty(0)
    if labels.dtype.kind != "i":
        return
    other = [label for label in labels.tolist() if float(label) != label]
    if other:
        raise AnnotationError(
            "annotations",
            expected=f"whole numbers that distances can be taken of: all up to {2**53:,}",
            found=f"{shown(other)}, which as floating-point numbers are others",
            hint="Take the same number off all of them: distances stay what they are",
        )


# The lists of labels that systems gave, in the codes of the annotations.


class SystemLists(NamedTuple):
    """What systems listed; a single label is a list of one."""

    labels: npt.NDArray[Any]
    """Those of the annotations, and after them those that only systems use."""
    code: Ints
    """(item, system, position): -1 past the end of a list, and for items without one."""
    block: Ints
    """(item, system, position): small comes first, equal is tied."""

    def of(self, system: int) -> Lists:
        """Return one system's lists, one for each item."""
        code, block = self.code[:, system], self.block[:, system]
        item, position = np.nonzero(code >= 0)
        return lists_of(item, code[item, position], block[item, position], len(code))


def lists_by_systems(found: Systems, labels: npt.NDArray[Any]) -> SystemLists:
    """Return the labels that each system listed for each item.

    Raises
    ------
    PredictionError
        If the predictions are numbers, or no predicted label is known.

    Warns
    -----
    DissensusWarning
        If some predicted labels are outside the label space.
    """
    predictions = found.predictions
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
    used = np.unique(code[code >= 0])
    stray = used[place[used] < 0]
    if len(stray) == len(used):
        raise PredictionError(
            "predictions",
            expected=f"labels such as {shown(list(labels), 3)}",
            found=f"no label in common, but {shown(list(vocabulary[stray]), 3)}",
        )
    if len(stray):
        warn_of_outside(", which no annotator names", list(vocabulary[stray]), list(labels))
    place[stray] = len(labels) + np.arange(len(stray))
    shape = (len(found.present), *code.shape[1:])
    out = SystemLists(
        np.concatenate([labels.astype(object), vocabulary[stray].astype(object)]),
        np.full(shape, -1, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
    )
    out.code[found.present] = np.where(code < 0, -1, place[code])
    out.block[found.present] = block
    return out
