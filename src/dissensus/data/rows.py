"""Counts, rankings and numbers computed from the rows of annotations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL
from dissensus.errors import AnnotationError
from dissensus.kernels.types import Floats, Ints


def ranking_code(annotations: xr.Dataset) -> Ints:
    """Return the number of the ranking to which each row belongs (annotation).

    The rows with the same item, annotator and (if given) trial are one ranking.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({1: {"ann": [["a"], ["b", "c"]], "bob": [["b"]]}}, labels="abcd")
    >>> dx.schema.ranking_code(ann)
    array([0, 0, 0, 1])
    """
    key = annotations["item_code"].to_numpy().astype(np.int64) * annotations.sizes[ANNOTATOR]
    key = key + annotations["annotator_code"].to_numpy()
    if "trial" in annotations:
        trial, levels = pd.factorize(annotations["trial"].to_numpy())
        key = key * len(levels) + trial
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


def ranks(annotations: xr.Dataset) -> Ints:
    """Return the rank of each row's label (annotation); 1 if the annotations are not rankings.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({1: {"ann": [["a"], ["b", "c"]], "bob": [["b"]]}}, labels="abcd")
    >>> dx.schema.ranks(ann)
    array([1, 2, 2, 1])
    """
    if "rank" in annotations:
        return np.asarray(annotations["rank"].to_numpy(), dtype=np.int64)
    return np.ones(annotations.sizes[ANNOTATION], dtype=np.int64)


def statements_per(annotations: xr.Dataset, dim: str) -> Ints:
    """Return the number of statements of each item or annotator.

    A statement is one label, or one ranking, by one annotator.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({1: {"ann": [["a"], ["b", "c"]], "bob": [["b"]]}}, labels="abcd")
    >>> dx.schema.statements_per(ann, "item"), dx.schema.statements_per(ann, "annotator")
    (array([2]), array([1, 1]))
    """
    ranking = ranking_code(annotations)
    owner = np.zeros(int(ranking.max(initial=-1)) + 1, dtype=np.int64)
    owner[ranking] = annotations[f"{dim}_code"].to_numpy()
    return np.bincount(owner, minlength=annotations.sizes[dim])


def voices_per(annotations: xr.Dataset, dim: str) -> Ints:
    """Return how many annotators each item has, or how many items each annotator has.

    An annotator with several labels of an item counts once.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations(
    ...     {"item": [1, 1, 1], "annotator": list("aab"), "label": list("xyx"), "time": [1, 2, 1]},
    ...     trial="time")
    >>> dx.schema.voices_per(ann, "item"), dx.schema.statements_per(ann, "item")
    (array([2]), array([3]))
    """
    item, annotator = (
        annotations[f"{name}_code"].to_numpy().astype(np.int64) for name in (ITEM, ANNOTATOR)
    )
    pair = np.unique(item * annotations.sizes[ANNOTATOR] + annotator)
    place = dict(zip((ITEM, ANNOTATOR), np.divmod(pair, annotations.sizes[ANNOTATOR]), strict=True))
    return np.bincount(place[dim], minlength=annotations.sizes[dim])


def label_counts(annotations: xr.Dataset) -> Ints:
    """Return how often each item was given each label: (item, label).

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    >>> dx.schema.label_counts(ann)
    array([[1, 1],
           [1, 0]])
    """
    shape = (annotations.sizes[ITEM], annotations.sizes[LABEL])
    cell = annotations["item_code"].to_numpy() * shape[1] + annotations["label_code"].to_numpy()
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)


def given_numbers(annotations: xr.Dataset) -> Floats:
    """Return the number that each row gives (annotation): its value, or its numeric label.

    Examples
    --------
    >>> import dissensus as dx
    >>> table = {"item": [1, 1, 2], "annotator": ["a", "b", "a"], "label": [1, 3, 2]}
    >>> dx.schema.given_numbers(dx.annotations(table, kind="ordinal"))
    array([1., 3., 2.])
    """
    if "value" in annotations:
        return annotations["value"].to_numpy()
    labels = annotations[LABEL].to_numpy()
    if labels.dtype.kind not in "if":
        raise AnnotationError(
            "label",
            expected="numbers, which have distances",
            found=f"text such as {str(labels[0])!r}",
            hint="If words stand for numbers, replace the words before reading the labels",
        )
    return labels.astype(np.float64)[annotations["label_code"].to_numpy()]
