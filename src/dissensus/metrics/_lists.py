"""What all metrics of predicted lists have in common: align, score, average over items."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.alignment import common_items
from dissensus.data.plausibility import Space, plausibility_of, remembered, space
from dissensus.data.predictions import warn_of_outside
from dissensus.dims import CANDIDATE, CHAIN, DRAW, ITEM, LABEL, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, PredictionError, brief, shown
from dissensus.kernels.overlap import block_bounds
from dissensus.kernels.random import generator, name_hashes, row_keys
from dissensus.kernels.remainder import top_candidates, top_dense
from dissensus.metrics._blocks import PART, all_labels, by_block, coords_of, front, is_lazy
from dissensus.metrics._items import bootstrap_weights, check_bootstrap, over_items, weights_for

# Bringing predictions and plausibilities onto the same items and labels.


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
    `dissensus.kernels.overlap`, and ``length`` (item, system). ``checked`` says that their labels
    have been looked at: these are some of the items only, and might name none of the labels.

    Raises
    ------
    PredictionError
        If items differ (unless ``on_missing="drop"``), or no predicted label is known.
    """
    check_lists(predictions)
    plausibility, predictions = common_items(plausibility, predictions, on_missing)
    where = space(plausibility)
    if "labels" not in plausibility.attrs and not where.dense:
        where = _widened(where, predictions[LABEL].to_numpy())
    if not checked:
        check_labels(predictions, where.labels)
    code = _codes(predictions, where.labels)
    dims = (ITEM, SYSTEM, POSITION)
    block = predictions["block"].transpose(*dims).to_numpy()
    start, end = block_bounds(block)
    # Without the items' names: they may be spelled otherwise than in the plausibility.
    lists = xr.Dataset(
        {
            "code": (dims, code),
            "start": (dims, start),
            "end": (dims, end),
            "length": (dims[:2], (block > 0).sum(axis=2)),
        },
        coords={SYSTEM: predictions[SYSTEM].to_numpy()},
    )
    return plausibility, lists, where


def check_lists(predictions: Any) -> None:
    """Raise unless these are lists of labels, laid out as the schema says."""
    dims = (ITEM, SYSTEM, POSITION)
    found = ""
    if not isinstance(predictions, xr.Dataset):
        found = type(predictions).__name__
    elif "label_code" not in predictions:
        found = "numbers" if "value" in predictions else f"variables {list(predictions.data_vars)}"
    elif "block" not in predictions or LABEL not in predictions.coords:
        found = "a Dataset without 'block' or 'label' (are these annotations?)"
    elif set(predictions["label_code"].dims) != set(dims):
        found = f"dims {predictions['label_code'].dims}"
    if found:
        raise PredictionError(
            "predictions",
            expected=f"labels over {dims}, as a Dataset made by dissensus.predictions",
            found=found,
        )


def _widened(where: Space, predicted: npt.NDArray[Any]) -> Space:
    """Add predicted labels to a label space that is known only as far as it was named."""
    new = predicted[tables.match(predicted, where.labels) < 0]
    if (new.dtype.kind in "UO") == (where.labels.dtype.kind in "UO"):
        labels = np.concatenate([where.labels, new])
    else:
        labels = np.concatenate([where.labels.astype(np.str_), new.astype(np.str_)])
    size = int(where.sizes[0].sum())
    if len(labels) > size:
        raise PredictionError(
            "plausibility",
            expected="attrs['labels'], the whole label space, beside the candidate form",
            found=f"{len(labels)} labels in annotations and predictions, where the sizes of the "
            f"candidates add up to {size}",
        )
    return where._replace(labels=labels)


def check_labels(predictions: xr.Dataset, labels: npt.NDArray[Any]) -> None:
    """Raise if no predicted label is in the label space, and warn of those that are not."""
    code = predictions["label_code"].to_numpy()
    vocabulary = predictions[LABEL].to_numpy()
    place = tables.match(vocabulary, labels)
    count = np.bincount(code[code >= 0], minlength=len(vocabulary))
    stray = (count > 0) & (place < 0)
    if stray.any() and not ((count > 0) & (place >= 0)).any():
        raise PredictionError(
            "predictions",
            expected=f"labels such as {shown(list(labels), 3)}",
            found=f"no label in common, but {shown(list(vocabulary[count > 0]), 3)}",
        )
    if stray.any():
        warn_of_outside(
            " count as wrong", list(vocabulary[stray]), list(labels), int(count[stray].sum())
        )


