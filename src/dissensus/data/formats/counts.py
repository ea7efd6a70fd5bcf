"""Tables of counts: an item column, then one column per label with the number of votes.

Who voted is not said: every vote is an annotator of its own, "item: 1", "item: 2" and so on,
who has nothing to do with the voters of another item. The columns, in their order, are the
label space.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.data import tables
from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._table import Asked, Table
from dissensus.data.formats.wide import split, with_groups
from dissensus.data.nested import with_silent
from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.errors import AnnotationError

_WHY = "the table only counts votes"


def read_annotations(path: Path, asked: Asked) -> xr.Dataset:
    """Read a table of items by labels that counts votes."""
    asked.refuse("counts", _WHY, ANNOTATOR, LABEL, "rank", "confidence", "pool", "trial")
    table = read_table(path, asked)
    items, columns = split(table, asked, "labels")
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
    labels = list(columns) if asked.labels is None else asked.labels
    try:
        ann = _annotations.annotations(long, kind=asked.kind, labels=labels)
    except AnnotationError as problem:
        raise problem.relocated(
            lambda n: f"{table.place(int(row[n]))}, column {names[label[n]]!r}", table.name
        ) from problem
    return with_groups(with_silent(ann, items, voters), table, asked)


def _votes(table: Table, columns: dict[str, pd.Series[Any]]) -> npt.NDArray[np.int64]:
    """Return the table of votes: whole numbers, none missing, none negative."""
    out = np.zeros((len(next(iter(columns.values()))), len(columns)))
    for place, (name, values) in enumerate(columns.items()):
        try:
            out[:, place] = tables.numbers(values, name)
        except AnnotationError as problem:
            raise problem.relocated(table.place, table.name) from problem
        bad = np.flatnonzero((out[:, place] < 0) | (out[:, place] != np.rint(out[:, place])))
        if len(bad):
            raise AnnotationError(
                f"{table.name}: column {name!r}",
                where=table.place(int(bad[0])),
                expected="a number of votes: 0, 1, 2, ...",
                found=f"{out[bad[0], place]:g}",
                hint='One column per annotator is format="wide"',
            )
    return out.astype(np.int64)
