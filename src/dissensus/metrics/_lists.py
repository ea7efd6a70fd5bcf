"""What all metrics of predicted lists have in common: align, score, average over items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import xarray as xr

from dissensus.dims import CHAIN, DRAW, ITEM, POSITION, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.metrics._align import align
from dissensus.metrics._items import over_items, weights_for
from dissensus.metrics._top import PLACE, top_labels
from dissensus.plausibility import Space, plausibility_of

Score = Callable[[xr.DataArray, Space, xr.Dataset], xr.DataArray]
"""From the plausibility, its label space and one system's lists to scores (..., item)."""


def positive_int(name: str, value: Any) -> int:
    """Return value if it is a whole number of at least 1."""
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ArgumentError(name, expected="a whole number, 1 or more", found=repr(value))
    return int(value)


def list_metric(
    plausibility: Any,
    predictions: xr.Dataset,
    prepare: Callable[[xr.DataArray, xr.Dataset, Space], Score],
    *,
    name: str,
    better: str = "higher",
    item_weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.DataArray:
    """Score every system's lists draw by draw.

    ``prepare`` sees all lists once (to learn how deep the draws' own orders must go) and
    returns the function that scores one system. Systems are taken one at a time: their
    scores per draw and item need not be held together.
    """
    theta, lists, where = align(plausibility_of(plausibility), predictions, on_missing)
    if per_item and item_weights is not None:
        raise ArgumentError(
            "item_weights", expected="None together with per_item=True", found=repr(item_weights)
        )
    score = prepare(theta, lists, where)
    weights = weights_for(theta, item_weights, random_seed)
    parts = []
    for system in range(lists.sizes[SYSTEM]):
        scores = score(theta, where, lists.isel({SYSTEM: system}, drop=True))
        parts.append(scores if per_item else over_items(scores, weights))
    out = xr.concat(parts, dim=lists[SYSTEM].rename(SYSTEM), coords="minimal", compat="override")
    front = [dim for dim in (CHAIN, DRAW) if dim in out.dims]
    out = out.transpose(*front, ..., *([ITEM] if per_item else []), SYSTEM)
    return out.rename(name).assign_attrs(better=better)


def from_top(
    depth: int,
    kernel: Callable[..., Any],
    extra: Callable[[xr.Dataset], xr.DataArray],
    extra_dims: list[str] | None = None,
) -> Callable[[xr.DataArray, xr.Dataset, Space], Score]:
    """Build a metric that looks at the draws' first ``depth`` labels only."""

    def prepare(theta: xr.DataArray, lists: xr.Dataset, where: Space) -> Score:
        top = top_labels(theta, where, depth)

        def score(theta: xr.DataArray, where: Space, one: xr.Dataset) -> xr.DataArray:
            return xr.apply_ufunc(
                kernel, top, one["code"], one["start"], one["end"], extra(one),
                input_core_dims=[[PLACE], [POSITION], [POSITION], [POSITION], extra_dims or []],
            )  # fmt: skip

        return score

    return prepare
