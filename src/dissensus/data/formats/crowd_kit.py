"""Tables of crowd-kit, with the columns ``task``, ``worker`` and ``label``.

The extension of the file determines how the table is read. If columns have other names, pass them
as ``item=``, ``annotator=`` and ``label=``.
"""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._long import annotations_of
from dissensus.data.formats._table import ReadOptions
from dissensus.dims import ANNOTATOR, ITEM, LABEL


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read a table of tasks, workers and labels."""
    names = {ITEM: "task", ANNOTATOR: "worker", LABEL: "label"}
    return annotations_of(read_table(path, options), options, names)
