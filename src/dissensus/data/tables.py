"""Check columns of tables, and convert them to integer codes and names of plain types.

`encode` replaces names by codes, `numbers` reads numbers, `stored` writes names from arguments as
`encode` stores them, and `match` finds names in other names.
Errors name the column and the row (counted from 0).

The same content can have many types: the number 3 may be an integer, a float, a decimal or a
nullable integer, and a day may be a date or a time stamp. Names become arrays of int64, float64 or
text, so that names from different sources can be compared. Lists, durations, complex numbers,
missing entries and text mixed with numbers are errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from dissensus.errors import AnnotationError
from dissensus.kernels.types import Array, Flags, Floats, Ints

TEXT: Final = "text"
NUMBER: Final = "a number"
BOOLEAN: Final = "true or false"
DAY: Final = "a date"
TIME: Final = "a time"
KINDS: Final = (TEXT, NUMBER, BOOLEAN, DAY, TIME)

_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,18})\Z")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?\Z")
_INT64 = np.iinfo(np.int64)
_OBJECT_TEXT_BYTES = 1 << 28
_NO_NAMES: Final = np.empty(0, dtype=np.str_)


def kind_of(value: Any) -> str:
    """Return the kind of a value, one of `KINDS`; the name of its type if it cannot be a name."""
    if isinstance(value, str):
        return TEXT
    if isinstance(value, bool | np.bool_):
        return BOOLEAN
    if isinstance(value, np.timedelta64):  # a subclass of np.integer
        return type(value).__name__
    if isinstance(value, int | float | np.integer | np.floating | Decimal):
        return NUMBER
    if isinstance(value, datetime | np.datetime64):
        return TIME
    return DAY if isinstance(value, date) else type(value).__name__


def plain(values: Array, name: str, error: type[AnnotationError] = AnnotationError) -> Array:
    """Return distinct values of one kind as an array of int64, float64 or text.

    Text becomes integers if all values spell whole numbers and no information is lost: one "07"
    keeps all values text. Floats become integers if all are whole, and true and false become 1 and
    0. Integers beyond 64 bits become text with all digits, and dates become text.
    """
    form = values.dtype.kind
    if form in "iu":
        return _integers(values.tolist()) if form == "u" else values.astype(np.int64)
    if form == "b":
        return values.astype(np.int64)
    if form == "f":
        return _floats(values.astype(np.float64), name, error)
    if form == "M":
        return _times(values)
    cells = list(values)
    kind = kind_of(cells[0]) if cells else TEXT
    if kind == TEXT:
        return _text([str(cell) for cell in cells])
    if kind == BOOLEAN:
        return np.array(cells, dtype=np.int64)
    if kind == NUMBER:
        return _numbers(cells, name, error)
    if kind in {DAY, TIME}:
        return _moments(cells, name, error)
    raise unusable(name, kind, "", error)


def unusable(name: str, kind: str, where: str, error: type[AnnotationError]) -> AnnotationError:
    """Return the error for values whose type cannot be a name or a number."""
    return error(
        f"column {name!r}",
        where=where,
        expected="text, numbers, true/false or dates",
        found=f"values of type {kind}",
        hint="Convert the values to text or numbers first",
    )


def as_text(values: Sequence[str]) -> Array:
    """Return text as a fixed-width array, or as objects if a long name would need much memory."""
    width = max((len(value) for value in values), default=1)
    if 4 * width * len(values) > _OBJECT_TEXT_BYTES:
        return np.array(values, dtype=object)
    return np.array(values, dtype=np.str_)


def _text(text: list[str]) -> Array:
    if text and all(map(_INTEGER.match, text)):
        numbers = [int(cell) for cell in text]
        if _fit(numbers):
            return np.array(numbers, dtype=np.int64)
    return as_text(text)


def _fit(numbers: list[int]) -> bool:
    return _INT64.min <= min(numbers, default=0) and max(numbers, default=0) <= _INT64.max


def _integers(numbers: list[int]) -> Array:
    """Return integers as int64 if they fit, else as text: as floats, some would become equal."""
    if _fit(numbers):
        return np.array(numbers, dtype=np.int64)
    return as_text([str(number) for number in numbers])


def _floats(values: Floats, name: str, error: type[AnnotationError]) -> Array:
    """Return floats, as integers if all are whole numbers; raise if one is infinite."""
    if not np.isfinite(values).all():
        raise error(f"column {name!r}", expected="finite numbers", found="an infinity")
    if (values == np.rint(values)).all() and (np.abs(values) < 2.0**63).all():
        return values.astype(np.int64)
    return values


def _numbers(cells: list[Any], name: str, error: type[AnnotationError]) -> Array:
    """Return objects that are numbers (integers of any size, floats, decimals) as `plain` does."""
    others = [cell for cell in cells if not isinstance(cell, int | np.integer)]
    if not others:
        return _integers([int(cell) for cell in cells])
    if not all(map(math.isfinite, others)):
        raise error(f"column {name!r}", expected="finite numbers", found="an infinity")
    if all(cell == int(cell) for cell in others):
        numbers = [int(cell) for cell in cells]
        if _fit(numbers) or all(isinstance(cell, Decimal) for cell in others):
            return _integers(numbers)
    for cell in cells:
        if isinstance(cell, int | np.integer) and abs(int(cell)) > 2**53:
            raise error(
                f"column {name!r}",
                expected="only whole numbers, or no number above 2**53 together with fractions",
                found=f"{cell} beside {others[0]}",
            )
    return np.array([float(cell) for cell in cells])


_UNITS: Final = ("D", "s", "ms", "us", "ns")


def _times(values: Array) -> Array:
    """Return time stamps as text, in the longest unit that is exact for all of them."""
    for unit in _UNITS[:-1]:
        shorter = values.astype(f"datetime64[{unit}]")
        if (shorter == values).all():
            return np.datetime_as_string(shorter)
    return np.datetime_as_string(values)


def _moments(cells: list[Any], name: str, error: type[AnnotationError]) -> Array:
    """Return dates and times (objects) as text; times with a time zone are converted to UTC."""
    zoned = [getattr(cell, "tzinfo", None) is not None for cell in cells]
    if any(zoned) != all(zoned):
        raise error(
            f"column {name!r}",
            expected="a time zone on all times or on none",
            found=f"{cells[zoned.index(True)]} and {cells[zoned.index(False)]}",
        )
    if not any(zoned):
        return _times(pd.DatetimeIndex(cells).to_numpy())
    moments = pd.to_datetime(pd.Series(cells, dtype=object), utc=True)
    return as_text([moment.isoformat() for moment in moments])


_UNIFORM: Final = frozenset(
    {"string", "integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty"}
)
"""Pandas' names for the types of columns of objects that have only one kind."""


