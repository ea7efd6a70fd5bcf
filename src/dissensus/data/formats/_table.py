"""What all readers of files hand on: a table, and where its rows came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pandas as pd

from dissensus.data.frames import opened
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.errors import AnnotationError, FormatError, brief, resembling, shown


def _numbered(row: int) -> str:
    return f"row {row}"


@dataclass(frozen=True)
class Table:
    """A table as read from a file."""

    frame: Any
    """Any dataframe, or a mapping of columns."""
    name: str
    """The file's name, for complaints."""
    text: bool = False
    """Whether the file holds text only, so that numbers are yet to be recognised."""
    place: Callable[[int], str] = _numbered
    """From the number of a row to words that find it in the file."""

    @property
    def columns(self) -> Mapping[str, pd.Series[Any]]:
        """The columns by name."""
        return opened(self.frame, FormatError)


@dataclass(frozen=True)
class Asked:
    """What the caller of `read_annotations` or `read_predictions` wants."""

    columns: Mapping[str, str | None]
    """Role ("item", "annotator", "label", ...) to column name."""
    kind: str | None = None
    labels: Sequence[Any] | None = None
    on_missing: str = "raise"
    encoding: str = "utf-8"
    delimiter: str | None = None
    error: type[AnnotationError] = AnnotationError
    notes: dict[str, Any] = field(default_factory=dict)
    """Filled while reading, for the Dataset's attributes."""

    def __post_init__(self) -> None:
        """Raise on arguments of types that cannot be what they are for."""
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
            raise FormatError(
                "delimiter=", expected="one ASCII character, such as ';'", found=brief(mark)
            )

    def named(self, role: str) -> str | None:
        """Return the column for a role if the caller chose one, else None.

        "item" for the item is the default and therefore no choice: a format has its own.
        """
        name = self.columns.get(role)
        return None if name in {None, role} else str(name)

    def refuse(self, name_of_format: str, why: str, *roles: str) -> None:
        """Raise if the caller chose a column that this format has no room for."""
        for role in roles:
            name = self.columns.get(role)
            if name is not None and name != role:
                raise FormatError(
                    f"{role}=", expected=f"no such argument with format={name_of_format!r} ({why})",
                    found=repr(name),
                )  # fmt: skip


def missing_column(table: Table, name: str, role: str, hint: str = "") -> NoReturn:
    """Complain of a column that a format cannot do without."""
    near = resembling(name, table.columns)
    advice = f"Name it with {role}={near!r}" if near else f"Name it with {role}="
    raise FormatError(
        f"{table.name}: column {name!r}",
        expected=f"a column of this name to read as {role}",
        found=f"the columns {shown(list(table.columns), 12)}",
        hint=f"{advice}. {hint}" if hint else advice,
    )
