"""Columns of any dataframe, checked and turned into integer codes.

The first step of everything that is read in: `columns` takes the named columns out of any
dataframe, `encode` replaces names by codes into a sorted or first-seen vocabulary. Both
refuse rather than guess: missing entries, text mixed with numbers and the like are errors
that name the column and the row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from dissensus.errors import AnnotationError, shown

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z")
_OBJECT_TEXT_BYTES = 1 << 28


class Encoded(NamedTuple):
    """One column as integer codes into its distinct values."""

    codes: npt.NDArray[np.int64]
    values: npt.NDArray[Any]

    @property
    def is_text(self) -> bool:
        """Whether the values are text."""
        return self.values.dtype.kind in "UO"


def columns(
    frame: Any, wanted: Mapping[str, str | None], error: type[AnnotationError] = AnnotationError
) -> dict[str, pd.Series[Any]]:
    """Take the wanted columns out of a dataframe or a mapping of columns.

    Parameters
    ----------
    frame : any dataframe narwhals knows, or a mapping of equally long sequences
        The table.
    wanted : mapping from role to column name
        Roles with the name None are left out.
    error : type
        The error to raise.

    Returns
    -------
    dict from role to pandas.Series
        Column values in the frame's order, with a fresh 0, 1, 2, ... index.

    Raises
    ------
    AnnotationError
        If a column is missing or doubled, or the table has no rows.

    Examples
    --------
    >>> columns({"who": ["ann", "bob"]}, {"annotator": "who"})["annotator"].tolist()
    ['ann', 'bob']
    """
    names = {role: name for role, name in wanted.items() if name is not None}
    found = _from_mapping(frame, error) if isinstance(frame, Mapping) else _from_frame(frame, error)
    present = [str(name) for name in found.keys()]
    for role, name in names.items():
        count = present.count(name)
        if count != 1:
            what = "no such column" if count == 0 else f"{count} columns of that name"
            raise error(
                f"column {name!r}",
                expected=f"one column to read as {role}",
                found=f"{what} among {shown(present, 12) or 'none'}",
                hint=f"Name it with {role}=" if count == 0 else "",
            )
    taken = {role: found[name] for role, name in names.items()}
    if len(next(iter(taken.values()))) == 0:
        raise error("the table", expected="at least one row", found="0 rows")
    return taken


def _from_mapping(
    frame: Mapping[str, Sequence[Any]], error: type[AnnotationError]
) -> dict[str, pd.Series[Any]]:
    out = {str(name): pd.Series(_column(values)) for name, values in frame.items()}
    lengths = {name: len(values) for name, values in out.items()}
    if len(set(lengths.values())) > 1:
        raise error("the columns", expected="one length for all", found=str(lengths))
    return out


def _column(values: Any) -> Any:
    """Keep arrays as they are; hold a list as objects, so that NumPy does not turn 1 into '1'."""
    if isinstance(values, np.ndarray | pd.Series | pd.Index):
        return np.asarray(values)
    return np.fromiter(values, dtype=object, count=len(values))


class _Columns(Mapping[str, "pd.Series[Any]"]):
    """The columns of a narwhals frame, taken out one by one as they are asked for."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def keys(self) -> Any:
        return list(self._frame.columns)

    def __getitem__(self, name: str) -> pd.Series[Any]:
        series = self._frame.get_column(name)
        native = series.to_native()
        if isinstance(native, pd.Series):
            return native.reset_index(drop=True)
        return pd.Series(series.to_numpy()) if series.null_count() == 0 else _with_nulls(series)

    def __iter__(self) -> Any:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())


def _with_nulls(series: Any) -> pd.Series[Any]:
    return pd.Series(np.array(series.to_list(), dtype=object))


def _from_frame(frame: Any, error: type[AnnotationError]) -> Mapping[str, pd.Series[Any]]:
    import narwhals as nw

    try:
        table = nw.from_native(frame)
    except TypeError as problem:
        raise error(
            "the table",
            expected="a dataframe (pandas, polars, pyarrow, duckdb, ...) or a mapping of columns",
            found=type(frame).__name__,
        ) from problem
    except Exception as problem:  # narwhals' own error class for doubled column names
        raise error("the table", expected="distinct column names", found=str(problem)) from problem
    return _Columns(table.collect() if isinstance(table, nw.LazyFrame) else table)


