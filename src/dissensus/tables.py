"""Columns, checked and turned into integer codes.

The first step of everything that is read in: `encode` replaces names by codes into a sorted
or first-seen vocabulary, `numbers` reads numbers, `match` looks names up. All refuse rather
than guess: missing entries, text mixed with numbers and the like are errors that name the
column and the row (counted from 0).
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from dissensus.errors import AnnotationError
from dissensus.vocabulary import KINDS, kind_of, plain, unusable

_UNIFORM: Final = frozenset(
    {"string", "integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty"}
)
"""What pandas calls columns of objects that hold one of our kinds of values throughout."""


class Encoded(NamedTuple):
    """One column as integer codes into its distinct values."""

    codes: npt.NDArray[np.int64]
    values: npt.NDArray[Any]

    @property
    def is_text(self) -> bool:
        """Whether the values are text."""
        return self.values.dtype.kind in "UO"


def encode(
    column: pd.Series[Any],
    name: str,
    *,
    sort: bool = False,
    error: type[AnnotationError] = AnnotationError,
) -> Encoded:
    """Replace a column's values by codes into the distinct ones.

    Text that spells whole numbers throughout becomes numbers, if that loses nothing
    ("7" does, "07" keeps the column text); whole floats become integers, true and false 1 and
    0; dates become text. See `dissensus.vocabulary`.

    Parameters
    ----------
    column : pandas.Series
        The values.
    name : str
        What to call the column in errors.
    sort : bool
        Order the distinct values (numbers by size, text by alphabet, an ordered categorical
        as it says, with the categories nobody used); else they stand in the order of their
        first appearance.
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
        if sort and column.dtype.ordered:
            return _by_category(column, name, error)
        column = column.astype(column.dtype.categories.dtype)
    if column.dtype == object:
        _require_one_kind(column, name, error)
    codes, distinct = pd.factorize(column)
    codes, values = np.asarray(codes, dtype=np.int64), np.asarray(distinct)
    _require_usable(values, codes, name, error)
    values = plain(values, name, error)
    if column.dtype == object:
        # Two objects, one name: 0.1 and Decimal("0.1"), or one moment by two clocks.
        again, values = pd.factorize(values)
        codes = again[codes]
    if sort:
        order = np.argsort(values, kind="stable")
        codes, values = np.argsort(order)[codes], values[order]
    return Encoded(codes, values)


def _by_category(column: pd.Series[Any], name: str, error: type[AnnotationError]) -> Encoded:
    """Keep the order of the categories, and those that nobody used."""
    assert isinstance(column.dtype, pd.CategoricalDtype)
    codes, values = column.cat.codes.to_numpy().astype(np.int64), column.dtype.categories.to_numpy()
    _require_one_kind(pd.Series(values, dtype=object), f"{name} (its categories)", error)
    _require_usable(values, codes, name, error)
    return Encoded(codes, plain(values, name, error))


def present(
    column: pd.Series[Any], name: str, error: type[AnnotationError] = AnnotationError
) -> None:
    """Raise if an entry is missing, naming the first such row."""
    rows = np.flatnonzero(missing(column))
    if len(rows):
        raise error(
            f"column {name!r}",
            where=f"row {rows[0]}",
            expected="a value",
            found=f"a missing one ({len(rows)} of {len(column)} rows)",
        )


