"""Evaluations in files, for tests that only look at what an evaluation holds."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

FOLDER = Path(__file__).parent


def read(name):
    """Read one of the stored trees; `stored.make` says how it was made."""
    with xr.open_datatree(FOLDER / f"{name}.nc", engine="h5netcdf") as tree:
        return tree.load()
