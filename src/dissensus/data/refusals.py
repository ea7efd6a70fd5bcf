"""Errors if annotations and predictions cannot be evaluated together."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.alignment import (
    SOURCES,
    Sources,
    predicted_labels,
    unlike_items,
    unlike_labels,
)
from dissensus.dims import ELEMENT, ITEM, LABEL
from dissensus.errors import AnnotationError, PredictionError, shown

SIDES: Final = ("below", "above")
"""The labels of scores after they are cut at a threshold."""


def refusals(
    annotations: xr.Dataset,
    predictions: xr.Dataset | None,
    on_missing: str,
    *,
    scores: bool | None = None,
    sources: Sources = SOURCES,
) -> list[AnnotationError]:
    """Return the errors that make an evaluation refuse annotations and predictions.

    Parameters
    ----------
    annotations, predictions : xarray.Dataset
        Data that follow the schema.
    on_missing : {"raise", "drop"}
    scores : bool, optional
        Whether the annotations are scores, to be cut at a threshold. By default, whether their kind
        is "continuous".
    sources : Sources
        Names of annotations and predictions in messages.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": ["01", "02"], "annotator": list("ab"), "label": list("xy")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": [0.2, 0.7]})
    >>> [problem.hint[:38] for problem in refusals(ann, pred, "raise")]
    ['01 in the annotations is 1 in the pred', 'Give the label that each system chose,']
    """
    if scores is None:
        scores = annotations.attrs["kind"] == "continuous"
    problems = [_one_cluster(annotations)]
    if predictions is not None:
        items, predicted = (data[ITEM].to_numpy() for data in (annotations, predictions))
        problems += [
            unlike_items(items, predicted, on_missing, sources, kind=annotations.attrs["kind"]),
            unlike_kind(annotations.attrs["kind"], predictions, scores=scores),
        ]
        if not scores and "label_code" in predictions and LABEL in annotations.coords:
            problems.append(_unlike_labels(annotations, predictions))
    return [problem for problem in problems if problem is not None]


def require_fit(
    annotations: xr.Dataset, predictions: xr.Dataset | None, on_missing: str, **options: Any
) -> None:
    """Raise one error that joins all errors that `refusals` returns for the same arguments."""
    problems = refusals(annotations, predictions, on_missing, **options)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise type(problems[-1])(
            " and ".join(dict.fromkeys(problem.subject for problem in problems)),
            expected=", and ".join(problem.expected for problem in problems),
            found=", and ".join(problem.found for problem in problems),
            hint=". ".join(problem.hint for problem in problems if problem.hint),
        )


def unlike_kind(kind: str, predictions: xr.Dataset, *, scores: bool) -> PredictionError | None:
    """Return the error if the annotations are labels and the predictions numbers, or vice versa.

    ``kind`` is the kind of the annotations, ``scores`` whether they are scores.
    """
    numbers = "value" in predictions
    if scores and not numbers:
        names = predictions[LABEL].to_numpy()
        if names.dtype.kind in "if" or set(names.tolist()) & set(SIDES):
            return None
        return PredictionError(
            "predictions",
            expected=f"numbers, as the {kind} annotations have",
            found=f"labels such as {shown(names.tolist(), 3)}",
            hint="Give the number that each system predicts. If the numbers of the annotators are "
            'names of labels, read the annotations with kind="nominal"',
        )
    if scores or not numbers:
        return None
    value = predictions["value"].to_numpy()
    shares = bool(((value >= 0) & (value <= 1)).all())
    of = "probability" if shares else "score"
    return PredictionError(
        "predictions",
        expected=f"labels, as the {kind} annotations have",
        found=f"numbers such as {value.flat[0]:g}"
        + (", from 0 to 1, as probabilities are" if shares else ""),
        hint=f"Give the label that each system chose, or a row for each label with its {of}, and "
        f'name that column: score="COLUMN". If the numbers are names of labels, read them with '
        'kind="nominal"; if the annotations are scores, read them with kind="continuous"',
    )


def _unlike_labels(annotations: xr.Dataset, predictions: xr.Dataset) -> PredictionError | None:
    place = tables.match(annotations[ITEM].to_numpy(), predictions[ITEM].to_numpy())
    if (place >= 0).any():
        predictions = predictions.isel({ITEM: place[place >= 0]})
    predicted = predicted_labels(predictions)
    labels = annotations[ELEMENT if ELEMENT in annotations.coords else LABEL].to_numpy()
    return unlike_labels(predicted, labels)


def _one_cluster(annotations: xr.Dataset) -> AnnotationError | None:
    """Return the error if all items are in one cluster: one cluster is not a sample."""
    if "cluster_code" not in annotations or annotations.sizes[ITEM] < 2:
        return None
    if len(np.unique(annotations["cluster_code"].to_numpy())) > 1:
        return None
    return AnnotationError(
        "annotations",
        expected="at least two clusters, because clusters are the sample",
        found=f"one cluster for all {annotations.sizes[ITEM]:,} items",
        hint="If the items are the sample, read the annotations without cluster=",
    )
