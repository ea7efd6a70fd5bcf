"""The common steps of metrics of predicted lists: align, score, average over items."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.alignment import check_labels, common_items
from dissensus.data.plausibility import Space, plausibility_of, remembered, space
from dissensus.data.schema import checked_predictions
from dissensus.dims import CANDIDATE, CHAIN, DRAW, ITEM, LABEL, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, PredictionError
from dissensus.kernels.overlap import block_bounds, distinct_tops
from dissensus.kernels.random import name_hashes, row_keys
from dissensus.kernels.remainder import top_candidates, top_dense
from dissensus.kernels.types import Ints, Names
from dissensus.metrics._blocks import (
    PART,
    all_labels,
    by_block,
    coords_of,
    front,
    is_lazy,
    lazy_bootstrap_weights,
)
from dissensus.metrics._items import check_bootstrap, over_items, weights_for

# Predictions and plausibilities on the same items and labels.

OUTSIDE = -4
"""Code of a predicted label that is not in the label space."""


def align(
    plausibility: xr.DataArray,
    predictions: xr.Dataset,
    on_missing: str = "raise",
    *,
    checked: bool = False,
) -> tuple[xr.DataArray, xr.Dataset, Space]:
    """Return the plausibility and the lists of predictions on common items, and the label space.

    The lists are variables ``code``, ``start``, ``end`` (item, system, position), see
    `dissensus.kernels.overlap`, and ``length`` (item, system). With ``checked``, labels were
    checked for all items before: the predictions for a block may contain no known label.
    """
    check_lists(predictions)
    plausibility, predictions = common_items(plausibility, predictions, on_missing)
    label_space = space(plausibility)
    if "labels" not in plausibility.attrs and not label_space.dense:
        label_space = _widened(label_space, predictions[LABEL].to_numpy())
    if not checked:
        check_labels(predictions, label_space.labels)
    code = _codes(predictions, label_space.labels)
    dims = (ITEM, SYSTEM, POSITION)
    block = predictions["block"].transpose(*dims).to_numpy()
    start, end = block_bounds(block)
    # Drop the names of items, which may be spelled differently in the plausibility.
    lists = xr.Dataset(
        {
            "code": (dims, code),
            "start": (dims, start),
            "end": (dims, end),
            "length": (dims[:2], (block > 0).sum(axis=2)),
        },
        coords={SYSTEM: predictions[SYSTEM].to_numpy()},
    )
    return plausibility, lists, label_space


def check_lists(predictions: Any) -> None:
    """Raise unless predictions are lists of labels that follow the schema."""
    dims = (ITEM, SYSTEM, POSITION)
    problem = ""
    if not isinstance(predictions, xr.Dataset):
        problem = type(predictions).__name__
    elif "label_code" not in predictions:
        problem = (
            "numbers" if "value" in predictions else f"variables {list(predictions.data_vars)}"
        )
    elif "block" not in predictions or LABEL not in predictions.coords:
        problem = "a Dataset without 'block' or 'label' (are these annotations?)"
    elif predictions.attrs.get("kind") == "set":
        checked_predictions(predictions)  # raises
    elif set(predictions["label_code"].dims) != set(dims):
        problem = f"dims {predictions['label_code'].dims}"
    if problem:
        raise PredictionError(
            "predictions",
            expected=f"labels over {dims}, as a Dataset made by dissensus.predictions",
            found=problem,
        )


def _widened(label_space: Space, predicted: Names) -> Space:
    """Add predicted labels to a label space of which only annotated labels are known."""
    labels = tables.widened(label_space.labels, predicted)
    size = int(label_space.sizes[0].sum())
    if len(labels) > size:
        raise PredictionError(
            "plausibility",
            expected="attrs['labels'], the whole label space, which the candidate form requires",
            found=f"{len(labels)} labels in annotations and predictions, where the sizes of the "
            f"candidates add up to {size}",
        )
    return label_space._replace(labels=labels)


def _codes(predictions: xr.Dataset, labels: Names) -> Ints:
    """Return predicted labels as codes of the label space ``labels`` (item, system, position)."""
    code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()
    place = tables.match(predictions[LABEL].to_numpy(), labels)
    place = np.where(place < 0, OUTSIDE, place)
    return np.where(code >= 0, place[code], OUTSIDE)


def on_candidates(
    kernel: Callable[..., Any],
    plausibility: xr.DataArray,
    label_space: Space,
    *more: Any,
    more_dims: list[list[str]],
    output_dims: list[str],
) -> xr.DataArray:
    """Apply a kernel of the candidate form (`dissensus.kernels.remainder`).

    The first arguments of such a kernel are masses, codes, sizes, concentration and keys. ``more``
    are its further arguments, with core dims ``more_dims``.
    """
    dims = (ITEM, CANDIDATE)
    return xr.apply_ufunc(
        kernel,
        plausibility.drop_vars(["candidate_label", "candidate_size"]),
        xr.DataArray(label_space.codes, dims=dims),
        xr.DataArray(label_space.sizes, dims=dims),
        label_space.concentration,
        _keys(plausibility, label_space),
        *more,
        input_core_dims=[[CANDIDATE], [CANDIDATE], [CANDIDATE], [], [], *more_dims],
        output_core_dims=[output_dims],
    )


def _keys(plausibility: xr.DataArray, label_space: Space) -> xr.DataArray:
    """Return the key of the random stream for the remainder of each (draw, item).

    The key depends only on the names of chain, draw and item: selected draws and reordered items
    keep their random numbers.
    """
    hashes = [_hashes(plausibility, dim) for dim in (CHAIN, DRAW, ITEM)]
    return xr.apply_ufunc(row_keys, *hashes, kwargs={"seed": label_space.seed})


def _hashes(plausibility: xr.DataArray, dim: str) -> xr.DataArray:
    if dim not in plausibility.dims and dim not in plausibility.coords:
        return xr.DataArray(np.uint64(0))
    names = plausibility[dim]
    return xr.DataArray(name_hashes(names.to_numpy()), dims=names.dims)


# Draws in chunks: sums over blocks of items.

BlockScore = Callable[..., xr.DataArray]
"""Function of the draws, predictions and weights (or None) of some items. It returns scores
(..., system), or with ``per_item=True`` (..., item, system)."""


def lists_by_block(
    score: BlockScore,
    theta: xr.DataArray,
    predictions: xr.Dataset,
    weights: Any,
    random_seed: Any,
    *,
    per_item: bool,
) -> xr.DataArray:
    """Score lists block by block; ``predictions`` have the items of ``theta``, in its order."""
    check_lists(predictions)
    check_labels(predictions, all_labels(theta))
    predictions = predictions.assign_coords({ITEM: theta[ITEM]})  # spelled as in theta
    dims = front(theta)
    coords = coords_of(theta, dims) | {SYSTEM: predictions[SYSTEM].to_numpy()}
    if isinstance(weights, str):
        check_bootstrap(weights)
        weights = lazy_bootstrap_weights(theta, random_seed)
    weights = weights_for(theta, weights)
    if weights is not None:
        return _weighted(score, theta, predictions, weights, dims, coords)
    if per_item:
        each = _each(score, summed=False)
        return by_block(each, theta, predictions, dims=[*dims, ITEM, SYSTEM], coords=coords)
    sums = by_block(
        _each(score, summed=True),
        theta,
        predictions,
        dims=[*dims, ITEM, SYSTEM],
        coords=coords,
        reduced=True,
    )
    # Sums of counts have no rounding errors, unlike means of means: equal systems score the same.
    return sums.sum(ITEM, skipna=False) / theta.sizes[ITEM]


def _each(score: BlockScore, *, summed: bool) -> Callable[..., xr.DataArray]:
    """Return a function that returns a block's scores, or with ``summed`` their sum over items."""

    def scored(block: xr.DataArray, lists: xr.Dataset) -> xr.DataArray:
        scores = score(block, lists, per_item=True)
        return scores.sum(ITEM, skipna=False).expand_dims(ITEM) if summed else scores

    return scored


