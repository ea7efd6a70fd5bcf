"""Distinct values in their plain form: whole numbers, other numbers, or text.

Tables hold the same content in many types: the number 3 as an integer, a float, a decimal or
a nullable; a day as a date or a time stamp. Here each becomes one of three kinds of array,
so that the same content compares equal wherever it came from. What has no plain form (a list,
a duration, a complex number) is an error, and so is a mixture that would have to be guessed at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from dissensus.errors import AnnotationError

TEXT: Final = "text"
NUMBER: Final = "a number"
BOOLEAN: Final = "true or false"
DAY: Final = "a date"
TIME: Final = "a time"
KINDS: Final = (TEXT, NUMBER, BOOLEAN, DAY, TIME)

_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,18})\Z")
_INT64 = np.iinfo(np.int64)
_OBJECT_TEXT_BYTES = 1 << 28


def kind_of(value: Any) -> str:
    """Name the kind of one value; what has no plain form gets the name of its type.

    Examples
    --------
    >>> [kind_of(value) for value in ("a", 1, 1.5, True, [1])]
    ['text', 'a number', 'a number', 'true or false', 'list']
    """
    if isinstance(value, str):
        return TEXT
    if isinstance(value, bool | np.bool_):
        return BOOLEAN
    if isinstance(value, np.timedelta64):  # for NumPy an integer
        return type(value).__name__
    if isinstance(value, int | float | np.integer | np.floating | Decimal):
        return NUMBER
    if isinstance(value, datetime | np.datetime64):
        return TIME
    return DAY if isinstance(value, date) else type(value).__name__


def plain(
    values: npt.NDArray[Any], name: str, error: type[AnnotationError] = AnnotationError
) -> npt.NDArray[Any]:
    """Return distinct values of one kind as an array of int64, float64 or text.

    Text that spells whole numbers throughout becomes numbers, if that loses nothing ("7"
    does, "07" keeps all of the values text). Whole floats become integers, true and false
    become 1 and 0. Integers beyond 64 bits become text, digit by digit, and so do dates.

    Parameters
    ----------
    values : array
        Distinct values without missing ones.
    name : str
        What to call the column in errors.
    error : type
        The error to raise.

    Examples
    --------
    >>> plain(np.array(["10", "9"]), "label"), plain(np.array([2**64 - 1], np.uint64), "label")
    (array([10,  9]), array(['18446744073709551615'], dtype='<U20'))
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
    """Say that values of some type cannot name or number anything."""
    return error(
        f"column {name!r}",
        where=where,
        expected="text, numbers, true/false or dates",
        found=f"values of type {kind}",
        hint="Turn them into text or numbers first",
    )


def as_text(values: Sequence[str]) -> npt.NDArray[Any]:
    """Hold text in a fixed-width array, or as objects where one long name would fill memory."""
    width = max((len(value) for value in values), default=1)
    if 4 * width * len(values) > _OBJECT_TEXT_BYTES:
        return np.array(values, dtype=object)
    return np.array(values, dtype=np.str_)


def _text(text: list[str]) -> npt.NDArray[Any]:
    if text and all(map(_INTEGER.match, text)):
        numbers = [int(cell) for cell in text]
        if _fit(numbers):
            return np.array(numbers, dtype=np.int64)
    return as_text(text)


def _fit(numbers: list[int]) -> bool:
    return _INT64.min <= min(numbers, default=0) and max(numbers, default=0) <= _INT64.max


def _integers(numbers: list[int]) -> npt.NDArray[Any]:
    """Hold integers as such if all fit; else by their digits, since a float would merge some."""
    if _fit(numbers):
        return np.array(numbers, dtype=np.int64)
    return as_text([str(number) for number in numbers])


def _floats(
    values: npt.NDArray[np.float64], name: str, error: type[AnnotationError]
) -> npt.NDArray[Any]:
    """Turn floats that are whole numbers throughout into integers; refuse infinities."""
    if not np.isfinite(values).all():
        raise error(f"column {name!r}", expected="finite numbers", found="an infinity")
    if (values == np.rint(values)).all() and (np.abs(values) < 2.0**63).all():
        return values.astype(np.int64)
    return values


def _numbers(cells: list[Any], name: str, error: type[AnnotationError]) -> npt.NDArray[Any]:
    """Return numbers held as objects: integers of any size, floats, decimals."""
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
                expected="whole numbers throughout, or none above 2**53 beside fractions",
                found=f"{cell} beside {others[0]}",
            )
    return np.array([float(cell) for cell in cells])


def _times(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Spell time stamps as briefly as loses nothing: days as days."""
    for unit in ("D", "s", "ms", "us"):
        shorter = values.astype(f"datetime64[{unit}]")
        if (shorter == values).all():
            return np.datetime_as_string(shorter)
    return np.datetime_as_string(values)


def _moments(cells: list[Any], name: str, error: type[AnnotationError]) -> npt.NDArray[Any]:
    """Spell dates and times held as objects; those with a time zone in UTC."""
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
