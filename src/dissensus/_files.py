"""Writing results: never half, and small enough to keep."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus._report import report
from dissensus._summary import summary
from dissensus.dims import CHAIN, ITEM

MORE: Final = (
    ("agreement", "statistics"), ("components", "components"), ("accuracy", "accuracy"),
    ("weighted_reliability", "weighted_reliability"),
)  # fmt: skip
"""Groups that have a table of their own, and its name."""


def write_evaluation(evaluation: xr.DataTree, out: Path, store: str = "nc") -> list[Path]:
    """Write the draws, the tables and the report into a folder; return the paths.

    Posterior draws are stored in single precision: their Monte Carlo error is some thousand
    times larger than what is lost. Only where that would turn a tiny plausibility into 0, which
    is in no top set, they stay as they are.

    Parameters
    ----------
    evaluation : xarray.DataTree
        From `dissensus.evaluate`.
    out : Path
        The folder; made if absent. Existing files are replaced.
    store : {"nc", "zarr"}
        NetCDF or Zarr (which must be installed).
    """
    out.mkdir(parents=True, exist_ok=True)
    store_path, table, page = (
        out / name for name in (f"evaluation.{store}", "summary.csv", "report.html")
    )
    tree = _single_precision(evaluation)
    write = tree.to_zarr if store == "zarr" else partial(tree.to_netcdf, engine="h5netcdf")
    replace(store_path, write)
    replace(table, lambda path: summary(evaluation).to_csv(path, index=False))
    more = [_more(evaluation, out, *one) for one in MORE]
    report(evaluation, page, overwrite=True)
    paths = [store_path, table, *more, page]
    return [path for path in paths if path.exists()]


def _more(evaluation: xr.DataTree, out: Path, group: str, of: str) -> Path:
    """Write a table that not every evaluation has."""
    path = out / f"{of}.csv"
    if group in evaluation.children:
        replace(path, lambda path: summary(evaluation, of).to_csv(path, index=False))
    else:
        path.unlink(missing_ok=True)  # of an earlier run: it would be taken for this one's
    return path


def replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write beside the place, then rename: an interrupted run leaves what was there."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        temporary = Path(folder) / path.name
        write(temporary)
        if path.is_dir():  # a Zarr store, over which nothing can be renamed
            path.rename(Path(folder) / "before")
        temporary.replace(path)


def _single_precision(evaluation: xr.DataTree) -> xr.DataTree:
    tree = evaluation.copy()
    for name in ("posterior", *(["categories"] if "categories" in tree.children else [])):
        group = tree[name].to_dataset()
        wide = [one for one, values in group.data_vars.items() if _fits(values)]
        tree[name] = group.assign({one: group[one].astype("float32") for one in wide})
    return tree


def _fits(values: xr.DataArray) -> bool:
    """Say whether these are draws about items, and none would turn into 0 or infinity."""
    if not {CHAIN, ITEM} <= set(values.dims) or values.dtype != "float64":
        return False
    size = np.abs(values.to_numpy())
    limits = np.finfo(np.float32)
    return not bool((((size > 0) & (size < limits.tiny)) | (size > limits.max)).any())
