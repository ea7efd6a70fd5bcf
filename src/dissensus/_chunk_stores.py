"""Annotations in chunks on disk: Zarr stores, whole or not there."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from dissensus._chunk_rows import chunks_of
from dissensus._chunks import missed_if_lost
from dissensus._writing import replace
from dissensus.errors import ArgumentError, brief


def new_store(store: Any) -> Path:
    """Return the path of a store that is yet to be made."""
    try:
        place = Path(store)
        taken = place.exists() or place.is_symlink()
    except (TypeError, ValueError, OSError) as problem:
        raise ArgumentError("store", expected="a path", found=brief(store)) from problem
    if taken:
        raise ArgumentError(
            "store", expected="a path where nothing is", found=f"something at {brief(str(place))}",
            hint="To go on with what was stored: xr.open_zarr",
        )  # fmt: skip
    return place


def stored(annotations: xr.Dataset, store: Path) -> xr.Dataset:
    """Write annotations in chunks into a store, and open it; each chunk is checked on the way.

    The store gets its name when it is whole.
    """
    store.parent.mkdir(parents=True, exist_ok=True)
    replace(store, partial(_write, missed_if_lost(annotations)), overwrite=False)
    return opened(store)


def _write(annotations: xr.Dataset, place: Path) -> None:
    import dask

    annotations.to_zarr(place, consolidated=False, zarr_format=3)
    dask.compute(*(dask.delayed(chunk.check)() for chunk in chunks_of(opened(place))))


def opened(store: Path) -> xr.Dataset:
    """Open what was stored, its chunks yet to be read."""
    return xr.open_zarr(store, consolidated=False, zarr_format=3)
