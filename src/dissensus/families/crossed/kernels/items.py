"""One half of a sweep over crossed effects: variances, means and items given the annotators.

Given the annotators' effects, items are independent. Their effects and the pools' means are
integrated out. The cost of the remaining density of variances and correlations is proportional to
the number of designs (`data`). Variances are drawn from this density by slices, then the means with
effects integrated out, then the effects (`docs/derivations/crossed-effects-gibbs.md`). With one
pool, matrices are numbers: functions named ``*_of_one_pool`` do the same without loops over pools.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dissensus.families.crossed.kernels.covariance import (
    cell_covariance,
    effect_covariance,
    log_lkj,
)
from dissensus.families.crossed.kernels.data import (
    Crossed,
    ItemRoom,
    ItemSums,
    LabelSums,
    Parameters,
    Priors,
    Tuning,
    log_scale_prior,
    log_within,
    residual_sd,
    sum_designs,
    sum_items,
)
from dissensus.families.crossed.kernels.regression import move_given_annotators
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import backwards, factorised, forwards, inverted
from dissensus.kernels.types import Codes, Floats
from dissensus.kernels.variates import normal

SD_ITEM, CORRELATION, SD = range(3)
"""Codes of the parameters that a slice moves."""


@inner
def _log_designs(
    n_items: Floats, n_pools: Codes, pool: Codes, n_each: Floats, first: Floats, second: Floats,
    sd_item: Floats, correlation: Floats, sd: Floats, matrix: Floats, inverse: Floats,
    precision: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the designs' part of the log density; add to the means' precision and linear term."""
    total = 0.0
    for d in range(len(n_items)):
        n = n_pools[d]
        cell_covariance(d, n_pools, pool, n_each, sd_item, correlation, sd, matrix)
        if not factorised(matrix, n):
            return -np.inf
        total -= 0.5 * n_items[d] * inverted(matrix, n, inverse)
        for i in range(n):
            p = pool[d, i]
            for j in range(n):
                weight = inverse[i, j]
                precision[p, pool[d, j]] += n_items[d] * weight
                linear[p] += weight * first[d, j]
                total -= 0.5 * weight * second[d, max(i, j), min(i, j)]
    return total


