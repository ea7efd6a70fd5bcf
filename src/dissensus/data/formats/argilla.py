"""The JSON that Argilla 2 writes: ``dataset.records.to_json(path)``, a list of records.

What is read are the responses to one question, or the suggestions: of labels, ratings, or
rankings. If there are several questions, ``label=`` names one of them. The item is the record's
``id``, or what ``item=`` names in its metadata or fields; the annotator is ``user_id``; ``pool=``,
``cluster=``, ``stratum=`` and ``trial=`` name metadata or fields too. Suggestions are read by
`dissensus.read_predictions`; the system is their ``agent``.

The export does not say which responses are drafts: all count. To leave them out, export
those that were submitted only. Responses without a value say nothing; they are counted in
``attrs["empty_responses"]``, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data.formats._records import Record, read_records
from dissensus.data.formats._table import Asked
from dissensus.data.predictions import predictions
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM, SYSTEM
from dissensus.errors import AnnotationError, DissensusWarning, FormatError, brief, shown

_RANK: Final = "rank"
_FIELDS: Final = (POOL, CLUSTER, STRATUM, "trial")
_WHY: Final = "a response of Argilla has no such field"


class _Said(NamedTuple):
    """One response, or suggestion."""

    place: str
    record: Record
    who: Any
    value: Any


def read_annotations(path: Path, asked: Asked) -> xr.Dataset:
    """Read what people said, from the ``responses`` of each record."""
    asked.refuse("argilla", _WHY, ANNOTATOR, _RANK, "confidence")
    cells, places = _cells(path, asked, "responses", ANNOTATOR)
    columns = {role: role for role in cells}
    try:
        return _annotations.annotations(cells, **columns, kind=asked.kind, labels=asked.labels)
    except AnnotationError as problem:
        raise problem.relocated(places.__getitem__, path.name) from problem


def read_predictions(path: Path, asked: Asked) -> xr.Dataset:
    """Read what models said, from the ``suggestions`` of each record."""
    asked.refuse("argilla", _WHY, SYSTEM, "score", _RANK)
    cells, places = _cells(path, asked, "suggestions", SYSTEM)
    rank = _RANK if _RANK in cells else None
    try:
        return predictions(cells, rank=rank, kind=asked.kind, on_missing=asked.on_missing)
    except AnnotationError as problem:
        raise problem.relocated(places.__getitem__, path.name) from problem


def _cells(
    path: Path, asked: Asked, group: str, who: str
) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the statements as columns, and where each came from."""
    records, _ = read_records(path, asked.encoding)
    question = _question(path, asked, records, group)
    fields = [role for role in _FIELDS if asked.columns.get(role)]
    cells: dict[str, list[Any]] = {role: [] for role in (ITEM, who, LABEL, *fields)}
    places: list[str] = []
    ranks: list[int | None] = []
    empty = 0
    for said in _statements(path, records, group, question):
        if said.value is None or said.value == []:
            empty += 1
            continue
        for label, rank in _labels(path, said):
            places.append(said.place)
            ranks.append(rank)
            cells[who].append(_named(path, said, group))
            cells[LABEL].append(label)
            for role in (ITEM, *fields):
                cells[role].append(_field(path, asked, said, role))
    if any(rank is not None for rank in ranks):
        cells[_RANK] = ranks
    if empty:
        asked.notes[f"empty_{group}"] = empty
        warnings.warn(
            f"{path.name}: {empty} {group} have no value and are left out", DissensusWarning,
            stacklevel=4,
        )  # fmt: skip
    return cells, places


def _group(path: Path, place: str, record: Record, group: str) -> Record:
    """Return the responses or suggestions of a record, by question."""
    found = record.get(group)
    if not isinstance(found, dict | None) or group not in record:
        raise FormatError(
            path.name, where=place, expected=f"{group} by question, as records.to_json writes them",
            found=brief(found) if group in record else f"the fields {shown(list(record), 12)}",
        )  # fmt: skip
    return found or {}


def _question(path: Path, asked: Asked, records: list[Record], group: str) -> str:
    """Return the question to read: the only one, or the one that ``label=`` names."""
    found = sorted({name for n, record in enumerate(records)
                    for name in _group(path, _place(n, record), record, group)})  # fmt: skip
    wanted = asked.named(LABEL)
    if wanted is None and len(found) == 1:
        return found[0]
    if wanted is None and LABEL in found:  # "label" is the default, and a name like others
        return LABEL
    if wanted in found:
        return str(wanted)
    raise FormatError(
        path.name,
        expected=f"{group} to the question {wanted!r}" if wanted else f"{group} to one question",
        found=f"those to {shown(found)}" if found else "none",
        hint="Name one of them with label=" if found else "",
    )


def _place(number: int, record: Record) -> str:
    return f"record {record.get('id', number)}"


def _statements(path: Path, records: list[Record], group: str, question: str) -> Iterator[_Said]:
    """Go through what was said in answer to a question."""
    for number, record in enumerate(records):
        place = _place(number, record)
        found = _group(path, place, record, group).get(question)
        if found is None:
            continue
        each = [found] if group == "suggestions" else found
        if not isinstance(each, list) or not all(isinstance(one, dict) for one in each):
            raise FormatError(
                path.name, where=place, expected=f"{group} to {question!r} as objects, in a list",
                found=brief(found),
            )  # fmt: skip
        for one in each:
            who = one.get("agent" if group == "suggestions" else "user_id")
            yield _Said(place, record, who, one.get("value"))


def _labels(path: Path, said: _Said) -> Iterator[tuple[Any, int | None]]:
    """Return the one label, or those of a ranking with their ranks."""
    if not isinstance(said.value, list | dict):
        yield said.value, None
        return
    ranked = isinstance(said.value, list) and all(
        isinstance(one, dict) and {"value", _RANK} <= set(one) for one in said.value
    )
    if not ranked:
        raise FormatError(
            path.name, where=said.place, expected="a label, a number, or a ranking",
            found=brief(said.value),
            hint="Several labels at once, or spans of a text, are not one label for the item; make "
            "a table with one row per statement of what you mean",
        )  # fmt: skip
    for one in said.value:
        yield one["value"], one[_RANK]


def _named(path: Path, said: _Said, group: str) -> Any:
    if said.who is None or said.who == "":
        field = "agent" if group == "suggestions" else "user_id"
        raise FormatError(path.name, where=said.place, expected=field, found="nobody")
    return said.who


def _field(path: Path, asked: Asked, said: _Said, role: str) -> Any:
    """Return what a role's field of metadata or fields holds; of the item by default its id."""
    name = asked.named(ITEM) or "id" if role == ITEM else str(asked.columns[role])
    if role == ITEM and name == "id":
        own = said.record.get("id")
        found = said.record.get("_server_id") if own is None else own
    else:
        found = _beside(said.record).get(name)
    if found is None:
        raise FormatError(
            path.name, where=said.place,
            expected=f"{name!r} among the record's metadata or fields, to read as {role}",
            found=shown(list(_beside(said.record))) or "none",
            hint=f"Name another with {role}=",
        )  # fmt: skip
    return found


def _beside(record: Record) -> dict[str, Any]:
    """Return metadata and fields, of those that are objects."""
    parts = [record.get(name) for name in ("fields", "metadata")]
    return {name: value for part in parts if isinstance(part, dict) for name, value in part.items()}
