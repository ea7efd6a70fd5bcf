"""Tables as crowd-kit has them: the columns ``task``, ``worker`` and ``label``.

Any table format will do (the ending of the file's name decides). Other columns can be named
as usual.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import xarray as xr

from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._long import annotations_of
from dissensus.data.formats._table import Asked
from dissensus.dims import ANNOTATOR, ITEM, LABEL

COLUMNS: Final = {ITEM: "task", ANNOTATOR: "worker", LABEL: "label"}
"""What crowd-kit calls our roles."""


def read_annotations(path: Path, asked: Asked) -> xr.Dataset:
    """Read a table of tasks, workers and labels."""
    return annotations_of(read_table(path, asked), asked, COLUMNS)
