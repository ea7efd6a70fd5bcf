"""Summaries of draws: mean, standard deviation and ArviZ's interval."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import SAMPLE


def spread(values: xr.DataArray, *, skipna: bool = False) -> dict[str, xr.DataArray]:
    """Return mean, standard deviation and ArviZ's interval; ``skipna`` leaves out NaN draws."""
    from arviz_base import rcParams
    from arviz_stats import eti, hdi

    with warnings.catch_warnings():
        # The result is NaN for values that are NaN in all draws, and for the standard deviation of
        # a single draw. NumPy would also warn.
        if skipna or all(values.sizes[dim] == 1 for dim in SAMPLE):
            warnings.simplefilter("ignore", RuntimeWarning)
        interval = (hdi if rcParams["stats.ci_kind"] == "hdi" else eti)(
            values, prob=rcParams["stats.ci_prob"], dim=list(SAMPLE), skipna=skipna
        )
        return {
            "mean": values.mean(SAMPLE, skipna=skipna),
            "sd": values.std(SAMPLE, ddof=1, skipna=skipna),
            "lower": interval.sel(ci_bound="lower", drop=True),
            "upper": interval.sel(ci_bound="upper", drop=True),
        }


def effective(draws: xr.DataArray) -> dict[str, Any]:
    """Return effective sample sizes and r-hat; NaN if all draws are equal."""
    from arviz_stats import ess, rhat

    varies = draws.max(list(SAMPLE)) > draws.min(list(SAMPLE))
    with np.errstate(invalid="ignore", divide="ignore"):
        summaries = {"ess_bulk": ess(draws, method="bulk"), "ess_tail": ess(draws, method="tail")}
        if draws.sizes["chain"] > 1:
            summaries["r_hat"] = rhat(draws)
    return {name: values.where(varies) for name, values in summaries.items()}


def whole(draws: xr.DataArray) -> dict[str, float]:
    """Return mean, sd, median and interval of draws that are whole numbers or infinite.

    The median and the ends of the interval are values of draws. Mean and sd are NaN if some draw is
    infinite.
    """
    from arviz_base import rcParams

    outside = (1 - rcParams["stats.ci_prob"]) / 2
    values = np.sort(draws.to_numpy(), axis=None)
    values = values[~np.isnan(values)]
    if not len(values):
        return dict.fromkeys(("mean", "sd", "median", "lower", "upper"), np.nan)
    place = np.ceil(np.array([outside, 0.5, 1 - outside]) * len(values)).astype(np.int64) - 1
    lower, median, upper = values[np.maximum(place, 0)].tolist()
    is_finite = bool(np.isfinite(values).all())
    moments = spread(draws) if is_finite else {}
    mean, sd = (float(moments[name]) if is_finite else np.nan for name in ("mean", "sd"))
    return {"mean": mean, "sd": sd, "median": median, "lower": lower, "upper": upper}
