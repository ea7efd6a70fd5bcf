"""Agreement within pools of annotators and between them, as observed: no model is asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus._notes import Notes
from dissensus._observed import Asking, Settings
from dissensus.dims import ANNOTATION, LABEL, POOL, other

POINT: Final = "observed_"
"""Begins the names of values as observed; those without it are draws."""
BETWEEN: Final = ("cross_kappa", "normalized_cross_kappa")


def pool_agreement(annotations: xr.Dataset, settings: Settings) -> xr.Dataset:
    r"""Return alpha of each pool, and agreement beyond chance of each pair of pools.

    Parameters
    ----------
    annotations : Dataset
        With pools, and labels or numbers.
    settings : Settings
        Draws and seed.

    Returns
    -------
    xarray.Dataset
        Draws by the Bayesian bootstrap of ``krippendorff_alpha`` (pool), ``cross_kappa`` and
        ``normalized_cross_kappa`` (pool, pool\_), NaN between a pool and itself; the values as
        observed under names that begin with ``observed_``. Attributes: the ``distance`` of labels,
        and ``notes``.
    """
    distance = _distance(annotations)
    ask = Asking(annotations, settings, Notes(), xr.Dataset())
    names = annotations[POOL].to_numpy()
    level = "nominal" if distance == "nominal" else "interval"
    code = annotations["pool_code"].to_numpy()
    within = []
    for place in range(len(names)):
        part = annotations.isel({ANNOTATION: code == place})
        alone = replace(ask, annotations=part, points=xr.Dataset())
        within.append(_both(alone, "krippendorff_alpha", level=level))
    out = xr.concat(within, dim=xr.IndexVariable(POOL, names), combine_attrs="drop")
    for name in BETWEEN:
        out = out.merge(_between(ask, names, name, distance))
    return out.assign_attrs(distance=distance, notes=ask.said())


def _distance(annotations: xr.Dataset) -> str:
    """Choose how far labels are apart: squared where they are numbers in an order."""
    numeric = "value" in annotations or annotations[LABEL].dtype.kind in "if"
    return "interval" if numeric and annotations.attrs["kind"] != "nominal" else "nominal"


def _both(ask: Asking, statistic: str, *, called: str | None = None, **options: Any) -> xr.Dataset:
    """Return draws and the observed value of one statistic."""
    name = called or statistic
    draws = ask.of(statistic, called=called, **options)[name].drop_attrs()
    return xr.Dataset({name: draws, f"{POINT}{name}": ask.points[name].drop_attrs()})


def _between(ask: Asking, names: Any, name: str, distance: str) -> xr.Dataset:
    """Lay out all pairs, the same on both sides of the diagonal."""
    found = {}
    for p, q in combinations(range(len(names)), 2):
        options = {"pools": (names[p], names[q]), "distance": distance}
        pair = replace(ask, points=xr.Dataset())
        found[p, q] = found[q, p] = _both(
            pair, "cross_kappa", called=name, normalized=name != "cross_kappa", **options
        )
    nothing = xr.full_like(found[0, 1], np.nan)
    rows = [
        xr.concat(
            [found.get((p, q), nothing) for q in range(len(names))],
            dim=xr.IndexVariable(other(POOL), names), combine_attrs="drop",
        )
        for p in range(len(names))
    ]  # fmt: skip
    return xr.concat(rows, dim=xr.IndexVariable(POOL, names), combine_attrs="drop")