def _weighted(
    score: BlockScore,
    theta: xr.DataArray,
    predictions: xr.Dataset,
    weights: xr.DataArray,
    dims: list[Any],
    coords: dict[Any, Any],
) -> xr.DataArray:
    """Return weighted mean scores (..., system), from the mean and the weight of each block."""
    if weights.dims == (ITEM,):  # items of weight 0 may have undefined scores
        positive = {ITEM: (weights > 0).to_numpy()}
        theta, predictions, weights = (
            theta.isel(positive),
            predictions.isel(positive),
            weights.isel(positive),
        )
    others = [dim for dim in weights.dims if dim not in {ITEM, *dims}]
    coords, dims = coords | coords_of(weights, others), [*dims, *others]
    both = by_block(
        partial(_mean_and_weight, score),
        theta,
        predictions,
        weights.assign_coords({ITEM: theta[ITEM]}),
        dims=[PART, *dims, ITEM, SYSTEM],
        coords=coords | {PART: np.arange(2)},
        reduced=True,
    ).chunk({ITEM: -1})
    mean, weight = (both.isel({PART: part}, drop=True) for part in range(2))
    return over_items(mean, weight.isel({SYSTEM: 0}, drop=True)).transpose(*dims, SYSTEM)


def _mean_and_weight(
    score: BlockScore, block: xr.DataArray, lists: xr.Dataset, weights: xr.DataArray
) -> xr.DataArray:
    """Return the mean score of a block of items, and the sum of their weights, along ``part``."""
    total = weights.sum(ITEM)
    mean = score(block, lists, weights).where(total > 0, 0.0)
    both = [mean, total.broadcast_like(mean)]
    return xr.concat(both, dim=PART, coords="minimal", compat="override").expand_dims(ITEM)


