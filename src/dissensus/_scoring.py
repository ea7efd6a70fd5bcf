"""The metrics that an evaluation computes at each reliability."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import xarray as xr

from dissensus import metrics
from dissensus.dims import ITEM, POSITION, SCOPE, SCOPES
from dissensus.metrics._items import bootstrap_weights


def _metric_calls(
    predictions: xr.Dataset,
) -> Iterator[tuple[Callable[..., xr.DataArray], dict[str, Any]]]:
    """Choose the metrics that make sense for lists of this length."""
    longest = int((predictions["block"] > 0).sum(POSITION).max())
    accuracy = metrics.get("top_k_accuracy").function
    yield accuracy, {"k": 1}
    if longest < 2:
        return
    for k in range(2, min(longest, 3) + 1):
        yield accuracy, {"k": k}
    for k in range(2, min(longest, 3) + 1):
        yield metrics.get("set_accuracy").function, {"k": k}
    yield metrics.get("average_overlap").function, {"depth": min(longest, 3)}


def score(
    plausibility: xr.DataArray, predictions: xr.Dataset, random_seed: Any, on_missing: str
) -> xr.Dataset:
    """Return every metric over (chain, draw, scope, system)."""
    drawn = bootstrap_weights(plausibility, random_seed)
    drawn = drawn.assign_coords({ITEM: plausibility[ITEM].to_numpy()})
    index = xr.IndexVariable(SCOPE, list(SCOPES))
    # Both scopes at once: scoring the draws costs more than averaging the scores.
    weights = xr.concat([xr.ones_like(drawn), drawn], dim=index)
    found = {}
    for function, arguments in _metric_calls(predictions):
        value = function(
            plausibility, predictions, **arguments, item_weights=weights, on_missing=on_missing
        )
        found[str(value.name)] = value
    return xr.Dataset(found)


def score_point(point: xr.DataArray, predictions: xr.Dataset, on_missing: str) -> xr.Dataset:
    """Return the same metrics against the point estimate: one number, no interval.

    An item without any annotation has no point estimate, and is left out.
    """
    bare = ~(point.sum(set(point.dims) - {ITEM}) > 0)  # also where it is undefined
    if bool(bare.any()):
        point, on_missing = point.isel({ITEM: ~bare.to_numpy()}), "drop"
    found = {}
    for function, arguments in _metric_calls(predictions):
        value = function(point, predictions, **arguments, on_missing=on_missing)
        found[f"naive_{value.name}"] = value
    return xr.Dataset(found)


def certainties(plausibility: xr.DataArray, predictions: xr.Dataset | None) -> xr.Dataset:
    """Return annotation certainty for the top 1 and, where lists are longer, the top 2 and 3."""
    deepest = 1 if predictions is None else min(3, predictions.sizes[POSITION])
    certainty = metrics.get("annotation_certainty").function
    tops = [certainty(plausibility, top=top) for top in range(1, deepest + 1)]
    out = {}
    for one in tops:
        out[str(one.name)] = one.drop_vars(["mcse", "selection_bias"])
        out[f"{one.name}_mcse"] = one["mcse"].drop_vars(["selection_bias", "mcse"])
        out[f"{one.name}_bias"] = one["selection_bias"].drop_vars(["selection_bias", "mcse"])
    return xr.Dataset(out)
