"""The JSON that Label Studio exports: tasks, each with annotations (and predictions).

What is read is one control of the labelling interface: ``<Choices>``, ``<Rating>`` or
``<Number>``. If there are several, ``label=`` names one of them. The item is the task's
``id``, or the field of the task's ``data`` that ``item=`` names; the annotator is
``completed_by``; ``cluster=`` and ``stratum=`` name fields of ``data``.

Annotations that were cancelled (skipped), or that leave this control empty, say nothing. They
are counted in ``attrs["cancelled_annotations"]`` and ``attrs["empty_annotations"]``, with a
warning. Models' predictions in the same file are read by `dissensus.read_predictions`; the
system is their ``model_version``.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data.formats._records import Record, read_records
from dissensus.data.formats._table import Asked
from dissensus.data.predictions import predictions
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, STRATUM, SYSTEM
from dissensus.errors import AnnotationError, DissensusWarning, FormatError, brief, shown

CONTROLS: Final = ("choices", "rating", "number")
"""The types of controls that give one label or number for the whole item."""

_WHY = "an annotation of Label Studio has no such field"


def read_annotations(path: Path, asked: Asked) -> xr.Dataset:
    """Read what people said, from the ``annotations`` of each task."""
    asked.refuse("label-studio", _WHY, ANNOTATOR, "rank", "confidence", "pool", "trial")
    rows = _Rows(path, asked, "annotations")
    columns = {
        role: role for role in (ITEM, ANNOTATOR, LABEL, CLUSTER, STRATUM) if role in rows.cells
    }
    try:
        return _annotations.annotations(rows.cells, **columns, kind=asked.kind, labels=asked.labels)
    except AnnotationError as problem:
        raise problem.relocated(rows.places.__getitem__, path.name) from problem


def read_predictions(path: Path, asked: Asked) -> xr.Dataset:
    """Read what models said, from the ``predictions`` of each task."""
    asked.refuse("label-studio", _WHY, SYSTEM, "score", "rank")
    rows = _Rows(path, asked, "predictions")
    try:
        return predictions(rows.cells, kind=asked.kind, on_missing=asked.on_missing)
    except AnnotationError as problem:
        raise problem.relocated(rows.places.__getitem__, path.name) from problem


class _Rows:
    """The statements in an export as columns, with where each came from."""

    def __init__(self, path: Path, asked: Asked, group: str) -> None:
        self.path, self.asked, self.group = path, asked, group
        self.places: list[str] = []
        who = ANNOTATOR if group == "annotations" else SYSTEM
        fields = [role for role in (CLUSTER, STRATUM) if asked.columns.get(role)]
        self.cells: dict[str, list[Any]] = {role: [] for role in (ITEM, who, LABEL, *fields)}
        tasks, _ = read_records(path, asked.encoding)
        said = list(self._statements(tasks))
        control = self._control(said)
        silent: Counter[str] = Counter()
        for place, task, statement in said:
            answer = self._answer(place, statement, control)
            if answer is None:
                silent["cancelled" if statement.get("was_cancelled") else "empty"] += 1
                continue
            self.places.append(place)
            self.cells[ITEM].append(self._field(place, task, ITEM))
            self.cells[who].append(self._who(place, statement))
            self.cells[LABEL].append(answer)
            for role in fields:
                self.cells[role].append(self._field(place, task, role))
        self._report(silent)

    def _statements(self, tasks: list[Record]) -> Iterator[tuple[str, Record, Record]]:
        for number, task in enumerate(tasks):
            place = f"task {task.get('id', number)}"
            if task.get(self.group) is None and self.group == "annotations":
                raise FormatError(
                    self.path.name,
                    where=place,
                    expected="a list of annotations, as in the export named JSON",
                    found=f"the fields {shown(list(task), 12)}",
                    hint="The export named JSON-MIN is a plain table: read it without format=, "
                    'with item="id", annotator="annotator" and label= the name of the control',
                )
            for statement in self._objects(place, task, self.group):
                yield f"{place}, {self.group[:-1]} {statement.get('id', '?')}", task, statement

    def _objects(self, place: str, of: Record, name: str) -> list[Record]:
        """Return a field that is a list of objects; what is absent holds none."""
        found = of.get(name)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise FormatError(
                self.path.name, where=place, expected=f"{name} as objects, in a list",
                found=brief(found), hint="Export them whole, not as numbers only",
            )  # fmt: skip
        return found

    def _object(self, place: str, of: Record, name: str) -> Record:
        found = of.get(name)
        if found is not None and not isinstance(found, dict):
            raise FormatError(
                self.path.name, where=place, expected=f"{name} as an object", found=brief(found)
            )
        return found or {}

    def _control(self, said: list[tuple[str, Record, Record]]) -> str:
        """Return the control to read: the only one, or the one that ``label=`` names."""
        found: Counter[str] = Counter()
        for place, _, statement in said:
            for result in self._objects(place, statement, "result"):
                if result.get("type") in CONTROLS:
                    found[str(result.get("from_name"))] += 1
        wanted = self.asked.named(LABEL)
        if wanted is None and len(found) > 1 and LABEL in found:
            wanted = LABEL
        if wanted in found:
            return str(wanted)
        if wanted is None and len(found) == 1:
            return next(iter(found))
        raise FormatError(
            self.path.name,
            expected=f"a control (of type {', '.join(CONTROLS)}) called {wanted!r}"
            if wanted is not None
            else f"{self.group} with one control of type {', '.join(CONTROLS)}",
            found=f"the controls {shown(sorted(found))}" if found else "none",
            hint="Name one of them with label=" if found else "",
        )

    def _answer(self, place: str, statement: Record, control: str) -> Any:
        """Return the one choice or number given with a control, None if there is none."""
        if statement.get("was_cancelled"):
            return None
        answers: list[Any] = []
        for result in self._objects(place, statement, "result"):
            if str(result.get("from_name")) == control and result.get("type") in CONTROLS:
                value = self._object(place, result, "value").get(result["type"])
                answers += value if isinstance(value, list) else [value]
        if len(answers) > 1:
            raise FormatError(
                self.path.name,
                where=place,
                expected=f"one answer from the control {control!r}",
                found=f"{len(answers)}: {shown(answers)}",
                hint="Choices of several labels, or for regions of an item, are not one label "
                "for the item; make a table with one row per statement of what you mean",
            )
        return answers[0] if answers else None

    def _who(self, place: str, statement: Record) -> Any:
        if self.group == "predictions":
            who = statement.get("model_version")
        else:
            who = statement.get("completed_by")
            if isinstance(who, dict):
                who = who.get("id", who.get("email"))
        if who is None or who == "":
            raise FormatError(
                self.path.name,
                where=place,
                expected="model_version" if self.group == "predictions" else "completed_by",
                found="nobody",
            )
        return who

    def _field(self, place: str, task: Record, role: str) -> Any:
        name = self.asked.named(ITEM) or "id" if role == ITEM else str(self.asked.columns[role])
        data = self._object(place, task, "data")
        found = task.get("id") if name == "id" else data.get(name)
        if found is None:
            raise FormatError(
                self.path.name,
                where=place,
                expected=f"a field {name!r} of the task's data to read as {role}",
                found=f"the fields {shown(list(data), 12) or 'none'}",
                hint=f"Name another with {role}=",
            )
        return found

    def _report(self, silent: Counter[str]) -> None:
        for what, count in silent.items():
            self.asked.notes[f"{what}_{self.group}"] = count
        if silent:
            counts = " and ".join(f"{count} {what}" for what, count in sorted(silent.items()))
            warnings.warn(
                f"{self.path.name}: {counts} {self.group} say nothing and are left out",
                DissensusWarning,
                stacklevel=5,
            )