class Encoded(NamedTuple):
    """A column as integer codes (row), and the distinct values that the codes stand for."""

    codes: Ints
    values: Array

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
    hint: str = "",
) -> Encoded:
    """Replace the values of a column by codes of its distinct values.

    The distinct values are converted by `plain`. With ``sort`` they are sorted: numbers by size,
    text by alphabet, and an ordered categorical by its categories, including unused categories.
    Otherwise they are in the order of first appearance. ``hint`` is advice about missing values.
    """
    present(column, name, error, hint)
    if isinstance(column.dtype, pd.CategoricalDtype):
        if sort and column.dtype.ordered:
            return _by_category(column, name, error, hint)
        column = column.astype(column.dtype.categories.dtype)
    if column.dtype == object:
        _require_one_kind(column, name, error)
    codes, distinct = pd.factorize(column)
    codes, values = np.asarray(codes, dtype=np.int64), np.asarray(distinct)
    _require_usable(values, codes, name, error, hint)
    values = plain(values, name, error)
    if column.dtype == object:
        # Different objects may now be equal: 0.1 and Decimal("0.1"), or a time in two time zones.
        recoded, values = pd.factorize(values)
        codes = recoded[codes]
    if sort:
        order = np.argsort(values, kind="stable")
        codes, values = np.argsort(order)[codes], values[order]
    return Encoded(codes, values)


