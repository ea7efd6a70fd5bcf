"""What variances need to know of labels: sums over cells, annotators and designs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_parameters import Parameters

Floats = npt.NDArray[np.float64]


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


class LabelSums(NamedTuple):
    """Sums of what is to be explained, over cells and over annotators."""

    cell: Floats
    annotator: Floats
    square: Floats
    """(pool)"""


@njit(cache=True)
def label_sums(data: Crossed, latent: Floats) -> LabelSums:
    """Sum over cells and annotators."""
    cell, annotator = np.zeros(len(data.cell_pool)), np.zeros(len(data.annotator_pool))
    square = np.zeros(len(data.n_labels))
    for c in range(len(cell)):
        for n in range(data.cell_start[c], data.cell_start[c + 1]):
            cell[c] += latent[n]
            square[data.cell_pool[c]] += latent[n] * latent[n]
            annotator[data.annotator[n]] += latent[n]
    return LabelSums(cell, annotator, square)


@njit(cache=True)
def sum_items(
    data: Crossed, sums: LabelSums, annotator: Floats, mean: Floats, out: ItemSums
) -> None:
    """Take annotators' effects off the labels, and sum what is left by design."""
    out.first[:], out.second[:] = 0.0, 0.0
    out.within[:] = sums.square
    for j in range(len(annotator)):
        n = data.annotator_start[j + 1] - data.annotator_start[j]
        taken = annotator[j] * (n * annotator[j] - 2.0 * sums.annotator[j])
        out.within[data.annotator_pool[j]] += taken
    for i in range(len(data.designs.of_item)):
        d, first = data.designs.of_item[i], data.item_start[i]
        for c in range(first, data.item_start[i + 1]):
            start, stop = data.cell_start[c], data.cell_start[c + 1]
            total = sums.cell[c]
            for n in range(start, stop):
                total -= annotator[data.annotator[n]]
            mean[c] = total / (stop - start)
            out.within[data.cell_pool[c]] -= total * mean[c]
            out.first[d, c - first] += mean[c]
            for other in range(first, c + 1):
                out.second[d, c - first, other - first] += mean[c] * mean[other]


@njit(cache=True, inline="always")
def residual_sd(par: Parameters, pool: int) -> float:
    """Return the residual standard deviation of a pool."""
    return par.sd[pool if len(par.sd) > 1 else 0]


@njit(cache=True)
def log_within(data: Crossed, par: Parameters, within: Floats, n_means: Floats) -> float:
    """Return the log density of labels about their means, up to a constant."""
    total = 0.0
    for p in range(len(within)):
        sd = residual_sd(par, p)
        if sd < _LEAST_SD:
            return -np.inf
        total -= (data.n_labels[p] - n_means[p]) * math.log(sd)
        total -= 0.5 * max(within[p], 0.0) / (sd * sd)
    return total
