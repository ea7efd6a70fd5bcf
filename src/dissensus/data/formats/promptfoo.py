"""The results of promptfoo in JSON: ``promptfoo eval --output results.json``.

The file is one object; ``results.results`` lists the results, one for each test, prompt and
provider. Each assertion (``gradingResult.componentResults``) is an annotator or system. Its name is
the ``metric`` of the assertion or, without a metric, the ``type``, such as "llm-rubric"; the rating
of a person has the type "human". Its label for a result is ``pass``, true or false; with
``kind="continuous"`` (or "ordinal") its label is ``score``. To read only one assertion, name it
with ``label=``. ``label="success"`` reads the verdict on the whole result (``success`` or
``score``).

An item is one result. Its name is ``testIdx`` or, with ``item=``, a variable (``vars``) or another
field of the result. If there are several providers or prompts, the name includes them:
"3: openai:gpt-4, prompt 0". ``cluster=`` and ``stratum=`` name fields or variables too. The field
"provider" is read as the provider's label or id.

A result with an error of the provider or of the test (``failureReason`` 2) has no labels.
`dissensus.read_predictions` refuses these results, unless ``on_missing="drop"``.
`dissensus.read_annotations` warns of them, and ``attrs["missing_scores"]`` counts the missing
labels.

Structure: promptfoo, pages "Output Formats" and "Reference" (EvaluateResult, GradingResult) of its
documentation; ``testIdx``, ``promptIdx``, ``failureReason`` and the assertion from
``src/types/index.ts``.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import compress
from pathlib import Path
from typing import Final

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
from dissensus.dims import ITEM, LABEL
from dissensus.errors import FormatError, brief, shown

SUCCESS: Final = "success"
_ERROR: Final = 2
"""The ``failureReason`` of a result with an error of the provider or of the test."""
_SAME: Final = 'Results have the same name: name another variable with item=, or use item="id"'


def recognised(columns: Collection[str]) -> bool:
    """Return whether an object with these names looks like results of promptfoo."""
    return {"evalId", "results"} <= {*columns}


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the assertions as annotators."""
    return _scores(path, options).annotations()


def read_predictions(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the assertions as systems."""
    return _scores(path, options).predictions()


def _scores(path: Path, options: ReadOptions) -> Scores:
    refuse_roles(options)
    content = read_document(path, options.encoding)
    inner = content.get("results")
    results = inner.get("results") if isinstance(inner, dict) else None
    if not isinstance(results, list):
        names = list(inner) if isinstance(inner, dict) else list(content)
        description = f"the names {shown(names, 12)}"
        raise FormatError(path.name, expected="a list 'results' in 'results'", found=description)
    problems, samples = Problems(path.name, "results"), []
    for number, result in enumerate(results):
        place = f"result {number}"
        if not isinstance(result, dict):
            problems.add(place, "an object", brief(result))
            continue
        scores = _by_assertion(problems, place, result, options)
        samples.append(Sample(place, _fields(result), scores))
    problems.check()
    if not any(sample.scores for sample in samples):
        description = f"no 'componentResults' in {len(samples)} results"
        hint = f'label="{SUCCESS}" reads the verdict on each result'
        raise FormatError(path.name, expected="results of assertions", found=description, hint=hint)
    item = options.named(ITEM) or "testIdx"
    suffixed = samples if item == "id" else _with_suffixes(samples)
    return of_samples(path.name, suffixed, options, item, _SAME)


def _fields(result: Record) -> Record:
    """Return the variables and fields of a result; "provider" is the provider's label or id."""
    provider, variables = result.get("provider"), result.get("vars")
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    return {**(variables if isinstance(variables, dict) else {}), **result, "provider": provider}


def _with_suffixes(samples: list[Sample]) -> list[Sample]:
    """Return the samples with a suffix: the provider and the prompt, if there are several."""
    parts = [
        (f"{sample.fields['provider']}", f"prompt {sample.fields.get('promptIdx')}")
        for sample in samples
    ]
    several = [len({pair[place] for pair in parts}) > 1 for place in range(2)]
    suffixes = [", ".join(compress(pair, several)) for pair in parts]
    return [
        sample._replace(suffix=suffix) for sample, suffix in zip(samples, suffixes, strict=True)
    ]


def _by_assertion(problems: Problems, place: str, result: Record, options: ReadOptions) -> Record:
    """Return the verdict or score of each assertion by name; None if there was an error."""
    numbers, failed = wants_numbers(options), result.get("failureReason") == _ERROR
    if options.named(LABEL) == SUCCESS:
        return {SUCCESS: None if failed else result.get("score" if numbers else SUCCESS)}
    grading = result.get("gradingResult")
    components = grading.get("componentResults") if isinstance(grading, dict) else None
    scores: Record = {}
    for component in components if isinstance(components, list) else []:
        assertion = component.get("assertion") if isinstance(component, dict) else None
        known = assertion if isinstance(assertion, dict) else {}
        name = known.get("metric") or known.get("type")
        if not isinstance(name, str):
            problems.add(
                place, "assertions with a 'metric' or a 'type'", brief(component),
                'label="success" reads the verdict on the whole result',
            )  # fmt: skip
        elif name in scores:
            problems.add(
                place, "each assertion once", f"{name!r} again",
                "Give each assertion its own metric: in the configuration, or read the verdict on "
                'the whole result with label="success"',
            )  # fmt: skip
        else:
            scores[name] = None if failed else component.get("score" if numbers else "pass")
    return scores
