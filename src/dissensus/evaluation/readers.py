"""The table of a reader study: averages over readers, their differences, and systems."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import FALSE_POSITIVE_RATE, MODALITY, READER, SAMPLE, SYSTEM, THRESHOLD, other
from dissensus.sampling.intervals import spread

QUANTITY, OBSERVED, POSITIVE = "quantity", "observed", "probability_positive"
COLUMNS: Final = (
    QUANTITY, MODALITY, other(MODALITY), SYSTEM, THRESHOLD, OBSERVED, "mean", "sd", "lower",
    "upper", POSITIVE,
)  # fmt: skip

_WORDS: Final = [MODALITY, other(MODALITY), SYSTEM, THRESHOLD]


def averages(study: xr.Dataset) -> xr.Dataset:
    """Return all variables with draws, except those of single readers and of points of curves."""
    single = {READER, FALSE_POSITIVE_RATE}
    names = [name for name, values in study.data_vars.items()
             if set(SAMPLE) <= {*values.dims} and not single & {*values.dims}]  # fmt: skip
    return study[names]


def reader_rows(study: xr.Dataset) -> pd.DataFrame:
    """Return a row for each average, difference and system; see `dissensus.summary`."""
    rows = []
    for name, draws in averages(study).data_vars.items():
        parts = spread(draws) | {OBSERVED: _observed(study, str(name), draws)}
        if str(name).endswith("difference"):
            parts[POSITIVE] = (draws > 0).mean(SAMPLE)
        table = xr.Dataset({part: value.drop_attrs(deep=False) for part, value in parts.items()})
        if table.dims:
            frame = table.to_dataframe().reset_index()
        else:
            frame = pd.DataFrame([{part: float(value) for part, value in table.items()}])
        frame = _of_pairs(frame.assign(**{QUANTITY: str(name)})).reindex(columns=list(COLUMNS))
        # With missing values pandas would turn the name 10 into 10.0.
        frame[_WORDS] = frame[_WORDS].astype(object).where(frame[_WORDS].notna(), "")
        rows.append(frame)
    out = pd.concat(rows, ignore_index=True)
    numbers = [name for name in COLUMNS if name not in (QUANTITY, *_WORDS)]
    return out.astype(dict.fromkeys(numbers, np.float64))


def _of_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep differences of modalities A minus B; leave out B minus A and A minus A."""
    if other(MODALITY) not in frame:
        return frame
    place = {name: n for n, name in enumerate(frame[MODALITY].unique())}
    return frame[frame[MODALITY].map(place) < frame[other(MODALITY)].map(place)]


def _observed(study: xr.Dataset, name: str, draws: xr.DataArray) -> xr.DataArray:
    """Return a quantity's value for these readers and cases; NaN for standard deviations."""
    of_system = name.startswith("system_")
    rest = name.removeprefix("system_").removeprefix("average_")
    measure = rest.removesuffix("difference").removesuffix("_") or "auc"
    if of_system:
        alone = study[f"observed_system_{measure}"]
        readers_mean = study[f"observed_{measure}"].mean(READER)
        return alone - readers_mean if name.endswith("difference") else alone
    if f"observed_{measure}" not in study:  # a standard deviation
        return xr.full_like(draws.isel(dict.fromkeys(SAMPLE, 0), drop=True), np.nan)
    mean = study[f"observed_{measure}"].mean(READER)
    if not name.endswith("difference"):
        return mean
    if other(MODALITY) in draws.dims:
        return mean - mean.rename({MODALITY: other(MODALITY)})
    return mean.isel({MODALITY: 0}, drop=True) - mean.isel({MODALITY: 1}, drop=True)
