"""Prodigy's JSONL: one decision of one annotator a line.

The annotator is ``_annotator_id``, or ``_session_id`` where that is missing. What the label is
depends on what was asked, and ``attrs["label_source"]`` says which it was:

* a choice (lines with ``accept``): the one option accepted; the item is ``_input_hash``;
* a yes-or-no question about a ``label`` that somebody rejected: "accept" or "reject"; the item
  is the question, ``_task_hash``;
* a ``label`` that everybody accepted: the label itself; the item is ``_input_hash``.

``label="answer"`` makes every line a yes-or-no question. ``item=``, ``pool=``, ``cluster=``,
``stratum=`` and ``trial=`` may name other fields. Lines with the answer "ignore", rejected
choices and choices of nothing say nothing: they are counted in ``attrs["ignored_lines"]`` and
so on, with a warning.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data.formats._records import Record, read_records
from dissensus.data.formats._table import Asked
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import AnnotationError, DissensusWarning, FormatError, shown

ANSWERS: Final = ("accept", "reject", "ignore")
YES_OR_NO: Final = ("reject", "accept")
"""The label space of a yes-or-no question, in order."""

_CHOICE: Final = "the option accepted"
_QUESTION: Final = "the answer to the question whether a label holds"
_LABEL: Final = "the label, which nobody rejected"


def read_annotations(path: Path, asked: Asked) -> xr.Dataset:
    """Read what the annotators decided."""
    asked.refuse("prodigy", "a decision of Prodigy has no such field", "rank", "confidence")
    records, lines = read_records(path, asked.encoding)
    places = [f"line {lines[n]}" if lines else f"entry {n}" for n in range(len(records))]
    for place, record in zip(places, records, strict=True):
        if record.get("answer") not in ANSWERS:
            raise FormatError(
                path.name,
                where=place,
                expected=f"an answer, one of {', '.join(ANSWERS)}",
                found=repr(record.get("answer")),
            )
    source = _source(path, places, records, asked)
    kept, cells = [], {role: list[Any]() for role in _fields(asked)}
    silent: Counter[str] = Counter()
    for place, record in zip(places, records, strict=True):
        said = _said(path, place, record, source)
        if said is None:
            silent[_why_silent(record)] += 1
            continue
        kept.append(place)
        cells[LABEL].append(said)
        for role, names in _fields(asked, source).items():
            cells[role].append(_field(path, place, record, role, names))
    _report(path, asked, silent)
    asked.notes["label_source"] = source
    labels = YES_OR_NO if source == _QUESTION and asked.labels is None else asked.labels
    columns = {role: role for role in cells}
    try:
        return _annotations.annotations(cells, **columns, kind=asked.kind, labels=labels)
    except AnnotationError as problem:
        raise problem.relocated(kept.__getitem__, path.name) from problem


def _source(path: Path, places: list[str], records: list[Record], asked: Asked) -> str:
    """Say what the labels of this file are."""
    choice = ["accept" in record for record in records]
    if any(choice) and not all(choice):
        raise FormatError(
            path.name,
            where=f"{places[choice.index(True)]} and {places[choice.index(False)]}",
            expected="lines of one kind: all with a list 'accept', or none",
            found="one with and one without",
        )
    if asked.named(LABEL) not in {None, "answer"}:
        raise FormatError(
            "label=", expected='"answer", or nothing', found=repr(asked.columns[LABEL]),
            hint="What is the label of a decision depends on the kind of question",
        )  # fmt: skip
    if asked.named(LABEL) == "answer":
        return _QUESTION
    if all(choice):
        return _CHOICE
    bare = next((n for n, record in enumerate(records) if record.get("label") is None), None)
    if bare is not None:
        raise FormatError(
            path.name,
            where=places[bare],
            expected="a list 'accept' or a 'label'",
            found=f"the fields {shown(list(records[bare]), 12)}",
            hint='If the question was one and the same, label="answer" reads accept and reject',
        )
    rejected = any(record["answer"] == "reject" for record in records)
    return _QUESTION if rejected else _LABEL


def _fields(asked: Asked, source: str = "") -> dict[str, tuple[str, ...]]:
    """Return the names of the fields for each role, in the order in which they are tried."""
    item = "_task_hash" if source == _QUESTION else "_input_hash"
    own = {ITEM: (item,), ANNOTATOR: ("_annotator_id", "_session_id")}
    fields = {}
    for role in (ITEM, ANNOTATOR, POOL, CLUSTER, STRATUM, "trial"):
        name = asked.named(role) if role in own else asked.columns.get(role)
        if name is not None or role in own:
            fields[role] = (name,) if name is not None else own[role]
    return {LABEL: (), **fields} if not source else fields


def _said(path: Path, place: str, record: Record, source: str) -> Any:
    """Return what one line says, None for nothing."""
    if record["answer"] == "ignore":
        return None
    if source == _QUESTION:
        return record["answer"]
    if source == _LABEL:
        return record["label"]
    accepted = record["accept"]
    if not isinstance(accepted, list) or len(accepted) > 1:
        raise FormatError(
            path.name,
            where=place,
            expected="a list 'accept' of one option",
            found=repr(accepted),
            hint="Several options accepted at once are not one label for the item",
        )
    return accepted[0] if accepted and record["answer"] == "accept" else None


def _why_silent(record: Record) -> str:
    return {"ignore": "ignored", "reject": "rejected"}.get(record["answer"], "empty")


def _field(path: Path, place: str, record: Record, role: str, names: tuple[str, ...]) -> Any:
    for name in names:
        if record.get(name) is not None:
            return record[name]
    raise FormatError(
        path.name,
        where=place,
        expected=f"a field {' or '.join(map(repr, names))} to read as {role}",
        found=f"the fields {shown(list(record), 12)}",
        hint=f"Name another with {role}=",
    )


def _report(path: Path, asked: Asked, silent: Counter[str]) -> None:
    for what, count in silent.items():
        asked.notes[f"{what}_lines"] = count
    if silent:
        counts = " and ".join(f"{count} {what}" for what, count in sorted(silent.items()))
        warnings.warn(
            f"{path.name}: {counts} lines say nothing and are left out",
            DissensusWarning,
            stacklevel=4,
        )
