"""Labels of two kinds under crossed effects, drawn without latent numbers.

Slices under the exact density of one effect are cheaper than a Polya-Gamma variate for each of its
labels, and nothing latent holds the chain back (`docs/decisions`). Standard deviations and
correlations are drawn twice a sweep, given the effects, and given the effects as multiples of them
(Yu & Meng 2011): one of the two moves freely, whether the labels say much or little. So do the
means: alone, against the items, against the annotators.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_items import effect_covariance, log_lkj
from dissensus.arrays.crossed_odds import (
    LARGE,
    Odds,
    held,
    log_product,
    refresh_annotators,
)
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning, log_scale_prior
from dissensus.arrays.crossed_transport import (
    Transport,
    learn_paths,
    longest,
    move_with_annotators,
    move_with_items,
    remember,
)
from dissensus.arrays.normal_variates import normal
from dissensus.arrays.small_matrices import backwards, factorised, forwards, inverted
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]

_QUARTER = 0.25
"""The most that a label says about an effect."""
_WIDTH = 2.5
"""Of a slice, in standard deviations of the posterior's approximation."""


_EFFECT, _ALONG, _SUM, _START = range(4)
"""Rows of what is known of an item's cells."""


class EffectRoom(NamedTuple):
    """The prior of items' effects, by design, and what is written to while it is computed."""

    second: Floats
    """(design, place, place): sums of products of effects."""
    precision: Floats
    """(design, place, place): of the prior."""
    direction: Floats
    """(design, place, place): rows along which items are moved."""
    matrix: Floats
    inverse: Floats
    cells: Floats
    """(4, place + 1): of one item, see `_gather`."""
    others: Floats
    """(label): odds of the other side, of one item or one annotator."""


@njit(cache=True)
def effect_room(data: Crossed) -> EffectRoom:
    """Make room."""
    n, p = data.designs.pool.shape
    shape = (n, p, p)
    return EffectRoom(
        np.empty(shape), np.empty(shape), np.empty(shape), np.empty((p, p)), np.empty((p, p)),
        np.empty((4, p + 1)), np.empty(longest(data)),
    )  # fmt: skip


# -- Items ------------------------------------------------------------------------------------


@njit(cache=True)
def _directions(data: Crossed, par: Parameters, room: EffectRoom) -> None:
    """Write, by design, the prior's precision and directions along which an item moves freely.

    Effects of one item in several pools are correlated. Along the columns of a factor of about
    their posterior covariance, one number after another is as good as all at once.
    """
    designs = data.designs
    for d in range(len(designs.n_items)):
        n = designs.n_pools[d]
        effect_covariance(designs, d, par, room.matrix)
        factorised(room.matrix, n)
        inverted(room.matrix, n, room.precision[d])
        room.matrix[:] = room.precision[d]
        for k in range(n):
            room.matrix[k, k] += _QUARTER * designs.n_labels[d, k]
        factorised(room.matrix, n)
        for k in range(n):  # L' x = e_k: covariances of the columns add up to the inverse
            room.direction[d, k] = 0.0
            room.direction[d, k, k] = 1.0
            for i in range(k, -1, -1):
                for j in range(i + 1, k + 1):
                    room.direction[d, k, i] -= room.matrix[j, i] * room.direction[d, k, j]
                room.direction[d, k, i] /= room.matrix[i, i]


@njit(cache=True)
def _of_step(
    t: float, slope: float, curvature: float, n: int, cells: Floats, others: Floats
) -> float:
    """Return the log density of an item's step along a direction.

    All of one item is in two small arrays: each array that is handed to a function costs about as
    much as a label does, and this one is called more often than any other.
    """
    total = t * (slope - 0.5 * curvature * t)
    for k in range(n):
        if cells[_ALONG, k] != 0.0:
            x = held(cells[_EFFECT, k] + t * cells[_ALONG, k])
            factor, product = math.exp(x), 1.0
            total += cells[_SUM, k] * x
            for other in range(int(cells[_START, k]), int(cells[_START, k + 1])):
                product *= 1.0 + factor * others[other]
                if product > LARGE:
                    total -= math.log(product)
                    product = 1.0
            total -= math.log(product)
    return total


_slice_step = slicer(_of_step)


@njit(cache=True)
def _gather(
    data: Crossed, par: Parameters, known: Odds, i: int, cells: Floats, others: Floats
) -> None:
    """Put together all that is needed of one item."""
    first, count = data.item_start[i], 0
    for c in range(first, data.item_start[i + 1]):
        k = c - first
        cells[_EFFECT, k], cells[_SUM, k], cells[_START, k] = par.item[c], known.cell_sum[c], count
        for n in range(data.cell_start[c], data.cell_start[c + 1]):
            others[count] = known.annotator[data.annotator[n]]
            count += 1
        cells[_START, k + 1] = count