def _by_category(
    column: pd.Series[Any], name: str, error: type[AnnotationError], hint: str
) -> Encoded:
    """Encode an ordered categorical, with its order and its unused categories."""
    assert isinstance(column.dtype, pd.CategoricalDtype)
    codes, values = column.cat.codes.to_numpy().astype(np.int64), column.dtype.categories.to_numpy()
    _require_one_kind(pd.Series(values, dtype=object), f"{name} (its categories)", error)
    _require_usable(values, codes, name, error, hint)
    return Encoded(codes, plain(values, name, error))


def present(
    column: pd.Series[Any],
    name: str,
    error: type[AnnotationError] = AnnotationError,
    hint: str = "",
) -> None:
    """Raise if an entry is missing; the error names the first missing or blank entry."""
    lacking = missing(column)
    if lacking.any():
        raise _missing(lacking, blank(column), name, error, hint)


def _missing(
    lacking: Flags, blanks: Flags, name: str, error: type[AnnotationError], hint: str
) -> AnnotationError:
    """Return the error for rows whose entry is missing or consists of blanks."""
    rows = np.flatnonzero(lacking | blanks)
    several = lacking.any() and blanks.any()
    only = f", {blanks.sum()} of them with nothing but blanks" if several else ""
    noun = "a missing value" if lacking[rows[0]] else "nothing but blanks"
    description = f"{noun} ({len(rows)} of {len(lacking)} rows{only})"
    return error(
        f"column {name!r}", where=f"row {rows[0]}", expected="a value", found=description, hint=hint
    )


def blank(column: pd.Series[Any]) -> Flags:
    """Return whether each entry of a column is text that is empty or has only blanks (row).

    >>> blank(pd.Series(["a", " ", ""])), blank(pd.Series([1, 2]))
    (array([False,  True,  True]), array([False, False]))
    """
    if column.dtype.kind in "biufcmM":
        return np.zeros(len(column), dtype=bool)
    cells = (isinstance(cell, str) and not cell.strip() for cell in column)
    return np.fromiter(cells, dtype=bool, count=len(column))


def missing(column: pd.Series[Any]) -> Flags:
    """Return whether each entry of a column is missing (row).

    >>> missing(pd.Series([Decimal("sNaN"), Decimal(1)], dtype=object))
    array([ True, False])
    """
    try:
        return column.isna().to_numpy()
    except InvalidOperation:  # pandas compares cells, and Decimal("sNaN") cannot be compared
        signals = np.array([isinstance(cell, Decimal) and cell.is_snan() for cell in column])
        return column.mask(signals).isna().to_numpy()


def _require_one_kind(column: pd.Series[Any], name: str, error: type[AnnotationError]) -> None:
    """Raise if a column of objects has values of several kinds; the error names two rows."""
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
    values: Array, codes: Ints, name: str, error: type[AnnotationError], hint: str
) -> None:
    """Raise if a name is blank, is infinite or cannot be stored; the error names its first row."""
    if values.dtype.kind in "OU":
        blanks = np.isin(codes, np.flatnonzero(blank(pd.Series(values, dtype=object))))
        if blanks.any():
            raise _missing(np.zeros(len(codes), dtype=bool), blanks, name, error, hint)
    place, reason = 0, ""
    if values.dtype.kind in "OU":
        cells = enumerate(values.tolist())
        place, reason = next(((n, why) for n, cell in cells if (why := _unusable(cell))), (0, ""))
    elif values.dtype.kind == "f" and np.isinf(values).any():
        place, reason = int(np.isinf(values).argmax()), "an infinity"
    if reason:
        rows = np.flatnonzero(codes == place)
        where = f"row {rows[0]}" if len(rows) else ""
        expected = "a name or a finite number"
        raise error(f"column {name!r}", where=where, expected=expected, found=reason)


