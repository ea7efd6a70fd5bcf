"""The simulated studies that the documentation's pictures are of."""

from __future__ import annotations

from functools import cache
from typing import Any

import xarray as xr

import dissensus as dx


@cache
def study(kind: str, n_items: int = 80) -> Any:
    """Return four systems, and the annotators they are judged against."""
    return dx.simulate.study(n_items=n_items, kind=kind, random_seed=1)


@cache
def fit(kind: str) -> xr.DataTree:
    """Return a fit of that study: how plausible each label is."""
    model = dx.models.inverse_rank if kind == "ranking" else dx.models.dirichlet
    settings = {} if kind == "nominal" else {"reliability": 30.0}
    found: xr.DataTree = model.fit(study(kind).annotations, draws=500, random_seed=1, **settings)
    return found


@cache
def crossed(pools: tuple[str, ...] | None) -> xr.DataTree:
    """Return a fit of how alike annotators see the same, in one pool or in two."""
    data = dx.simulate.replication_study(60, 8, 4, family="gaussian", pools=pools, random_seed=1)
    model = dx.models.cross_replication if pools else dx.models.crossed_effects
    found: xr.DataTree = model.fit(
        data.annotations, draws=500, tune=500, chains=2, random_seed=1, progressbar=False
    )
    return found