PLACE = "place"
"""The dim of a draw's labels in descending order of plausibility."""


def top_labels(plausibility: xr.DataArray, label_space: Space, depth: int) -> xr.DataArray:
    """Return the codes of the ``depth`` most plausible labels in each draw (..., item, place).

    Codes are negative for labels without a name.
    """
    deepest, known = remembered(plausibility)
    place = ("top", len(label_space.labels), label_space.seed)
    if place not in known or known[place].sizes[PLACE] < depth:
        known[place] = _searched(plausibility, label_space, max(depth, deepest))
    return known[place].isel({PLACE: slice(depth)})


def _searched(plausibility: xr.DataArray, label_space: Space, depth: int) -> xr.DataArray:
    like = xr.DataArray(np.zeros(depth, dtype=np.int64), dims=PLACE)
    if label_space.dense:
        return xr.apply_ufunc(
            top_dense,
            plausibility,
            like,
            input_core_dims=[[LABEL], [PLACE]],
            output_core_dims=[[PLACE]],
        )
    return on_candidates(
        top_candidates,
        plausibility,
        label_space,
        len(label_space.labels),
        like,
        more_dims=[[], [PLACE]],
        output_dims=[PLACE],
    )


class _DistinctTops(NamedTuple):
    """The distinct sequences of most plausible labels: each is scored once."""

    top: xr.DataArray
    """(sequence, place): codes of labels; one label stands for all labels that are in no list."""
    item: xr.DataArray
    """(sequence): place of the item in which the sequence occurs."""
    number: xr.DataArray
    """(..., item): place along ``sequence`` of the draw's sequence."""


_SEQUENCE = "sequence"
_MOST_SEQUENCES = 4096
"""Maximum number of possible sequences of an item; with more, each draw is scored separately."""


def _distinct(
    theta: xr.DataArray, label_space: Space, lists: xr.Dataset, depth: int
) -> _DistinctTops | None:
    """Return the distinct sequences; None if it is as fast to score each draw separately."""
    deepest, known = remembered(theta)
    if not deepest and lists.sizes[SYSTEM] == 1:
        return None
    listed = lists["code"].transpose(ITEM, ...).to_numpy().reshape(theta.sizes[ITEM], -1)
    place = ("distinct", listed.tobytes())
    if place not in known or known[place].top.sizes[PLACE] < depth:
        top = top_labels(theta, label_space, max(depth, deepest)).transpose(..., ITEM, PLACE)
        listed = _without_repeats(listed)
        if (listed.shape[1] + 1) ** top.sizes[PLACE] > _MOST_SEQUENCES:
            return None
        known[place] = _numbered(top, listed)
    return known[place]


