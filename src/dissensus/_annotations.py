"""Annotations in: from any table, from nested rankings, or from a matrix.

Each of these returns the plain `xarray.Dataset` that `dissensus.schema` writes down, checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import tables
from dissensus.dims import ANNOTATION, ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import AnnotationError, shown
from dissensus.schema import KINDS, validate

_MANY = 20


def annotations(
    frame: Any,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    *,
    rank: str | None = None,
    confidence: str | None = None,
    pool: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    trial: str | None = None,
    kind: str | None = None,
    labels: Sequence[Any] | None = None,
) -> xr.Dataset:
    """Read what the annotators said from a table with one row per statement.

    Parameters
    ----------
    frame : dataframe or mapping of columns
        Anything narwhals knows: pandas, polars, pyarrow, duckdb, ...
    item, annotator, label : str
        The columns that say what was annotated, by whom, and how.
    rank : str, optional
        Column of ranks in a partial ranking: 1, 2, 2, 3 (ties share a rank, no gaps). A label
        without a row is unranked. Makes the kind "ranking".
    confidence : str, optional
        Column of confidences in [0, 1].
    pool, cluster, stratum, trial : str, optional
        Columns naming the annotator's group, the item's cluster (say, a patient), the item's
        stratum, and the number of a repetition.
    kind : {"nominal", "ordinal", "continuous", "ranking"}, optional
        What the labels are. Inferred where absent, and the reason is kept in
        ``attrs["kind_source"]``: text is nominal, whole numbers are ordinal (continuous if
        more than 20 differ), other numbers are continuous.
    labels : sequence, optional
        The whole label space, in order. Needed for ordinal labels in words, and for labels
        that nobody used.

    Returns
    -------
    xarray.Dataset
        Rows along ``annotation``, names in the coordinates ``item``, ``annotator``, ``label``;
        see `dissensus.schema`.

    Raises
    ------
    AnnotationError
        On a missing column or entry, one annotator labelling one item twice (without
        ``trial=``), a label outside ``labels=``, ranks with gaps, confidence outside [0, 1],
        text mixed with numbers.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": ["i1", "i1", "i2"], "annotator": ["ann", "bob", "ann"],
    ...     "label": ["cat", "dog", "cat"],
    ... })
    >>> dict(ann.sizes)
    {'annotation': 3, 'item': 2, 'annotator': 2, 'label': 2}
    >>> ann.attrs["kind"], ann.attrs["kind_source"]
    ('nominal', 'inferred: the labels are text')
    """
    wanted = {
        "item": item, "annotator": annotator, "label": label, "rank": rank, "trial": trial,
        "confidence": confidence, "pool": pool, "cluster": cluster, "stratum": stratum,
    }  # fmt: skip
    column = tables.columns(frame, wanted)
    names = {role: str(name) for role, name in wanted.items() if name is not None}
    said, kind, source = _labels(column["label"], names["label"], kind, labels, rank is not None)
    items = tables.encode(column["item"], names["item"])
    people = tables.encode(column["annotator"], names["annotator"])
    variables: dict[str, Any] = {
        "item_code": (ANNOTATION, items.codes),
        "annotator_code": (ANNOTATION, people.codes),
    }
    coords = {ITEM: items.values, ANNOTATOR: people.values}
    if isinstance(said, tables.Encoded):
        variables["label_code"] = (ANNOTATION, said.codes)
        coords[LABEL] = said.values
    else:
        variables["value"] = (ANNOTATION, said)
    if rank is not None:
        variables["rank"] = (ANNOTATION, _ranks(column["rank"], rank))
    if confidence is not None:
        variables["confidence"] = (ANNOTATION, tables.numbers(column["confidence"], confidence))
    if trial is not None:
        variables["trial"] = (ANNOTATION, _restored(tables.encode(column["trial"], trial)))
    if pool is not None:
        pools = tables.encode(column["pool"], pool, sort=True)
        variables["pool_code"], coords[POOL] = (ANNOTATION, pools.codes), pools.values
    for dim in (CLUSTER, STRATUM):
        if dim in column:
            found = tables.encode(column[dim], names[dim], sort=True)
            variables[f"{dim}_code"] = (ITEM, _per_item(found, items, names[dim]))
            coords[dim] = found.values
    attrs = {"kind": kind, "kind_source": source}
    return validate(xr.Dataset(variables, coords=coords, attrs=attrs))


def _labels(
    column: pd.Series[Any],
    name: str,
    kind: str | None,
    labels: Sequence[Any] | None,
    ranked: bool,
) -> tuple[tables.Encoded | npt.NDArray[np.float64], str, str]:
    """Return labels as codes (or numbers), their kind, and how the kind is known."""
    if kind is not None and kind not in KINDS:
        raise AnnotationError("kind", expected=f"one of {KINDS} or None", found=repr(kind))
    if ranked != (kind == "ranking") and (ranked or kind == "ranking") and kind is not None:
        raise AnnotationError(
            "kind",
            expected='kind="ranking" together with rank=, the column of ranks',
            found=f"kind={kind!r} and rank={'given' if ranked else None}",
        )
    if kind == "continuous":
        return tables.numbers(column, name), kind, "given"
    encoded = tables.encode(column, name, sort=True)
    if kind is None:
        kind, reason = _infer_kind(encoded, column, labels is not None, ranked)
        source = f"inferred: {reason}"
        if kind == "continuous":
            return encoded.values.astype(np.float64)[encoded.codes], kind, source
    else:
        source = "given"
    if labels is not None:
        encoded = _into(encoded, labels, column, name)
    elif kind == "ordinal" and encoded.is_text and not _ordered(column):
        raise AnnotationError(
            "labels",
            expected="the labels in order, from lowest to highest (words have no order of their own)",
            found="labels=None",
            hint=f"For example labels={[str(value) for value in encoded.values[:6]]}",
        )
    return encoded, kind, source


def _ordered(column: pd.Series[Any]) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype) and bool(column.dtype.ordered)


def _infer_kind(
    encoded: tables.Encoded, column: pd.Series[Any], bounded: bool, ranked: bool
) -> tuple[str, str]:
    if ranked:
        return "ranking", "a column of ranks was named"
    if _ordered(column):
        return "ordinal", "the labels are an ordered categorical"
    if encoded.is_text:
        return "nominal", "the labels are text"
    if column.dtype.kind == "b":
        return "nominal", "the labels are true or false"
    if bounded:
        return "ordinal", "the labels are numbers from the given label space"
    if encoded.values.dtype.kind == "f":
        return "continuous", "the labels are numbers with fractions"
    if len(encoded.values) > _MANY:
        return "continuous", f"the labels are more than {_MANY} different whole numbers"
    return "ordinal", "the labels are whole numbers"


def _into(
    encoded: tables.Encoded, labels: Sequence[Any], column: pd.Series[Any], name: str
) -> tables.Encoded:
    """Re-code labels into the given label space."""
    space = tables.encode(pd.Series(list(labels)), "labels")
    if len(space.values) != len(labels):
        raise AnnotationError("labels", expected="distinct labels", found=str(list(labels)))
    place = tables.match(encoded.values, space.values)
    if (place < 0).any():
        stray = encoded.values[place < 0]
        row = int(np.flatnonzero(place[encoded.codes] < 0)[0])
        raise AnnotationError(
            f"column {name!r}",
            where=f"row {row}",
            expected=f"one of labels= ({shown(list(space.values), 12)})",
            found=f"{column.iloc[row]!r}; outside the label space are {shown(list(stray))}",
        )
    return tables.Encoded(place[encoded.codes], space.values)


def _ranks(column: pd.Series[Any], name: str) -> npt.NDArray[np.int64]:
    values = tables.numbers(column, name)
    bad = np.flatnonzero(values != np.rint(values))
    if len(bad):
        raise AnnotationError(
            f"column {name!r}",
            where=f"row {bad[0]}",
            expected="whole numbers: 1 for the first choice, 2 for the next, ...",
            found=str(values[bad[0]]),
        )
    return values.astype(np.int64)


def _restored(encoded: tables.Encoded) -> npt.NDArray[Any]:
    return np.asarray(encoded.values[encoded.codes])


def _per_item(
    found: tables.Encoded, items: tables.Encoded, name: str
) -> npt.NDArray[np.int64]:
    """Return the one cluster (or stratum) of each item; an item in two is an error."""
    per_item = np.empty(len(items.values), dtype=np.int64)
    per_item[items.codes] = found.codes
    clash = np.flatnonzero(per_item[items.codes] != found.codes)
    if len(clash):
        row = int(clash[0])
        raise AnnotationError(
            f"column {name!r}",
            where=f"row {row} (item {shown([items.values[items.codes[row]]])})",
            expected="the same value in every row of one item",
            found=f"{shown([found.values[found.codes[row]]])} here and "
            f"{shown([found.values[per_item[items.codes[row]]]])} elsewhere",
        )
    return per_item


def from_rankings(
    rankings: Mapping[Any, Any], labels: Sequence[Any] | None = None
) -> xr.Dataset:
    """Read partial rankings with ties from nested lists.

    Parameters
    ----------
    rankings : mapping from item to annotators
        Annotators are a mapping from name to ranking, or a list of rankings by readers
        without a name (reader 2 of one item is then nobody else's reader 2). A ranking is a
        list of blocks from best to worst, a block a list of tied labels. An empty ranking is
        legal: that annotator says nothing.
    labels : sequence, optional
        The whole label space; by default the labels somebody named.

    Returns
    -------
    xarray.Dataset
        Annotations of kind "ranking".

    Raises
    ------
    AnnotationError
        On an empty block, or a label twice in one ranking.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b", "c"]], [["b"]]]}, labels="abcd")
    >>> ann["rank"].values, ann["annotator"].values
    (array([1, 2, 2, 1]), array(['case: 1', 'case: 2'], dtype='<U7'))
    """
    rows: list[tuple[Any, Any, Any, int]] = []
    readers: dict[Any, None] = {}
    for item, said in rankings.items():
        named = said.items() if isinstance(said, Mapping) else _numbered(item, said)
        for annotator, blocks in named:
            readers[annotator] = None
            rows += [(item, annotator, *pair) for pair in _blocks(item, annotator, blocks)]
    if not rows:
        raise AnnotationError(
            "rankings", expected="at least one ranked label", found="only empty rankings"
        )
    table = dict(zip(("item", "annotator", "label", "rank"), zip(*rows, strict=True), strict=True))
    ann = annotations(table, rank="rank", labels=labels)
    return _with_silent(ann, list(rankings), list(readers))


def _numbered(item: Any, said: Sequence[Any]) -> Iterable[tuple[str, Any]]:
    return ((f"{item}: {number}", blocks) for number, blocks in enumerate(said, start=1))


def _blocks(item: Any, annotator: Any, blocks: Any) -> Iterable[tuple[Any, int]]:
    for rank, block in enumerate(blocks, start=1):
        if isinstance(block, str) or not isinstance(block, Iterable) or len(list(block)) == 0:
            raise AnnotationError(
                "rankings",
                where=f"item {item!r}, annotator {annotator!r}, block {rank}",
                expected="a list of one or more tied labels",
                found=repr(block),
            )
        yield from ((label, rank) for label in block)


def _with_silent(ann: xr.Dataset, items: list[Any], readers: list[Any]) -> xr.Dataset:
    """Keep the items and annotators that have no row because their rankings are empty."""
    for dim, names, code in (
        (ITEM, items, "item_code"),
        (ANNOTATOR, readers, "annotator_code"),
    ):
        everyone = tables.encode(pd.Series(names, dtype=object), dim).values
        place = tables.match(ann[dim].to_numpy(), everyone)
        codes = place[ann[code].to_numpy()]
        ann = ann.drop_vars([code, dim]).assign_coords({dim: everyone})
        ann[code] = (ANNOTATION, codes)
    return validate(ann)


def from_matrix(
    matrix: Any, *, kind: str | None = None, labels: Sequence[Any] | None = None
) -> xr.Dataset:
    """Read a table of items (rows) by annotators (columns) with missing entries.

    Parameters
    ----------
    matrix : two-dimensional array or dataframe
        NaN, None or NA marks a label that was not given. A pandas index names the items and
        column names the annotators; else both are numbered from 0.
    kind, labels
        As in `annotations`.

    Returns
    -------
    xarray.Dataset
        Annotations; items and annotators without any label are kept.

    Raises
    ------
    AnnotationError
        If the table is not two-dimensional or holds no label.

    Examples
    --------
    >>> import numpy as np, dissensus as dx
    >>> dx.from_matrix(np.array([[1, 1], [2, np.nan]])).sizes["annotation"]
    3
    """
    frame = _as_pandas(matrix)
    values = frame.to_numpy(dtype=object)
    row, column = np.nonzero(~frame.isna().to_numpy())
    if not len(row):
        raise AnnotationError("matrix", expected="at least one label", found="only missing entries")
    items, readers = list(frame.index), list(frame.columns)
    table = {
        "item": [items[i] for i in row],
        "annotator": [readers[j] for j in column],
        "label": values[row, column],
    }
    return _with_silent(annotations(table, kind=kind, labels=labels), items, readers)


def _as_pandas(matrix: Any) -> pd.DataFrame:
    if not isinstance(matrix, pd.DataFrame):
        if hasattr(matrix, "to_pandas"):
            matrix = matrix.to_pandas()
        array = np.asarray(matrix)
        if array.ndim != 2:
            raise AnnotationError(
                "matrix",
                expected="two dimensions, items by annotators",
                found=f"an array of shape {array.shape}",
            )
        matrix = matrix if isinstance(matrix, pd.DataFrame) else pd.DataFrame(array)
    for what, index in (("row", matrix.index), ("column", matrix.columns)):
        if index.has_duplicates:
            raise AnnotationError(
                f"{what} names",
                expected="distinct names",
                found=shown(list(index[index.duplicated()])),
            )
    return matrix