@inner
def _log_marginal(
    n_labels: Floats, n_cells: Floats, n_items: Floats, n_pools: Codes, pool: Codes,
    n_each: Floats, first: Floats, second: Floats, within: Floats, sd_item: Floats,
    correlation: Floats, sd: Floats, prior_mu: Floats, matrix: Floats, inverse: Floats,
    precision: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the labels; items' effects and pools' means are integrated out.

    Writes the posterior of the means: L, the Cholesky factor of their precision, and L' mean.
    """
    n, total = len(linear), 0.0
    for p in range(n):
        for q in range(n):
            precision[p, q] = 0.0
        mean, spread = prior_mu[p, 0], prior_mu[p, 1]
        precision[p, p] = 1.0 / (spread * spread)
        linear[p] = mean / (spread * spread)
        total -= 0.5 * mean * linear[p]
    total += log_within(n_labels, n_cells, sd, within)
    total += _log_designs(
        n_items, n_pools, pool, n_each, first, second, sd_item, correlation, sd, matrix, inverse,
        precision, linear,
    )  # fmt: skip
    if not total > -np.inf or not factorised(precision, n):
        return -np.inf
    forwards(precision, n, linear)
    for p in range(n):
        total += 0.5 * linear[p] ** 2 - math.log(precision[p, p])
    return total


@inner
def _log_density(
    x: float, moved: int, p: int, q: int, prior_item: Floats, prior_sd: Floats, lkj: float,
    n_labels: Floats, n_cells: Floats, n_items: Floats, n_pools: Codes, pool: Codes,
    n_each: Floats, first: Floats, second: Floats, within: Floats, sd_item: Floats,
    correlation: Floats, sd: Floats, prior_mu: Floats, matrix: Floats, inverse: Floats,
    precision: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of a correlation, or of the logarithm of a standard deviation."""
    if moved == CORRELATION:
        if abs(x) >= 1.0:
            return -np.inf
        correlation[p, q], correlation[q, p] = x, x
        height = log_lkj(correlation, lkj, matrix)
        if height == -np.inf:
            return -np.inf
    elif moved == SD_ITEM:
        sd_item[p] = math.exp(x)
        height = x + log_scale_prior(sd_item[p], prior_item[p])
    else:
        sd[p] = math.exp(x)
        height = x + log_scale_prior(sd[p], prior_sd[p])
    return height + _log_marginal(
        n_labels, n_cells, n_items, n_pools, pool, n_each, first, second, within, sd_item,
        correlation, sd, prior_mu, matrix, inverse, precision, linear,
    )  # fmt: skip


_slice = slicer(_log_density)


@kernel
def _move_scales(
    state: State, moved: int, rate: float, width: Floats, number: Floats, prior_item: Floats,
    prior_sd: Floats, lkj: float, n_labels: Floats, n_cells: Floats, n_items: Floats,
    n_pools: Codes, pool: Codes, n_each: Floats, first: Floats, second: Floats, within: Floats,
    sd_item: Floats, correlation: Floats, sd: Floats, prior_mu: Floats, matrix: Floats,
    inverse: Floats, precision: Floats, linear: Floats,
) -> None:  # fmt: skip
    """Draw standard deviations, ``number`` (pool, 1), or correlations, ``number`` (pool, pool)."""
    for p in range(width.shape[0]):
        for q in range(p if moved == CORRELATION else 1):
            was = number[p, q] if moved == CORRELATION else math.log(number[p, q])
            x = _slice(
                state, was, width[p, q], moved, p, q, prior_item, prior_sd, lkj, n_labels, n_cells,
                n_items, n_pools, pool, n_each, first, second, within, sd_item, correlation, sd,
                prior_mu, matrix, inverse, precision, linear,
            )  # fmt: skip
            width[p, q] += rate * (4.0 * abs(x - was) - width[p, q])


@inner
def _gains(
    n_pools: Codes, pool: Codes, n_each: Floats, sd_item: Floats, correlation: Floats, sd: Floats,
    matrix: Floats, inverse: Floats, gain: Floats, root: Floats,
) -> None:  # fmt: skip
    """Write two matrices for each design, to draw items' effects.

    ``root`` is the Cholesky factor of the effects' covariance. ``gain`` is this covariance times
    the inverse of the cell means' covariance.
    """
    for d in range(len(n_pools)):
        n = n_pools[d]
        cell_covariance(d, n_pools, pool, n_each, sd_item, correlation, sd, matrix)
        factorised(matrix, n)
        inverted(matrix, n, inverse)
        effect_covariance(d, n_pools, pool, sd_item, correlation, root[d])
        for i in range(n):
            for j in range(n):
                gain[d, i, j] = 0.0
                for k in range(n):
                    gain[d, i, j] += root[d, i, k] * inverse[k, j]
        factorised(root[d], n)


@kernel
def _draw_items(
    state: State, of_item: Codes, item_start: Codes, cell_pool: Codes, n_pools: Codes, pool: Codes,
    n_each: Floats, mean: Floats, sd_item: Floats, correlation: Floats, sd: Floats,
    matrix: Floats, inverse: Floats, precision: Floats, linear: Floats, gain: Floats,
    root: Floats, mu: Floats, item: Floats,
) -> None:  # fmt: skip
    """Draw the means, and then each item's effects.

    Effects and cell means are simulated from the prior. Then the gain times the difference between
    real and simulated cell means is added to the effects, which makes them a draw from the
    posterior. The posterior covariance, which may be singular, need not be factorised.
    """
    for p in range(len(mu)):
        mu[p] = linear[p] + normal(state)
    backwards(precision, len(mu), mu)
    _gains(n_pools, pool, n_each, sd_item, correlation, sd, matrix, inverse, gain, root)
    effect, away = np.empty(len(mu)), np.empty(len(mu))
    for i in range(len(of_item)):
        d, first = of_item[i], item_start[i]
        n = item_start[i + 1] - first
        for k in range(n):
            away[k] = normal(state)
        for k in range(n):
            effect[k] = 0.0
            for j in range(k + 1):
                effect[k] += root[d, k, j] * away[j]
        for k in range(n):
            p = cell_pool[first + k]
            noise = residual_sd(sd, p) / math.sqrt(n_each[d, k]) * normal(state)
            away[k] = mean[first + k] - mu[p] - effect[k] - noise
        for k in range(n):
            for j in range(n):
                effect[k] += gain[d, k, j] * away[j]
            item[first + k] = effect[k]


@inner
def _log_marginal_of_one_pool(
    n_labels: Floats, n_cells: Floats, n_items: Floats, n_each: Floats, first: Floats,
    second: Floats, within: Floats, sd_item: Floats, sd: Floats, prior_mu: Floats, root: Floats,
    linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the labels; items' effects and the mean are integrated out.

    Writes the posterior of the mean: the root of its precision, and this root times the mean.
    """
    mean, spread = prior_mu[0, 0], prior_mu[0, 1]
    precision, weighted = 1.0 / (spread * spread), mean / (spread * spread)
    prior, total, v_item, v = -0.5 * mean * weighted, 0.0, sd_item[0] ** 2, sd[0] ** 2
    for d in range(len(n_items)):
        var = v_item + v / n_each[d, 0]
        total -= 0.5 * (n_items[d] * math.log(var) + second[d, 0, 0] / var)
        precision += n_items[d] / var
        weighted += first[d, 0] / var
    total = prior + log_within(n_labels, n_cells, sd, within) + total
    if not total > -np.inf or not precision > 0.0:
        return -np.inf
    root[0, 0] = math.sqrt(precision)
    linear[0] = weighted / root[0, 0]
    return total + (0.5 * linear[0] ** 2 - math.log(root[0, 0]))


@inner
def _log_density_of_one_pool(
    x: float, moved: int, prior_item: Floats, prior_sd: Floats, n_labels: Floats,
    n_cells: Floats, n_items: Floats, n_each: Floats, first: Floats, second: Floats,
    within: Floats, sd_item: Floats, sd: Floats, prior_mu: Floats, root: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of one of the standard deviations."""
    if moved == SD_ITEM:
        sd_item[0] = math.exp(x)
        height = log_scale_prior(sd_item[0], prior_item[0])
    else:
        sd[0] = math.exp(x)
        height = log_scale_prior(sd[0], prior_sd[0])
    return x + height + _log_marginal_of_one_pool(
        n_labels, n_cells, n_items, n_each, first, second, within, sd_item, sd, prior_mu, root,
        linear,
    )  # fmt: skip


_slice_of_one_pool = slicer(_log_density_of_one_pool)


@kernel
def _move_scales_of_one_pool(
    state: State, rate: float, width_item: Floats, width_sd: Floats, prior_item: Floats,
    prior_sd: Floats, n_labels: Floats, n_cells: Floats, n_items: Floats, n_each: Floats,
    first: Floats, second: Floats, within: Floats, sd_item: Floats, sd: Floats, prior_mu: Floats,
    root: Floats, linear: Floats,
) -> None:  # fmt: skip
    for moved in range(1 + len(width_sd)):
        was = math.log(sd_item[0] if moved == SD_ITEM else sd[0])
        wide = width_item[0] if moved == SD_ITEM else width_sd[0]
        x = _slice_of_one_pool(
            state, was, wide, moved, prior_item, prior_sd, n_labels, n_cells, n_items, n_each,
            first, second, within, sd_item, sd, prior_mu, root, linear,
        )  # fmt: skip
        wide += rate * (4.0 * abs(x - was) - wide)
        if moved == SD_ITEM:
            width_item[0] = wide
        else:
            width_sd[0] = wide


@kernel
def _draw_items_of_one_pool(
    state: State, of_item: Codes, item_start: Codes, n_each: Floats, mean: Floats, sd_item: Floats,
    sd: Floats, root: Floats, linear: Floats, mu: Floats, item: Floats,
) -> None:  # fmt: skip
    mu[0] = (linear[0] + normal(state)) / root[0, 0]
    share, spread = np.empty(len(n_each)), np.empty(len(n_each))
    v_item, v = sd_item[0] ** 2, sd[0] ** 2
    for d in range(len(share)):
        share[d] = v_item / (v_item + v / n_each[d, 0])
        spread[d] = math.sqrt(share[d] * v / n_each[d, 0])
    for i in range(len(of_item)):
        d = of_item[i]
        if d >= 0:
            c = item_start[i]
            item[c] = share[d] * (mean[c] - mu[0]) + spread[d] * normal(state)


def marginal(
    data: Crossed, sums: ItemSums, par: Parameters, priors: Priors, room: ItemRoom
) -> tuple[Any, ...]:
    """Return the arguments of `_log_marginal`."""
    return (
        data.n_labels, data.n_cells, *data.designs[1:], *sums[1:], par.sd_item, par.correlation,
        par.sd, priors.mu, room.matrix, room.inverse, room.precision, room.linear,
    )  # fmt: skip


def marginal_of_one_pool(
    data: Crossed, sums: ItemSums, par: Parameters, priors: Priors, room: ItemRoom
) -> tuple[Any, ...]:
    """Return the arguments of `_log_marginal_of_one_pool`."""
    return (
        data.n_labels, data.n_cells, data.designs.n_items, data.designs.n_labels, sums.first,
        sums.second, sums.within, par.sd_item, par.sd, priors.mu, room.precision, room.linear,
    )  # fmt: skip


def move_scales(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, sums: ItemSums,
    room: ItemRoom,
) -> None:  # fmt: skip
    """Draw variances and correlations of items, and residual variances."""
    if data.n_pools == 1:
        _move_scales_of_one_pool(
            state, tuning.rate, tuning.sd_item, tuning.sd, priors.sd_item, priors.sd,
            *marginal_of_one_pool(data, sums, par, priors, room),
        )  # fmt: skip
        return
    density_args = marginal(data, sums, par, priors, room)
    for moved, width, number in (
        (SD_ITEM, tuning.sd_item[:, None], par.sd_item[:, None]),
        (CORRELATION, tuning.correlation, par.correlation),
        (SD, tuning.sd[:, None], par.sd[:, None]),
    ):
        _move_scales(
            state, moved, tuning.rate, width, number, priors.sd_item, priors.sd, priors.lkj,
            *density_args,
        )  # fmt: skip


def draw_items(
    state: State, data: Crossed, par: Parameters, sums: ItemSums, room: ItemRoom
) -> None:
    """Draw means, whose posterior the last density evaluation wrote to ``room``, and effects."""
    designs = data.designs
    if data.n_pools == 1:
        _draw_items_of_one_pool(
            state, designs.of_item, data.item_start, designs.n_labels, sums.mean, par.sd_item,
            par.sd, room.precision, room.linear, par.mu, par.item,
        )  # fmt: skip
        return
    _draw_items(
        state, designs.of_item, data.item_start, data.cell_pool, designs.n_pools, designs.pool,
        designs.n_labels, sums.mean, par.sd_item, par.correlation, par.sd, *room, par.mu, par.item,
    )  # fmt: skip


def move_items(
    state: State, data: Crossed, labels: LabelSums, par: Parameters, priors: Priors,
    tuning: Tuning, sums: ItemSums, room: ItemRoom,
) -> None:  # fmt: skip
    """Draw coefficients, variances and correlations of items, means, and items' effects."""
    sum_items(data, labels, par.annotator, sums)
    if data.regression is not None:
        move_given_annotators(state, data, labels, par, priors, sums.mean, sums.within)
        sum_designs(data.designs.of_item, data.item_start, sums.mean, sums.first, sums.second)
    move_scales(state, data, par, priors, tuning, sums, room)
    draw_items(state, data, par, sums, room)
