"""What all metrics of predicted lists have in common: align, score, average over items."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.alignment import common_items
from dissensus.data.plausibility import Space, plausibility_of
from dissensus.dims import CHAIN, DRAW, ITEM, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.metrics._align import align
from dissensus.metrics._blocks import is_lazy
from dissensus.metrics._items import over_items, weights_for
from dissensus.metrics._lists_by_block import lists_by_block
from dissensus.metrics._top import PLACE, top_labels
from dissensus.registry import check_flag

Score = Callable[[xr.Dataset], xr.DataArray]
"""From one system's lists, with its name, to scores (..., item)."""

Prepare = Callable[[xr.DataArray, xr.Dataset, Space], Score]
"""From the plausibility, all lists (how deep must one look?) and the label space to a score."""

_INT64: Final = 2**63 - 1


def positive_int(name: str, value: Any) -> int:
    """Return value if it is a whole number of at least 1."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    # Compared first: NumPy knows no integers of more than 64 bits.
    if not number or not 1 <= value <= _INT64 or int(value) != value:
        raise ArgumentError(name, expected="a whole number, 1 or more", found=brief(value))
    return int(value)


def require_draws(theta: xr.DataArray) -> None:
    """Raise if a plausibility is a point estimate."""
    if not set(SAMPLE) <= set(theta.dims):
        raise ArgumentError(
            "plausibility", expected=f"draws, with dims {SAMPLE}", found=f"dims {theta.dims}"
        )


def list_metric(
    plausibility: Any,
    predictions: xr.Dataset,
    prepare: Prepare,
    *,
    name: str,
    better: str = "higher",
    weights: Any = None,
    per_item: bool = False,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.DataArray:
    """Score every system's lists draw by draw.

    Systems are taken one at a time: their scores per draw and item need not be held together.
    """
    check_flag("per_item", per_item)
    if per_item and weights is not None:
        raise ArgumentError(
            "weights", expected="None together with per_item=True", found=repr(weights)
        )
    theta = plausibility_of(plausibility)
    if is_lazy(theta):
        score_block = partial(_scored, prepare=prepare, checked=True)
        theta, predictions = common_items(theta, predictions, on_missing)
        found = lists_by_block(
            score_block, theta, predictions, weights, random_seed, per_item=per_item
        )
    else:
        found = _scored(
            theta, predictions, weights, random_seed, prepare=prepare, per_item=per_item,
            on_missing=on_missing,
        )  # fmt: skip
    # What the plausibility's attributes say (its label space) does not hold for a metric.
    found.attrs = {"better": better}
    return found.rename(name)


def _scored(
    theta: xr.DataArray,
    predictions: xr.Dataset,
    weights: Any = None,
    random_seed: Any = None,
    *,
    prepare: Prepare,
    per_item: bool = False,
    on_missing: str = "raise",
    checked: bool = False,
) -> xr.DataArray:
    """Score what is in memory."""
    theta, lists, where = align(theta, predictions, on_missing, checked=checked)
    weights = weights_for(theta, weights, random_seed)
    score = prepare(theta, lists, where)
    parts = []
    for system in range(lists.sizes[SYSTEM]):
        scores = score(lists.isel({SYSTEM: system})).drop_vars(SYSTEM, errors="ignore")
        parts.append(scores if per_item else over_items(scores, weights))
    out = xr.concat(parts, dim=lists[SYSTEM].rename(SYSTEM), coords="minimal", compat="override")
    front = [dim for dim in (CHAIN, DRAW) if dim in out.dims]
    return out.transpose(*front, ..., *([ITEM] if per_item else []), SYSTEM)


def from_top(
    limit: float,
    kernel: Callable[..., Any],
    extra: Callable[[xr.Dataset, int], xr.DataArray],
    extra_dims: list[str] | None = None,
) -> Prepare:
    """Build a metric that looks at the draws' first labels only.

    Parameters
    ----------
    limit : float
        How many labels of a draw's own order the kernel sees; never more than the longest list.
    kernel : callable
        Scores those labels against a list (code, start, end) and one extra argument.
    extra : callable
        From one system's lists, and the number of labels, to that argument.
    extra_dims : list of str, optional
        Its core dims.
    """

    def prepare(theta: xr.DataArray, lists: xr.Dataset, where: Space) -> Score:
        depth = int(min(limit, lists.sizes[POSITION]))
        top = top_labels(theta, where, depth)

        def score(one: xr.Dataset) -> xr.DataArray:
            return xr.apply_ufunc(
                kernel, top, one["code"], one["start"], one["end"], extra(one, depth),
                input_core_dims=[[PLACE], [POSITION], [POSITION], [POSITION], extra_dims or []],
            )  # fmt: skip

        return score

    return prepare
