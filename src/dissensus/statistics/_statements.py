"""What annotators said, as the statistics read it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data.rows import given_numbers
from dissensus.data.schema import check_annotations, check_form, no_predictions
from dissensus.dims import ITEM, LABEL
from dissensus.errors import AnnotationError, shown
from dissensus.kernels.grouped import Grouped, grouped
from dissensus.kernels.types import Floats, Ints


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
