"""Results of evaluation tools: each scorer (a metric, assertion or judge) scores each sample.

The scorers are read as annotators or as systems, like the columns of a wide table. The module of a
format makes a `Scores` object, from the columns of a table or the samples of a JSON file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.formats import wide
from dissensus.data.formats._problems import Problems
from dissensus.data.formats._records import Record
from dissensus.data.formats._table import ReadOptions, Table, is_number
from dissensus.dims import ANNOTATOR, CLUSTER, LABEL, POOL, STRATUM, SYSTEM
from dissensus.errors import FormatError, brief, shown, warn_caller

_REASON: Final = "the scorers are the annotators or systems"
_TEXT, _NUMBERS, _BOOLEANS = "text", "numbers", "true or false"


def refuse_roles(options: ReadOptions) -> None:
    """Raise if the caller named a column for a role that results of scorers do not have."""
    name = str(options.notes["format"])
    roles = (ANNOTATOR, SYSTEM, "rank", "score", "confidence", POOL, "trial")
    options.refuse(name, _REASON, *(role for role in roles if role in options.columns))


def wants_numbers(options: ReadOptions) -> bool:
    """Return whether to read the score of each sample, and not whether it passed."""
    return options.kind not in {None, "nominal"}


class Sample(NamedTuple):
    """The scores of one sample."""

    place: str
    """The place of the sample in the file, for messages."""
    fields: Record
    """Fields that item=, cluster= and stratum= may name."""
    scores: Record
    """By scorer: the score, None if it is missing."""
    suffix: str = ""
    """Text that is added to the name of the item."""


@dataclass(frozen=True)
class Scores:
    """The scores of all samples of a file."""

    table: Table
    """The columns that item=, cluster= and stratum= may name."""
    scorers: Mapping[str, pd.Series[Any]]
    """By scorer: its scores (sample)."""
    item: str
    """The name of the column of items."""
    hint: str
    """Advice for the error that an item is in two samples."""
    options: ReadOptions

    def annotations(self) -> xr.Dataset:
        """Read the scorers as annotators; scores may be missing."""
        columns, items = self._chosen(), self._items()
        lacking = {name: int(tables.missing(values).sum()) for name, values in columns.items()}
        counts = ", ".join(f"{name!r} {count}" for name, count in lacking.items() if count)
        if sum(lacking.values()) == len(items) * len(columns):
            expected = f"scores from {shown(list(columns))}"
            raise FormatError(self.table.name, expected=expected, found="none")
        if counts:
            self.options.notes["missing_scores"] = sum(lacking.values())
            warn_caller(f"{self.table.name}: samples without a score (of {len(items)}): {counts}")
        return wide.annotations_in(self.table, self.options, items, columns)

    def predictions(self) -> xr.Dataset:
        """Read the scorers as systems."""
        columns, items = self._chosen(), self._items()
        return wide.predictions_in(self.table, self.options, items, columns, "no score")

    def _items(self) -> list[Any]:
        column = self.table.columns[self.item]
        return wide.distinct(self.table, self.options, column, self.item, self.hint)

    def _chosen(self) -> dict[str, pd.Series[Any]]:
        """Return the scores of all scorers, or of the scorer that label= names."""
        wanted, names = self.options.named(LABEL), list(self.scorers)
        if wanted is not None and wanted not in self.scorers:
            raise FormatError(
                self.table.name, expected=f"a scorer {wanted!r}, which label= names",
                found=f"the scorers {shown(names, 12)}" if names else "no scorers",
                hint="Name one of them, or leave out label= to read all",
            )  # fmt: skip
        if not names:
            raise FormatError(self.table.name, expected="scores", found="none in any sample")
        columns = {name: self.scorers[name] for name in ([wanted] if wanted else names)}
        self._check_values(columns)
        return columns

    def _check_values(self, columns: Mapping[str, pd.Series[Any]]) -> None:
        """Raise if a score is a list or an object, or the kinds of two scorers differ."""
        given = {name: values[~tables.missing(values)] for name, values in columns.items()}
        problems = Problems(self.table.name, "scores")
        for name, values in given.items():
            for row, value in zip(values.index.tolist(), values, strict=True):
                if tables.kind_of(value) not in tables.KINDS:
                    problems.add(
                        f"{self.table.place(row)}, scorer {name!r}", "a text or a number",
                        brief(value), "Name a scorer with one value for each sample with label=",
                    )  # fmt: skip
        problems.check()
        kinds = {name: _kind(values.drop_duplicates()) for name, values in given.items()}
        examples = {kind: name for name, (kind, _) in reversed(kinds.items()) if kind}
        if len(examples) > 1:
            descriptions = [
                f"{kind} of {n!r} (such as {kinds[n][1]})" for kind, n in examples.items()
            ]
            raise FormatError(
                self.table.name, expected="scorers with values of one kind",
                found=" and ".join(descriptions), hint="Read one at a time: name it with label=",
            )  # fmt: skip


def _kind(values: pd.Series[Any]) -> tuple[str, str]:
    """Return the kind of a scorer's values and an example value; "" and "" without values.

    The kind is text if some value is text, else numbers if some value is a number, else true or
    false.
    """
    examples: dict[str, str] = {}
    for value in values:
        number = not isinstance(value, str) or is_number(value)
        kind = _NUMBERS if number else _TEXT
        examples.setdefault(_BOOLEANS if isinstance(value, bool | np.bool_) else kind, brief(value))
    kind = next((kind for kind in (_TEXT, _NUMBERS, _BOOLEANS) if kind in examples), "")
    return kind, examples.get(kind, "")


def of_samples(
    name: str, samples: Sequence[Sample], options: ReadOptions, item: str, hint: str
) -> Scores:
    """Return the scores of the samples of a JSON file.

    ``item`` is the name of the field with the item; ``hint`` as in `Scores`.
    """
    named = [options.columns.get(role) for role in (CLUSTER, STRATUM)]
    fields = dict.fromkeys([item, *(field for field in named if field is not None)])
    problems = Problems(name, "samples")
    for sample in samples:
        for field in fields:
            if sample.fields.get(field) is None or isinstance(sample.fields[field], dict | list):
                problems.add(
                    sample.place, f"a text or a number as the field {field!r}",
                    f"the fields {shown(list(sample.fields), 12)}" if field not in sample.fields
                    else brief(sample.fields[field]),
                    f"Name another field with {'item' if field == item else 'cluster or stratum'}=",
                )  # fmt: skip
    problems.check()
    scorers = dict.fromkeys(scorer for sample in samples for scorer in sample.scores)
    columns = {field: _column(sample.fields[field] for sample in samples) for field in fields}
    if any(sample.suffix for sample in samples):
        whole = [f"{sample.fields[item]}: {sample.suffix}" for sample in samples]
        item = f"{item}, with a suffix"
        columns[item] = _column(whole)
    table = Table(columns, name, place=[sample.place for sample in samples].__getitem__)
    values = {
        scorer: _column(sample.scores.get(scorer) for sample in samples) for scorer in scorers
    }
    return Scores(table, values, item, hint, options)


def _column(cells: Iterable[Any]) -> pd.Series[Any]:
    return pd.Series(list(cells), dtype=object)
