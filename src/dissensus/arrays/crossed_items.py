"""One half of a sweep over crossed effects: variances, means and items given the annotators.

Given the annotators' effects, items are independent, and their effects and the means of the pools
can be integrated out: what is left is a density of the variances and correlations alone, whose
cost does not grow with labels or items but with the number of designs
(`dissensus.arrays.crossed_data`). Variances are drawn under it, by slices, so that they do not
creep along with the effects; then the means without the effects, then the effects.
`docs/derivations/crossed-effects-gibbs.md` has the mathematics.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_covariance import cell_covariance, effect_covariance, log_lkj
from dissensus.arrays.crossed_data import Crossed, Designs
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning, log_scale_prior
from dissensus.arrays.crossed_sums import ItemSums, LabelSums, log_within, residual_sd, sum_items
from dissensus.arrays.normal_variates import normal
from dissensus.arrays.small_matrices import backwards, factorised, forwards, inverted
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


class ItemRoom(NamedTuple):
    """What is written to while densities are computed."""

    matrix: Floats
    inverse: Floats
    precision: Floats
    """(pool, pool): of the means of the pools."""
    linear: Floats
    """(pool)"""
    gain: Floats
    """(design, place, place)"""
    root: Floats
    """(design, place, place): Cholesky factor of the prior of an item's effects."""


@njit(cache=True)
def item_room(designs: Designs, n_cells: int) -> tuple[ItemSums, ItemRoom]:
    """Make room."""
    n, p = designs.pool.shape
    sums = ItemSums(np.empty(n_cells), np.empty((n, p)), np.empty((n, p, p)), np.empty(p))
    square = (p, p)
    room = ItemRoom(
        np.empty(square), np.empty(square), np.empty(square), np.empty(p),
        np.empty((n, p, p)), np.empty((n, p, p)),
    )  # fmt: skip
    return sums, room


@njit(cache=True)
def _prior_of_means(priors: Priors, room: ItemRoom) -> float:
    """Start the posterior of the pools' means from the prior; return a constant's logarithm."""
    room.precision[:] = 0.0
    total = 0.0
    for p in range(len(priors.mu)):
        mean, sd = priors.mu[p]
        room.precision[p, p] = 1.0 / (sd * sd)
        room.linear[p] = mean / (sd * sd)
        total -= 0.5 * mean * room.linear[p]
    return total


@njit(cache=True)
def _one_pool(designs: Designs, sums: ItemSums, par: Parameters, room: ItemRoom) -> float:
    """Add up the designs of a single pool, where all matrices are numbers."""
    total, v_item, v = 0.0, par.sd_item[0] ** 2, par.sd[0] ** 2
    for d in range(len(designs.n_items)):
        var = v_item + v / designs.n_labels[d, 0]
        total -= 0.5 * (designs.n_items[d] * math.log(var) + sums.second[d, 0, 0] / var)
        room.precision[0, 0] += designs.n_items[d] / var
        room.linear[0] += sums.first[d, 0] / var
    return total


@njit(cache=True)
def _many_pools(designs: Designs, sums: ItemSums, par: Parameters, room: ItemRoom) -> float:
    total = 0.0
    for d in range(len(designs.n_items)):
        n = designs.n_pools[d]
        cell_covariance(designs, d, par, room.matrix)
        if not factorised(room.matrix, n):
            return -np.inf
        total -= 0.5 * designs.n_items[d] * inverted(room.matrix, n, room.inverse)
        for i in range(n):
            p = designs.pool[d, i]
            for j in range(n):
                weight = room.inverse[i, j]
                room.precision[p, designs.pool[d, j]] += designs.n_items[d] * weight
                room.linear[p] += weight * sums.first[d, j]
                total -= 0.5 * weight * sums.second[d, max(i, j), min(i, j)]
    return total


@njit(cache=True)
def _log_marginal(
    data: Crossed, sums: ItemSums, par: Parameters, priors: Priors, room: ItemRoom
) -> float:
    """Return the log density of the labels without the effects of items and the means of pools.

    Leaves the posterior of the means behind: their precision's Cholesky factor, and their mean.
    """
    n_pools = len(par.mu)
    total = _prior_of_means(priors, room) + log_within(data, par, sums.within, data.n_cells)
    if n_pools == 1:
        total += _one_pool(data.designs, sums, par, room)
    else:
        total += _many_pools(data.designs, sums, par, room)
    if not total > -np.inf or not factorised(room.precision, n_pools):
        return -np.inf
    forwards(room.precision, n_pools, room.linear)
    for p in range(n_pools):
        total += 0.5 * room.linear[p] ** 2 - math.log(room.precision[p, p])
    return total


@njit(cache=True)
def _of_sd_item(
    x: float, p: int, data: Crossed, sums: ItemSums, par: Parameters, priors: Priors, room: ItemRoom
) -> float:
    par.sd_item[p] = math.exp(x)
    prior = log_scale_prior(par.sd_item[p], priors.sd_item[p])
    return x + prior + _log_marginal(data, sums, par, priors, room)


@njit(cache=True)
def _of_sd(
    x: float, p: int, data: Crossed, sums: ItemSums, par: Parameters, priors: Priors, room: ItemRoom
) -> float:
    par.sd[p] = math.exp(x)
    prior = log_scale_prior(par.sd[p], priors.sd[p])
    return x + prior + _log_marginal(data, sums, par, priors, room)