def _without_repeats(codes: Ints) -> Ints:
    """Return the distinct codes of each row, in as few columns as possible, padded by `OUTSIDE`."""
    codes = np.sort(codes, axis=1)
    codes[:, 1:][codes[:, 1:] == codes[:, :-1]] = OUTSIDE
    codes = -np.sort(-codes, axis=1)
    return np.ascontiguousarray(codes[:, : max(1, int((codes >= 0).sum(axis=1).max(initial=0)))])


def _numbered(top: xr.DataArray, listed: Ints) -> _DistinctTops:
    values = np.ascontiguousarray(top.to_numpy().reshape(-1, *top.shape[-2:]))
    seen = np.full((len(listed), (listed.shape[1] + 1) ** top.sizes[PLACE]), -1)
    example = np.empty((min(seen.size, values[..., 0].size), 2), dtype=np.int64)
    number = np.empty(values.shape[:-1], dtype=np.int64)
    draw, item = example[: distinct_tops(values, listed, seen, example, number)].T
    like = top.isel({PLACE: 0}, drop=True)
    return _DistinctTops(
        xr.DataArray(values[draw, item], dims=(_SEQUENCE, PLACE)),
        xr.DataArray(item, dims=_SEQUENCE),
        like.copy(data=number.reshape(like.shape)),
    )


Score = Callable[[xr.Dataset], xr.DataArray]
"""Function of one system's lists that returns the scores of the lists (..., item)."""

Prepare = Callable[[xr.DataArray, xr.Dataset, Space], Score]
"""Function of the plausibility, all lists and the label space that returns a `Score`."""


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
    """Return the scores of every system's lists in each draw; one system at a time saves memory."""
    arguments.flags(per_item=per_item)
    if per_item and weights is not None:
        raise ArgumentError(
            "weights", expected="None together with per_item=True", found=repr(weights)
        )
    theta = plausibility_of(plausibility)
    if is_lazy(theta):
        score_block = partial(_scored, prepare=prepare, checked=True)
        theta, predictions = common_items(theta, predictions, on_missing)
        scores = lists_by_block(
            score_block, theta, predictions, weights, random_seed, per_item=per_item
        )
    else:
        scores = _scored(
            theta,
            predictions,
            weights,
            random_seed,
            prepare=prepare,
            per_item=per_item,
            on_missing=on_missing,
        )
    # The attributes of the plausibility (its label space) do not apply to a metric.
    scores.attrs = {"better": better}
    return scores.rename(name)


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
    """Return scores (..., system), or with ``per_item`` (..., item, system), of draws in memory."""
    theta, lists, label_space = align(theta, predictions, on_missing, checked=checked)
    weights = weights_for(theta, weights, random_seed)
    score = prepare(theta, lists, label_space)
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
    """Return a metric of each draw's most plausible labels, up to ``limit`` or the longest list.

    ``kernel`` takes the codes of these labels, a predicted list (code, start, end), and an argument
    with core dims ``extra_dims``, computed by ``extra`` from one system's lists and the number of
    these labels.
    """

    def prepare(theta: xr.DataArray, lists: xr.Dataset, label_space: Space) -> Score:
        depth = int(min(limit, lists.sizes[POSITION]))
        distinct = _distinct(theta, label_space, lists, depth)
        top = distinct.top[:, :depth] if distinct else top_labels(theta, label_space, depth)

        def score(lists: xr.Dataset) -> xr.DataArray:
            if distinct:
                lists = lists.isel({ITEM: distinct.item})
            columns = (lists[name] for name in ("code", "start", "end"))
            core_dims = [[PLACE], [POSITION], [POSITION], [POSITION], extra_dims or []]
            scores = xr.apply_ufunc(
                kernel, top, *columns, extra(lists, depth), input_core_dims=core_dims
            )
            if not distinct:
                return scores
            return distinct.number.copy(data=scores.to_numpy()[distinct.number.to_numpy()])

        return score

    return prepare
