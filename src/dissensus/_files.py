"""Writing results: never half, and small enough to keep."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import xarray as xr

from dissensus._report import report
from dissensus._spreadsheet import disarmed_table
from dissensus._writing import Writer, replace_all
from dissensus.dims import CHAIN, ITEM
from dissensus.evaluation.summary import summary

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

    All files are replaced together, or none is if one cannot be written. Names in tables that a
    spreadsheet would run as formulas have an apostrophe in front (`_spreadsheet.disarmed`).

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
    writers = _writers(evaluation, store)
    replace_all(out, writers)
    return [out / name for name, write in writers.items() if write is not None]


def _writers(evaluation: xr.DataTree, store: str) -> dict[str, Writer | None]:
    """Return what writes each file; None for a table of an earlier run that this one has not."""
    tree = _single_precision(evaluation)
    zarr = partial(tree.to_zarr, zarr_format=3, consolidated=False)
    write = zarr if store == "zarr" else partial(_netcdf, tree)
    writers: dict[str, Writer | None] = {
        f"evaluation.{store}": write,
        f"evaluation.{'nc' if store == 'zarr' else 'zarr'}": None,  # of an earlier run
        "summary.csv": partial(_table, evaluation, None),
    }
    for group, of in MORE:  # a table left behind would be taken for this run's
        has = group in evaluation.children
        writers[f"{of}.csv"] = partial(_table, evaluation, of) if has else None
    return writers | {"report.html": partial(report, evaluation)}


def _netcdf(tree: xr.DataTree, path: Path) -> None:
    """Write NetCDF by way of memory: where HDF5 meets a full disk, it takes Python down with it."""
    path.write_bytes(tree.to_netcdf(engine="h5netcdf"))


def _table(evaluation: xr.DataTree, of: str | None, path: Path) -> None:
    disarmed_table(summary(evaluation, of)).to_csv(path, index=False)


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
