"""Counts that describe annotations and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.rows import ranking_code, statements_per, voices_per
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.errors import misspelt
from dissensus.kernels.types import Array, Ints

_QUARTILES = {"min": 0.0, "lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75, "max": 1.0}


def annotation_contents(annotations: xr.Dataset) -> dict[str, Any]:
    """Return counts of annotations, and the counts of labels or quartiles of numbers.

    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> found = annotation_contents(ann)
    >>> found["annotators_per_item"], found["labels"]
    ({'min': 2, 'median': 2.0, 'max': 2}, {'x': 1, 'y': 1})
    """
    # Repeated labels, and the rows of a ranking, are by one annotator.
    per_item = voices_per(annotations, ITEM)
    out: dict[str, Any] = {
        "kind": annotations.attrs["kind"],
        "kind_source": annotations.attrs["kind_source"],
        "rows": annotations.sizes[ANNOTATION],
        "items": annotations.sizes[ITEM],
        "annotators": annotations.sizes[ANNOTATOR],
        "annotators_per_item": _spread(per_item),
        "items_per_annotator": _spread(voices_per(annotations, ANNOTATOR)),
        "items_with_one_annotator": int((per_item == 1).sum()),
    }
    if "label_code" in annotations:
        names = annotations[LABEL].to_numpy()
        count = np.bincount(annotations["label_code"].to_numpy(), minlength=len(names))
        out["labels"] = dict(zip(names.tolist(), count.tolist(), strict=True))
    else:
        out["values"] = _quartiles(annotations["value"])
    if "rank" in annotations:
        out["rankings"] = int(statements_per(annotations, ITEM).sum())
        out["rankings_with_ties"] = _tied(annotations)
    if "confidence" in annotations:
        out["confidence"] = _quartiles(annotations["confidence"])
    return out


def prediction_contents(annotations: xr.Dataset, predictions: xr.Dataset) -> dict[str, Any]:
    """Return counts of predictions, and of items and labels that are not in the annotations."""
    annotated, predicted = (data[ITEM].to_numpy() for data in (annotations, predictions))
    out: dict[str, Any] = {
        "kind": predictions.attrs["kind"],
        "systems": predictions[SYSTEM].to_numpy().tolist(),
        "items": len(predicted),
        "items_without_predictions": _without(annotated, predicted),
        "items_without_annotations": _without(predicted, annotated),
    }
    out["items_in_common"] = len(annotated) - len(out["items_without_predictions"])
    sides = ["numbers" if data.attrs["kind"] == "continuous" else "labels"
             for data in (annotations, predictions)]  # fmt: skip
    unlike = "the annotations are {}, the predictions {}".format(*sides)
    out["unlike"] = unlike if len(set(sides)) > 1 else None
    if "label_code" in predictions:
        code = predictions["label_code"].to_numpy()
        out["labels_per_list"] = _spread((code >= 0).sum(axis=-1).ravel())
        out["labels_outside"] = _outside(annotations, predictions, code[code >= 0])
        known = annotations[LABEL].to_numpy().tolist() if LABEL in annotations.coords else []
        out["labels_misspelt"] = misspelt(list(out["labels_outside"]), known)
    else:
        out["values"] = _quartiles(predictions["value"])
    return out


def _without(names: Array, others: Array) -> list[Any]:
    found: list[Any] = names[tables.match(names, others) < 0].tolist()
    return found


def _outside(annotations: xr.Dataset, predictions: xr.Dataset, code: Ints) -> dict[Any, int]:
    """Count labels that annotators could not have given."""
    if LABEL not in annotations.coords:
        return {}
    names = predictions[LABEL].to_numpy()
    count = np.bincount(code, minlength=len(names))
    stray = (count > 0) & (tables.match(names, annotations[LABEL].to_numpy()) < 0)
    return dict(zip(names[stray].tolist(), count[stray].tolist(), strict=True))


def _quartiles(values: xr.DataArray) -> dict[str, float]:
    given = values.to_numpy()
    found = np.quantile(given[~np.isnan(given)], list(_QUARTILES.values()))
    return dict(zip(_QUARTILES, found.tolist(), strict=True))


def _spread(counts: Ints) -> dict[str, float]:
    return {"min": int(counts.min()), "median": float(np.median(counts)), "max": int(counts.max())}


def _tied(annotations: xr.Dataset) -> int:
    """Count rankings in which two labels share a rank."""
    ranking, rank = ranking_code(annotations), annotations["rank"].to_numpy()
    block, size = np.unique(ranking * (rank.max() + 1) + rank, return_counts=True)
    return len(np.unique(block[size > 1] // (rank.max() + 1)))
