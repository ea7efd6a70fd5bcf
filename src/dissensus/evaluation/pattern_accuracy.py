"""Accuracy of systems on very many items, at a cost that depends on the number of patterns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.alignment import check_labels, common_items
from dissensus.data.chunks import Chunk, chunks_of, is_chunked
from dissensus.data.rows import label_counts
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.candidates import Patterns, distinct, find_patterns, merged
from dissensus.kernels.dirichlet import leading_probabilities
from dissensus.kernels.overlap import holds_first
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.metrics._items import BOOTSTRAP
from dissensus.metrics._lists import align, check_lists
from dissensus.models.dirichlet import KINDS
from dissensus.sampling import fitting

_LIST: Final = ("code", "start", "end")
_AT_ONCE: Final = 4_000_000
"""Maximum number of draws held in memory."""
_MOST: Final = 1e8
"""Maximum reliability or prior count; above it, densities of gamma variates lose precision."""


def top_k_accuracy_by_pattern(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    k: int = 1,
    *,
    reliability: float = 1.0,
    prior_count: float = 1.0,
    draws: int = 1000,
    chains: int = 4,
    weights: str | None = None,
    on_missing: str = "raise",
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Draw accuracies under `models.dirichlet`, for all items of the same pattern at once.

    The distribution is exactly that of `top_k_accuracy` of a fit with the same ``prior_count``. The
    prior is fixed. A learned prior, which is recommended for few labels per item, needs the fit.
    Whether a system is right about an item depends only on which label leads:

    .. math:: p_{iy} = P(\arg\max \theta_i = y), \qquad
        N_{cy} \sim \mathrm{Multinomial}(n_c, p_{c\cdot}), \qquad
        \mathrm{accuracy}_s = \frac1n \sum_{c, y} N_{cy} h_{scy}

    where c is a *pattern*: the counts of an item's labels, and which systems predict these labels
    (:math:`h_{scy}`, from 0 to 1 for predicted ties), but not the labels' names. The :math:`n_c`
    items of a pattern have the same posterior, and their leading labels are independent given the
    data. The probabilities are one-dimensional integrals. Ten million items with five labels and
    four systems have several hundred patterns.

    Parameters
    ----------
    annotations : xarray.Dataset
        Nominal or ordinal, in memory or in chunks (`chunked`).
    predictions : xarray.Dataset
        From `dissensus.predictions`.
    k : int
        Number of predicted labels that count, as in `top_k_accuracy`.
    reliability, prior_count : float
        As in `models.dirichlet.fit`.
    draws, chains : int
        Number of draws per chain and of chains; all draws are independent.
    weights : None or "bayesian-bootstrap"
        The bootstrap is for new items like these. Other weights need `top_k_accuracy`.
    on_missing : {"raise", "drop"}
        What to do about items that only the annotations or only the predictions have.
    random_seed : int or numpy.random.Generator, optional
        Makes the draws repeatable; the order and the chunks of the items make no difference. The
        draws differ from those of `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        ``top_k_accuracy`` over (chain, draw, system), in [0, 1]; lazy if the annotations are in
        chunks.

    Raises
    ------
    AnnotationError, PredictionError, ArgumentError
        If kind, items, labels or another argument do not fit.

    Notes
    -----
    Source: Stutz et al. (2023), Eq. 8 and Appendix A, for the quantity. Time and memory grow with
    the number of patterns: with hundreds of annotators per item, few items share a pattern.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["a", "a"]})
    >>> accuracy = dx.top_k_accuracy_by_pattern(ann, pred, random_seed=1)
    >>> round(accuracy.mean().item(), 2)  # (7/8 + 1/4) / 2
    0.56
    """
    k = arguments.whole("k", k)
    prior = arguments.positive("prior_count", prior_count)
    gamma = arguments.positive("reliability", reliability)
    for name, number in (("reliability", gamma), ("prior_count", prior)):
        if number > _MOST:
            raise ArgumentError(
                name, expected=f"at most {_MOST:g}: larger values lose numerical precision",
                found=f"{number:g}", hint="top_k_accuracy of a dirichlet fit takes any",
            )  # fmt: skip
    chains, draws = arguments.sample_shape(draws, chains)
    bootstrap = isinstance(weights, str) and weights == BOOTSTRAP
    if not (bootstrap or weights is None):
        raise ArgumentError(
            "weights", expected=f"None or {BOOTSTRAP!r}", found=brief(weights),
            hint="top_k_accuracy of a fit takes weights of items",
        )  # fmt: skip
    seed = fitting.stream_seed(generator(random_seed, "fit"))
    parts, predictions = _parts(annotations, predictions, on_missing)
    tallied = partial(_tallied, predictions=predictions, prior=prior, gamma=gamma, k=k)
    drawn = partial(_drawn, size=chains * draws, seed=seed, bootstrap=bootstrap)
    values: Any
    if is_chunked(annotations):
        import dask
        import dask.array as da

        tallies = [dask.delayed(tallied)(part) for part in parts]
        shape = (chains * draws, predictions.sizes[SYSTEM])
        values = da.from_delayed(dask.delayed(drawn)(tallies), shape=shape, dtype=np.float64)
    else:
        values = drawn([tallied(part) for part in parts])
    accuracies = xr.DataArray(
        values.reshape(chains, draws, -1), dims=(CHAIN, DRAW, SYSTEM),
        coords={CHAIN: np.arange(chains), DRAW: np.arange(draws),
                SYSTEM: predictions[SYSTEM].to_numpy()},
    )  # fmt: skip
    return accuracies.rename(f"top_{k}_accuracy").assign_attrs(better="higher")


