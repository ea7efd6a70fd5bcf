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


def sorted_items(annotations: xr.Dataset) -> int:
    """Return the number of items with different labels if their labels seem to be sorted, else 0.

    Labels are sorted if equal labels of an item are side by side, in the order of annotators, and
    in addition one of two labels always comes before the other (of two numbers, the smaller), or
    more frequent labels come first. "Annotators" are then probably places in a table. Only items
    of three annotators and more count; 0 for rankings, sets and trials, and if no item has labels
    of all annotators.

    Examples
    --------
    >>> import dissensus as dx
    >>> labels = np.random.default_rng(1).integers(2, size=(60, 3))
    >>> [sorted_items(dx.from_matrix(table, kind="nominal"))
    ...  for table in (labels, np.sort(labels, axis=1))]
    [0, 45]
    """
    if {"rank", "member", "trial"} & set(annotations):
        return 0
    given = annotations["value" if "value" in annotations else "label_code"].to_numpy()
    item, annotator = (annotations[f"{dim}_code"].to_numpy() for dim in (ITEM, ANNOTATOR))
    each = np.bincount(item)
    if not _PLACES <= each.max(initial=0) == annotations.sizes[ANNOTATOR]:
        return 0
    order = np.lexsort((annotator, item))
    order = order[(each >= _PLACES)[item[order]]]
    item, (labels, label) = item[order], np.unique(given[order], return_inverse=True)
    first = np.flatnonzero(np.append(True, (np.diff(item) > 0) | (np.diff(label) != 0)))
    size = np.diff(np.append(first, len(item)))
    item, label = item[first].astype(np.int64), label[first]
    if len(np.unique(item * len(labels) + label)) < len(item):  # a label comes again, after others
        return 0
    turn = item[1:] == item[:-1]
    before, after = label[:-1][turn], label[1:][turn]
    fewer = size[1:][turn] - size[:-1][turn]
    pairs, times = np.unique(before * len(labels) + after, return_counts=True)
    opposite = pairs % len(labels) * len(labels) + pairs // len(labels)
    by_label = not np.isin(pairs, opposite).any() and (times - 1).sum() >= _SORTED
    rises = (after > before).sum()
    by_number = "value" in annotations and rises in (0, len(after)) and len(after) >= _SORTED
    by_size = (fewer <= 0).all() and (fewer < 0).sum() >= _SORTED
    return int((np.bincount(item) > 1).sum()) if by_label or by_number or by_size else 0


_PLACES = 3
_SORTED = 20
"""If annotators do not see each other's labels, a comparison shows the order by chance in half of
the cases or less. Two annotators may always show it, because one is stricter."""
