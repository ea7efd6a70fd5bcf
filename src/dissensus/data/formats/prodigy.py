"""The JSONL of Prodigy: each line is one decision by one annotator.

The annotator is ``_annotator_id`` or, if this is missing, ``_session_id``. The contents of the file
determine how labels are read; ``attrs["label_source"]`` describes it:

* Lines have a list ``accept`` (a choice): the label is the accepted option, or with ``kind="set"``
  the set of all accepted options; the item is ``_input_hash``.
* Lines have a ``label``, and some line of the file is rejected: each line is a yes-or-no question
  with the label "accept" or "reject"; the item is the question, ``_task_hash``.
* Lines have a ``label``, and no line is rejected: the label is ``label``; the item is
  ``_input_hash``.

``label="answer"`` makes every line a yes-or-no question. ``item=``, ``pool=``, ``cluster=``,
``stratum=`` and ``trial=`` may name other fields. Lines with the answer "ignore", rejected choices
and, unless ``kind="set"``, empty choices are left out with a warning, and counted in
``attrs["ignored_lines"]``, ``attrs["rejected_lines"]`` and ``attrs["empty_lines"]``.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data.formats._records import Export, Record, read_records
from dissensus.data.formats._table import ReadOptions
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import FormatError, shown

ANSWERS: Final = ("accept", "reject", "ignore")
YES_OR_NO: Final = ("reject", "accept")
"""The label space of a yes-or-no question, in order."""

_CHOICE: Final = "the option accepted"
_QUESTION: Final = "the answer to the question whether a label holds"
_LABEL: Final = "the label, which nobody rejected"


def recognised(columns: Collection[str]) -> bool:
    """Return whether a table of records with these columns looks like an export of Prodigy."""
    return "answer" in columns and ("_input_hash" in columns or "_task_hash" in columns)


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the annotators' decisions."""
    options.refuse("prodigy", "a decision of Prodigy has no such field", "rank", "confidence")
    export = Export(path, options, "lines")
    records, places = read_records(path, options.encoding)
    for place, record in zip(places, records, strict=True):
        if record.get("answer") not in ANSWERS:
            expected = f"an answer, one of {', '.join(ANSWERS)}"
            raise export.error(place, expected, repr(record.get("answer")))
    source = _label_source(export, places, records)
    fields = _fields(options, source)
    for role in (LABEL, *fields):
        export.cells[role] = []
    for place, record in zip(places, records, strict=True):
        label = _label(export, place, record, source)
        if label is None:
            reason = {"ignore": "ignored", "reject": "rejected"}.get(record["answer"], "empty")
            export.left_out[reason] += 1
            continue
        cells = {role: _cell(export, place, record, role, names) for role, names in fields.items()}
        export.add(place, {LABEL: label, **cells})
    options.notes["label_source"] = source
    return export.annotations(YES_OR_NO if source == _QUESTION else None)


def _label_source(export: Export, places: list[str], records: list[Record]) -> str:
    """Return a description of how the labels of this file are read."""
    choice = ["accept" in record for record in records]
    if any(choice) and not all(choice):
        raise export.error(
            f"{places[choice.index(True)]} and {places[choice.index(False)]}",
            "a list 'accept' in all lines, or in none",
            "a line with and a line without",
        )
    wanted = export.options.named(LABEL)
    if wanted not in {None, "answer"}:
        raise FormatError(
            "label=",
            expected='"answer", or nothing',
            found=repr(wanted),
            hint="The type of the question determines which field is the label",
        )
    if wanted == "answer":
        return _QUESTION
    if all(choice):
        return _CHOICE
    bare = next((n for n, record in enumerate(records) if record.get("label") is None), None)
    if bare is not None:
        raise export.error(
            places[bare],
            "a list 'accept' or a 'label'",
            f"the fields {shown(list(records[bare]), 12)}",
            'If all lines are about the same question, label="answer" reads accept and reject',
        )
    rejected = any(record["answer"] == "reject" for record in records)
    return _QUESTION if rejected else _LABEL


def _fields(options: ReadOptions, source: str) -> dict[str, tuple[str, ...]]:
    """Return, for each role, the names of fields in the order in which they are tried."""
    item = "_task_hash" if source == _QUESTION else "_input_hash"
    fields = {ITEM: (item,), ANNOTATOR: ("_annotator_id", "_session_id")}
    for role in (ITEM, ANNOTATOR, POOL, CLUSTER, STRATUM, "trial"):
        name = options.named(role) if role in fields else options.columns.get(role)
        if name is not None:
            fields[role] = (name,)
    return fields


def _label(export: Export, place: str, record: Record, source: str) -> Any:
    """Return the label of one line, None if the line has no label."""
    if record["answer"] == "ignore":
        return None
    if source != _CHOICE:
        return record["answer" if source == _QUESTION else "label"]
    accepted = record["accept"]
    if export.sets and isinstance(accepted, list):
        return accepted if record["answer"] == "accept" else None
    if not isinstance(accepted, list) or len(accepted) > 1:
        hint = 'Several accepted options are read with kind="set"'
        raise export.error(place, "a list 'accept' of one option", repr(accepted), hint)
    return accepted[0] if accepted and record["answer"] == "accept" else None


def _cell(export: Export, place: str, record: Record, role: str, names: tuple[str, ...]) -> Any:
    for name in names:
        if record.get(name) is not None:
            return record[name]
    raise export.error(
        place,
        f"a field {' or '.join(map(repr, names))} to read as {role}",
        f"the fields {shown(list(record), 12)}",
        f"Name another field with {role}=",
    )
