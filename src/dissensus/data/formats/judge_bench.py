"""Data sets of JUDGE-BENCH in JSON: scores that people gave to texts.

The file is one object. ``annotations`` describes the metrics. ``instances`` lists the texts; the
``annotations`` of a text contain, for each metric, the list ``individual_human_scores``. The reader
reads one metric. If there are several, name one with ``label=``.

The item is the instance's ``id``. ``item=``, ``cluster=`` and ``stratum=`` name a field of the
instance, or of the object in its field ``instance``. The file does not name the annotators. Each
score is by a separate annotator, "id: 1", "id: 2" and so on, as in the format "counts"; annotators
of different items are different.

The kind follows from the metric's ``category``: "categorical" is nominal, and its ``labels_list``
is the label space; "graded" is ordinal; "continuous" is continuous. ``kind=`` and ``labels=`` take
precedence. Instances without individual scores (ToxicChat has only majorities) are left out with a
warning, and counted in ``attrs["unscored_instances"]``. ``mean_human`` and ``majority_human`` are
not read. In some data sets, such as SummEval, the only individual score of an instance is the
rounded mean of several annotators' scores.

Structure: JUDGE-BENCH (dmg-illc/JUDGE-BENCH on GitHub), ``data/README.md`` and
``data/example.json``; ``labels_list`` from the data sets in ``data/``.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data.formats._problems import Problems
from dissensus.data.formats._records import Export, Record, read_document
from dissensus.data.formats._table import ReadOptions
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import brief, shown

KINDS: Final = {"categorical": "nominal", "graded": "ordinal", "continuous": "continuous"}
"""For each category of metrics: the kind of its labels."""

_SCORES: Final = "individual_human_scores"
_ANNOTATIONS: Final = "annotations"
_REASON: Final = "scores of JUDGE-BENCH have no such field"


def recognised(columns: Collection[str]) -> bool:
    """Return whether an object with these names looks like a data set of JUDGE-BENCH."""
    return "instances" in columns and _ANNOTATIONS in columns


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the individual scores of one metric."""
    options.refuse("judge-bench", _REASON, ANNOTATOR, "rank", "confidence", POOL, "trial")
    content = read_document(path, options.encoding)
    export, problems = Export(path, options, "instances"), Problems(path.name, "instances")
    instances = export.objects("", content.get("instances"), "instances")
    places = [f"instance {instance.get('id', n)!r}" for n, instance in enumerate(instances)]
    of_metrics = [_of_metrics(problems, *pair) for pair in zip(places, instances, strict=True)]
    problems.check()
    metric = export.chosen(
        sorted({name for scores in of_metrics for name in scores}),
        "the scores of one metric", f"a metric {options.named(LABEL)!r}", "the metrics",
    )  # fmt: skip
    fields = [ITEM, *(role for role in (CLUSTER, STRATUM) if options.columns.get(role))]
    for place, instance, scores in zip(places, instances, of_metrics, strict=True):
        known = {**_fields(instance), "id": instance.get("id")}
        if not scores.get(metric):
            export.left_out["unscored"] += 1
            continue
        cells = {role: export.cell(place, role, known, "the instance") for role in fields}
        for number, score in enumerate(scores[metric], start=1):
            if score is None or isinstance(score, dict | list):
                expected = f"a text or a number in each place of {_SCORES!r}"
                problems.add(place, expected, f"{brief(score)} in place {number}")
                continue
            annotator = f"{cells[ITEM]}: {number}"
            export.add(place, {ANNOTATOR: annotator, LABEL: score, **cells})
    problems.check()
    if not export.places:
        raise export.error(
            "", f"{_SCORES!r} of the metric {metric!r}", f"none in {len(instances)} instances",
            "The mean or majority of annotators is not an annotation: take the individual scores "
            f"from the source of the data, {brief(content.get('dataset_url'))}",
        )  # fmt: skip
    return _read(export, _declared(export, content, metric))


def _fields(instance: Record) -> Record:
    shown_to_people = instance.get("instance")
    return {**(shown_to_people if isinstance(shown_to_people, dict) else {}), **instance}


def _of_metrics(problems: Problems, place: str, instance: Record) -> dict[str, list[Any]]:
    """Return the individual scores of an instance, by metric."""
    by_metric = instance.get(_ANNOTATIONS)
    good = isinstance(by_metric, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get(_SCORES), list)
        for entry in by_metric.values()
    )
    if not good or not isinstance(by_metric, dict):
        expected = f"{_ANNOTATIONS!r}, an object from metric to an object with {_SCORES!r}, a list"
        problems.add(place, expected, brief(by_metric))
        return {}
    return {metric: entry[_SCORES] for metric, entry in by_metric.items()}


def _declared(export: Export, content: Record, metric: str) -> Record:
    """Return the file's description of a metric; {} if there is none."""
    described = export.objects("", content.get(_ANNOTATIONS), _ANNOTATIONS)
    return next((entry for entry in described if entry.get("metric") == metric), {})


def _read(export: Export, declared: Record) -> xr.Dataset:
    """Return annotations with the kind and the label space that the file declares."""
    options, category = export.options, declared.get("category")
    if options.kind is not None or category not in KINDS:
        return export.annotations()
    if options.labels is not None and category == "continuous":
        return export.annotations()
    space = declared.get("labels_list") if category == "categorical" else None
    if isinstance(space, list) and options.labels is None:
        known = {str(label) for label in space}
        stray = [label for label in dict.fromkeys(export.cells[LABEL]) if str(label) not in known]
        if stray:
            raise export.error(
                f"the metric {declared['metric']!r}",
                f"one of its 'labels_list', {shown(space, 12)}", f"{shown(stray)} among the scores",
                f"Name all labels: labels={[*space, *stray]}",
            )  # fmt: skip
    options.notes["kind_source"] = f"the file's category, {category!r}"
    return export.annotations(space, KINDS[category])
