"""Sets of labels: answers that can contain several labels.

Annotations of kind "set" have one row for each answer. The coordinate ``label`` has the distinct
answers as text, such as "joy;love". The coordinate ``element`` has the labels. The variable
``member`` (label, element) says which labels each answer contains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from dissensus.data import tables
from dissensus.data.frames import opened
from dissensus.errors import AnnotationError, brief, relocated, shown
from dissensus.kernels.types import Array, Flags, Floats, Ints, Names

SEPARATOR: Final = ";"
EMPTY: Final = "(none)"
"""The name of the empty set, unless ``none=`` gives a word."""
OF_SETS: Final = (
    'These functions take sets, with distance="jaccard" or "masi": krippendorff_alpha, '
    "discrepancy_ratio, annotator_discrepancy_ratio, advantage_probability, winning_rate and "
    "alt_test. Call other functions for each label (is it in the answer or not): "
    "dissensus.by_label(function, annotations, ...). dissensus.evaluate compares predicted sets"
)
"""Advice in the errors of functions that do not accept annotations of kind "set"."""
OF_PREDICTED_SETS: Final = (
    'If annotators can also give several labels, read the annotations with kind="set". Sets are '
    "compared by discrepancy_ratio, advantage_probability, winning_rate and alt_test, with "
    'distance="jaccard" or "masi", and scored by set_score'
)
_BOTH: Final = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}
"""The possible cells of a column that says whether a label applies, as text."""
_SEVERAL: Final = (list, tuple, set, frozenset)
_STATEMENT: Final = ("item", "annotator", "system", "trial", "pool")
"""Roles of columns: rows with the same values in these columns are one answer."""
_REPEATED: Final = "For repetitions, name the column of their numbers with trial="


class Answers(NamedTuple):
    """A table of answers that are sets of labels."""

    columns: dict[str, pd.Series[Any]]
    """The columns of the table by role, with one row for each answer."""
    first: Ints
    """(answer): its first row in the original table."""
    label: tables.Encoded
    """Each answer as a code into the distinct answers, which are text."""
    elements: Names
    """The label space: all labels that an answer can contain."""
    member: Flags
    """(distinct answer, element): whether the answer contains the label."""
    words: dict[str, str]
    """The attributes ``separator`` and ``none``, for answers as text."""


def joined(elements: Names, member: Flags, separator: str, none: str) -> list[str]:
    """Return answers as text; ``member`` (answer, element) says which labels each one contains.

    >>> joined(np.array(["x", "y"]), np.array([[True, True], [False, False]]), ";", "(none)")
    ['x;y', '(none)']
    """
    words = [str(value) for value in elements.tolist()]
    return [separator.join(words[k] for k in np.flatnonzero(has)) or none for has in member]


def of_columns(
    frame: Any, wanted: Mapping[str, str | None], labels: Sequence[Any] | None,
    error: type[AnnotationError] = AnnotationError, *, none: Any = None,
) -> tuple[Any, Sequence[Any] | None]:  # fmt: skip
    """Replace columns of 0 and 1, one for each label, by one column with lists of labels.

    Return the new table and the labels: ``labels``, or the names of the columns of 0 and 1. A table
    without such columns is returned unchanged. ``wanted`` has the names of columns by role. A
    column with the name ``none`` is not a label: it is 1 if no label applies.

    >>> wide = {"item": [1, 2], "annotator": ["a", "a"], "joy": [1, 0], "love": [1, 0]}
    >>> roles = {"item": "item", "annotator": "annotator", "label": "label"}
    >>> table, labels = of_columns(wide, roles, None)
    >>> table["label"].tolist(), labels
    ([['joy', 'love'], []], ['joy', 'love'])
    """
    table = opened(frame, error)
    name = str(wanted["label"])
    named = {str(column) for column in wanted.values() if column is not None}
    given = None if labels is None or isinstance(labels, str) else [str(value) for value in labels]
    if name in table or not named - {name} <= set(table):
        return frame, labels
    chosen = [column for column in table if column not in named] if given is None else given
    if len(chosen) < 2 or not set(chosen) <= set(table):
        return frame, labels
    values = np.stack([_marks(table[column]) for column in chosen])
    odd = np.isnan(values)
    if odd.any(axis=1).all() and given is None:
        return frame, labels  # no column has only 0 and 1
    if odd.any():
        column, row = (int(places[0]) for places in np.nonzero(odd))
        words = "Name the column of labels with label=, or "
        words += (
            "the columns that are labels with labels="
            if error is AnnotationError else "remove the columns that are not labels"
        )  # fmt: skip
        raise error(
            f"column {chosen[column]!r}", where=f"row {row}",
            expected=f"0 or 1: there is no column {name!r}, so that each column is a label",
            found=brief(table[chosen[column]].iloc[[row]].tolist()[0]), hint=words,
        )  # fmt: skip
    if none is not None and str(none) in chosen and given is None:
        alone = values[chosen.index(str(none))] == 1
        kept = np.array([label != str(none) for label in chosen])
        values, chosen = values[kept], [label for label in chosen if label != str(none)]
        both = np.flatnonzero(alone & (values == 1).any(axis=0))
        if len(both):
            raise error(
                f"column {str(none)!r}", where=f"row {both[0]}", found="1 together with a label",
                expected=f"0 in rows with labels: none={none!r} means that no label applies",
            )  # fmt: skip
    space = [label.strip() for label in chosen]
    rows = [list(compress(space, row)) for row in (values == 1).T.tolist()]
    others = {column: cells for column, cells in table.items() if column in named}
    return others | {name: pd.Series(rows, dtype=object)}, space


def _marks(column: pd.Series[Any]) -> Floats:
    """Return cells that are 0 or 1, true or false, as numbers; nan for other cells."""
    return np.asarray(column.astype(str).str.lower().map(_BOTH), dtype=np.float64)


def are_marks(column: pd.Series[Any]) -> bool:
    """Return whether all cells of a column are 0 or 1, true or false."""
    return not bool(np.isnan(_marks(column)).any())


def gathered(
    column: dict[str, pd.Series[Any]],
    names: Mapping[str, str],
    separator: str | None,
    none: Any,
    labels: tables.Encoded | None,
) -> Answers:
    """Return a table with one row for each answer; the labels of its rows are joined.

    Parameters
    ----------
    column, names : dict
        By role: the columns of the table, and their names.
    separator : str or None
        The text between the labels of one row.
    none : label or None
        The word for an answer without labels.
    labels : Encoded or None
        The label space; by default the categories of an ordered categorical, or all labels that
        occur in other columns.
    """
    name = names["label"]
    between = _separator(separator)
    word = _word_of_none(none, between, labels)
    if labels is None:
        labels = _categories(column["label"], name, between, word)
    if labels is None and separator is not None:
        _require_separator(column["label"], between, of_annotators="annotator" in column)
    read = _spread(column["label"], name, between if separator else None, word)
    element, space = _elements(read, name, labels)
    statement, first = _statements(column, names)
    _require_whole(read, statement, column, name)
    _require_once(
        statement[read.row], element, read.row, space, name, repeated="annotator" in column
    )
    held = np.zeros((len(first), len(space)), dtype=bool)
    held[statement[read.row], element] = True
    kept = {role: values.iloc[first].reset_index(drop=True) for role, values in column.items()}
    _require_same(column, kept, statement, names)
    member, answer = np.unique(held, axis=0, return_inverse=True)
    _require_plain(space, between, name, separator)
    empty = EMPTY if word is None else word
    if empty in space.astype(str):
        raise AnnotationError(
            f"column {name!r}", expected=f"labels other than {empty!r}, the name of the empty set",
            found=brief(empty), hint=f"If it means no label, pass none={empty!r}. If it is a "
            "label, pass another word as none=",
        )  # fmt: skip
    answers = tables.as_text(joined(space, member.astype(bool), between, empty))
    label = tables.Encoded(np.asarray(answer, dtype=np.int64).ravel(), answers)
    words = {"separator": between, "none": empty}
    return Answers(kept, first, label, space, member.astype(bool), words)


def refuse_words(
    separator: Any, none: Any, of: str, error: type[AnnotationError] = AnnotationError
) -> None:
    """Raise if arguments for sets are given with another kind; ``of`` is a noun for the message."""
    for argument, value in (("separator", separator), ("none", none)):
        if value is not None:
            raise error(
                argument, expected='None, unless kind="set"', found=brief(value),
                hint=f'If {of} can contain several labels, add kind="set"',
            )  # fmt: skip


def _separator(separator: Any) -> str:
    """Return the separator of labels, without blanks if these are on one side only."""
    if separator is None:
        return SEPARATOR
    if not isinstance(separator, str) or not separator.strip():
        raise AnnotationError(
            "separator", expected='text between labels, such as ";"', found=brief(separator),
            hint="If blanks separate the labels, split the text into lists first",
        )  # fmt: skip
    bare = separator.strip()
    # Blanks are kept if they are on both sides, so that " / " does not split "n/a".
    return separator if separator[0].isspace() and separator[-1].isspace() else bare


def _word_of_none(none: Any, between: str, labels: tables.Encoded | None) -> str | None:
    """Return the argument ``none``, the word of the empty set, as text; None if not given."""
    if none is None:
        return None
    word = "" if tables.kind_of(none) not in (tables.TEXT, tables.NUMBER) else _text(none)
    if not word or word == "nan" or between in word:
        raise AnnotationError(
            "none", expected="a word or number that stands for no label, without "
            f"{between!r}", found=brief(none),
        )  # fmt: skip
    if labels is not None and word in map(_text, labels.values.tolist()):
        raise AnnotationError(
            "labels", expected="labels without the word of none=", found=brief(none)
        )
    return word


def _text(value: Any) -> str:
    """Return a name as text; 0 and 0.0 both become "0"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _categories(
    column: pd.Series[Any], name: str, between: str, word: str | None
) -> tables.Encoded | None:
    """Return the categories of an ordered categorical as the label space.

    Return None for other columns, and if a category joins several labels.
    """
    if not isinstance(column.dtype, pd.CategoricalDtype) or not column.dtype.ordered:
        return None
    words = column.dtype.categories.to_series().reset_index(drop=True)
    words = words[words.map(_text) != word].reset_index(drop=True)
    if words.astype(str).str.contains(between, regex=False).any():
        return None
    return tables.encode(words, f"{name} (its categories)")