def _unusable(cell: Any) -> str:
    """Return the reason why a value cannot be a name; "" if it can be a name."""
    if not isinstance(cell, str):
        return "an infinity" if isinstance(cell, float | Decimal) and math.isinf(cell) else ""
    if cell and cell.isprintable():
        return ""
    if not cell:
        return "empty text"
    if "\0" in cell:  # NumPy drops NULs at the end: two names could become equal
        return f"{cell!r}, with a NUL character"
    if any("\ud800" <= character <= "\udfff" for character in cell):
        return f"{cell!r}, with half of a surrogate pair, which no file can hold"
    return ""


def numbers(
    column: pd.Series[Any],
    name: str,
    error: type[AnnotationError] = AnnotationError,
    hint: str = "",
    blank_hint: str = "",
) -> Floats:
    """Return a column as finite floats, or raise; the error names the first wrong row.

    ``blank_hint`` is advice about missing and blank entries, ``hint`` about other entries.
    """
    present(column, name, error, blank_hint)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.dtype.categories.dtype)
    if column.dtype.kind in "mMc":  # pandas would count nanoseconds, or drop imaginary parts
        first_cell = repr(column.iloc[0])
        raise error(f"column {name!r}", where="row 0", expected="a finite number", found=first_cell)
    read = pd.to_numeric(column, errors="coerce").to_numpy()
    if read.dtype.kind == "c":  # complex numbers in a column of objects
        read = np.where(read.imag == 0, read.real, np.nan)
    values = read.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        if (blanks := blank(column)).any():
            raise _missing(np.zeros(len(column), dtype=bool), blanks, name, error, blank_hint)
        raise error(
            f"column {name!r}",
            where=f"row {bad[0]}",
            expected="a finite number",
            found=f"{_plainly(column.iloc[int(bad[0])])} ({len(bad)} such of {len(column)} rows)",
            hint=_of_comma(name, column.iloc[int(bad[0])]) or hint,
        )
    return values


_COMMA: Final = re.compile(r"\s*[-+]?\d+,\d+\s*\Z")
_GROUPED: Final = re.compile(r"\s*[-+]?\d{1,3}(,\d{3})+\s*\Z")


def _of_comma(name: str, cell: Any) -> str:
    """Return a hint for a number that is written with a comma, or "".

    >>> _of_comma("score", "1,5"), _of_comma("score", "1,500")
    ("Write a decimal point: table['score'].str.replace(',', '.')",
     'Write the number without commas between thousands')
    >>> _of_comma("score", "x")
    ''
    """
    if not isinstance(cell, str):
        return ""
    if _GROUPED.match(cell):
        return "Write the number without commas between thousands"
    if _COMMA.match(cell):
        return f"Write a decimal point: table[{name!r}].str.replace(',', '.')"
    return ""


def _plainly(cell: Any) -> str:
    return repr(cell.item() if isinstance(cell, np.generic) else cell)


def are_fractions(values: Array) -> bool:
    """Return whether all names are numbers (or text that spells numbers), some with fractions.

    >>> are_fractions(np.array(["8.84", "9"])), are_fractions(np.array(["8", "9"]))
    (True, False)
    """
    if values.dtype.kind not in "UO":
        return values.dtype.kind == "f"
    text = [str(value) for value in values]
    return all(map(_DECIMAL.match, text)) and any("." in value for value in text)