def encode(
    column: pd.Series[Any],
    name: str,
    *,
    sort: bool = False,
    error: type[AnnotationError] = AnnotationError,
) -> Encoded:
    """Replace a column's values by codes into the distinct ones.

    Text that spells whole numbers throughout becomes numbers, if that loses nothing
    ("7" does, "07" keeps the column text); whole floats become integers.

    Parameters
    ----------
    column : pandas.Series
        The values.
    name : str
        What to call the column in errors.
    sort : bool
        Order the distinct values (numbers by size, text by alphabet, an ordered categorical
        as it says); else they stand in the order of their first appearance.
    error : type
        The error to raise.

    Raises
    ------
    AnnotationError
        On a missing or empty entry, and on text mixed with numbers.

    Examples
    --------
    >>> encode(pd.Series(["b", "a", "b"]), "label", sort=True)
    Encoded(codes=array([1, 0, 1]), values=array(['a', 'b'], dtype='<U1'))
    """
    present(column, name, error)
    if isinstance(column.dtype, pd.CategoricalDtype):
        if sort and column.cat.ordered:
            categories = _plain(column.cat.categories.to_numpy(), column, name, error)
            return Encoded(column.cat.codes.to_numpy().astype(np.int64), categories)
        column = column.astype(column.cat.categories.dtype)
    codes, distinct = pd.factorize(column)
    values = _plain(np.asarray(distinct), column, name, error)
    if values.dtype.kind in "UO" and (values == "").any():
        row = int(np.flatnonzero(np.asarray(codes) == int(np.flatnonzero(values == "")[0]))[0])
        raise error(f"column {name!r}", where=f"row {row}", expected="a value", found="empty text")
    if len(np.unique(values)) < len(values):  # 1 and 1.0, or True and 1, in an object column
        values, merged = np.unique(values, return_inverse=True)
        codes = merged[codes]
    if sort:
        order = np.argsort(values, kind="stable")
        codes, values = np.argsort(order)[codes], values[order]
    return Encoded(np.asarray(codes, dtype=np.int64), values)


def present(
    column: pd.Series[Any], name: str, error: type[AnnotationError] = AnnotationError
) -> None:
    """Raise if an entry is missing, naming the first such row."""
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise error(
            f"column {name!r}",
            where=f"row {missing[0]}",
            expected="a value",
            found=f"a missing one ({len(missing)} of {len(column)} rows)",
        )


def _plain(
    values: npt.NDArray[Any], column: pd.Series[Any], name: str, error: type[AnnotationError]
) -> npt.NDArray[Any]:
    """Return distinct values as an array of int, float or text; anything else is refused."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        return _whole(values.astype(np.float64), name, error)
    if values.dtype.kind in "mM":
        return values.astype(str)
    kinds = [_kind(value) for value in values]
    odd = [kind for kind in kinds if kind not in {"text", "number"}]
    if odd:
        raise error(f"column {name!r}", expected="text or numbers", found=f"values of type {odd[0]}")
    if len(set(kinds)) > 1:
        first = {kind: values[kinds.index(kind)] for kind in ("text", "number")}
        rows = {k: int(np.flatnonzero(column.to_numpy() == v)[0]) for k, v in first.items()}
        raise error(
            f"column {name!r}",
            where=f"rows {rows['text']} and {rows['number']}",
            expected="all text or all numbers",
            found=f"text ({first['text']!r}) and a number ({first['number']!r})",
        )
    if kinds and kinds[0] == "number":
        return _whole(np.array([float(v) for v in values]), name, error, exact=values)
    text = [str(value) for value in values]
    if text and all(_INTEGER.match(t) for t in text):
        return np.array([int(t) for t in text], dtype=np.int64)
    return as_text(text)


def as_text(values: Sequence[str]) -> npt.NDArray[Any]:
    """Hold text in a fixed-width array, or as objects where one long name would fill memory."""
    width = max((len(value) for value in values), default=1)
    if 4 * width * len(values) > _OBJECT_TEXT_BYTES:
        return np.array(values, dtype=object)
    return np.array(values, dtype=np.str_)


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return "number"
    return type(value).__name__


def _whole(
    values: npt.NDArray[np.float64],
    name: str,
    error: type[AnnotationError],
    exact: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """Turn floats that are whole numbers into integers; refuse infinities."""
    if not np.isfinite(values).all():
        raise error(f"column {name!r}", expected="finite numbers", found="an infinity")
    if (values == np.rint(values)).all() and (np.abs(values) < 2**62).all():
        if exact is not None:
            return np.array([int(value) for value in exact], dtype=np.int64)
        return values.astype(np.int64)
    return values


def numbers(
    column: pd.Series[Any], name: str, error: type[AnnotationError] = AnnotationError
) -> npt.NDArray[np.float64]:
    """Return a column as finite floats, or raise naming the first row that is none.

    Examples
    --------
    >>> numbers(pd.Series(["1.5", "2"]), "score")
    array([1.5, 2. ])
    """
    present(column, name, error)
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise error(
            f"column {name!r}",
            where=f"row {bad[0]}",
            expected="a finite number",
            found=repr(column.iloc[int(bad[0])]),
        )
    return values


def match(values: npt.NDArray[Any], vocabulary: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Find each value's place in a vocabulary, -1 where it has none.

    Where one side is text and the other numbers (a CSV file with one stray word makes a
    whole column text), they are compared by their spelling.

    Examples
    --------
    >>> match(np.array(["1", "tie"]), np.array([0, 1, 2]))
    array([ 1, -1])
    """
    left, right = pd.Index(values), pd.Index(vocabulary)
    if (values.dtype.kind in "UO") != (vocabulary.dtype.kind in "UO"):
        left, right = left.astype(str), right.astype(str)
    return np.asarray(right.get_indexer(left), dtype=np.int64)
