"""The metrics that an evaluation computes at each reliability."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import metrics
from dissensus._categories import accuracy
from dissensus.data import tables
from dissensus.dims import ITEM, POSITION, SAMPLE, SCOPE, SCOPES, SYSTEM
from dissensus.metrics._blocks import is_lazy, lazy_bootstrap_weights
from dissensus.metrics._items import bootstrap_weights

Clusters = npt.NDArray[np.int64] | None
"""(item): the number of each item's cluster."""


def _metric_calls(
    predictions: xr.Dataset,
    insight: xr.DataArray | None = None,
    random_seed: Any = None,
) -> Iterator[tuple[Callable[..., xr.DataArray], dict[str, Any]]]:
    """Choose the metrics that make sense for lists of this length."""
    longest = int((predictions["block"] > 0).sum(POSITION).max())
    accuracy = metrics.get("top_k_accuracy").function
    more = {} if insight is None else {"insight": insight, "random_seed": random_seed}
    yield accuracy, {"k": 1, **more}
    if longest < 2:
        return
    for k in range(2, min(longest, 3) + 1):
        yield accuracy, {"k": k, **more}
    for k in range(2, min(longest, 3) + 1):
        yield metrics.get("set_accuracy").function, {"k": k}
    yield metrics.get("average_overlap").function, {"depth": min(longest, 3)}


def score(
    plausibility: xr.DataArray,
    predictions: xr.Dataset,
    random_seed: Any,
    on_missing: str,
    cluster: Clusters = None,
    insight: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return every metric over (chain, draw, scope, system)."""
    weights = _both_scopes(plausibility, random_seed, cluster)
    found = {}
    for function, arguments in _metric_calls(predictions, insight, random_seed):
        value = function(
            plausibility, predictions, **arguments, weights=weights, on_missing=on_missing
        )
        found[str(value.name)] = value
    return xr.Dataset(found)


def clusters_of(annotations: xr.Dataset, plausibility: xr.DataArray) -> Clusters:
    """Return the cluster of each item of a plausibility, if the annotations name any."""
    if "cluster_code" not in annotations:
        return None
    place = tables.match(plausibility[ITEM].to_numpy(), annotations[ITEM].to_numpy())
    return annotations["cluster_code"].to_numpy().astype(np.int64)[place]


def _both_scopes(plausibility: xr.DataArray, random_seed: Any, cluster: Clusters) -> xr.DataArray:
    """Return weights of items at hand and of new ones.

    Both at once: scoring the draws costs more than averaging the scores.
    """
    make = lazy_bootstrap_weights if is_lazy(plausibility) else bootstrap_weights
    drawn = make(plausibility, random_seed, cluster)
    drawn = drawn.assign_coords({ITEM: plausibility[ITEM].to_numpy()})
    return xr.concat([xr.ones_like(drawn), drawn], dim=xr.IndexVariable(SCOPE, list(SCOPES)))


def score_point(point: xr.DataArray, predictions: xr.Dataset, on_missing: str) -> xr.Dataset:
    """Return the same metrics against the point estimate: one number, no interval.

    An item without any annotation has no point estimate, and is left out.
    """
    point, on_missing = _annotated(point, on_missing)
    found = {}
    for function, arguments in _metric_calls(predictions):
        value = function(point, predictions, **arguments, on_missing=on_missing)
        found[f"naive_{value.name}"] = value
    return xr.Dataset(found)


def _annotated(point: xr.DataArray, on_missing: str) -> tuple[xr.DataArray, str]:
    bare = ~(point.sum(set(point.dims) - {ITEM}) > 0)  # also where it is undefined
    if not bool(bare.any()):
        return point, on_missing
    return point.isel({ITEM: ~bare.to_numpy()}), "drop"


def score_categories(
    grouped: xr.DataArray,
    firsts: list[xr.Dataset],
    random_seed: Any,
    on_missing: str,
    cluster: Clusters = None,
    insight: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return certainty of the leading category, and each system's accuracy at that level.

    ``grouped`` and ``firsts`` are the plausibilities and the predictions of categories.
    """
    certainty = metrics.get("annotation_certainty").function(grouped)
    out = {"annotation_certainty": certainty.drop_vars(["mcse", "selection_bias"])}
    if firsts:
        weights = _both_scopes(grouped, random_seed, cluster)
        found = accuracy(grouped, firsts, weights, on_missing, insight, random_seed)
        out["top_1_accuracy"] = found.transpose(*SAMPLE, SCOPE, SYSTEM)
    return xr.Dataset(out)


def score_point_categories(
    grouped: xr.DataArray, firsts: list[xr.Dataset], on_missing: str
) -> xr.Dataset:
    """Return the same accuracy against the point estimate."""
    grouped, on_missing = _annotated(grouped, on_missing)
    found = accuracy(grouped, firsts, None, on_missing)
    return found.to_dataset(name="naive_top_1_accuracy")


def deepest(predictions: xr.Dataset | None) -> int:
    """Return how many of a draw's first labels are looked at."""
    return 1 if predictions is None else int(min(3, predictions.sizes[POSITION]))


def certainties(plausibility: xr.DataArray, predictions: xr.Dataset | None) -> xr.Dataset:
    """Return annotation certainty for the top 1 and, where lists are longer, the top 2 and 3."""
    certainty = metrics.get("annotation_certainty").function
    tops = [certainty(plausibility, top=top) for top in range(1, deepest(predictions) + 1)]
    out = {}
    for one in tops:
        out[str(one.name)] = one.drop_vars(["mcse", "selection_bias"])
        out[f"{one.name}_mcse"] = one["mcse"].drop_vars(["selection_bias", "mcse"])
        out[f"{one.name}_bias"] = one["selection_bias"].drop_vars(["selection_bias", "mcse"])
    return xr.Dataset(out)