class _Read(NamedTuple):
    """The labels in the rows of a column. Rows with equal entries share the labels of one entry."""

    row: Ints
    """(label): the row in which each label is."""
    place: Ints
    """(label): the place of each label in ``parts``."""
    parts: list[Any]
    """(part): the labels of all distinct entries, one entry after the other."""
    first: Ints
    """(part): the first row with this entry."""
    whole: Flags
    """(row): whether the row is a whole answer: a list, several labels, or the word of none."""


def _spread(column: pd.Series[Any], name: str, separator: str | None, word: str | None) -> _Read:
    """Return the labels in each row of a column; each distinct entry is split only once."""
    cells = column.tolist()
    if any(not isinstance(cell, str | int | float | np.generic) for cell in cells):
        code, distinct = np.arange(len(cells)), cells
    else:
        code, values = pd.factorize(column.astype(object), use_na_sentinel=False)
        distinct = list(values)
    start_row = np.full(len(distinct), -1, dtype=np.int64)
    start_row[code[::-1]] = np.arange(len(code))[::-1]
    parts, whole = [], np.zeros(len(distinct), dtype=bool)
    for k, cell in enumerate(distinct):
        labels, failure = _parts(cell, separator, word)
        if failure:
            raise AnnotationError(
                f"column {name!r}", where=f"row {start_row[k]}", expected=failure[0],
                found=brief(cell), hint=failure[1],
            )  # fmt: skip
        parts.append(labels)
        whole[k] = isinstance(cell, (*_SEVERAL, np.ndarray)) or len(labels) != 1
    count = np.array([len(part) for part in parts], dtype=np.int64)
    n_labels = count[code]
    row = np.repeat(np.arange(len(code)), n_labels)
    within = np.arange(len(row)) - np.repeat(np.cumsum(n_labels) - n_labels, n_labels)
    place = np.repeat((np.cumsum(count) - count)[code], n_labels) + within
    all_labels = [label for part in parts for label in part]
    return _Read(row, place, all_labels, np.repeat(start_row, count), whole[code])


