"""What an evaluation says of its ground truth as rows: one for each quantity, or system."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import xarray as xr

from dissensus._doubts import DOUBT, of_ground_truth
from dissensus._ground_truth_plan import GROUP
from dissensus._spread import spread, whole
from dissensus.dims import SYSTEM

COUNT: Final = "annotators_for_truth"
COLUMNS: Final = ("quantity", SYSTEM, "mean", "sd", "median", "lower", "upper", DOUBT)


def ground_truth_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``weighted_reliability``; see `dissensus.summary`."""
    data = evaluation[GROUP].to_dataset() if GROUP in evaluation.children else xr.Dataset()
    rows: list[dict[str, Any]] = []
    for name, draws in data.data_vars.items():
        for system in data[SYSTEM].to_numpy().tolist() if SYSTEM in draws.dims else [None]:
            one = draws if system is None else draws.sel({SYSTEM: system}, drop=True)
            found: dict[str, Any] = whole(one) if name == COUNT else _numbers(one)
            found |= {DOUBT: of_ground_truth(evaluation, str(name))}
            rows.append({"quantity": str(name), SYSTEM: system} | found)
    out = pd.DataFrame(rows, columns=list(COLUMNS))
    # Names stay what they are: a column of its own accord makes 10.0 of 10.
    out[SYSTEM] = pd.Series([row[SYSTEM] for row in rows], index=out.index, dtype=object)
    return out


def _numbers(draws: xr.DataArray) -> dict[str, float]:
    found = {name: float(value) for name, value in spread(draws, skipna=True).items()}
    return found | {"median": float(draws.median(skipna=True))}
