"""Writing results: never half, and small enough to keep."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dissensus._report import report
from dissensus._summary import summary


def write_evaluation(evaluation: xr.DataTree, out: Path, store: str = "nc") -> list[Path]:
    """Write the draws, the table and the report into a folder; return the paths.

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
    paths = [out / f"evaluation.{store}", out / "summary.csv", out / "report.html"]
    tree = _single_precision(evaluation)
    if store == "zarr":
        tree.to_zarr(paths[0], mode="w")
    else:
        replace(paths[0], lambda path: tree.to_netcdf(path, engine="h5netcdf"))
    replace(paths[1], lambda path: summary(evaluation).to_csv(path, index=False))
    report(evaluation, paths[2], overwrite=True)
    return paths


def replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write to a temporary neighbour, then rename: an interrupted run leaves the old file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _single_precision(evaluation: xr.DataTree) -> xr.DataTree:
    tree = evaluation.copy()
    posterior = tree["posterior"].to_dataset()
    wide = [name for name, values in posterior.data_vars.items() if _fits(values)]
    tree["posterior"] = posterior.assign({name: posterior[name].astype("float32") for name in wide})
    return tree


def _fits(values: xr.DataArray) -> bool:
    size = np.abs(values.to_numpy())
    limits = np.finfo(np.float32)
    return values.dtype == "float64" and not bool(
        (((size > 0) & (size < limits.tiny)) | (size > limits.max)).any()
    )