_NOTHING: Final = (
    "a label, a list of labels, or the word given with none=",
    "Where a blank means no label, write a word instead, and name it with none=",
)
_JOINED: Final = ("labels, or the word of none= alone, in the same capitals", "")


def _parts(
    cell: Any, separator: str | None, word: str | None
) -> tuple[list[Any], tuple[str, str] | None]:
    """Return the labels of an entry without surrounding blanks, and None.

    If the entry is invalid, return no labels, and a pair: the expected form and a hint.
    """
    if isinstance(cell, np.ndarray) and cell.ndim == 1:
        cell = cell.tolist()
    if isinstance(cell, _SEVERAL):
        labels = sorted(cell, key=str) if isinstance(cell, set | frozenset) else list(cell)
    elif tables.kind_of(cell) not in tables.KINDS or pd.isna(cell) or not _text(cell):
        return [], _NOTHING
    elif word is not None and _text(cell) == word:
        return [], None
    elif separator is not None and isinstance(cell, str):
        labels = cell.split(separator)
        if not all(label.strip() for label in labels):
            return [], (f"a label before and after each {separator!r}", "")
    else:
        labels = [cell]
    labels = [label.strip() if isinstance(label, str) else label for label in labels]
    for label in labels:
        if tables.kind_of(label) not in tables.KINDS or pd.isna(label) or label == "":
            return [], _NOTHING
        if word is not None and _text(label).casefold() == word.casefold():
            return [], _JOINED
        if isinstance(label, str) and label.startswith("["):
            hint = "Parse lists in text: frame['label'].map(json.loads), or ast.literal_eval"
            return [], ("labels that do not begin with '['", hint)
    return labels, None


