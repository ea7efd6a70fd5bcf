"""A table that was read from a file, and the options of the reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd

from dissensus.data.frames import opened
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.errors import AnnotationError, FormatError, brief

_DECIMAL: Final = re.compile(r"-?(?=[0-9.])(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
"""Numbers as programs write them; "007" and "1." do not match."""
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
"""Numbers in any spelling, also "007" and "1."."""
_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]*)\.0\Z")


@dataclass(frozen=True)
class Table:
    """A table that was read from a file."""

    frame: Any
    """Any dataframe, or a mapping of columns."""
    name: str
    """The name of the file, for messages."""
    text: bool = False
    """Whether all cells are text, as in CSV files: numbers must then be recognised."""
    place: Callable[[int], str] = "row {}".format
    """Function from the number of a row to a description of its place in the file."""

    @property
    def columns(self) -> Mapping[str, pd.Series[Any]]:
        """The columns by name."""
        return opened(self.frame, FormatError)


@dataclass(frozen=True)
class ReadOptions:
    """The arguments of `read_annotations` or `read_predictions`."""

    columns: Mapping[str, str | None]
    """Column names by role ("item", "annotator", "label", ...)."""
    kind: str | None = None
    labels: Sequence[Any] | None = None
    on_missing: str = "raise"
    encoding: str = "utf-8"
    delimiter: str | None = None
    error: type[AnnotationError] = AnnotationError
    separator: str | None = None
    none: Any = None
    notes: dict[str, Any] = field(default_factory=dict)
    """Attributes for the Dataset; the readers add them."""

    def __post_init__(self) -> None:
        """Raise if an argument has a wrong type."""
        text = {"kind": self.kind, "encoding": self.encoding, "delimiter": self.delimiter}
        names = {role: name for role, name in self.columns.items() if not isinstance(name, int)}
        for argument, value in {**names, **text}.items():
            if not isinstance(value, str) and (value is not None or argument == "encoding"):
                raise FormatError(f"{argument}=", expected="text", found=brief(value))
        for role in (ITEM, ANNOTATOR, SYSTEM, LABEL):
            if role in self.columns and self.columns[role] is None:
                raise FormatError(f"{role}=", expected="the name of a column", found="None")
        if self.labels is not None and not isinstance(self.labels, Iterable):
            raise FormatError("labels=", expected="a list of labels", found=brief(self.labels))
        mark = self.delimiter
        if mark is not None and not (len(mark) == 1 and mark.isascii() and mark not in '"\r\n\0'):
            expected = "one ASCII character, such as ';'"
            raise FormatError("delimiter=", expected=expected, found=brief(mark))

    def named(self, role: str) -> str | None:
        """Return the name of a role's column if the caller chose one, else None.

        A name equal to the role, such as "item", is the default and not a choice: formats have
        their own defaults.
        """
        name = self.columns.get(role)
        return None if name in {None, role} else str(name)

    def refuse(self, format_name: str, reason: str, *roles: str) -> None:
        """Raise if the caller named a column for a role that the format does not have."""
        for role in roles:
            if (name := self.named(role)) is not None:
                expected = f"no such argument with format={format_name!r} ({reason})"
                raise FormatError(f"{role}=", expected=expected, found=repr(name))


def is_number(text: str) -> bool:
    """Return whether a text spells a number, also as "007"."""
    return _NUMBER.match(text) is not None


def typed_labels(column: pd.Series[Any], name: str, options: ReadOptions) -> pd.Series[Any]:
    """Return labels as floats if all are numbers, some with fractions, and nothing is lost.

    Other labels are returned unchanged. `dissensus.data.tables` converts whole numbers, in every
    column. Numbers with fractions are converted only in labels: the item "1.10" is not the item
    "1.1". Text stays text with kind="nominal", "ranking" or "set", with ranks or scores, and with a
    label space of text; but with kind="nominal", labels such as "3.0" become whole numbers if all
    are of this form, as other programs write whole numbers where cells are missing. With
    kind="continuous" text is read later. Without kind= and labels=, annotations must not mix
    numbers and text.
    """
    distinct = [str(text) for text in column.dropna().unique()]
    if _stays_text(options):
        whole = bool(distinct) and all(map(_WHOLE.match, distinct))
        return column.astype("float64") if whole and options.kind == "nominal" else column
    if not all(text.strip() for text in distinct):  # a later check refuses and counts blanks
        return column
    infers = options.kind is None and options.labels is None
    if not all(_DECIMAL.match(text) for text in distinct):
        if infers and ANNOTATOR in options.columns:
            _require_no_mixture(column, distinct, name)
        return column
    if all(text.lstrip("-").isdigit() for text in distinct):
        return column
    if infers:
        _require_one_spelling(column, distinct, name)
    return column.map({text: float(text) for text in distinct}).astype("float64")


def _stays_text(options: ReadOptions) -> bool:
    # Continuous labels are read and checked by `dissensus.data.tables.numbers`.
    if options.kind in {"nominal", "ranking", "continuous", "set"}:
        return True
    if options.columns.get("rank") is not None or options.columns.get("score") is not None:
        return True
    return options.labels is not None and all(isinstance(label, str) for label in options.labels)


def _require_no_mixture(column: pd.Series[Any], distinct: list[str], name: str) -> None:
    number = next((text for text in distinct if is_number(text)), None)
    word = next((text for text in distinct if not is_number(text)), None)
    if number is not None and word is not None:
        raise AnnotationError(
            f"column {name!r}",
            where=_rows_of(column, number, word),
            expected="all numbers or all text",
            found=f"a number ({number!r}) and text ({word!r})",
            hint='If all are labels, use kind="nominal", or list the labels with labels=. If they '
            'are scores, correct the text, and use kind="continuous"',
        )


def _require_one_spelling(column: pd.Series[Any], distinct: list[str], name: str) -> None:
    spelled: dict[float, str] = {}
    for text in distinct:
        first = spelled.setdefault(float(text), text)
        if first.lstrip("-") != text.lstrip("-"):  # "-0.0" is a rounded zero
            raise AnnotationError(
                f"column {name!r}",
                where=_rows_of(column, first, text),
                expected="one spelling for each number",
                found=f"{first!r} and {text!r}",
                hint='For numbers use kind="continuous" or "ordinal", for names of labels '
                'kind="nominal"',
            )


def _rows_of(column: pd.Series[Any], *texts: str) -> str:
    rows = [str((column == text).to_numpy().argmax()) for text in texts]
    return f"rows {' and '.join(rows)}"
