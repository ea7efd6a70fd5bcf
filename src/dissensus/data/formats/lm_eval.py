"""The samples of lm-evaluation-harness: ``samples_<task>_<time>.jsonl``, from ``--log_samples``.

Each line is the result for one document: ``doc_id``, ``doc``, ``target``, ``filtered_resps``,
``filter``, and the values of the metrics that ``metrics`` lists. Each metric is an annotator or
system, and its value for a document, such as 0 or 1, is the label. If the file has several filters,
the name of the annotator or system includes the filter: "exact_match,strict-match". To read only
one metric, name it with ``label=``.

``label="filtered_resps"`` reads the answers of the model in place of metrics: one text for each
document, after the filter. The system is then called "filtered_resps": rename it with
``pred.assign_coords(system=["name of the model"])``. Log-likelihoods of choices are not an answer
in text, and are refused.

The item is ``doc_id``. ``item=``, ``cluster=`` and ``stratum=`` name fields of the line or of
``doc``.

`dissensus.read_predictions` refuses documents without a value, unless ``on_missing="drop"``.
`dissensus.read_annotations` warns of them, and ``attrs["missing_scores"]`` counts the missing
values.

Structure: lm-evaluation-harness, ``docs/interface.md`` (``--log_samples``); the names of fields are
in ``lm_eval/evaluator.py`` and ``lm_eval/loggers/evaluation_tracker.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data.formats._problems import Problems
from dissensus.data.formats._records import Record, read_records
from dissensus.data.formats._scores import Sample, Scores, of_samples, refuse_roles
from dissensus.data.formats._table import ReadOptions
from dissensus.dims import ITEM, LABEL
from dissensus.errors import brief, shown

_ID: Final = "doc_id"
_ANSWERS: Final = "filtered_resps"
_TWICE: Final = (
    "Read one task of one run at a time. The field that item= names must differ between documents"
)


def recognised(columns: Collection[str]) -> bool:
    """Return whether records with these fields look like samples of lm-evaluation-harness."""
    return {_ID, _ANSWERS} <= {*columns}


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the metrics as annotators."""
    return _scores(path, options).annotations()


def read_predictions(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the metrics as systems."""
    return _scores(path, options).predictions()


def _scores(path: Path, options: ReadOptions) -> Scores:
    refuse_roles(options)
    records, places = read_records(path, options.encoding)
    problems, item = Problems(path.name, "lines"), options.named(ITEM) or _ID
    filters = list(dict.fromkeys(str(record.get("filter", "")) for record in records))
    samples: dict[Any, Sample] = {}
    for place, record in zip(places, records, strict=True):
        suffix = f",{record.get('filter')}" if len(filters) > 1 else ""
        values = _values(problems, place, record, options.named(LABEL))
        scores = {f"{name}{suffix}": value for name, value in values.items()}
        doc = record.get("doc")
        fields = {**(doc if isinstance(doc, dict) else {}), **record}
        sample = samples.setdefault(_key(fields.get(item), place), Sample(place, fields, {}))
        repeated = [name for name in scores if name in sample.scores]
        if repeated:
            description = f"{item} {fields.get(item)!r} in {sample.place} too"
            problems.add(place, "each document in one line for each filter", description, _TWICE)
        sample.scores.update(scores)
    problems.check()
    return of_samples(path.name, list(samples.values()), options, item, _TWICE)


def _key(item: Any, place: str) -> Any:
    """Return a key by which lines of one document are joined: its item, or else its place."""
    return item if isinstance(item, str | int) else place


def _values(problems: Problems, place: str, record: Record, wanted: str | None) -> Record:
    """Return the values of a line by name: the answer if it is ``wanted``, else metrics."""
    if wanted is not None and wanted.partition(",")[0] == _ANSWERS:
        answers = record.get(_ANSWERS)
        if isinstance(answers, list) and len(answers) == 1 and isinstance(answers[0], str):
            return {_ANSWERS: answers[0]}
        expected = f"{_ANSWERS!r} with one answer in text"
        problems.add(place, expected, brief(answers), "Read a metric: name it with label=")
        return {}
    names = record.get("metrics")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        problems.add(
            place, "'metrics', the names of the metrics of the line",
            f"the fields {shown(list(record), 14)}" if names is None else brief(names),
            "Files of old versions do not list them: read the file without format=, with "
            f'item="{_ID}", and make a column of the system',
        )  # fmt: skip
        return {}
    lacking = [name for name in names if name not in record]
    if lacking:
        problems.add(place, "a value of each metric", f"none of {shown(lacking)}")
    return {name: record.get(name) for name in names}
