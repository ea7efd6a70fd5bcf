"""The numbers a report is written from, once and in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.data.plausibility import plausibility_of
from dissensus.dims import RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.evaluation.summary import of_model
from dissensus.plots import _source as pieces

METRIC = "metric"
CERTAINTY_STEPS = (0.99, 0.9, 0.75, 0.5)


def has(evaluation: xr.DataTree, group: str) -> bool:
    """Say whether an evaluation has a group with something in it."""
    return group in evaluation.children and bool(evaluation[group].to_dataset().data_vars)


def draws_or_mean(evaluation: xr.DataTree, group: str = "posterior") -> xr.DataArray:
    """Return the plausibilities of a group; their means where draws were not kept."""
    found = evaluation[group].to_dataset()
    return plausibility_of(found.get("plausibility_mean", found))


def mean_plausibility(evaluation: xr.DataTree, group: str = "posterior") -> xr.DataArray:
    """Return the means of the plausibilities of a group."""
    return mean_of_draws(draws_or_mean(evaluation, group))


def mean_of_draws(theta: xr.DataArray) -> xr.DataArray:
    """Average over draws, where there are such."""
    return theta.mean([dim for dim in SAMPLE if dim in theta.dims], keep_attrs=True)


def reliabilities(evaluation: xr.DataTree) -> list[float]:
    """Return the reliabilities gone through; one only where the model knows of none."""
    return [float(value) for value in evaluation["certainty"][RELIABILITY].to_numpy()]


def knows_reliability(evaluation: xr.DataTree) -> bool:
    """Say whether reliability means something to the model of this evaluation."""
    attrs = evaluation["posterior"].attrs
    return "hyper_reliability" in attrs or len(reliabilities(evaluation)) > 1


def numbers(evaluation: xr.DataTree) -> xr.Dataset:
    """Return the summary of one model of an evaluation over (metric, reliability, scope, system).

    Beside the columns of `dissensus.summary` there is ``truth``, NaN where unknown, and along
    ``metric`` whether large values are ``better`` ("higher", "lower").
    """
    frame = of_model(evaluation)
    draws = evaluation["metrics"].to_dataset()
    names = [str(name) for name in draws.data_vars]
    dims = (METRIC, RELIABILITY, SCOPE, SYSTEM)
    coords = {METRIC: names} | {dim: draws[dim].to_numpy() for dim in dims[1:]}
    shape = [len(values) for values in coords.values()]
    # The frame is in the order of the draws; its own index would sort it.
    out = xr.Dataset(
        {
            name: (dims, frame[name].to_numpy().reshape(shape))
            for name in frame.columns
            if name not in {*dims, "model"}
        },
        coords=coords,
        attrs=frame.attrs,
    )
    better = [draws[name].attrs.get("better", "higher") for name in names]
    truth = [_truth(evaluation, name, out["mean"].sel({METRIC: name}, drop=True)) for name in names]
    out["truth"] = xr.concat(truth, dim=xr.IndexVariable(METRIC, names))
    return out.assign_coords(better=(METRIC, better))


def _truth(evaluation: xr.DataTree, name: str, like: xr.DataArray) -> xr.DataArray:
    nothing = xr.full_like(like, np.nan)
    if not has(evaluation, "truth") or name not in evaluation["truth"]:
        return nothing
    found = evaluation["truth"].to_dataset()[name]
    if SYSTEM not in found.coords or not set(found.dims) <= {SCOPE, SYSTEM}:
        return nothing
    found = found.drop_vars([c for c in found.coords if c not in found.dims])
    return found.reindex({dim: like[dim] for dim in found.dims}).broadcast_like(like)


def ordered(values: xr.Dataset) -> xr.Dataset:
    """Order the systems of one metric, best mean first.

    ``values`` has one metric, one reliability and one scope left.
    """
    mean = values["mean"].to_numpy()
    sign = 1 if str(values["better"].item()) == "lower" else -1
    order = np.argsort(np.where(np.isnan(mean), np.inf, sign * mean), kind="stable")
    return values.isel({SYSTEM: order})


def leaders(values: xr.Dataset) -> list[tuple[Any, ...]]:
    """Return who leads at each reliability, several where they are level.

    ``values`` has one metric and one scope left.
    """
    sign = -1 if str(values["better"].item()) == "lower" else 1
    mean = sign * values["mean"].transpose(RELIABILITY, SYSTEM).to_numpy()
    systems = values[SYSTEM].to_numpy().tolist()
    found = []
    for row in mean:
        best = np.nanmax(row) if np.isfinite(row).any() else np.nan
        level = np.isclose(row, best, rtol=0, atol=1e-9, equal_nan=True)
        found.append(tuple(name for name, here in zip(systems, level, strict=True) if here))
    return found


def same_order(values: xr.Dataset) -> bool:
    """Say whether the systems come in the same order at every reliability."""
    mean = values["mean"].transpose(RELIABILITY, SYSTEM).to_numpy()
    signs = np.sign(np.round(mean[:, :, None] - mean[:, None, :], 9))
    return bool((signs == signs[:1]).all())


def certainty_shares(evaluation: xr.DataTree) -> xr.DataArray:
    """Return the share of items below each step of certainty: (top, reliability, below)."""
    data = evaluation["certainty"].to_dataset()
    names = [str(name) for name in data.data_vars if not str(name).endswith(("_mcse", "_bias"))]
    tops = [int(name.rpartition("_")[2]) if name[-1].isdigit() else 1 for name in names]
    below = list(CERTAINTY_STEPS)
    steps = xr.DataArray(below, dims="below", coords={"below": below})
    each = [(data[name] < steps).mean("item") for name in names]
    return xr.concat(each, dim=xr.IndexVariable("top", tops)).transpose("top", RELIABILITY, "below")


def mean_certainty(evaluation: xr.DataTree) -> xr.DataArray:
    """Return mean annotation certainty over (top, reliability)."""
    data = evaluation["certainty"].to_dataset()
    tops = [int(top) for top in certainty_shares(evaluation)["top"].to_numpy()]
    names = ["annotation_certainty" + (f"_{top}" if top > 1 else "") for top in tops]
    return xr.concat([data[name].mean("item") for name in names], dim=xr.IndexVariable("top", tops))


def settings() -> tuple[str, float]:
    """Return kind and level of the intervals, from ArviZ's settings at this moment."""
    return pieces.interval_settings(None, None)
