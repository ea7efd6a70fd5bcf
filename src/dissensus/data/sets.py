"""Sets of labels: answers of which several labels may hold at once.

Annotations of kind "set" have one row for each answer. The coordinate ``label`` has the distinct
answers as text, such as "joy;love", and the variable ``member`` (label, element) says which labels
of the coordinate ``element`` are in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from dissensus.data import tables
from dissensus.errors import AnnotationError, brief, shown
from dissensus.kernels.types import Flags, Ints

SEPARATOR: Final = ";"
EMPTY: Final = "(none)"
"""The name of the empty set, unless there is a word for it."""
OF_SETS: Final = (
    'For agreement: krippendorff_alpha(annotations, distance="jaccard"), or "masi". For all else, '
    "read one label at a time, whether it is in the answer: true or false"
)
"""Advice where sets are not taken."""
_SEVERAL: Final = (list, tuple, set, frozenset, np.ndarray)
_WHO: Final = ("item", "annotator")
_STATEMENT: Final = (*_WHO, "trial", "pool")
"""Columns whose rows with the same values are one answer."""


class Answers(NamedTuple):
    """Answers that are sets of labels."""

    columns: dict[str, pd.Series[Any]]
    """The columns of the table by role, with one row for each answer."""
    label: tables.Encoded
    """The distinct answers, as text."""
    elements: tables.Encoded
    """The labels that answers contain."""
    member: Flags
    """(label, element): whether a label is in an answer."""


def gathered(
    column: dict[str, pd.Series[Any]],
    name: str,
    separator: str | None,
    none: Any,
    labels: tables.Encoded | None,
) -> Answers:
    """Gather rows into answers.

    Parameters
    ----------
    column : dict
        The columns of the table by role.
    name : str
        The name of the column of labels.
    separator : str or None
        What stands between labels of one row.
    none : label or None
        The word of an answer without labels.
    labels : Encoded or None
        The label space.
    """
    row, place, given = _spread(column["label"], name, separator, none)
    coded = tables.encode(pd.Series(given, dtype=object), name, sort=True) if given else None
    element = place if coded is None else coded.codes[place]
    if labels is not None:
        space = labels
        known = tables.match(np.empty(0) if coded is None else coded.values, labels.values)
        if coded is not None and (known < 0).any():
            at = int(row[np.flatnonzero(known[element] < 0)[0]])
            raise AnnotationError(
                f"column {name!r}", where=f"row {at}",
                expected=f"labels of labels= ({shown(list(labels.values), 12)})",
                found=shown(list(coded.values[known < 0])),
            )  # fmt: skip
        element = known[element]
    elif coded is None:
        raise AnnotationError(
            f"column {name!r}", expected="at least one label in some answer",
            found="empty sets only", hint="Name the label space with labels=",
        )  # fmt: skip
    else:
        space = coded
    statement, first = _statements(column)
    _require_once(statement[row], element, row, space, column, name)
    held = np.zeros((len(first), len(space.values)), dtype=bool)
    held[statement[row], element] = True
    _require_empty_alone(column["label"], statement, held, row, name, none)
    kept = {role: values.iloc[first].reset_index(drop=True) for role, values in column.items()}
    _require_same(column, kept, statement)
    member, answer = np.unique(held, axis=0, return_inverse=True)
    member = member.astype(bool)
    words = [str(value) for value in space.values.tolist()]
    between = separator or SEPARATOR
    _require_plain(words, between, name)
    empty = EMPTY if none is None else str(none)
    names = [between.join(words[k] for k in np.flatnonzero(has)) or empty for has in member]
    label = tables.Encoded(np.asarray(answer, dtype=np.int64).ravel(), np.array(names))
    return Answers(kept, label, space, member)


def _spread(
    column: pd.Series[Any], name: str, separator: str | None, none: Any
) -> tuple[Ints, Ints, list[Any]]:
    """Return the row of each label, its place in a list of labels, and this list.

    Distinct entries are taken apart once each.
    """
    if separator is not None and (not isinstance(separator, str) or not separator.strip()):
        raise AnnotationError(
            "separator", expected='text between labels, such as ";"', found=brief(separator)
        )
    cells = column.tolist()
    if any(isinstance(cell, _SEVERAL) for cell in cells):
        code, distinct = np.arange(len(cells)), cells
    else:
        code, values = pd.factorize(column, use_na_sentinel=False)
        distinct = list(values)
    parts: list[list[Any]] = []
    for k, cell in enumerate(distinct):
        try:
            parts.append(_parts(cell, separator, none))
        except ValueError as problem:
            raise AnnotationError(
                f"column {name!r}", where=f"row {np.flatnonzero(code == k)[0]}",
                expected=str(problem), found=brief(cell),
                hint="Where a blank means no label, write a word instead, and name it with none=",
            ) from problem  # fmt: skip
    count = np.array([len(part) for part in parts], dtype=np.int64)
    start = np.cumsum(count) - count
    here = count[code]
    row = np.repeat(np.arange(len(code)), here)
    within = np.arange(len(row)) - np.repeat(np.cumsum(here) - here, here)
    place = np.repeat(start[code], here) + within
    return row, place.astype(np.int64), [label for part in parts for label in part]


def _parts(cell: Any, separator: str | None, none: Any) -> list[Any]:
    """Return the labels of an entry, or raise a ValueError with what was expected."""
    if isinstance(cell, _SEVERAL):
        return sorted(cell, key=str) if isinstance(cell, set | frozenset) else list(cell)
    if none is not None and (cell == none or str(cell).strip() == str(none)):
        return []
    if pd.isna(cell) or not str(cell).strip():
        raise ValueError("a label, or a word for none")
    if separator is None or not isinstance(cell, str):
        return [cell]
    parts = [part.strip() for part in cell.split(separator)]
    if not all(parts):
        raise ValueError(f"a label before and after each {separator!r}")
    return parts


def _statements(column: dict[str, pd.Series[Any]]) -> tuple[Ints, Ints]:
    """Return the answer of each row, and the first row of each answer."""
    keys = [column[role].astype(object) for role in _STATEMENT if role in column]
    code = pd.MultiIndex.from_arrays(keys)
    statement, distinct = pd.factorize(code)
    first = np.zeros(len(distinct), dtype=np.int64)
    first[statement[::-1]] = np.arange(len(statement))[::-1]
    return statement.astype(np.int64), first


def _require_once(
    statement: Ints,
    element: Ints,
    row: Ints,
    space: tables.Encoded,
    column: dict[str, pd.Series[Any]],
    name: str,
) -> None:
    """Raise if an answer contains a label twice."""
    key = statement * len(space.values) + element
    again = np.flatnonzero(pd.Series(key).duplicated().to_numpy())
    if len(again):
        second = int(again[0])
        first = int(np.flatnonzero(key == key[second])[0])
        pair = {role: column[role].iloc[[int(row[second])]].tolist()[0] for role in _WHO}
        who = ", ".join(f"{role} {brief(value)}" for role, value in pair.items())
        raise AnnotationError(
            f"column {name!r}", where=f"rows {row[first]} and {row[second]} ({who})",
            expected="each label once in an answer",
            found=f"{brief(space.values[element[second]].item())} twice (such labels: "
            f"{len(again)})",
            hint="For repetitions, name the column of their numbers with trial=",
        )  # fmt: skip


def _require_empty_alone(
    column: pd.Series[Any], statement: Ints, held: Flags, row: Ints, name: str, none: Any
) -> None:
    """Raise if an annotator named labels of an item, and said in another row that none holds."""
    without = np.setdiff1d(np.arange(len(column)), row)
    clash = without[held[statement[without]].any(axis=1)]
    if len(clash):
        raise AnnotationError(
            f"column {name!r}", where=f"row {clash[0]}",
            expected="no other row of this annotator and item, since none of the labels holds",
            found=f"other labels too (such rows: {len(clash)})",
            hint="" if none is None else f"none={none!r} is the word for the empty set",
        )  # fmt: skip


def _require_same(
    column: dict[str, pd.Series[Any]], kept: dict[str, pd.Series[Any]], statement: Ints
) -> None:
    """Raise if rows of one answer differ in anything but the label."""
    for role in column.keys() - {"label", *_STATEMENT}:
        value, first = column[role], kept[role].iloc[statement].reset_index(drop=True)
        differs = np.flatnonzero(((value != first) & ~(value.isna() & first.isna())).to_numpy())
        if len(differs):
            at = int(differs[0])
            raise AnnotationError(
                f"{role}=", where=f"row {at}", expected="one value in all rows of an answer",
                found=f"{brief(value.iloc[at])} and {brief(first.iloc[at])}",
            )  # fmt: skip


def _require_plain(words: Sequence[str], between: str, name: str) -> None:
    """Raise if a label contains what stands between labels."""
    odd = [word for word in words if between in word]
    if odd:
        raise AnnotationError(
            f"column {name!r}", expected=f"labels without {between!r}", found=shown(odd),
            hint=f"If these are several labels, pass separator={between!r}; else pass another one",
        )  # fmt: skip