def missing(column: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    """Return which entries of a column are missing.

    Examples
    --------
    >>> missing(pd.Series([Decimal("sNaN"), Decimal(1)], dtype=object))
    array([ True, False])
    """
    try:
        return column.isna().to_numpy()
    except InvalidOperation:  # pandas compares a decimal that signals when it is compared
        signals = np.array([isinstance(cell, Decimal) and cell.is_snan() for cell in column])
        return column.mask(signals).isna().to_numpy()


def _require_one_kind(column: pd.Series[Any], name: str, error: type[AnnotationError]) -> None:
    """Raise if a column of objects mixes kinds of values, naming two rows that differ."""
    if pd.api.types.infer_dtype(column, skipna=False) in _UNIFORM:
        return
    kinds = [kind_of(value) for value in column]
    for row, kind in enumerate(kinds):
        if kind not in KINDS:
            raise unusable(name, kind, f"row {row}", error)
    other = next((row for row, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise error(
            f"column {name!r}",
            where=f"rows 0 and {other}",
            expected="values of one kind: all text, all numbers, all true or false",
            found=f"{kinds[0]} ({column.iloc[0]!r}) and {kinds[other]} ({column.iloc[other]!r})",
        )


def _require_usable(
    values: npt.NDArray[Any],
    codes: npt.NDArray[np.int64],
    name: str,
    error: type[AnnotationError],
) -> None:
    """Raise on names that nobody could read back and numbers that are none, naming the row."""
    place, found = 0, ""
    if values.dtype.kind in "OU":
        cells = enumerate(values.tolist())
        place, found = next(((n, why) for n, cell in cells if (why := _unusable(cell))), (0, ""))
    elif values.dtype.kind == "f" and np.isinf(values).any():
        place, found = int(np.isinf(values).argmax()), "an infinity"
    if found:
        rows = np.flatnonzero(codes == place)
        raise error(
            f"column {name!r}",
            where=f"row {rows[0]}" if len(rows) else "",
            expected="a name or a finite number",
            found=found,
        )


def _unusable(cell: Any) -> str:
    """Say what is wrong with one value held as an object, nothing if it is well."""
    if not isinstance(cell, str):
        return "an infinity" if isinstance(cell, float | Decimal) and math.isinf(cell) else ""
    if cell and cell.isprintable():
        return ""
    if not cell:
        return "empty text"
    if "\0" in cell:  # NumPy drops trailing ones, so that two names would become one
        return f"{cell!r}, with a NUL character"
    if any("\ud800" <= character <= "\udfff" for character in cell):
        return f"{cell!r}, with half of a surrogate pair, which no file can hold"
    return ""


def numbers(
    column: pd.Series[Any],
    name: str,
    error: type[AnnotationError] = AnnotationError,
    hint: str = "",
) -> npt.NDArray[np.float64]:
    """Return a column as finite floats, or raise naming the first row that is none.

    Examples
    --------
    >>> numbers(pd.Series(["1.5", "2"]), "score")
    array([1.5, 2. ])
    """
    present(column, name, error)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.dtype.categories.dtype)
    if column.dtype.kind in "mMc":  # pandas would count nanoseconds, or drop a part
        raise error(
            f"column {name!r}", where="row 0", expected="a finite number",
            found=repr(column.iloc[0]),
        )  # fmt: skip
    read = pd.to_numeric(column, errors="coerce").to_numpy()
    if read.dtype.kind == "c":  # what has a second part is no number of this kind
        read = np.where(read.imag == 0, read.real, np.nan)
    values = read.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise error(
            f"column {name!r}",
            where=f"row {bad[0]}",
            expected="a finite number",
            found=f"{column.iloc[int(bad[0])]!r} ({len(bad)} such of {len(column)} rows)",
            hint=hint,
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
    # NumPy's variable-width text (what Zarr gives back) is text too.
    values, vocabulary = (
        v.astype(object) if v.dtype.kind == "T" else v for v in (values, vocabulary)
    )
    left, right = pd.Index(values), pd.Index(vocabulary)
    if (values.dtype.kind in "UO") != (vocabulary.dtype.kind in "UO"):
        left, right = _spelled(values), _spelled(vocabulary)
    return np.asarray(right.get_indexer(left), dtype=np.int64)


def _spelled(values: npt.NDArray[Any]) -> pd.Index[Any]:
    """Spell numbers as a person would: 2.0, which is in a list with 1.5, is "2"."""
    if values.dtype.kind == "f":
        return pd.Index([np.format_float_positional(value, trim="-") for value in values])
    return pd.Index(values.astype(str))
