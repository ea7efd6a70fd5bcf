"""What an evaluation says of accuracy as rows: one for each system and scope, and annotator."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus._doubts import DOUBT, each, of_group
from dissensus.dims import ANNOTATOR, RELIABILITY, SAMPLE, SCOPE, SCOPES, SYSTEM
from dissensus.sampling.intervals import effective, spread

COLUMNS: Final = (
    "of", "name", SCOPE, "mean", "sd", "lower", "upper", "majority", "uncertainty_adjusted",
    "ess_bulk", "r_hat", DOUBT,
)  # fmt: skip
OF_SYSTEM, OF_ANNOTATOR = "system", "annotator"
_TAIL: Final = "ess_tail"
METRIC: Final = "top_1_accuracy"


def accuracy_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``accuracy``; see `dissensus.summary`."""
    frames = []
    if "accuracy" in evaluation.children:
        data = evaluation["accuracy"].to_dataset()
        if "estimated_accuracy" in data:
            beside = {"majority": data["majority_accuracy"], "uncertainty_adjusted":
                      adjusted(evaluation)}  # fmt: skip
            frames.append(_rows(data["estimated_accuracy"], SYSTEM, OF_SYSTEM, beside))
        beside = {"majority": _of_annotators(data)}
        frames.append(_rows(data["annotator_accuracy"], ANNOTATOR, OF_ANNOTATOR, beside))
    if not frames:
        return pd.DataFrame(columns=list(COLUMNS))
    names = [name for frame in frames for name in frame["name"].tolist()]
    out = pd.concat([frame.drop(columns="name") for frame in frames], ignore_index=True)
    # Names stay what they are: a column that is put together makes 10.0 of 10.
    out["name"] = pd.Series(names, index=out.index, dtype=object)
    of_all = of_group(evaluation, "accuracy")
    own = each(out, out[_TAIL])
    out[DOUBT] = [of_all or one for one in own]
    return out[list(COLUMNS)]


def adjusted(evaluation: xr.DataTree) -> xr.DataArray | None:
    """Return mean uncertainty-adjusted accuracy at the reference reliability: (scope, system)."""
    if "metrics" not in evaluation.children or METRIC not in evaluation["metrics"]:
        return None
    draws = evaluation["metrics"].to_dataset()[METRIC]
    reference = evaluation.attrs["reference_reliability"]
    return draws.sel({RELIABILITY: reference}, drop=True).mean(list(SAMPLE))


def _of_annotators(data: xr.Dataset) -> xr.DataArray:
    """Return agreement with the majority of the others, of each annotator, or of all on average."""
    each = data["annotator_majority"]
    return each if ANNOTATOR in data["annotator_accuracy"].dims else each.mean(skipna=True)


def _rows(
    draws: xr.DataArray, dim: str, of: str, beside: dict[str, xr.DataArray | None]
) -> pd.DataFrame:
    """Lay out one row for each scope and name."""
    parts = spread(draws) | effective(draws)
    parts |= {name: values for name, values in beside.items() if values is not None}
    flat = {name: _like(values, parts["mean"]) for name, values in parts.items()}
    names = draws[dim].to_numpy().tolist() if dim in draws.dims else [None]
    scopes = draws[SCOPE].to_numpy().tolist() if SCOPE in draws.dims else [SCOPES[1]]
    out = pd.DataFrame(flat).reindex(columns=[*COLUMNS, _TAIL])
    out["of"], out[SCOPE] = of, np.repeat(scopes, len(names))
    out["name"] = pd.Series(names * len(scopes), dtype=object)
    for column in ("majority", "uncertainty_adjusted"):
        out[column] = out[column].astype(np.float64)
    return out


def _like(values: xr.DataArray, like: xr.DataArray) -> Any:
    """Lay values out as others are; those of systems that were not judged are left out."""
    same = {str(dim): like[dim] for dim in values.dims}
    return (
        values.drop_attrs()
        .reindex(same)
        .broadcast_like(like)
        .transpose(*like.dims)
        .to_numpy()
        .ravel()
    )
