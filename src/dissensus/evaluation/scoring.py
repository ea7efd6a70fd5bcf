"""Metrics of draws: for these items and for new items, of point estimates, and of categories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import metrics
from dissensus.data import tables
from dissensus.data.prediction_schema import rows_of_probabilities
from dissensus.dims import (
    CANDIDATE,
    ITEM,
    LABEL,
    POSITION,
    SAMPLE,
    SCOPE,
    SCOPES,
    SYSTEM,
)
from dissensus.evaluation.categories import accuracy
from dissensus.metrics._blocks import is_lazy, lazy_bootstrap_weights
from dissensus.metrics._items import bootstrap_weights
from dissensus.metrics._probabilities import BIN

Clusters = npt.NDArray[np.int64] | None
"""(item): the code of each item's cluster; None if there are no clusters."""


def _metric_calls(
    draws: xr.DataArray, predictions: xr.Dataset, positive: Any = None,
    insight: xr.DataArray | None = None, random_seed: Any = None,
) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:  # fmt: skip
    """Yield the function and the arguments of each metric that these draws and lists allow."""
    if not {LABEL, CANDIDATE} & set(draws.dims):
        yield metrics.get("score_error").function, {}
        return
    longest = min(int((predictions["block"] > 0).sum(POSITION).max()), most_labels(draws))
    of_insight = {} if insight is None else {"insight": insight, "random_seed": random_seed}
    for k in range(1, max(longest, 1) + 1):
        yield metrics.get("top_k_accuracy").function, {"k": k, **of_insight}
    for k in range(2, longest + 1):
        yield metrics.get("set_accuracy").function, {"k": k, **of_insight}
    if longest > 1:
        yield metrics.get("average_overlap").function, {"depth": longest, **of_insight}
    if draws.sizes.get(LABEL) == 2 and positive is not None:
        yield metrics.get("sensitivity_specificity").function, {"positive": positive, **of_insight}
    if LABEL in draws.dims and have_probabilities(predictions):
        yield metrics.get("probability_score").function, {}


def have_probabilities(predictions: xr.Dataset) -> bool:
    """Return whether every system gives probabilities of labels."""
    return "score" in predictions and bool(rows_of_probabilities(predictions).all())


def score(
    draws: xr.DataArray, predictions: xr.Dataset, weights: xr.DataArray | None, random_seed: Any,
    on_missing: str, insight: xr.DataArray | None = None, positive: Any = None,
) -> tuple[xr.Dataset, xr.Dataset]:  # fmt: skip
    """Return all metrics (chain, draw, scope, system), and calibration curves, which have bins too.

    ``weights`` are from `item_scopes`; without weights there is no scope.
    """
    by_name: dict[str, xr.DataArray] = {}
    for function, arguments in _metric_calls(draws, predictions, positive, insight, random_seed):
        value = function(draws, predictions, **arguments, weights=weights, on_missing=on_missing)
        by_name |= _parts(value)
    scored = xr.Dataset(by_name)
    return scored.drop_dims(BIN, errors="ignore"), scored[_curves(scored)]


def _parts(value: xr.DataArray | xr.Dataset) -> dict[str, xr.DataArray]:
    """Return metrics and curves by name."""
    if isinstance(value, xr.DataArray):
        return {str(value.name): value}
    return {str(name): metric for name, metric in value.data_vars.items()}


def _curves(scored: xr.Dataset) -> list[Any]:
    return [name for name, metric in scored.data_vars.items() if BIN in metric.dims]


def clusters_of(annotations: xr.Dataset, plausibility: xr.DataArray) -> Clusters:
    """Return the code of the cluster of each item of a plausibility; None without clusters."""
    if "cluster_code" not in annotations:
        return None
    place = tables.match(plausibility[ITEM].to_numpy(), annotations[ITEM].to_numpy())
    return annotations["cluster_code"].to_numpy().astype(np.int64)[place]


def item_scopes(plausibility: xr.DataArray, random_seed: Any, cluster: Clusters) -> xr.DataArray:
    """Return weights of items: 1 for these items, bootstrap weights for new items.

    One array has the weights of both scopes, so that draws are scored only once.
    """
    make = lazy_bootstrap_weights if is_lazy(plausibility) else bootstrap_weights
    drawn = make(plausibility, random_seed, cluster)
    drawn = drawn.assign_coords({ITEM: plausibility[ITEM].to_numpy()})
    return xr.concat([xr.ones_like(drawn), drawn], dim=xr.IndexVariable(SCOPE, list(SCOPES)))


class Scopes:
    """The weights of `item_scopes`, drawn once for several fits of the same items."""

    def __init__(self, annotations: xr.Dataset, random_seed: Any) -> None:
        self._annotations, self._random_seed = annotations, random_seed
        self._drawn: xr.DataArray | None = None

    def of(self, plausibility: xr.DataArray) -> xr.DataArray:
        """Return the weights for the draws of a fit."""
        known, items = self._drawn, plausibility[ITEM].to_numpy()
        if (
            known is not None and np.array_equal(known[ITEM].to_numpy(), items)
            and all(known.sizes[dim] == plausibility.sizes[dim] for dim in SAMPLE)
        ):  # fmt: skip
            return known
        cluster = clusters_of(self._annotations, plausibility)
        drawn = item_scopes(plausibility, self._random_seed, cluster)
        if not is_lazy(drawn):
            self._drawn = drawn
        return drawn


def score_point(
    point: xr.DataArray, predictions: xr.Dataset, on_missing: str, positive: Any = None
) -> xr.Dataset:
    """Return the metrics of `score` against the point estimate, as numbers without intervals.

    An item without any annotation has no point estimate, and is left out.
    """
    point, on_missing = annotated(point, on_missing)
    scored, _ = score(_tie_breaks(point), predictions, None, None, on_missing, positive=positive)
    naive = scored.rename({name: f"naive_{name}" for name in scored})
    return naive.mean(SAMPLE, skipna=False, keep_attrs=True)


