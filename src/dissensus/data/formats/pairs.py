"""Votes on pairs of systems: a voter prefers one of two answers, or calls them a tie.

The file is a table (.csv, .tsv, .json, .jsonl, .parquet) with one row for each vote:

* ``left`` and ``right``: the systems; if voters saw one answer first, its system is on the left;
* ``winner``: "left", "right", "tie", or the name of the system that won;
* ``annotator`` or, without this column, ``judge`` (optional): the voter;
* ``item`` (optional): the prompt.

``annotator=`` and ``item=`` name other columns. Other columns are not read. For other words and
columns: ``dx.pairs(table, left=..., right=..., winner=..., ties=...)``.

The result is a Dataset of votes on pairs, as from `dissensus.pairs`, for
`dissensus.models.bradley_terry`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import xarray as xr

from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._table import ReadOptions
from dissensus.data.formats.arena import refuse_labels
from dissensus.data.frames import require_columns
from dissensus.data.pairs import pairs
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import FormatError, relocated

_NEEDED: Final = ("left", "right", "winner")
_OWN: Final = {ANNOTATOR: (ANNOTATOR, "judge"), ITEM: (ITEM,)}
"""Default names of the columns of voters and prompts, in the order in which they are tried."""


def recognised(columns: Collection[str]) -> bool:
    """Return whether a table with these columns looks like votes on pairs."""
    return {*_NEEDED} <= {*columns}


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read a table of votes."""
    refuse_labels("pairs", options)
    table = read_table(path, options)
    columns = list(table.columns)
    named = {role: name for role in _OWN if (name := options.named(role))}
    for role, names in _OWN.items():
        present = [name for name in names if name in columns]
        if role not in named and present:
            named[role] = present[0]
    needed = {name: name for name in _NEEDED} | named
    call = "" if {*_NEEDED} <= {*columns} else "dx.pairs"  # which names these columns
    require_columns(needed, columns, FormatError, table.name, call=call)
    with relocated(table.place, table.name):
        return pairs(table.frame, **named)