def _codes(predictions: xr.Dataset, labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Translate label codes into the plausibility's label space."""
    code = predictions["label_code"].transpose(ITEM, SYSTEM, POSITION).to_numpy()
    place = tables.match(predictions[LABEL].to_numpy(), labels)
    place = np.where(place < 0, OUTSIDE, place)
    return np.where(code >= 0, place[code], OUTSIDE)


# Calling a kernel on the candidate form: the five arguments that all such kernels begin with.


def on_candidates(
    kernel: Callable[..., Any],
    plausibility: xr.DataArray,
    where: Space,
    *more: Any,
    more_dims: list[list[str]],
    output_dims: list[str],
) -> xr.DataArray:
    """Apply a kernel to masses, codes, sizes, concentration and keys, and to what it needs more.

    Parameters
    ----------
    kernel : callable
        A kernel of a row in candidate form, see `dissensus.kernels.remainder`.
    plausibility : xarray.DataArray
        (..., item, candidate).
    where : Space
        Its label space.
    *more
        Further arguments.
    more_dims : list of list of str
        Their core dims.
    output_dims : list of str
        Core dims of the result.
    """
    dims = (ITEM, CANDIDATE)
    return xr.apply_ufunc(
        kernel,
        plausibility.drop_vars(["candidate_label", "candidate_size"]),
        xr.DataArray(where.codes, dims=dims),
        xr.DataArray(where.sizes, dims=dims),
        where.concentration,
        _keys(plausibility, where),
        *more,
        input_core_dims=[[CANDIDATE], [CANDIDATE], [CANDIDATE], [], [], *more_dims],
        output_core_dims=[output_dims],
    )


def _keys(plausibility: xr.DataArray, where: Space) -> xr.DataArray:
    """Give each (draw, item) the key of its random stream for the remainder.

    The key hangs on the names of chain, draw and item, so that a selection of draws, items in
    another order, or one value along a further dimension meet the same random numbers.
    """
    hashes = [_hashes(plausibility, dim) for dim in (CHAIN, DRAW, ITEM)]
    return xr.apply_ufunc(row_keys, *hashes, kwargs={"seed": where.seed})


def _hashes(plausibility: xr.DataArray, dim: str) -> xr.DataArray:
    if dim not in plausibility.dims and dim not in plausibility.coords:
        return xr.DataArray(np.uint64(0))
    names = plausibility[dim]
    return xr.DataArray(name_hashes(names.to_numpy()), dims=names.dims)


# Metrics of lists of predictions against draws in chunks: sums of blocks, put together.


BlockScore = Callable[..., xr.DataArray]
"""From some items' draws, their predictions and weights over them, if any, to scores (..., system),
or with ``per_item=True`` (..., item, system)."""


def lists_by_block(
    score: BlockScore,
    theta: xr.DataArray,
    predictions: xr.Dataset,
    weights: Any,
    random_seed: Any,
    *,
    per_item: bool,
) -> xr.DataArray:
    """Score lists of predictions, block by block.

    Parameters
    ----------
    score : callable
        Scores a block.
    theta, predictions
        Draws in chunks, and lists of the same items in the same order.
    weights, random_seed
        As a metric takes them.
    per_item : bool
        Whether items are kept apart.
    """
    check_lists(predictions)
    check_labels(predictions, all_labels(theta))
    predictions = predictions.assign_coords({ITEM: theta[ITEM]})  # they may be spelled otherwise
    dims = front(theta)
    coords = coords_of(theta, dims) | {SYSTEM: predictions[SYSTEM].to_numpy()}
    if isinstance(weights, str):
        check_bootstrap(weights)
        return _bootstrapped(score, theta, predictions, random_seed, dims, coords)
    weights = weights_for(theta, weights)
    if weights is not None:
        return _weighted(score, theta, predictions, weights, dims, coords)
    if per_item:
        each = _each(score, summed=False)
        return by_block(each, theta, predictions, dims=[*dims, ITEM, SYSTEM], coords=coords)
    sums = by_block(
        _each(score, summed=True), theta, predictions, dims=[*dims, ITEM, SYSTEM], coords=coords,
        reduced=True,
    )  # fmt: skip
    # The sum and not the mean of means: counts are exact, and systems that are equal stay so.
    return sums.sum(ITEM, skipna=False) / theta.sizes[ITEM]


def _each(score: BlockScore, *, summed: bool) -> Callable[..., xr.DataArray]:
    """Return a function of a block that scores its items one by one, and may sum the scores."""

    def scored(block: xr.DataArray, lists: xr.Dataset) -> xr.DataArray:
        found = score(block, lists, per_item=True)
        return found.sum(ITEM, skipna=False).expand_dims(ITEM) if summed else found

    return scored


def _bootstrapped(
    score: BlockScore, theta: xr.DataArray, predictions: xr.Dataset, random_seed: Any,
    dims: list[Any], coords: dict[Any, Any],
) -> xr.DataArray:  # fmt: skip
    """Average with weights that each block draws for itself: an item's hang on its name."""
    rng = generator(random_seed, "item weights")
    state = deepcopy(rng)
    rng.integers(2**31)  # one that was passed goes on, as it does where draws are in memory

    def averaged(block: xr.DataArray, lists: xr.Dataset) -> xr.DataArray:
        drawn = bootstrap_weights(block, deepcopy(state)).assign_coords({ITEM: block[ITEM]})
        return _mean_and_weight(score, block, lists, drawn)

    return _together(averaged, theta, predictions, dims=dims, coords=coords)


def _weighted(
    score: BlockScore, theta: xr.DataArray, predictions: xr.Dataset, weights: xr.DataArray,
    dims: list[Any], coords: dict[Any, Any],
) -> xr.DataArray:  # fmt: skip
    """Average with weights that are given."""
    if weights.dims == (ITEM,):  # an item of weight 0 is left out, even if its score is undefined
        kept = {ITEM: (weights > 0).to_numpy()}
        theta, predictions, weights = theta.isel(kept), predictions.isel(kept), weights.isel(kept)
    others = [dim for dim in weights.dims if dim not in {ITEM, *dims}]
    coords, dims = coords | coords_of(weights, others), [*dims, *others]
    named = weights.assign_coords({ITEM: theta[ITEM]})
    averaged = partial(_mean_and_weight, score)
    return _together(averaged, theta, predictions, named, dims=dims, coords=coords)


def _mean_and_weight(
    score: BlockScore, block: xr.DataArray, lists: xr.Dataset, weights: xr.DataArray
) -> xr.DataArray:
    """Return a block's mean, and the weight that it has."""
    total = weights.sum(ITEM)
    mean = score(block, lists, weights).where(total > 0, 0.0)
    both = [mean, total.broadcast_like(mean)]
    return xr.concat(both, dim=PART, coords="minimal", compat="override").expand_dims(ITEM)


def _together(
    averaged: Callable[..., xr.DataArray], theta: xr.DataArray, *beside: Any,
    dims: list[Any], coords: dict[Any, Any],
) -> xr.DataArray:  # fmt: skip
    """Average the means of blocks, each with its weight."""
    both = by_block(
        averaged, theta, *beside, dims=[PART, *dims, ITEM, SYSTEM],
        coords=coords | {PART: np.arange(2)}, reduced=True,
    ).chunk({ITEM: -1})  # fmt: skip
    mean, weight = (both.isel({PART: part}, drop=True) for part in range(2))
    return over_items(mean, weight.isel({SYSTEM: 0}, drop=True)).transpose(*dims, SYSTEM)


# The top labels of every draw, for both forms of a plausibility.


PLACE = "place"
"""First, second, ... in a draw's own order of labels."""


def top_labels(plausibility: xr.DataArray, where: Space, depth: int) -> xr.DataArray:
    """Return the codes of each draw's ``depth`` largest labels, the largest first.

    Parameters
    ----------
    plausibility : xarray.DataArray
        (..., item, label) or (..., item, candidate).
    where : Space
        Its label space.
    depth : int
        How many.

    Returns
    -------
    xarray.DataArray
        Integer codes over (..., item, place); negative where no label with a name stands.
    """
    deepest, known = remembered(plausibility)
    place = ("top", len(where.labels), where.seed)
    if place not in known or known[place].sizes[PLACE] < depth:
        known[place] = _searched(plausibility, where, max(depth, deepest))
    return known[place].isel({PLACE: slice(depth)})


def _searched(plausibility: xr.DataArray, where: Space, depth: int) -> xr.DataArray:
    like = xr.DataArray(np.zeros(depth, dtype=np.int64), dims=PLACE)
    if where.dense:
        return xr.apply_ufunc(
            top_dense, plausibility, like,
            input_core_dims=[[LABEL], [PLACE]], output_core_dims=[[PLACE]],
        )  # fmt: skip
    return on_candidates(
        top_candidates, plausibility, where, len(where.labels), like,
        more_dims=[[], [PLACE]], output_dims=[PLACE],
    )  # fmt: skip


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
    arguments.flags(per_item=per_item)
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