@njit(cache=True)
def _of_correlation(
    x: float, p: int, q: int, data: Crossed, sums: ItemSums, par: Parameters, priors: Priors,
    room: ItemRoom,
) -> float:  # fmt: skip
    if abs(x) >= 1.0:
        return -np.inf
    par.correlation[p, q], par.correlation[q, p] = x, x
    prior = log_lkj(par.correlation, priors.lkj, room.matrix)
    if prior == -np.inf:
        return -np.inf
    return prior + _log_marginal(data, sums, par, priors, room)


_slice_sd_item = slicer(_of_sd_item)


_slice_sd = slicer(_of_sd)


_slice_correlation = slicer(_of_correlation)


@njit(cache=True)
def _draw_means(state: State, data: Crossed, sums: ItemSums, par: Parameters, priors: Priors,
                room: ItemRoom) -> None:  # fmt: skip
    _log_marginal(data, sums, par, priors, room)
    for p in range(len(par.mu)):
        par.mu[p] = room.linear[p] + normal(state)
    backwards(room.precision, len(par.mu), par.mu)


@njit(cache=True)
def _gains(designs: Designs, par: Parameters, room: ItemRoom) -> None:
    """Write, for each design, what draws items' effects: the prior's factor and the gain."""
    for d in range(len(designs.n_items)):
        n = designs.n_pools[d]
        cell_covariance(designs, d, par, room.matrix)
        factorised(room.matrix, n)
        inverted(room.matrix, n, room.inverse)
        effect_covariance(designs, d, par, room.root[d])
        for i in range(n):
            for j in range(n):
                room.gain[d, i, j] = 0.0
                for k in range(n):
                    room.gain[d, i, j] += room.root[d, i, k] * room.inverse[k, j]
        factorised(room.root[d], n)


@njit(cache=True)
def _draw_items(state: State, data: Crossed, mean: Floats, par: Parameters, room: ItemRoom) -> None:
    """Draw each item's effects: from the prior, then moved to where the labels are.

    What is drawn from the prior with labels of its own is moved by the difference between the
    labels that are there and those; that is a draw from the posterior, and needs no factor of a
    posterior covariance that may be singular.
    """
    n_pools = len(par.mu)
    effect, away = np.empty(n_pools), np.empty(n_pools)
    for i in range(len(data.designs.of_item)):
        d, first = data.designs.of_item[i], data.item_start[i]
        n = data.item_start[i + 1] - first
        for k in range(n):
            away[k] = normal(state)
        for k in range(n):
            effect[k] = 0.0
            for j in range(k + 1):
                effect[k] += room.root[d, k, j] * away[j]
        for k in range(n):
            p = data.cell_pool[first + k]
            noise = residual_sd(par, p) / math.sqrt(data.designs.n_labels[d, k]) * normal(state)
            away[k] = mean[first + k] - par.mu[p] - effect[k] - noise
        for k in range(n):
            for j in range(n):
                effect[k] += room.gain[d, k, j] * away[j]
            par.item[first + k] = effect[k]


@njit(cache=True)
def _draw_single_items(state: State, data: Crossed, mean: Floats, par: Parameters) -> None:
    """Do so where there is one pool."""
    designs = data.designs
    share, spread = np.empty(len(designs.n_items)), np.empty(len(designs.n_items))
    v_item, v = par.sd_item[0] ** 2, par.sd[0] ** 2
    for d in range(len(share)):
        share[d] = v_item / (v_item + v / designs.n_labels[d, 0])
        spread[d] = math.sqrt(share[d] * v / designs.n_labels[d, 0])
    for i in range(len(designs.of_item)):
        d = designs.of_item[i]
        if d >= 0:
            c = data.item_start[i]
            par.item[c] = share[d] * (mean[c] - par.mu[0]) + spread[d] * normal(state)


@njit(cache=True)
def move_items(
    state: State, data: Crossed, labels: LabelSums, par: Parameters, priors: Priors,
    tuning: Tuning, sums: ItemSums, room: ItemRoom,
) -> None:  # fmt: skip
    """Draw variances and correlations of items, residual variances, means, and items' effects."""
    n_pools, mean = len(par.mu), sums.mean
    sum_items(data, labels, par.annotator, mean, sums)
    for p in range(n_pools):
        was = math.log(par.sd_item[p])
        x = _slice_sd_item(state, was, tuning.sd_item[p], p, data, sums, par, priors, room)
        par.sd_item[p] = math.exp(x)
        tuning.sd_item[p] += tuning.rate * (4.0 * abs(x - was) - tuning.sd_item[p])
    for p in range(n_pools):
        for q in range(p):
            was, width = par.correlation[p, q], tuning.correlation[p, q]
            x = _slice_correlation(state, was, width, p, q, data, sums, par, priors, room)
            par.correlation[p, q], par.correlation[q, p] = x, x
            tuning.correlation[p, q] += tuning.rate * (4.0 * abs(x - was) - width)
    for p in range(len(tuning.sd)):
        was = math.log(par.sd[p])
        x = _slice_sd(state, was, tuning.sd[p], p, data, sums, par, priors, room)
        par.sd[p] = math.exp(x)
        tuning.sd[p] += tuning.rate * (4.0 * abs(x - was) - tuning.sd[p])
    _draw_means(state, data, sums, par, priors, room)
    if n_pools == 1:
        _draw_single_items(state, data, mean, par)
    else:
        _gains(data.designs, par, room)
        _draw_items(state, data, mean, par, room)