def _elements(read: _Read, name: str, labels: tables.Encoded | None) -> tuple[Ints, Names]:
    """Return the code of each label in ``read.row``, and the label space."""
    if not read.parts:
        if labels is not None:
            return np.zeros(0, dtype=np.int64), labels.values
        raise AnnotationError(
            f"column {name!r}", expected="at least one label in some answer",
            found="empty sets only", hint="Name the label space with labels=",
        )  # fmt: skip
    with relocated(lambda k: f"row {read.first[k]}"):
        coded = tables.encode(pd.Series(read.parts, dtype=object), name, sort=True)
    if labels is None:
        return coded.codes[read.place], coded.values
    known = tables.match(coded.values, labels.values)
    if (known < 0).any():
        at = int(np.flatnonzero(known[coded.codes] < 0)[0])
        raise AnnotationError(
            f"column {name!r}", where=f"row {read.first[at]}",
            expected=f"labels of labels= ({shown(list(labels.values), 12)})",
            found=shown(list(coded.values[known < 0])),
        )  # fmt: skip
    return known[coded.codes[read.place]], labels.values


def _statements(column: dict[str, pd.Series[Any]], names: Mapping[str, str]) -> tuple[Ints, Ints]:
    """Return the number of each row's answer (row), and the first row of each answer (answer)."""
    key = np.zeros(len(column["label"]), dtype=np.int64)
    for role in _STATEMENT:
        if role in column:
            coded = tables.encode(column[role], names[role])
            key = pd.factorize(key * len(coded.values) + coded.codes)[0]
    first = np.zeros(int(key.max()) + 1, dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    return key.astype(np.int64), first


def _require_whole(
    read: _Read, statement: Ints, column: dict[str, pd.Series[Any]], name: str
) -> None:
    """Raise if an answer has several rows, one of which is already a whole answer.

    ``statement`` (row) is the number of each row's answer.
    """
    several = np.bincount(statement)[statement] > 1
    bad = np.flatnonzero(several & read.whole)
    if not len(bad):
        return
    row = int(bad[0])
    both = np.flatnonzero(statement == statement[row])
    other = int(both[0] if both[0] != row else both[1])
    first, second = sorted((row, other))
    cells = column["label"].tolist()
    raise AnnotationError(
        f"column {name!r}", where=f"rows {first} and {second} ({_row_names(column, row)})",
        expected="one row for each answer, or rows of one label each",
        found=f"{brief(cells[first])} and {brief(cells[second])} (such rows: {len(bad):,})",
        hint=_REPEATED if "annotator" in column else "",
    )  # fmt: skip


def _row_names(column: dict[str, pd.Series[Any]], row: int) -> str:
    roles = [role for role in _STATEMENT if role in column][:2]
    cells = {role: column[role].iloc[[row]].tolist()[0] for role in roles}
    return ", ".join(f"{role} {brief(cell)}" for role, cell in cells.items())


def _require_once(
    statement: Ints, element: Ints, row: Ints, space: Names, name: str, *, repeated: bool
) -> None:
    """Raise if an answer contains a label twice; the arrays are along labels."""
    key = statement * len(space) + element
    repeated_rows = np.flatnonzero(pd.Series(key).duplicated().to_numpy())
    if not len(repeated_rows):
        return
    second = int(repeated_rows[0])
    first = int(np.flatnonzero(key == key[second])[0])
    same = row[first] == row[second]
    raise AnnotationError(
        f"column {name!r}",
        where=f"row {row[second]}" if same else f"rows {row[first]} and {row[second]}",
        expected="each label once in an answer",
        found=f"{brief(space[element[second]].item())} twice (such labels: {len(repeated_rows):,})",
        hint="" if same or not repeated else _REPEATED,
    )  # fmt: skip


def _require_same(
    column: dict[str, pd.Series[Any]],
    first_rows: dict[str, pd.Series[Any]],
    statement: Ints,
    names: Mapping[str, str],
) -> None:
    """Raise if rows of one answer differ in a column other than the label."""
    for role, value in column.items():
        if role in ("label", *_STATEMENT):
            continue
        values: Array = value.astype(object).to_numpy()
        first_values: Array = first_rows[role].astype(object).to_numpy()[statement]
        blank = pd.isna(values) | pd.isna(first_values)
        differs = np.array(
            [x != y for x, y in zip(values, first_values, strict=True)], dtype=object
        )
        differs = np.where(blank, pd.isna(values) != pd.isna(first_values), differs).astype(bool)
        if differs.any():
            at = int(differs.argmax())
            raise AnnotationError(
                f"column {names[role]!r}", where=f"row {at} ({_row_names(column, at)})",
                expected="one value in all rows of an answer",
                found=f"{brief(values[at])} and {brief(first_values[at])}",
            )  # fmt: skip


_USUAL: Final = ";|,"


def _require_separator(column: pd.Series[Any], between: str, *, of_annotators: bool) -> None:
    """Raise if the separator is in no answer, and another usual separator joins labels.

    An answer joins labels if each of its parts is also a part of another answer, and one of its
    parts is an answer, or another answer has the same parts in another order.
    """
    texts = {cell.strip() for cell in column.tolist() if isinstance(cell, str)}
    if any(between in text for text in texts):
        return
    for mark in _USUAL:
        parts = {text: frozenset(map(str.strip, text.split(mark))) for text in texts}
        n_answers = Counter(part for each in parts.values() for part in each)
        n_alike = Counter(parts.values())
        joined_labels = sorted(
            text for text, each in parts.items()
            if mark in text and (each & texts or n_alike[each] > 1)
            and all(n_answers[part] > 1 for part in each)
        )  # fmt: skip
        if joined_labels:
            single = "name all labels with labels=" if of_annotators else "give answers as lists"
            raise AnnotationError(
                "separator", expected="text that separates labels in some answer",
                found=f"{between!r} in no answer, but answers such as {shown(joined_labels, 1)}",
                hint=f"If these are several labels, pass separator={mark!r}. If each is one label, "
                f"{single}",
            )  # fmt: skip


def _require_plain(space: Names, between: str, name: str, separator: str | None) -> None:
    """Raise if a label contains the separator."""
    odd = [word for word in map(str, space.tolist()) if between in word]
    edge = [word for word in map(str, space.tolist()) if word[-1] in between or word[0] in between]
    if odd or (edge and len(between) > 1):
        hint = "Pass a separator= that is in no label"
        if separator is None:
            hint = f"If these are several labels in a row, pass separator={between!r}. Else pass "
            hint += "a separator= that is in no label"
        raise AnnotationError(
            f"column {name!r}", expected=f"labels without {between!r}", found=shown(odd or edge),
            hint=hint,
        )  # fmt: skip
