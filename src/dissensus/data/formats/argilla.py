"""The JSON format of Argilla 2: ``dataset.records.to_json(path)`` writes a list of records.

The reader reads the responses to one question: labels, ratings, or rankings. If there are several
questions, name one with ``label=``. The item is the record's ``id``, or the metadata or field that
``item=`` names; the annotator is ``user_id``. ``pool=``, ``cluster=``, ``stratum=`` and ``trial=``
name metadata or fields too. `dissensus.read_predictions` reads suggestions in place of responses;
the system is the ``agent``.

With ``kind="set"`` the labels of a multi-label question are one answer, and an empty list is the
empty set.

The export does not say which responses are drafts, so all responses count. To leave drafts out,
export only submitted responses. Responses without a value are left out with a warning, and counted
in ``attrs["empty_responses"]``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data.formats._records import Export, Record, read_records
from dissensus.data.formats._table import ReadOptions
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM, SYSTEM
from dissensus.errors import brief, shown

_RANK: Final = "rank"
_FIELDS: Final = (POOL, CLUSTER, STRATUM, "trial")
_REASON: Final = "a response of Argilla has no such field"


def recognised(columns: Collection[str]) -> bool:
    """Return whether a table of records with these columns looks like an export of Argilla."""
    return "fields" in columns and ("responses" in columns or "suggestions" in columns)


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the ``responses`` of each record."""
    options.refuse("argilla", _REASON, ANNOTATOR, _RANK, "confidence")
    return _export(path, options, "responses", ANNOTATOR, "user_id").annotations()


def read_predictions(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the ``suggestions`` of each record."""
    options.refuse("argilla", _REASON, SYSTEM, "score", _RANK)
    return _export(path, options, "suggestions", SYSTEM, "agent").predictions()


def _export(
    path: Path, options: ReadOptions, group: str, role_of_respondent: str, respondent_field: str
) -> Export:
    export = Export(path, options, group)
    records, _ = read_records(path, options.encoding)
    places = [f"record {record.get('id', number)}" for number, record in enumerate(records)]
    groups = [_group(export, *pair, group) for pair in zip(places, records, strict=True)]
    question = export.chosen(
        sorted({name for by_question in groups for name in by_question}),
        f"{group} to one question",
        f"{group} to the question {options.named(LABEL)!r}",
        "those to",
    )
    fields = [ITEM, *(role for role in _FIELDS if options.columns.get(role))]
    for role in (role_of_respondent, LABEL, *fields):
        export.cells[role] = []
    for place, record, by_question in zip(places, records, groups, strict=True):
        answers = by_question.get(question)
        if group == "suggestions" and answers is not None:
            answers = [answers]
        for answer in export.objects(place, answers, f"{group} to {question!r}"):
            value = answer.get("value")
            if value is None or (value == [] and not export.sets):
                export.left_out["empty"] += 1
                continue
            if answer.get(respondent_field) in (None, ""):
                raise export.error(place, respondent_field, "nobody")
            cells = {role: _cell(export, place, record, role) for role in fields}
            for label in _labels(export, place, value):
                export.add(place, {role_of_respondent: answer[respondent_field], **label, **cells})
    return export


def _group(export: Export, place: str, record: Record, group: str) -> Record:
    """Return the responses or suggestions of a record, by question."""
    value = record.get(group)
    if not isinstance(value, dict | None) or group not in record:
        description = brief(value) if group in record else f"the fields {shown(list(record), 12)}"
        expected = f"{group} by question, as records.to_json writes them"
        raise export.error(place, expected, description)
    return value or {}


def _labels(export: Export, place: str, value: Any) -> Iterator[Record]:
    """Yield the cells of each label of a response: the label and, in a ranking, its rank."""
    labels = isinstance(value, list) and not any(
        isinstance(element, dict | list) for element in value
    )
    if not isinstance(value, list | dict) or (export.sets and labels):
        yield {LABEL: value}
        return
    for entry in value if isinstance(value, list) else [value]:
        if not (
            isinstance(value, list) and isinstance(entry, dict) and {"value", _RANK} <= set(entry)
        ):
            raise export.error(
                place,
                "a label, a number, or a ranking",
                brief(value),
                'Several labels are read with kind="set". Spans of text are not labels of the '
                "item; make a table with one row for each label to analyse",
            )
        yield {LABEL: entry["value"], _RANK: entry[_RANK]}


def _cell(export: Export, place: str, record: Record, role: str) -> Any:
    """Return the record's metadata or field that the caller named for a role.

    For items the default is the id.
    """
    parts = [
        part for part in (record.get("fields"), record.get("metadata")) if isinstance(part, dict)
    ]
    fields = {key: value for part in parts for key, value in part.items()}
    if role == ITEM:
        own = record["id"] if record.get("id") is not None else record.get("_server_id")
        fields["id"] = own
    return export.cell(place, role, fields, "the record's metadata or fields")
