"""What an evaluation says of its ground truth as rows: one for each quantity."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import xarray as xr

from dissensus._doubts import DOUBT, of_ground_truth
from dissensus._ground_truth_plan import GROUP
from dissensus.sampling.intervals import spread, whole

COUNT: Final = "annotators_for_truth"
COLUMNS: Final = ("quantity", "mean", "sd", "median", "lower", "upper", DOUBT)


def ground_truth_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``weighted_reliability``; see `dissensus.summary`."""
    data = evaluation[GROUP].to_dataset() if GROUP in evaluation.children else xr.Dataset()
    rows: list[dict[str, Any]] = []
    for name, draws in data.data_vars.items():
        found: dict[str, Any] = whole(draws) if name == COUNT else _numbers(draws)
        doubt = of_ground_truth(evaluation, str(name))
        rows.append({"quantity": str(name)} | found | {DOUBT: doubt})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _numbers(draws: xr.DataArray) -> dict[str, float]:
    found = {name: float(value) for name, value in spread(draws, skipna=True).items()}
    return found | {"median": float(draws.median(skipna=True))}
