"""The table of samples that Inspect (inspect_ai) makes from logs with ``samples_df(logs)``.

Write the table with ``to_csv(path, index=False)`` or ``to_parquet(path)``. Each row is a sample of
an evaluation in an epoch. Each column ``score_<scorer>`` is an annotator or system with the name of
the scorer; the cells are its labels, such as "C" and "I". To read only one scorer, name it with
``label=``. ``score_<scorer>_answer``, ``_explanation`` and ``_metadata`` (of the column group
``SampleScores``) are not read.

The item is ``id``. If the table has several epochs or evaluations, ``item="sample_id"`` makes each
row an item. ``item=``, ``cluster=`` and ``stratum=`` name other columns, such as "metadata_topic"
or, with the column group ``EvalModel``, "model".

`dissensus.read_predictions` refuses samples without a score, unless ``on_missing="drop"``.
`dissensus.read_annotations` warns of them, and ``attrs["missing_scores"]`` counts the missing
scores.

To compare the answers of models in place of scores, read the table without a format:
``item="id"``, ``system="model"``, ``label="score_<scorer>_answer"``.

Structure: Inspect, page "Log Dataframes" (inspect.aisi.org.uk/dataframe.html) and the reference of
inspect_ai.analysis: ``samples_df``, ``SampleSummary``, ``SampleScores``.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pandas as pd
import xarray as xr

from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._scores import Scores, refuse_roles
from dissensus.data.formats._table import ReadOptions
from dissensus.data.frames import require_columns
from dissensus.dims import CLUSTER, ITEM, STRATUM
from dissensus.errors import FormatError, shown

_SCORE: Final = "score_"
_DETAILS: Final = ("_answer", "_explanation", "_metadata")
_REPEATED: Final = (
    "The rows of an item are epochs or evaluations: keep the rows of one ('epoch', 'eval_id'), or "
    'make each row an item with item="sample_id"'
)


def recognised(columns: Collection[str]) -> bool:
    """Return whether a table with these columns looks like Inspect's table of samples."""
    return {"eval_id", "sample_id"} <= {*columns} and any(_scorers(columns))


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the scorers as annotators."""
    return _scores(path, options).annotations()


def read_predictions(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read the scorers as systems."""
    return _scores(path, options).predictions()


def _scores(path: Path, options: ReadOptions) -> Scores:
    refuse_roles(options)
    table = read_table(path, options)
    columns, item = list(table.columns), options.named(ITEM) or "id"
    groups = {role: name for role in (CLUSTER, STRATUM) if (name := options.columns.get(role))}
    require_columns({ITEM: item, **groups}, columns, FormatError, table.name)
    scorers = _scorers(columns)
    if not scorers:
        raise FormatError(
            table.name, expected="columns 'score_<scorer>', as samples_df writes them",
            found=f"the columns {shown(columns, 12)}",
            hint="Evaluations without scores have none: score the log with 'inspect score'",
        )  # fmt: skip
    values = {name: _opened(table.columns[column]) for name, column in scorers.items()}
    return Scores(table, values, item, _REPEATED, options)


def _scorers(columns: Collection[str]) -> dict[str, str]:
    """Return the name of each scorer's column of scores, by scorer."""
    scores = [name for name in columns if name.startswith(_SCORE)]
    details = {f"{name}{detail}" for name in scores for detail in _DETAILS}
    return {name.removeprefix(_SCORE): name for name in scores if name not in details}


def _opened(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column in which lists and objects, which the table contains as text, are parsed."""
    objects = {text for text in column if isinstance(text, str) and text[:1] in {"[", "{"}}
    parsed = {}
    for text in objects:
        with suppress(json.JSONDecodeError, RecursionError):
            parsed[text] = json.loads(text)
    return column.map(lambda cell: parsed.get(str(cell), cell)) if parsed else column
