"""Read annotations from nested lists of rankings, or from a matrix of items by annotators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import InvalidOperation
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data import tables
from dissensus.data.frames import opened
from dissensus.data.schema import validate
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM
from dissensus.errors import AnnotationError, relocated, shown
from dissensus.kernels.types import Flags


def from_rankings(rankings: Mapping[Any, Any], labels: Sequence[Any] | None = None) -> xr.Dataset:
    """Read partial rankings with ties from nested lists.

    Parameters
    ----------
    rankings : mapping from item to annotators
        Annotators are a mapping from name to ranking, or a list of rankings by annotators without
        names (the second annotators of two items are then different people). A ranking is a list of
        blocks from best to worst, and a block is a list of tied labels. A ranking may be empty.
    labels : sequence, optional
        The whole label space; by default the labels in the rankings.

    Returns
    -------
    xarray.Dataset
        Annotations of kind "ranking".

    Raises
    ------
    AnnotationError
        If a block is empty, or a label is twice in a ranking.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b", "c"]], [["b"]]]}, labels="abcd")
    >>> ann["rank"].values, ann["annotator"].values
    (array([1, 2, 2, 1]), array(['case: 1', 'case: 2'], dtype='<U7'))
    """
    if not isinstance(rankings, Mapping) or isinstance(rankings, xr.Dataset):
        raise AnnotationError(
            "rankings", expected="a mapping from item to rankings", found=type(rankings).__name__
        )
    rows: list[tuple[Any, Any, Any, int]] = []
    readers: dict[Any, None] = {}
    for item, by_annotator in rankings.items():
        for annotator, blocks in _named(item, by_annotator):
            readers[annotator] = None
            rows += [(item, annotator, *pair) for pair in _blocks(item, annotator, blocks)]
    if not rows:
        expected = "at least one ranked label"
        raise AnnotationError("rankings", expected=expected, found="only empty rankings")
    table = dict(zip(("item", "annotator", "label", "rank"), zip(*rows, strict=True), strict=True))
    with relocated(lambda row: f"item {rows[row][0]!r}, annotator {rows[row][1]!r}"):
        ann = _annotations.annotations(table, rank="rank", kind="ranking", labels=labels)
    return with_silent(ann, list(rankings), list(readers))


def _named(item: Any, rankings: Any) -> Iterable[tuple[Any, Any]]:
    """Return pairs of annotator and ranking for one item; unnamed annotators get a number."""
    if isinstance(rankings, Mapping):
        return rankings.items()
    if isinstance(rankings, str | Set) or not isinstance(rankings, Iterable):
        raise AnnotationError(
            "rankings",
            where=f"item {item!r}",
            expected="a list of rankings, or a mapping from annotator to ranking",
            found=repr(rankings),
        )
    return ((f"{item}: {number}", blocks) for number, blocks in enumerate(rankings, start=1))


def _blocks(item: Any, annotator: Any, blocks: Any) -> Iterator[tuple[Any, int]]:
    """Yield a pair (label, rank) for each label of one ranking."""
    place = f"item {item!r}, annotator {annotator!r}"
    if isinstance(blocks, str | Mapping | Set) or not isinstance(blocks, Iterable):
        raise AnnotationError(
            "rankings", where=place, expected="a list of blocks, best first", found=repr(blocks)
        )
    seen: list[Any] = []
    for rank, block in enumerate(blocks, start=1):
        named = [] if isinstance(block, str) or not isinstance(block, Iterable) else list(block)
        if not named:
            raise AnnotationError(
                "rankings",
                where=f"{place}, block {rank}",
                expected="a list of one or more tied labels",
                found=repr(block),
            )
        seen += named
        if _repeated(seen):
            raise AnnotationError(
                "rankings",
                where=f"{place}, block {rank}",
                expected="each label once in a ranking",
                found=f"{block!r} after {seen[: -len(named)]!r}",
            )
        if isinstance(block, Set):  # sets have no order; sorted rows are reproducible
            named.sort(key=repr)
        yield from ((label, rank) for label in named)


def _repeated(labels: Sequence[Any]) -> bool:
    try:
        return len(set(labels)) < len(labels)
    except TypeError:  # labels that are not hashable: `annotations` raises later
        return False


def with_silent(ann: xr.Dataset, items: Sequence[Any], annotators: Sequence[Any]) -> xr.Dataset:
    """Return annotations with further items and annotators, which have no labels.

    ``items`` and ``annotators`` are all names, in the order of the result.
    """
    for dim, names in ((ITEM, items), (ANNOTATOR, annotators)):
        everyone = tables.encode(pd.Series(list(names), dtype=object), dim).values
        place = tables.match(ann[dim].to_numpy(), everyone)
        codes = place[ann[f"{dim}_code"].to_numpy()]
        ann = ann.drop_vars([f"{dim}_code", dim]).assign_coords({dim: everyone})
        ann[f"{dim}_code"] = (ANNOTATION, codes)
    return validate(ann)


def from_matrix(
    matrix: Any, *, kind: str | None = None, labels: Sequence[Any] | None = None
) -> xr.Dataset:
    """Read a table of items (rows) by annotators (columns) with missing entries.

    Parameters
    ----------
    matrix : two-dimensional array or dataframe
        Missing labels are NaN, None or NA. The index of a pandas frame has the names of the items,
        and the columns of a dataframe are the annotators; without names they are numbered from 0.
    kind, labels
        As in `annotations`.

    Returns
    -------
    xarray.Dataset
        Annotations. Items and annotators without labels are kept.

    Raises
    ------
    AnnotationError
        If the table is not two-dimensional, contains no label, or has a column of item names.

    Examples
    --------
    >>> import numpy as np, dissensus as dx
    >>> dx.from_matrix(np.array([[1, 1], [2, np.nan]])).sizes["annotation"]
    3
    """
    frame = _as_pandas(matrix)
    _refuse_column_of_items(frame)
    row, column = np.nonzero(~_blank(frame))
    if not len(row):
        raise AnnotationError("matrix", expected="at least one label", found="only missing entries")
    items, readers = list(frame.index), list(frame.columns)
    table = {
        "item": [items[i] for i in row],
        "annotator": [readers[j] for j in column],
        "label": cells_of(frame, row, column),
    }
    with relocated(lambda n: f"item {items[row[n]]!r}, annotator {readers[column[n]]!r}"):
        ann = _annotations.annotations(table, kind=kind, labels=labels)
    return with_silent(ann, items, readers)


def _as_pandas(matrix: Any) -> pd.DataFrame:
    if isinstance(matrix, pd.DataFrame):
        frame = matrix
    elif isinstance(matrix, np.ndarray | xr.DataArray):
        frame = _from_array(matrix)
    elif isinstance(matrix, Sequence):
        # dtype=object: otherwise NumPy would convert the 1 in [[1, "a"]] to text.
        frame = _from_array(np.array(matrix, dtype=object))
    elif isinstance(matrix, xr.Dataset):  # a mapping of variables, not of columns
        expected = "a two-dimensional array or dataframe"
        raise AnnotationError("matrix", expected=expected, found="an xarray.Dataset")
    else:
        frame = pd.DataFrame(dict(opened(matrix)))
    if frame.size == 0:
        description = f"the shape {frame.shape}"
        raise AnnotationError("matrix", expected="at least one label", found=description)
    for side, index in (("row", frame.index), ("column", frame.columns)):
        if index.has_duplicates:
            description = f"{shown(list(index[index.duplicated()]))} more than once"
            raise AnnotationError(f"{side} names", expected="distinct names", found=description)
    return frame


_MANY_ROWS: Final = 5
"""Minimum number of rows in which labels of an annotator are unlikely to be all distinct."""


def _refuse_column_of_items(frame: pd.DataFrame) -> None:
    """Raise if a column seems to name the items, which would be read as labels of an annotator.

    Such a column is called "item", or is text that is distinct in each row and in no other column.
    """
    if frame.shape[1] < 2 or not isinstance(frame.index, pd.RangeIndex):
        return  # another index names the items
    first = frame.iloc[:, 0].astype(object)
    named = [name for name in frame.columns if str(name).strip().casefold() in ("item", "items")]
    is_named = isinstance(frame.columns[0], str)
    if (
        not named
        and is_named
        and len(frame) >= _MANY_ROWS
        and pd.api.types.infer_dtype(first) == "string"
    ):
        others = frame.iloc[:, 1:].stack() if first.is_unique else first
        named = [] if first.isin(others).any() else [frame.columns[0]]
    if named:
        raise AnnotationError(
            f"column {named[0]!r}", expected="labels of one annotator",
            found="names of items (a different one in each row)"
            if frame[named[0]].is_unique else "names of items, as the column's name says",
            hint=f"Make it the index: dissensus.from_matrix(frame.set_index({named[0]!r})), where "
            "frame is a pandas.DataFrame",
        )  # fmt: skip


def _from_array(array: Any) -> pd.DataFrame:
    if array.ndim != 2:
        expected, shape = "two dimensions, items by annotators", f"the shape {array.shape}"
        raise AnnotationError("matrix", expected=expected, found=shape)
    return pd.DataFrame(array.to_pandas() if isinstance(array, xr.DataArray) else array)


def _blank(frame: pd.DataFrame) -> Flags:
    try:
        return frame.isna().to_numpy()
    except InvalidOperation:  # pandas compares cells, and Decimal("sNaN") cannot be compared
        return np.stack([tables.missing(frame.iloc[:, j]) for j in range(frame.shape[1])], axis=1)


def cells_of(
    frame: pd.DataFrame, row: npt.NDArray[np.intp], column: npt.NDArray[np.intp]
) -> pd.Series[Any]:
    """Return the cells of a frame at these rows and columns, without changing their type."""
    kinds = set(frame.dtypes)
    kind = next(iter(kinds))
    if len(kinds) == 1 and isinstance(kind, pd.CategoricalDtype):
        codes = np.column_stack([frame.iloc[:, j].cat.codes for j in range(frame.shape[1])])
        return pd.Series(pd.Categorical.from_codes(codes[row, column], dtype=kind))
    if len(kinds) == 1 and isinstance(kind, np.dtype):
        return pd.Series(frame.to_numpy()[row, column])
    return pd.Series(frame.to_numpy(dtype=object)[row, column], dtype=object)
