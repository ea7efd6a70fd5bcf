"""Output of commands: files, tables, and with ``--json`` one object."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.cli.console import SafeConsole
from dissensus.cli.options import as_options
from dissensus.dims import CHAIN, ITEM, SAMPLE
from dissensus.evaluation.evidence import summary
from dissensus.evaluation.votes import LEADERBOARD
from dissensus.reports import report
from dissensus.storage import Writer, replace_all

# Output of a command that makes an evaluation: files, and tables on the terminal.


_console = SafeConsole()


def finish(
    result: xr.DataTree, out: Path, store: str, *, as_json: bool = False, everything: bool = False
) -> None:
    """Write the files of an evaluation, and print its verdict or everything."""
    written = write_evaluation(result, out, store)
    if as_json:
        print_json(of_evaluation(result, written))
        return
    from dissensus.cli.tables import results  # not needed by the commands that print JSON

    for part in results(result, everything=everything):
        _console.print(as_options(part) if isinstance(part, str) else part, highlight=False)
    for path in written:
        _console.print(f"wrote {path}", markup=False, highlight=False)


# Writing results: all files or none.


MORE: Final = (
    ("agreement", "statistics"), ("components", "components"), ("accuracy", "accuracy"),
    ("weighted_reliability", "weighted_reliability"), ("labels", "labels"),
)  # fmt: skip
"""Groups of an evaluation that have a table, and the name of the table."""


def write_evaluation(evaluation: xr.DataTree, out: Path, store: str = "nc") -> list[Path]:
    """Write the draws, the tables and the report into a folder; return the paths.

    Posterior draws are stored in single precision: their Monte Carlo error is about a thousand
    times larger than the rounding error. A variable stays in double precision if single precision
    would turn a tiny plausibility into 0: such a label would be in no top set.

    All files are replaced together; if one cannot be written, none is. Names in tables that a
    spreadsheet would run as formulas begin with an apostrophe (`disarmed`).

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
    """Return the writer of each file; None for a file of an earlier run that is to be deleted."""
    tree = _single_precision(evaluation)
    zarr = partial(tree.to_zarr, zarr_format=3, consolidated=False)
    write = zarr if store == "zarr" else partial(_netcdf, tree)
    writers: dict[str, Writer | None] = {
        f"evaluation.{store}": write,
        f"evaluation.{'nc' if store == 'zarr' else 'zarr'}": None,  # of an earlier run
        "summary.csv": partial(_table, evaluation, _leading(evaluation)),
    }
    for group, of in MORE:  # a table of an earlier run would be mistaken for one of this run
        has = group in evaluation.children
        writers[f"{of}.csv"] = partial(_table, evaluation, of) if has else None
    return writers | {"report.html": partial(report, evaluation)}


def _netcdf(tree: xr.DataTree, path: Path) -> None:
    """Write NetCDF to memory, then to the file: if HDF5 writes to a full disk, Python crashes."""
    path.write_bytes(tree.to_netcdf(engine="h5netcdf"))


def _leading(evaluation: xr.DataTree) -> str:
    """Return the name of the main table, even if it is empty."""
    return LEADERBOARD if LEADERBOARD in evaluation.children else "metrics"


def _table(evaluation: xr.DataTree, of: str, path: Path) -> None:
    disarmed_table(summary(evaluation, of)).to_csv(path, index=False)


def _single_precision(evaluation: xr.DataTree) -> xr.DataTree:
    tree = evaluation.copy()
    for name in ("posterior", *(["categories"] if "categories" in tree.children else [])):
        group = tree[name].to_dataset()
        wide = [variable for variable, values in group.data_vars.items() if _fits(values)]
        tree[name] = group.assign(
            {variable: group[variable].astype("float32") for variable in wide}
        )
    return tree


def _fits(values: xr.DataArray) -> bool:
    """Return whether values are draws of items, none of which becomes 0 or inf in float32."""
    if not {CHAIN, ITEM} <= set(values.dims) or values.dtype != "float64":
        return False
    size = np.abs(values.to_numpy())
    limits = np.finfo(np.float32)
    return not bool((((size > 0) & (size < limits.tiny)) | (size > limits.max)).any())


# Output with ``--json``: one object, for other programs to read.


def print_json(content: Any) -> None:
    """Print an object; undefined numbers are null, infinite ones the texts "inf" and "-inf"."""
    print(json.dumps(_plain(content), allow_nan=False))


def of_evaluation(result: xr.DataTree, written: Iterable[Path]) -> dict[str, Any]:
    """Return the results of an evaluation: settings, and rows of all tables that are written."""
    leading = _leading(result)
    metrics = summary(result, leading)
    out: dict[str, Any] = {
        name: result.attrs.get(name)
        for name in ("model", "kind", "inference", "reference_reliability", "draws", "chains",
                     "random_seed", "question", "n_known")
    }  # fmt: skip
    out["interval"] = {
        name: metrics.attrs[key]
        for name, key in (("kind", "interval"), ("probability", "probability"))
    }
    out[leading] = metrics
    for group, of in MORE:
        if group in result.children:
            out[of] = summary(result, of)
    return out | {"files": [str(path) for path in written]}


def of_plan(plan: xr.Dataset) -> dict[str, Any]:
    """Return the results of a plan: dims and values of all variables without draws."""
    bare = plan.drop_vars([name for name in plan.variables if set(SAMPLE) & {
        str(dim) for dim in plan[name].dims}])  # fmt: skip
    return {
        "attributes": dict(bare.attrs),
        "coordinates": {
            str(name): values.to_numpy().tolist() for name, values in bare.coords.items()
        },
        "variables": {
            str(name): {
                "dims": [str(dim) for dim in values.dims],
                "values": values.to_numpy().tolist(),
            }
            for name, values in bare.data_vars.items()
        },
    }


def _plain(value: Any) -> Any:
    """Convert a value to types that JSON has: no NumPy, no NaN, no infinity."""
    if isinstance(value, pd.DataFrame):
        return [_plain(row) for row in value.to_dict("records")]
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


# Names in tables that may be opened as spreadsheets, where some would be run as formulas.


_BEGINS: Final = "(?:^|(?<=[;\t\r\n]))"
"""Where a cell may begin: programs that split at semicolons or tabs may ignore quotation marks."""
_FORMULA: Final = r"(?=[\s\"'\x00-\x1f]*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 (of full width)
_ARMED: Final = re.compile(f"{_BEGINS}{_FORMULA}")


def disarmed(text: str) -> str:
    r"""Put an apostrophe before text that a spreadsheet would run as a formula.

    Formulas begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, perhaps after
    blanks and quotation marks, at the beginning of the text or after a semicolon, tab or line
    break. All other text is unchanged.
    """
    return _ARMED.sub("'", text)


def disarmed_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts are not formulas; numbers stay numbers, even negative ones."""
    out = frame.copy()
    for place, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            cells = np.empty(len(frame), dtype=object)  # 10 stays a number in a column with "a"
            cells[:] = [_cell(cell) for cell in frame.iloc[:, place]]
            out.isetitem(place, cells)
    return out


def _cell(cell: Any) -> Any:
    return disarmed(cell) if isinstance(cell, str) else cell