class _Part(NamedTuple):
    """A part of the items: annotations, which items have predictions, and where these are."""

    annotations: xr.Dataset | Chunk
    kept: npt.NDArray[np.bool_]
    predicted: slice


def _parts(
    annotations: xr.Dataset, predictions: xr.Dataset, on_missing: str
) -> tuple[list[_Part], xr.Dataset]:
    """Cut annotations and predictions into the same parts."""
    check_lists(predictions)
    if is_chunked(annotations):  # chunks are checked when they are read
        parts: list[Any] = chunks_of(annotations)
        sizes = [len(part.items) for part in parts]
    else:
        _require_labels(annotations)
        parts = [annotations]
        sizes = [annotations.sizes[ITEM]]
    items = annotations[ITEM]
    numbered = xr.DataArray(np.arange(len(items)), coords={ITEM: items.to_numpy()})
    common, predictions = common_items(numbered, predictions, on_missing)
    check_labels(predictions, annotations[LABEL].to_numpy())
    kept = np.zeros(len(items), dtype=bool)
    kept[common.to_numpy()] = True
    place = np.concatenate([[0], np.cumsum(kept)])
    edges = np.cumsum([0, *sizes])
    return [
        _Part(part, kept[low:high], slice(place[low], place[high]))
        for part, (low, high) in zip(parts, pairwise(edges), strict=True)
        if place[high] > place[low]
    ], predictions


def _require_labels(annotations: xr.Dataset) -> None:
    fitting.require_kind(annotations, KINDS, "dirichlet, in top_k_accuracy_by_pattern")


def _tallied(
    part: _Part, *, predictions: xr.Dataset, prior: float, gamma: float, k: int
) -> Patterns:
    """Find the patterns of some items."""
    annotations = part.annotations
    if isinstance(annotations, Chunk):
        annotations = annotations.read()
    _require_labels(annotations)
    items = annotations[ITEM].to_numpy()[part.kept]
    parameters = xr.DataArray(
        prior + gamma * label_counts(annotations)[part.kept],
        coords={ITEM: items, LABEL: annotations[LABEL].to_numpy()}, dims=(ITEM, LABEL),
    )  # fmt: skip
    lists = predictions.isel({ITEM: part.predicted}).compute(scheduler="synchronous")
    lists = align(parameters, lists.assign_coords({ITEM: items}), checked=True)[1]
    labels = np.arange(parameters.sizes[LABEL])[:, None]
    right = [
        holds_first(labels, *(of_system[name].to_numpy()[:, None] for name in _LIST), k)
        for of_system in (lists.isel({SYSTEM: s}) for s in range(lists.sizes[SYSTEM]))
    ]
    return find_patterns([parameters.to_numpy(), *right])


def _drawn(tallies: Sequence[Patterns], *, size: int, seed: int, bootstrap: bool) -> Floats:
    """Draw the leading labels, and return accuracies (draw, system)."""
    patterns, rng = merged(tallies), np.random.default_rng(seed)
    alpha = patterns.cells[:, 0]
    # A column of ones sums the weights, in the same order as the other columns.
    right = np.column_stack([patterns.cells[:, 1:], np.ones(len(alpha))])
    total = np.zeros((size, right.shape[1]))
    at_once = max(1, _AT_ONCE // (size * patterns.rows.shape[1]))
    for first in range(0, len(patterns.rows), at_once):
        part = patterns.subset(slice(first, first + at_once))
        cell, probability = distinct(part, leading_probabilities(alpha[part.rows]))
        leads: Any = rng.multinomial(part.times, probability, size=(size, len(cell)))
        if bootstrap:  # a standard exponential weight for each item, summed
            leads = rng.standard_gamma(leads)
        total += leads.reshape(size, -1) @ right[cell].reshape(-1, right.shape[1])
    return total[:, :-1] / total[:, -1:]
