"""Evaluations in files, for tests that only look at what an evaluation holds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import xarray as xr

FOLDER = Path(__file__).parent


def read(name):
    """Return a copy of one of the stored trees; `stored.make` says how it was made."""
    return _tree(name).copy(deep=True)


@cache
def _tree(name):
    with xr.open_datatree(FOLDER / f"{name}.nc", engine="h5netcdf") as tree:
        return tree.load()