@njit(cache=True)
def _move_item(
    state: State, n: int, precision: Floats, directions: Floats, cells: Floats, others: Floats
) -> None:
    """Move one item's effects along one direction after another."""
    for k in range(n):
        slope, curvature = 0.0, 0.0
        for a in range(n):
            cells[_ALONG, a] = directions[k, a]
            for b in range(n):
                pull = directions[k, a] * precision[a, b]
                slope -= pull * cells[_EFFECT, b]
                curvature += pull * directions[k, b]
        t = _slice_step(state, 0.0, _WIDTH, slope, curvature, n, cells, others)
        for a in range(n):
            cells[_EFFECT, a] += t * cells[_ALONG, a]


@njit(cache=True)
def _move_items(
    state: State, data: Crossed, par: Parameters, known: Odds, room: EffectRoom
) -> None:
    """Move every item's effects, and sum their products by design."""
    _directions(data, par, room)
    room.second[:] = 0.0
    cells, others = room.cells, room.others
    for i in range(len(data.designs.of_item)):
        d, first = data.designs.of_item[i], data.item_start[i]
        n = data.item_start[i + 1] - first
        if n == 0:
            continue
        _gather(data, par, known, i, cells, others)
        _move_item(state, n, room.precision[d], room.direction[d], cells, others)
        for a in range(n):
            par.item[first + a] = cells[_EFFECT, a]
            known.cell[first + a] = math.exp(held(cells[_EFFECT, a]))
            for b in range(n):
                room.second[d, a, b] += cells[_EFFECT, a] * cells[_EFFECT, b]


# -- Annotators -------------------------------------------------------------------------------


@njit(cache=True)
def _of_annotator(x: float, mean: float, sd: float, total: float, n: int, others: Floats) -> float:
    eta = held(mean + x)
    return total * eta - 0.5 * (x / sd) ** 2 - log_product(math.exp(eta), others, n)


_slice_annotator = slicer(_of_annotator)


@njit(cache=True)
def _move_annotators(
    state: State, data: Crossed, par: Parameters, known: Odds, others: Floats
) -> None:
    for j in range(len(par.annotator)):
        start, p = data.annotator_start[j], data.annotator_pool[j]
        n = data.annotator_start[j + 1] - start
        for k in range(n):
            others[k] = known.cell[data.annotator_cell[start + k]]
        mean, sd, total = par.mu[p], par.sd_annotator[p], known.annotator_sum[j]
        width = _WIDTH / math.sqrt(1.0 / (sd * sd) + _QUARTER * n)
        x = _slice_annotator(state, par.annotator[j], width, mean, sd, total, n, others)
        par.annotator[j] = x
        known.annotator[j] = math.exp(held(mean + x))


# -- Standard deviations and correlations, given the effects ----------------------------------


@njit(cache=True)
def _log_effects(data: Crossed, par: Parameters, room: EffectRoom) -> float:
    """Return the log density of all items' effects."""
    total = 0.0
    for d in range(len(data.designs.n_items)):
        n = data.designs.n_pools[d]
        effect_covariance(data.designs, d, par, room.matrix)
        if not factorised(room.matrix, n):
            return -np.inf
        total -= 0.5 * data.designs.n_items[d] * inverted(room.matrix, n, room.inverse)
        for i in range(n):
            for j in range(n):
                total -= 0.5 * room.inverse[i, j] * room.second[d, i, j]
    return total


@njit(cache=True)
def _of_sd_item(
    x: float, p: int, data: Crossed, par: Parameters, priors: Priors, room: EffectRoom
) -> float:
    par.sd_item[p] = math.exp(x)
    return x + log_scale_prior(par.sd_item[p], priors.sd_item[p]) + _log_effects(data, par, room)


@njit(cache=True)
def _of_correlation(
    x: float, p: int, q: int, data: Crossed, par: Parameters, priors: Priors, room: EffectRoom
) -> float:
    if abs(x) >= 1.0:
        return -np.inf
    par.correlation[p, q], par.correlation[q, p] = x, x
    prior = log_lkj(par.correlation, priors.lkj, room.matrix)
    return prior if prior == -np.inf else prior + _log_effects(data, par, room)


@njit(cache=True)
def _of_sd_annotator(x: float, n: float, square: float, prior: Floats) -> float:
    sd = math.exp(x)
    return x + log_scale_prior(sd, prior) - n * x - 0.5 * square / (sd * sd)


_slice_sd_item = slicer(_of_sd_item)
_slice_correlation = slicer(_of_correlation)
_slice_sd_annotator = slicer(_of_sd_annotator)


@njit(cache=True)
def _scales_given_effects(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, room: EffectRoom
) -> None:
    n_pools = len(par.mu)
    for p in range(n_pools):
        was = math.log(par.sd_item[p])
        x = _slice_sd_item(state, was, tuning.sd_item[p], p, data, par, priors, room)
        par.sd_item[p] = math.exp(x)
        for q in range(p):
            r = par.correlation[p, q]
            r = _slice_correlation(
                state, r, tuning.correlation[p, q], p, q, data, par, priors, room
            )
            par.correlation[p, q], par.correlation[q, p] = r, r
    for p in range(len(tuning.sd_annotator)):
        n, square = 0.0, 0.0
        for j in range(len(par.annotator)):
            if data.annotator_pool[j] == p:
                n += 1.0
                square += par.annotator[j] ** 2
        was = math.log(par.sd_annotator[p])
        prior = priors.sd_annotator[p]
        x = _slice_sd_annotator(state, was, tuning.sd_annotator[p], n, square, prior)
        par.sd_annotator[p] = math.exp(x)


