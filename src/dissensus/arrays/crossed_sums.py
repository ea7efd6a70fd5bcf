"""What variances need to know of labels: sums over cells, annotators and designs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.arrays.crossed_data import Crossed
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Codes, Floats, Indices

_LEAST_SD = 1e-140
"""Of a residual: its square can still be divided by, where labels leave no residual at all."""


class ItemSums(NamedTuple):
    """All that the variances need to know of the labels, once annotators' effects are taken off."""

    mean: Floats
    """(cell)"""
    first: Floats
    """(design, place): of the cells' means over the items of a design."""
    second: Floats
    """(design, place, place): of their products."""
    within: Floats
    """(pool): squares of labels about the mean of their cell."""


class ItemRoom(NamedTuple):
    """What is written to while densities are computed."""

    matrix: Floats
    inverse: Floats
    precision: Floats
    """(pool, pool): of the means of the pools, its Cholesky factor in the end."""
    linear: Floats
    """(pool)"""
    gain: Floats
    """(design, place, place)"""
    root: Floats
    """(design, place, place): Cholesky factor of the prior of an item's effects."""


class LabelSums(NamedTuple):
    """Sums of what is to be explained, over cells and over annotators."""

    cell: Floats
    annotator: Floats
    square: Floats
    """(pool)"""


def item_room(data: Crossed) -> tuple[ItemSums, ItemRoom]:
    """Make room."""
    n, p = data.designs.pool.shape
    sums = ItemSums(
        np.empty(len(data.cell_pool)), np.empty((n, p)), np.empty((n, p, p)), np.empty(p)
    )
    room = ItemRoom(
        np.empty((p, p)), np.empty((p, p)), np.empty((p, p)), np.empty(p), np.empty((n, p, p)),
        np.empty((n, p, p)),
    )  # fmt: skip
    return sums, room


def label_sums(data: Crossed, latent: Floats) -> LabelSums:
    """Sum over cells and annotators."""
    pool = data.cell_pool[data.cell]
    return LabelSums(
        np.bincount(data.cell, latent, len(data.cell_pool)),
        np.bincount(data.annotator, latent, len(data.annotator_pool)),
        np.bincount(pool, latent * latent, data.n_pools),
    )


def sum_items(data: Crossed, sums: LabelSums, annotator: Floats, out: ItemSums) -> None:
    """Take annotators' effects off the labels, and sum what is left by design."""
    _sum_items(
        data.annotator, data.annotator_start, data.annotator_pool, data.designs.of_item,
        data.item_start, data.cell_start, data.cell_pool, sums.cell, sums.annotator, sums.square,
        annotator, *out,
    )  # fmt: skip


@kernel
def _sum_items(
    who: Indices, annotator_start: Codes, annotator_pool: Codes, of_item: Codes, item_start: Codes,
    cell_start: Codes, cell_pool: Codes, cell_sum: Floats, annotator_sum: Floats, square: Floats,
    annotator: Floats, mean: Floats, first: Floats, second: Floats, within: Floats,
) -> None:  # fmt: skip
    for d in range(first.shape[0]):
        for k in range(first.shape[1]):
            first[d, k] = 0.0
            for other in range(first.shape[1]):
                second[d, k, other] = 0.0
    for p in range(len(within)):
        within[p] = square[p]
    for j in range(len(annotator)):
        n = annotator_start[j + 1] - annotator_start[j]
        within[annotator_pool[j]] += annotator[j] * (n * annotator[j] - 2.0 * annotator_sum[j])
    for i in range(len(of_item)):
        d, start = of_item[i], item_start[i]
        for c in range(start, item_start[i + 1]):
            total = cell_sum[c]
            for n in range(cell_start[c], cell_start[c + 1]):
                total -= annotator[who[n]]
            mean[c] = total / (cell_start[c + 1] - cell_start[c])
            within[cell_pool[c]] -= total * mean[c]
            first[d, c - start] += mean[c]
            for other in range(start, c + 1):
                second[d, c - start, other - start] += mean[c] * mean[other]


@inner
def residual_sd(sd: Floats, pool: int) -> float:
    """Return the residual standard deviation of a pool."""
    return sd[pool if len(sd) > 1 else 0]


@inner
def log_within(n_labels: Floats, n_means: Floats, sd: Floats, within: Floats) -> float:
    """Return the log density of labels about their means, up to a constant."""
    total = 0.0
    for p in range(len(within)):
        rest = residual_sd(sd, p)
        if rest < _LEAST_SD:
            return -np.inf
        total -= (n_labels[p] - n_means[p]) * math.log(rest)
        total -= 0.5 * max(within[p], 0.0) / (rest * rest)
    return total
