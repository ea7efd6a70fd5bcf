"""Which labels of a file of text are numbers.

Whole numbers are recognised for every column (see `dissensus.vocabulary`). Numbers with
fractions are recognised here, for labels only: an item called "1.10" is not the item "1.1".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pandas as pd

from dissensus.errors import AnnotationError
from dissensus.formats._table import Asked

_DECIMAL: Final = re.compile(r"-?(?=[0-9.])(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
"""What a program writes for a number; "007" and "1." are something else."""
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
"""What a person may mean as a number, "007" too."""


def typed_labels(
    column: pd.Series[Any], name: str, asked: Asked, place: Callable[[int], str] | None = None
) -> pd.Series[Any]:
    """Turn a column of text into numbers if it holds nothing else and nothing is lost.

    Parameters
    ----------
    column : pandas.Series
        Labels as text; missing ones are left alone.
    name : str
        What to call the column in errors.
    asked : Asked
        What the caller said: text stays text with kind="nominal", with ranks, and with a
        label space of text.
    place : callable, optional
        From the number of a row to where it stands in the file.

    Raises
    ------
    AnnotationError
        Where nobody said what the labels are, if some annotations are numbers and others are
        not, or if one number is written in two ways. (A system's answer may well be "garbage"
        where "2" was expected: predictions may mix.)

    Examples
    --------
    >>> typed_labels(pd.Series(["0.5", "1.25"]), "label", Asked({})).tolist()
    [0.5, 1.25]
    >>> typed_labels(pd.Series(["0.5", "x"]), "label", Asked({}, kind="nominal")).tolist()
    ['0.5', 'x']
    """
    if _stays_text(asked):
        return column
    distinct = [str(text) for text in column.dropna().unique()]
    decimal = [bool(text) and _DECIMAL.match(text) is not None for text in distinct]
    guessing = asked.kind is None and asked.labels is None
    problem = None
    if not all(decimal):
        if guessing and "annotator" in asked.columns:
            problem = _mixture(column, distinct, name)
    elif any(not text.lstrip("-").isdigit() for text in distinct):
        problem = _two_spellings(column, distinct, name) if guessing else None
        if problem is None:
            return column.map({text: float(text) for text in distinct}).astype("float64")
    if problem is not None:
        raise problem if place is None else problem.relocated(place)
    return column


def _stays_text(asked: Asked) -> bool:
    if asked.kind in {"nominal", "ranking"} or asked.kind == "continuous":
        return True  # the last since `dissensus.tables.numbers` reads them, and says what is none
    if asked.columns.get("rank") is not None or asked.columns.get("score") is not None:
        return True
    return asked.labels is not None and all(isinstance(label, str) for label in asked.labels)


def _mixture(column: pd.Series[Any], distinct: list[str], name: str) -> AnnotationError | None:
    number = next((text for text in distinct if _NUMBER.match(text)), None)
    word = next((text for text in distinct if not _NUMBER.match(text)), None)
    if number is None or word is None:
        return None
    return AnnotationError(
        f"column {name!r}",
        where=_rows_of(column, number, word),
        expected="all numbers or all text",
        found=f"a number ({number!r}) and text ({word!r})",
        hint='If all of them are names of labels, say kind="nominal", or list them with labels=',
    )


def _two_spellings(
    column: pd.Series[Any], distinct: list[str], name: str
) -> AnnotationError | None:
    spelled: dict[float, str] = {}
    for text in distinct:
        first = spelled.setdefault(float(text), text)
        if first.lstrip("-") != text.lstrip("-"):  # "-0.0" is what rounding leaves of zero
            return AnnotationError(
                f"column {name!r}",
                where=_rows_of(column, first, text),
                expected="one spelling for each number",
                found=f"{first!r} and {text!r}",
                hint='Say whether they are numbers, kind="continuous" or "ordinal", or names of '
                'labels, kind="nominal"',
            )
    return None


def _rows_of(column: pd.Series[Any], *texts: str) -> str:
    rows = [str((column == text).to_numpy().argmax()) for text in texts]
    return f"rows {' and '.join(rows)}"