# -- Means ------------------------------------------------------------------------------------


@njit(cache=True)
def _against_items(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Odds, room: EffectRoom
) -> None:
    """Move the means of all pools at once, and the items' effects the other way.

    No label sees it, so that it is a Gaussian draw. All at once, since where pools agree about the
    items one mean could hardly move without the others.
    """
    n_pools = len(par.mu)
    precision, move = room.matrix, np.empty(n_pools)
    _directions(data, par, room)
    precision[:] = 0.0
    for p in range(n_pools):
        mean, sd = priors.mu[p]
        precision[p, p] = 1.0 / (sd * sd)
        move[p] = (mean - par.mu[p]) / (sd * sd)
    for i in range(len(data.designs.of_item)):
        d, first, stop = data.designs.of_item[i], data.item_start[i], data.item_start[i + 1]
        for c in range(first, stop):
            p = data.cell_pool[c]
            for k in range(first, stop):
                weight = room.precision[d, c - first, k - first]
                precision[p, data.cell_pool[k]] += weight
                move[p] += weight * par.item[k]
    if not factorised(precision, n_pools):
        return
    forwards(precision, n_pools, move)
    for p in range(n_pools):
        move[p] += normal(state)
    backwards(precision, n_pools, move)
    par.mu[:] += move
    for c in range(len(par.item)):
        par.item[c] -= move[data.cell_pool[c]]
        known.cell[c] = math.exp(held(par.item[c]))


@njit(cache=True)
def _against_annotators(state: State, data: Crossed, par: Parameters, priors: Priors) -> None:
    """Move each pool's mean, and its annotators' effects the other way."""
    for p in range(len(par.mu)):
        mean, sd = priors.mu[p]
        precision, linear = 1.0 / (sd * sd), (mean - par.mu[p]) / (sd * sd)
        for j in range(len(par.annotator)):
            if data.annotator_pool[j] == p:
                precision += 1.0 / par.sd_annotator[p] ** 2
                linear += par.annotator[j] / par.sd_annotator[p] ** 2
        move = linear / precision + normal(state) / math.sqrt(precision)
        par.mu[p] += move
        for j in range(len(par.annotator)):
            if data.annotator_pool[j] == p:
                par.annotator[j] -= move


@njit(cache=True)
def move_all(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, known: Odds,
    room: EffectRoom, paths: Transport,
) -> None:  # fmt: skip
    """Move everything once."""
    before = np.log(par.sd_item), np.log(par.sd_annotator), par.correlation.copy()
    move_with_items(state, data, par, priors, tuning, known, paths)
    if len(tuning.sd_annotator):
        move_with_annotators(state, data, par, priors, tuning, known, paths)
    _against_items(state, data, par, priors, known, room)
    if len(tuning.sd_annotator):
        _against_annotators(state, data, par, priors)
    refresh_annotators(data, par, known)
    _move_items(state, data, par, known, room)
    if len(tuning.sd_annotator):
        _move_annotators(state, data, par, known, room.others)
    _scales_given_effects(state, data, par, priors, tuning, room)
    if tuning.rate > 0.0:
        _learn(tuning, before, par)
        remember(data, par, tuning.rate, paths)
        tuning.sweep[0] += 1.0
        if tuning.sweep[0] >= tuning.sweep[1]:
            learn_paths(data, par, tuning, known, paths)
            tuning.sweep[1] *= 2.0


@njit(cache=True)
def _learn(tuning: Tuning, before: tuple[Floats, Floats, Floats], par: Parameters) -> None:
    """Let slices become about as wide as what they move moves in a sweep."""
    rate = tuning.rate
    item, annotator, correlation = before
    for p in range(len(par.mu)):
        x = math.log(par.sd_item[p])
        tuning.sd_item[p] += rate * (2.5 * abs(x - item[p]) - tuning.sd_item[p])
        tuning.log_sd_item[p] += rate * (x - tuning.log_sd_item[p])
        for q in range(p):
            r = par.correlation[p, q]
            width = tuning.correlation[p, q]
            tuning.correlation[p, q] += rate * (2.5 * abs(r - correlation[p, q]) - width)
    for p in range(len(tuning.sd_annotator)):
        x = math.log(par.sd_annotator[p])
        tuning.sd_annotator[p] += rate * (2.5 * abs(x - annotator[p]) - tuning.sd_annotator[p])
        tuning.log_sd_annotator[p] += rate * (x - tuning.log_sd_annotator[p])