_BREAKS, _FEWER, _MANY = 60, 12, 10**6
"""Number of ways in which ties are broken. With 60 ways, each of up to six tied labels leads
equally often. A point estimate of more than `_MANY` shares has 12 ways, for up to four labels."""


_STEP = 1e-9
"""Amount that is added to a share to break a tie; unequal shares differ by more."""


def _tie_breaks(point: xr.DataArray) -> xr.DataArray:
    """Return a draw for each way in which ties of leading labels are broken, in one chain.

    In the mean of a metric over these draws, each of n tied leading labels counts 1/n.
    """
    expanded = point.expand_dims(dict.fromkeys(SAMPLE, 1))
    if LABEL not in point.dims:
        return expanded
    axis = point.get_axis_num(LABEL)
    values = point.to_numpy()
    leads = values == values.max(axis=axis, keepdims=True, initial=0.0)
    n_lead = leads.sum(axis=axis, keepdims=True)
    if (n_lead < 2).all():
        return expanded
    place = np.cumsum(leads, axis=axis) - 1
    ways = np.empty((1, _BREAKS if values.size <= _MANY else _FEWER, *values.shape))
    for way in range(ways.shape[1]):  # one way at a time, to save memory
        ways[0, way] = values + _STEP * np.where(leads, (place + way) % n_lead, 0)
    return xr.DataArray(ways, expanded.coords, expanded.dims, point.name, point.attrs)


def annotated(point: xr.DataArray, on_missing: str) -> tuple[xr.DataArray, str]:
    """Leave out items without annotations, and return what to do about items without a match."""
    if set(point.dims) == {ITEM}:
        bare = point.isnull()
    else:
        bare = ~(point.sum(set(point.dims) - {ITEM}) > 0)  # also if the sum is NaN
    if not bool(bare.any()):
        return point, on_missing
    return point.isel({ITEM: ~bare.to_numpy()}), "drop"


def score_categories(
    grouped: xr.DataArray, firsts: list[xr.Dataset], scopes: Scopes, random_seed: Any,
    on_missing: str, insight: xr.DataArray | None = None,
) -> xr.Dataset:  # fmt: skip
    """Return the certainty of each item's leading category, and systems' accuracy in categories.

    ``grouped`` and ``firsts`` are the plausibilities and the predictions of categories.
    """
    certainty = metrics.get("annotation_certainty").function(grouped)
    out = {"annotation_certainty": certainty.drop_vars(["mcse", "selection_bias"])}
    if firsts:
        accuracies = accuracy(grouped, firsts, scopes.of(grouped), on_missing, insight, random_seed)
        out["top_1_accuracy"] = accuracies.transpose(*SAMPLE, SCOPE, SYSTEM)
    return xr.Dataset(out)


def most_labels(draws: xr.DataArray) -> int:
    """Return the largest k for metrics: 3, but less than the number of labels."""
    candidates = np.atleast_1d(draws.attrs.get("labels", np.arange(4)))
    return min(3, max(draws.sizes.get(LABEL, len(candidates)) - 1, 1))


def deepest(predictions: xr.Dataset | None) -> int:
    """Return how many leading labels of a draw the metrics use: as many as lists have, up to 3."""
    return 1 if predictions is None else int(min(3, predictions.sizes.get(POSITION, 1)))


def certainties(plausibility: xr.DataArray, predictions: xr.Dataset | None) -> xr.Dataset:
    """Return annotation certainty for the top 1 and, if lists are longer, for the top 2 and 3."""
    errors = ["mcse", "selection_bias"]
    out = {}
    for top in range(1, min(deepest(predictions), most_labels(plausibility)) + 1):
        certainty = metrics.get("annotation_certainty").function(plausibility, top=top)
        out[str(certainty.name)] = certainty.drop_vars(errors)
        out[f"{certainty.name}_mcse"] = certainty["mcse"].drop_vars(errors)
        out[f"{certainty.name}_bias"] = certainty["selection_bias"].drop_vars(errors)
    return xr.Dataset(out)


def undefined_for(draws: xr.DataArray) -> list[Any]:
    """Return the systems with an undefined draw."""
    missing = draws.isnull().any([dim for dim in draws.dims if dim != SYSTEM])
    return list(draws[SYSTEM].to_numpy()[missing.to_numpy()].tolist())


def comparison(draws: xr.Dataset) -> xr.Dataset:
    """Return the comparison of the systems on every metric, without draws of differences."""
    if draws.sizes[SYSTEM] < 2:
        return xr.Dataset()
    compare = metrics.get("compare").function
    drop = ["difference", *SAMPLE]
    each = [compare(draws[name]).drop_vars(drop) for name in draws.data_vars]
    index = xr.IndexVariable("metric", [str(name) for name in draws.data_vars])
    return xr.concat(each, dim=index, combine_attrs="drop")


def diagnostics(draws: xr.Dataset) -> xr.Dataset:
    """Return effective sample size and r-hat of every metric.

    They are undefined (NaN) for a metric that is the same in all draws.
    """
    from arviz_stats import ess, rhat

    with np.errstate(invalid="ignore", divide="ignore"):
        kinds = {
            "ess_bulk": ess(draws, method="bulk"),
            "ess_tail": ess(draws, method="tail"),
            "r_hat": rhat(draws),
        }
    index = xr.IndexVariable("diagnostic", list(kinds))
    return xr.concat(list(kinds.values()), dim=index, combine_attrs="drop")
