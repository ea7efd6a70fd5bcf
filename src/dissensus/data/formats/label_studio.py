"""The JSON export of Label Studio: tasks with annotations and predictions.

The reader reads one control of the labelling interface: ``<Choices>``, ``<Rating>`` or
``<Number>``. If there are several, name one with ``label=``. The item is the task's ``id``, or the
field of the task's ``data`` that ``item=`` names. The annotator is ``completed_by``. ``cluster=``
and ``stratum=`` name fields of ``data`` too.

Annotations that were cancelled (skipped), or that leave this control empty, are left out with a
warning, and counted in ``attrs["cancelled_annotations"]`` and ``attrs["empty_annotations"]``. With
``kind="set"`` all choices of an annotation are one answer, and an empty control is the empty set.
`dissensus.read_predictions` reads the predictions in the file; the system is ``model_version``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data.formats._records import Export, Record, read_records
from dissensus.data.formats._table import ReadOptions
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, STRATUM, SYSTEM
from dissensus.errors import brief, shown

CONTROLS: Final = ("choices", "rating", "number")
"""The types of controls whose answer is a label or a number for the whole item."""

_REASON = "an annotation of Label Studio has no such field"


def recognised(columns: Collection[str]) -> bool:
    """Return whether a table of records with these columns looks like a Label Studio export."""
    return "data" in columns and ("annotations" in columns or "predictions" in columns)


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the ``annotations`` of each task."""
    roles = (ANNOTATOR, "rank", "confidence", "pool", "trial")
    options.refuse("label-studio", _REASON, *roles)
    return _export(path, options, "annotations", ANNOTATOR).annotations()


def read_predictions(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the ``predictions`` of each task."""
    options.refuse("label-studio", _REASON, SYSTEM, "score", "rank")
    return _export(path, options, "predictions", SYSTEM).predictions()


def _export(path: Path, options: ReadOptions, group: str, role_of_respondent: str) -> Export:
    export = Export(path, options, group)
    fields = [ITEM, *(role for role in (CLUSTER, STRATUM) if options.columns.get(role))]
    for role in (role_of_respondent, LABEL, *fields):
        export.cells[role] = []
    tasks, _ = read_records(path, options.encoding)
    statements = list(_statements(export, tasks))
    types = ", ".join(CONTROLS)
    control = export.chosen(
        list(
            dict.fromkeys(
                str(result.get("from_name"))
                for place, _, statement in statements
                for result in export.objects(place, statement.get("result"), "result")
                if result.get("type") in CONTROLS
            )
        ),
        f"{group} with one control of type {types}",
        f"a control (of type {types}) called {options.named(LABEL)!r}",
        "the controls",
    )
    for place, task, statement in statements:
        answer = _answer(export, place, statement, control)
        if answer is None:
            export.left_out["cancelled" if statement.get("was_cancelled") else "empty"] += 1
            continue
        cells = {role: _cell(export, place, task, role) for role in fields}
        export.add(
            place,
            {role_of_respondent: _respondent(export, place, statement), LABEL: answer, **cells},
        )
    return export


def _statements(export: Export, tasks: list[Record]) -> Iterator[tuple[str, Record, Record]]:
    """Yield the place in the file, the task, and the record of each annotation or prediction."""
    group = export.noun
    for number, task in enumerate(tasks):
        place = f"task {task.get('id', number)}"
        if task.get(group) is None and group == "annotations":
            raise export.error(
                place,
                "a list of annotations, as in the export named JSON",
                f"the fields {shown(list(task), 12)}",
                "The export named JSON-MIN is a plain table: read it without format=, "
                'with item="id", annotator="annotator" and label= with the name of the control',
            )
        for statement in export.objects(place, task.get(group), group):
            yield f"{place}, {group[:-1]} {statement.get('id', '?')}", task, statement


def _object(export: Export, place: str, record: Record, name: str) -> Record:
    value = record.get(name)
    if value is not None and not isinstance(value, dict):
        raise export.error(place, f"{name} as an object", brief(value))
    return value or {}


def _answer(export: Export, place: str, statement: Record, control: str) -> Any:
    """Return the choice or number that an annotation gives with a control, None if it has none.

    For sets, return the list of all choices; None only if the annotation was cancelled.
    """
    if statement.get("was_cancelled"):
        return None
    answers: list[Any] = []
    for result in export.objects(place, statement.get("result"), "result"):
        if str(result.get("from_name")) == control and result.get("type") in CONTROLS:
            given = _object(export, place, result, "value")
            value = given.get(result["type"])
            answers += value if isinstance(value, list) else [value]
            if export.sets and set(given) - {result["type"]}:
                raise export.error(
                    place, "choices for the whole item",
                    f"choices for a region of it: {shown(sorted(map(str, given)))}",
                    "Make a table with one row for each label to analyse",
                )  # fmt: skip
    if export.sets:
        return [answer for answer in answers if answer is not None]
    if len(answers) > 1:
        raise export.error(
            place,
            f"one answer from the control {control!r}",
            f"{len(answers)}: {shown(answers)}",
            'Several choices are read with kind="set". Choices for regions of an item are '
            "not labels of the item; make a table with one row for each label to analyse",
        )
    return answers[0] if answers else None


def _respondent(export: Export, place: str, statement: Record) -> Any:
    name = "model_version" if export.noun == "predictions" else "completed_by"
    respondent = statement.get(name)
    if isinstance(respondent, dict) and name == "completed_by":
        respondent = respondent.get("id", respondent.get("email"))
    if respondent is None or respondent == "":
        raise export.error(place, name, "nobody")
    return respondent


def _cell(export: Export, place: str, task: Record, role: str) -> Any:
    """Return the field of the task's data that the caller named for a role.

    For items the default is the id.
    """
    fields = {**_object(export, place, task, "data"), "id": task.get("id")}
    return export.cell(place, role, fields, "the task's data")