def named(names: Iterable[Any]) -> Array:
    """Return names as an array; tuples become text, because NumPy would make rows of them.

    >>> named([2**63, 5]).tolist()
    [9223372036854775808, 5]
    """
    plain_names = [repr(name) if isinstance(name, tuple) else name for name in names]
    out = np.asarray(plain_names)
    if out.dtype.kind == "f" and not any(isinstance(x, float | np.floating) for x in plain_names):
        return np.array(plain_names, dtype=object)  # integers that no type of integers can hold
    return out


def _integers_of(names: Array) -> Array:
    try:
        return names.astype(np.int64)
    except OverflowError:
        return plain(names, "")


def stored(names: Array, vocabulary: Array = _NO_NAMES) -> Array:
    """Return names from an argument as `encode` stores them; other values are unchanged.

    True and False become 1 and 0, unless the vocabulary spells them, and dates and times become
    text. The unit of stored times depends on all of them: each date or time is written in the
    longest exact unit that is in the vocabulary.

    >>> day = np.array(["2021-05-03T10:30", "2021-05-04"], "datetime64[s]")
    >>> stored(day, np.array(["2021-05-04"])).tolist()
    ['2021-05-03T10:30:00', '2021-05-04']
    >>> stored(np.array([True, False])).tolist()
    [1, 0]
    """
    if names.dtype.kind not in "bMO" or not len(names) or kind_of(names[0]) == TEXT:
        return names
    if names.dtype.kind == "O" and pd.api.types.infer_dtype(names, skipna=False) == "integer":
        return _integers_of(names)
    kinds = {kind_of(name) for name in names}
    are_times = kinds <= {DAY, TIME}
    if not are_times and kinds not in ({BOOLEAN}, {NUMBER}):
        return names
    if kinds == {BOOLEAN} and pd.Index(vocabulary).isin(["True", "False"]).any():
        return names
    try:
        out = plain(names, "")
    except AnnotationError:  # an infinity, or a time zone on some times only
        return names
    if not are_times or getattr(names[0], "tzinfo", None) is not None:
        return out
    moments = out.astype(np.datetime64)
    for unit in reversed(_UNITS):
        try:
            times = moments.astype(f"datetime64[{unit}]")
        except OverflowError:  # nanoseconds end in the year 2262
            continue
        text = np.datetime_as_string(times)
        out = np.where((times == moments) & pd.Index(text).isin(vocabulary), text, out)
    return out


def match(values: Array, vocabulary: Array) -> Ints:
    """Return the place of each value in a vocabulary, -1 if it is missing.

    Both are compared as `stored`. If one array is then text and the other numbers, numbers are
    compared as text: a single word in a CSV file makes the whole column text.
    """
    # "T" is NumPy's variable-width text, which Zarr returns.
    values, vocabulary = (
        v.astype(object) if v.dtype.kind == "T" else v for v in (values, vocabulary)
    )
    if values.dtype == vocabulary.dtype and np.array_equal(values, vocabulary):
        return np.arange(len(values))  # about 100 times as fast as the look-up below
    values = stored(values, vocabulary)
    vocabulary = stored(vocabulary, values)
    left, right = pd.Index(values), pd.Index(vocabulary)
    if (values.dtype.kind in "UO") != (vocabulary.dtype.kind in "UO"):
        left, right = _spelled(values), _spelled(vocabulary)
    return np.asarray(right.get_indexer(left), dtype=np.int64)


def widened(labels: Array, others: Array) -> Array:
    """Return ``labels``, then the ``others`` that are not among them.

    Text and numbers together become text.
    """
    new = others[match(others, labels) < 0]
    if (new.dtype.kind in "UOT") != (labels.dtype.kind in "UOT"):
        labels, new = labels.astype(np.str_), new.astype(np.str_)
    return np.concatenate([labels, new])


def _spelled(values: Array) -> pd.Index[Any]:
    """Return numbers as text in the shortest form, such as "2" for 2.0; text is unchanged."""
    if values.dtype.kind == "f":
        return pd.Index([np.format_float_positional(value, trim="-") for value in values])
    return pd.Index(values.astype(str))
