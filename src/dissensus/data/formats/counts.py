"""Tables of counts: an item column, then one column per label with the number of votes.

The table does not name the annotators. Each vote becomes an annotation by a separate annotator,
"item: 1", "item: 2" and so on; annotators of different items are different. The columns of votes,
in order, are the label space.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data import tables
from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._table import ReadOptions, Table
from dissensus.data.formats.wide import split, with_groups
from dissensus.data.nested import with_silent
from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.errors import AnnotationError, folded, relocated, warn_caller
from dissensus.kernels.types import Floats, Ints

MOST: Final = 5_000_000
"""Maximum number of votes in a table: each takes about 350 bytes of memory during reading."""


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read a table of items (rows) by labels (columns), whose cells are numbers of votes."""
    roles = (ANNOTATOR, LABEL, "rank", "confidence", "pool", "trial")
    options.refuse("counts", "the table only counts votes", *roles)
    table = read_table(path, options)
    items, columns = split(table, options, "labels")
    votes = _votes(table, columns)
    if not votes.any():
        raise AnnotationError(table.name, expected="at least one vote", found="only zeros")
    row, label = np.nonzero(votes)
    times = votes[row, label]
    row, label = np.repeat(row, times), np.repeat(label, times)
    per_item = votes.sum(axis=1)
    number = np.arange(len(row)) - (np.cumsum(per_item) - per_item)[row]
    voters = [f"{items[i]}: {n + 1}" for i, n in zip(row, number, strict=True)]
    names = pd.Series(list(columns), dtype=object)
    long = {ITEM: pd.Series(items, dtype=object)[row], ANNOTATOR: voters, LABEL: names[label]}
    labels = list(columns) if options.labels is None else options.labels
    with relocated(lambda n: f"{table.place(int(row[n]))}, column {names[label[n]]!r}", table.name):
        ann = _annotations.annotations(long, kind=options.kind, labels=labels)
    return with_groups(with_silent(ann, items, voters), table, options)


def _votes(table: Table, columns: dict[str, pd.Series[Any]]) -> Ints:
    """Return numbers of votes (item, label), or raise unless they are whole and not negative."""
    out = np.zeros((len(next(iter(columns.values()))), len(columns)))
    for place, (name, values) in enumerate(columns.items()):
        with relocated(table.place, table.name):
            out[:, place] = tables.numbers(values, name)
        bad = np.flatnonzero((out[:, place] < 0) | (out[:, place] != np.rint(out[:, place])))
        if len(bad):
            raise AnnotationError(
                f"{table.name}: column {name!r}",
                where=table.place(int(bad[0])),
                expected="a number of votes: 0, 1, 2, ...",
                found=f"{out[bad[0], place]:g}",
                hint='One column per annotator is format="wide"',
            )
    _refuse_total(out, list(columns), table.name)
    if out.sum() > MOST:
        row, column = divmod(int(out.argmax()), len(columns))
        raise AnnotationError(
            f"{table.name}: column {list(columns)[column]!r}", where=table.place(row),
            expected=f"at most {MOST:,} votes in the table, each of which becomes an annotation",
            found=f"{out.sum():,.0f}; here {out[row, column]:,.0f}",
            hint="Remove columns that are not counts, such as numbers of items",
        )  # fmt: skip
    return out.astype(np.int64)


_TOTALS: Final = frozenset({"total", "totals", "sum", "n", "count", "votes", "n_votes", "n_labels"})
_BY_CHANCE: Final = 5
"""With fewer items there is no warning: a label may have half of each item's votes by chance."""


def _refuse_total(votes: Floats, names: list[str], table: str) -> None:
    """Raise if a column is the sum of the other columns and has the name of a total.

    It would be read as a label with half of all votes. Warn if the column has another name.
    """
    used = votes[np.ix_(votes.any(axis=1), votes.any(axis=0))]
    if used.shape[1] < 3:
        return
    totals = (2 * used == used.sum(axis=1, keepdims=True)).all(axis=0)
    for name in np.array(names, dtype=object)[votes.any(axis=0)][totals].tolist():
        if folded(name) in _TOTALS:
            raise AnnotationError(
                f"{table}: column {name!r}", expected="the votes for one label",
                found="the sum of the other columns, in every row",
                hint="Remove this column: it would be read as a label with half of all votes",
            )  # fmt: skip
        if len(used) >= _BY_CHANCE and (used != used[0]).any():
            warn_caller(
                f"{table}: the column {name!r} is the sum of the other columns in every row. "
                "If it is a total and not a label, remove it."
            )
