"""Data sets of the shared task Learning with Disagreements (LeWiDi), editions 2023 and 2025.

The file is one JSON object from the name of an item to its record. In a record, ``annotators`` are
names separated by commas. ``annotations`` are, in 2023, labels separated by commas, in the order of
the annotators; in 2025, an object from annotator to label.

The item is its name in the file. ``item=``, ``cluster=`` and ``stratum=`` name a field of the
record or of its ``other_info``, such as "lang".

Annotators may give several labels to an item, as in VariErrNLI of 2025 ("contradiction,neutral").
``kind="set"`` reads all labels of an annotator as one answer. ``label="neutral"`` reads, as true or
false, whether an annotator gave this label.

Items without annotations, as in test sets, are left out with a warning, and counted in
``attrs["empty_items"]``. ``soft_label``, ``hard_label`` and the other annotations in ``other_info``
are not read. Labels are read as ``annotations`` contains them, even if ``soft_label`` has fewer
labels (ConvAbuse has grades from 1 to -3). The label space is ``labels=``, or all labels that occur
in the file.

Structure: for 2025 the README of the data ("Common JSON Format"), which is on the competition's
page at Codabench, linked from le-wi-di.github.io; for 2023 (SemEval-2023 task 11) the files of
HS-Brexit and ConvAbuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import xarray as xr

from dissensus.data.formats._problems import Problems
from dissensus.data.formats._records import Export, read_document
from dissensus.data.formats._table import ReadOptions
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import FormatError, brief, shown

_REASON = "a record of LeWiDi has no such field"
_ANNOTATORS, _ANNOTATIONS = "annotators", "annotations"


def recognised(columns: Collection[str]) -> bool:
    """Return whether a record with these fields looks like a record of LeWiDi."""
    return {_ANNOTATORS, _ANNOTATIONS} <= {*columns}


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the ``annotations`` of each item."""
    options.refuse("lewidi", _REASON, ANNOTATOR, "rank", "confidence", POOL, "trial")
    if options.kind == "set" and options.named(LABEL) is not None:
        raise FormatError(
            "label=", expected='None with kind="set", which reads all labels',
            found=brief(options.named(LABEL)),
        )  # fmt: skip
    records = read_document(path, options.encoding)
    export, problems = Export(path, options, "items"), Problems(path.name, "items")
    fields = [ITEM, *(role for role in (CLUSTER, STRATUM) if options.columns.get(role))]
    for role in (ANNOTATOR, LABEL, *fields):
        export.cells[role] = []
    labels_by_item = {
        name: _labels(problems, f"item {name!r}", record) for name, record in records.items()
    }
    problems.check()
    wanted = options.named(LABEL)
    _require_label(export, labels_by_item, wanted)
    for name, labels in labels_by_item.items():
        if not labels:
            export.left_out["empty"] += 1
            continue
        place = f"item {name!r}"
        info = records[name].get("other_info")
        known = {**(info if isinstance(info, dict) else {}), **records[name], "id": name}
        cells = {role: export.cell(place, role, known, "the record") for role in fields}
        for annotator, answer in labels.items():
            if export.sets:
                export.add(place, {ANNOTATOR: annotator, LABEL: answer, **cells})
                continue
            value = answer[0] if wanted is None else wanted in answer
            if wanted is None and len(answer) > 1:
                problems.add(
                    place, "one label from each annotator", f"{shown(answer)} from {annotator!r}",
                    f'kind="set" reads all of them; label="{answer[0]}" reads whether an '
                    "annotator gave this label, true or false",
                )  # fmt: skip
            export.add(place, {ANNOTATOR: annotator, LABEL: value, **cells})
    problems.check()
    return export.annotations()


def _labels(problems: Problems, place: str, record: Any) -> dict[str, list[Any]]:
    """Return the labels of a record by annotator; {} for a record of a test set, without labels."""
    fields = record if isinstance(record, dict) else {}
    people, labels = fields.get(_ANNOTATORS), fields.get(_ANNOTATIONS)
    if not isinstance(people, str) or not isinstance(labels, str | dict):
        problems.add(
            place, f"{_ANNOTATORS!r} as text, and {_ANNOTATIONS!r} as text or an object",
            f"the fields {shown(list(fields), 12)}" if fields else brief(record),
        )  # fmt: skip
        return {}
    names = _split(people)
    if isinstance(labels, str):
        owners, values = names, [[label] if label else [] for label in _split(labels)]
    else:  # strip names: some have blanks around them
        owners, values = [name.strip() for name in labels], [*map(_several, labels.values())]
    if not values:
        return {}
    repeated = [name for part in (names, owners) for name, n in Counter(part).items() if n > 1]
    unpaired = sorted({*owners} ^ {*names})
    if repeated:
        description = f"{shown(list(dict.fromkeys(repeated)))} more than once"
        problems.add(place, "distinct annotators", description)
    elif unpaired:
        problems.add(place, "a label from each annotator, and from no others", f"{shown(unpaired)} "
                     f"in only one of {_ANNOTATORS!r} and {_ANNOTATIONS!r}")  # fmt: skip
    elif len(values) != len(owners):
        description = f"{len(owners)} annotators and {len(values)} labels"
        problems.add(place, "as many labels as annotators", description)
    elif not all(values) or any(
        isinstance(part, dict | list) for answer in values for part in answer
    ):
        problems.add(place, "labels that are not empty", brief(labels))
    else:
        return dict(zip(owners, values, strict=True))
    return {}


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _several(given: Any) -> list[Any]:
    """Return the labels that one annotator gave an item, as a list."""
    if isinstance(given, str):
        return [part for part in _split(given) if part]
    return given if isinstance(given, list) else [] if given is None else [given]


def _require_label(
    export: Export, labels_by_item: dict[str, dict[str, list[Any]]], wanted: str | None
) -> None:
    """Raise if no item has a label, or if the label ``wanted`` (of label=) does not occur."""
    labels = [
        label
        for by_annotator in labels_by_item.values()
        for answer in by_annotator.values()
        for label in answer
    ]
    if not labels:
        raise export.error(
            "", "labels of at least one item", "none", "Test sets are published without labels"
        )
    if wanted is not None and wanted not in labels:
        expected = f"a label {wanted!r}, which label= names"
        raise export.error("", expected, f"the labels {shown(sorted(set(map(str, labels))), 12)}")
