"""What the commands print with ``--json``: one object, for other programs to read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import SAMPLE
from dissensus.evaluation.summary import summary


def print_json(said: Any) -> None:
    """Print an object; undefined numbers are null, infinite ones the texts "inf" and "-inf"."""
    print(json.dumps(_plain(said), allow_nan=False))


def of_evaluation(result: xr.DataTree, written: Iterable[Path]) -> dict[str, Any]:
    """Say what an evaluation found: the tables that are written, row by row."""
    from dissensus._files import MORE

    metrics = summary(result)
    out: dict[str, Any] = {
        name: result.attrs.get(name)
        for name in ("model", "kind", "inference", "reference_reliability", "draws", "chains",
                     "random_seed")
    }  # fmt: skip
    out["interval"] = {
        name: metrics.attrs[key]
        for name, key in (("kind", "interval"), ("probability", "probability"))
    }
    out["metrics"] = metrics
    for group, of in MORE:
        if group in result.children:
            out[of] = summary(result, of)
    return out | {"files": [str(path) for path in written]}


def of_plan(found: xr.Dataset) -> dict[str, Any]:
    """Say what a plan foresees: its numbers over its dims; draws are left out."""
    bare = found.drop_vars([name for name in found.variables if set(SAMPLE) & {
        str(dim) for dim in found[name].dims}])  # fmt: skip
    return {
        "attributes": dict(bare.attrs),
        "coordinates": {str(name): one.to_numpy().tolist() for name, one in bare.coords.items()},
        "variables": {
            str(name): {"dims": [str(dim) for dim in one.dims], "values": one.to_numpy().tolist()}
            for name, one in bare.data_vars.items()
        },
    }


def _plain(value: Any) -> Any:
    """Return what JSON knows: no NumPy, no NaN, no infinity."""
    if isinstance(value, pd.DataFrame):
        return [_plain(row) for row in value.to_dict("records")]
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)
