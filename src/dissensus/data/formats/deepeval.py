"""A test run of DeepEval in JSON: a file in the folder that ``DEEPEVAL_RESULTS_FOLDER`` names.

The file is one object. ``testCases`` and ``conversationalTestCases`` list test cases, each with a
list ``metricsData``. In ``.deepeval/.latest_test_run.json`` this object is in the field
``testRunData``. The result of ``evaluate`` as JSON (``model_dump_json``) is read too; the names of
these lists are then ``test_results`` and ``metrics_data``.

Each metric is an annotator or system. Its label for a test case is ``success``, true or false; with
``kind="continuous"`` (or "ordinal") its label is ``score``. To read only one metric, name it with
``label=``.

The item is the ``name`` of the test case. ``item=``, ``cluster=`` and ``stratum=`` name other
fields of the test case, such as "input", or of its ``metadata``.

A metric that failed with an ``error``, or without ``success`` (or ``score``), has no label for a
test case. `dissensus.read_predictions` refuses test cases without a label, unless
``on_missing="drop"``. `dissensus.read_annotations` warns of them, and ``attrs["missing_scores"]``
counts the missing labels.

Structure: DeepEval (confident-ai/deepeval), ``deepeval/test_run/test_run.py`` (TestRun),
``deepeval/test_run/api.py`` (LLMApiTestCase, ConversationalApiTestCase),
``deepeval/tracing/api.py`` (MetricData), ``deepeval/evaluate/types.py`` (EvaluationResult).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import xarray as xr

from dissensus.data.formats._problems import Problems
from dissensus.data.formats._records import Record, read_document
from dissensus.data.formats._scores import (
    Sample,
    Scores,
    of_samples,
    refuse_roles,
    wants_numbers,
)
from dissensus.data.formats._table import ReadOptions
from dissensus.dims import ITEM
from dissensus.errors import FormatError, brief, shown

_CASES: Final = {
    "testCases": "metricsData",
    "conversationalTestCases": "metricsData",
    "test_results": "metrics_data",
}
"""For each list of test cases: the field that contains the metrics of a test case."""
_LATEST: Final = "testRunData"
"""The field that contains the test run in DeepEval's file of the latest run."""
_ALIKE: Final = 'Test cases have the same name: name another field, such as item="input"'


def recognised(columns: Collection[str]) -> bool:
    """Return whether an object with these names looks like a test run of DeepEval."""
    return any(name in columns for name in (*_CASES, _LATEST))


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the metrics as annotators."""
    return _scores(path, options).annotations()


def read_predictions(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the metrics as systems."""
    return _scores(path, options).predictions()


def _scores(path: Path, options: ReadOptions) -> Scores:
    refuse_roles(options)
    content = read_document(path, options.encoding)
    content = content[_LATEST] if isinstance(content.get(_LATEST), dict) else content
    if _LATEST in content:  # the field is not an object
        raise FormatError(
            f"{path.name}: {_LATEST!r}", expected="an object with the test run",
            found=brief(content[_LATEST]),
            hint="The last run did not end, or was deleted: run deepeval again",
        )  # fmt: skip
    if not any(name in content for name in _CASES):
        expected = f"one of the lists {shown(list(_CASES))}"
        description = f"the names {shown(list(content), 12)}"
        raise FormatError(path.name, expected=expected, found=description)
    problems, samples = Problems(path.name, "test cases"), []
    for group, field in _CASES.items():
        cases = content.get(group) or []
        for number, case in enumerate(cases if isinstance(cases, list) else [cases]):
            place = f"{group} {number}"
            known = case if isinstance(case, dict) else {}
            metrics = known.get(field)
            if not isinstance(case, dict) or not isinstance(metrics, list | None):
                expected = f"an object with a list {field!r}"
                problems.add(place, expected, brief(case if known is not case else metrics))
                continue
            scores = _by_metric(problems, place, metrics or [], wants_numbers(options))
            metadata = known.get("metadata")
            fields = {**(metadata if isinstance(metadata, dict) else {}), **known}
            samples.append(Sample(place, fields, scores))
    problems.check()
    return of_samples(path.name, samples, options, options.named(ITEM) or "name", _ALIKE)


def _by_metric(problems: Problems, place: str, metrics: list[Any], numbers: bool) -> Record:
    """Return by metric: ``success``, or ``score`` with ``numbers``; None if the metric failed."""
    scores: Record = {}
    for metric in metrics:
        name = metric.get("name") if isinstance(metric, dict) else None
        if not isinstance(name, str):
            problems.add(place, "metrics with a 'name'", brief(metric))
        elif name in scores:
            problems.add(
                place, "each metric once", f"{name!r} again",
                "Give metrics with different judges different names",
            )  # fmt: skip
        else:
            failed = metric.get("error") is not None
            scores[name] = None if failed else metric.get("score" if numbers else "success")
    return scores
