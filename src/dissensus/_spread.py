"""Draws in four numbers: mean, standard deviation and the ends of ArviZ's interval."""

from __future__ import annotations

import warnings

import xarray as xr

from dissensus.dims import SAMPLE


def spread(values: xr.DataArray, *, skipna: bool = False) -> dict[str, xr.DataArray]:
    """Return mean, sd and ArviZ's interval; with ``skipna`` of the draws that are defined."""
    from arviz_base import rcParams
    from arviz_stats import eti, hdi

    with warnings.catch_warnings():
        # What is undefined in all draws has no mean and no interval, and a single draw has no
        # standard deviation: NaN is right.
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
