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
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import ANNOTATION, ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import AnnotationError, shown

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


def validate(annotations: xr.Dataset) -> xr.Dataset:
    """Check that a Dataset of annotations keeps to the schema.

    Parameters
    ----------
    annotations : xarray.Dataset
        As made by `annotations`, or by hand.

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
    if not isinstance(annotations, xr.Dataset):
        raise AnnotationError(
            "annotations",
            expected="an xarray.Dataset made by dissensus.annotations",
            found=type(annotations).__name__,
        )
    kind = annotations.attrs.get("kind")
    if kind not in KINDS:
        raise AnnotationError("attrs['kind']", expected=f"one of {KINDS}", found=repr(kind))
    _check_variables(annotations)
    for name, (dim, vocabulary) in CODES.items():
        if name in annotations:
            _check_codes(annotations, name, dim, vocabulary)
    for check in _CHECKS:
        check(annotations)
    return annotations


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


def _check_codes(annotations: xr.Dataset, name: str, dim: str, vocabulary: str) -> None:
    if vocabulary not in annotations.coords or annotations[name].dims != (dim,):
        raise AnnotationError(
            name, expected=f"codes along {dim!r} into the coordinate {vocabulary!r}",
            found=f"dims {annotations[name].dims} and coordinates {list(annotations.coords)}",
        )  # fmt: skip
    names = annotations.indexes[vocabulary]
    if names.has_duplicates:
        doubled = names[names.duplicated()]
        raise AnnotationError(
            f"coordinate {vocabulary!r}", expected="distinct names", found=shown(list(doubled))
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


def _check_said_once(annotations: xr.Dataset) -> None:
    """One annotator says one thing about one item (per trial, per label in a ranking)."""
    ranking = annotations.attrs["kind"] == "ranking"
    key = ["item_code", "annotator_code"] + (["label_code"] if ranking else [])
    key += ["trial"] if "trial" in annotations else []
    table = pd.DataFrame({name: annotations[name].to_numpy() for name in key})
    again = np.flatnonzero(table.duplicated(keep="first").to_numpy())
    if not len(again):
        return
    row = int(again[0])
    first = int(np.flatnonzero((table == table.iloc[row]).all(axis=1).to_numpy())[0])
    what = "the same label twice" if ranking else "a second label"
    raise AnnotationError(
        "annotations",
        where=f"rows {first} and {row} ({_who(annotations, row)})",
        expected="one label for each item and annotator"
        if not ranking
        else "each label once in a ranking",
        found=f"{what} ({len(again)} such rows)",
        hint="If these are repetitions, name the column that numbers them with trial=",
    )


def _check_values(annotations: xr.Dataset) -> None:
    for name, low, high in (("value", -np.inf, np.inf), ("confidence", 0.0, 1.0)):
        if name not in annotations:
            continue
        values = annotations[name].to_numpy()
        bad = np.flatnonzero(~np.isfinite(values) | (values < low) | (values > high))
        if len(bad):
            row = int(bad[0])
            raise AnnotationError(
                name,
                where=f"row {row} ({_who(annotations, row)})",
                expected="a finite number" if name == "value" else "a number from 0 to 1",
                found=str(values[row]),
                hint=""
                if name == "value"
                else "Map other scales of confidence to [0, 1] first, and say how",
            )


def _check_ranks(annotations: xr.Dataset) -> None:
    """Ranks of one ranking are 1, 2, ..., L without a gap; ties share a rank."""
    if annotations.attrs["kind"] != "ranking":
        return
    ranks = annotations["rank"].to_numpy()
    bad = np.flatnonzero(ranks < 1)
    if len(bad):
        row = int(bad[0])
        raise AnnotationError(
            "rank",
            where=f"row {row} ({_who(annotations, row)})",
            expected="1 for the first choice, 2 for the next, ...",
            found=str(ranks[row]),
        )
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
            "rank",
            where=f"row {row} ({_who(annotations, row)})",
            expected=f"rank {before + 1} before rank {ranks[row]}: ranks count blocks, "
            "so after a tie comes the next whole number (1, 1, 2)",
            found=f"a step from {before} to {ranks[row]}",
        )


def ranking_code(annotations: xr.Dataset) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Number the rankings: one for each item, annotator and (where given) trial, from 0."""
    key = annotations["item_code"].to_numpy() * annotations.sizes[ANNOTATOR]
    key = key + annotations["annotator_code"].to_numpy()
    if "trial" in annotations:
        trial, levels = pd.factorize(annotations["trial"].to_numpy())
        key = key * len(levels) + trial
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


def _who(annotations: xr.Dataset, row: int) -> str:
    item = annotations[ITEM].to_numpy()[annotations["item_code"].to_numpy()[row]]
    annotator = annotations[ANNOTATOR].to_numpy()[annotations["annotator_code"].to_numpy()[row]]
    text = f"item {shown([item])}, annotator {shown([annotator])}"
    if "label_code" in annotations:
        label = annotations[LABEL].to_numpy()[annotations["label_code"].to_numpy()[row]]
        text += f", label {shown([label])}"
    return text


_CHECKS: Final[tuple[Callable[[xr.Dataset], None], ...]] = (
    _check_said_once,
    _check_values,
    _check_ranks,
)
