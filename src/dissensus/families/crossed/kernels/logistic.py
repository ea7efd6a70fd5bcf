"""Crossed effects of two labels, drawn without latent numbers.

Each effect is drawn by a slice under its exact density: this is cheaper than a Polya-Gamma variate
for each label, and no latent numbers slow down mixing (decision 0009 in `docs/decisions`). Standard
deviations and correlations are drawn twice a sweep: given the effects, and together with the
effects along paths (`transport`). Means move opposite to the items' effects, and then opposite to
the annotators' effects.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.families.crossed.kernels.covariance import effect_precisions, log_lkj
from dissensus.families.crossed.kernels.data import (
    Crossed,
    Parameters,
    Priors,
    Tuning,
    correlations,
    log_scale_prior,
)
from dissensus.families.crossed.kernels.logistic_regression import (
    Offset,
    by_annotators,
    by_items,
    move_coefficients,
)
from dissensus.families.crossed.kernels.odds import (
    LARGE,
    Odds,
    find_parabolas,
    held,
    log_product,
    refresh_annotators,
)
from dissensus.families.crossed.kernels.transport import (
    QUARTER,
    EffectRoom,
    Transport,
    directions,
    move_with_annotators,
    move_with_items,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import backwards, factorised, forwards
from dissensus.kernels.types import Codes, Floats, Indices
from dissensus.kernels.variates import normal


def against_items(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Odds, room: EffectRoom
) -> None:
    """Move the means of all pools at once, and the items' effects the other way.

    The likelihood stays the same, so that the move has a Gaussian density. All means move at once:
    if an item's effects are highly correlated between pools, one mean could hardly move alone.
    """
    _against_items(
        state, data.designs.of_item, data.item_start, data.cell_pool, priors.mu, priors.least,
        correlations(par), room.precision, room.matrix, par.mu, par.item, known.cell,
    )  # fmt: skip


@kernel
def _against_items(
    state: State, of_item: Codes, item_start: Codes, cell_pool: Codes, prior: Floats,
    least: Floats, correlation: Floats | None, prior_precision: Floats, precision: Floats,
    mu: Floats, item: Floats, odds: Floats,
) -> None:  # fmt: skip
    n_pools, move = len(mu), np.empty(len(mu))
    for p in range(n_pools):
        mean, sd = prior[p, 0], prior[p, 1]
        for q in range(n_pools):
            precision[p, q] = 0.0
        precision[p, p] = 1.0 / (sd * sd)
        move[p] = (mean - mu[p]) / (sd * sd)
    for i in range(len(of_item)):
        d, first, stop = of_item[i], item_start[i], item_start[i + 1]
        for c in range(first, stop):
            p = cell_pool[c]
            for k in range(first, stop):
                weight = prior_precision[d, c - first, k - first]
                precision[p, cell_pool[k]] += weight
                move[p] += weight * item[k]
    if correlation is None:
        if not precision[0, 0] > 0.0:
            return
        root = math.sqrt(precision[0, 0])
        move[0] = (move[0] / root + normal(state)) / root
    else:
        if not factorised(precision, n_pools):
            return
        forwards(precision, n_pools, move)
        for p in range(n_pools):
            move[p] += normal(state)
        backwards(precision, n_pools, move)
    for p in range(n_pools):
        if mu[p] + move[p] < least[p]:  # a draw below the bound is rejected
            return
    for p in range(n_pools):
        mu[p] += move[p]
    for c in range(len(item)):
        item[c] -= move[cell_pool[c]]
        odds[c] = math.exp(held(item[c]))


def against_annotators(state: State, data: Crossed, par: Parameters, priors: Priors) -> None:
    """Move each pool's mean, and its annotators' effects the other way."""
    _against_annotators(
        state, data.annotator_pool, priors.mu, priors.least, par.sd_annotator, par.mu,
        par.annotator,
    )  # fmt: skip


@kernel
def _against_annotators(
    state: State, annotator_pool: Codes, prior: Floats, least: Floats, sd_annotator: Floats,
    mu: Floats, annotator: Floats,
) -> None:  # fmt: skip
    for p in range(len(mu)):
        mean, sd = prior[p, 0], prior[p, 1]
        precision, linear = 1.0 / (sd * sd), (mean - mu[p]) / (sd * sd)
        for j in range(len(annotator)):
            if annotator_pool[j] == p:
                precision += 1.0 / sd_annotator[p] ** 2
                linear += annotator[j] / sd_annotator[p] ** 2
        move = linear / precision + normal(state) / math.sqrt(precision)
        if mu[p] + move < least[p]:
            continue
        mu[p] += move
        for j in range(len(annotator)):
            if annotator_pool[j] == p:
                annotator[j] -= move


@inner
def _log_item_scale(
    x: float, p: int, q: int, prior_item: Floats, lkj: float, n_items: Floats, n_pools: Codes,
    pool: Codes, sd_item: Floats, correlation: Floats | None, second: Floats, matrix: Floats,
    precision: Floats, log_det: Floats,
) -> float:  # fmt: skip
    """Return the log density of a correlation or, if p = q, of a log standard deviation."""
    if correlation is None or p == q:
        sd_item[p] = math.exp(x)
        total = x + log_scale_prior(sd_item[p], prior_item[p])
    elif abs(x) >= 1.0:
        return -np.inf
    else:
        correlation[p, q], correlation[q, p] = x, x
        total = log_lkj(correlation, lkj, matrix)
    if total == -np.inf or not effect_precisions(
        n_pools, pool, sd_item, correlation, matrix, precision, log_det
    ):
        return -np.inf
    effects = 0.0
    for d in range(len(n_items)):
        effects -= 0.5 * n_items[d] * log_det[d]
        for i in range(n_pools[d]):
            for j in range(n_pools[d]):
                effects -= 0.5 * precision[d, i, j] * second[d, i, j]
    return total + effects


_slice_item_scale = slicer(_log_item_scale)


@kernel
def _scales_of_items(
    state: State, width: Floats, width_correlation: Floats, prior_item: Floats, lkj: float,
    n_items: Floats, n_pools: Codes, pool: Codes, sd_item: Floats, correlation: Floats | None,
    second: Floats, matrix: Floats, precision: Floats, log_det: Floats,
) -> None:  # fmt: skip
    for p in range(len(sd_item)):
        for turn in range(p + 1):
            q, was, wide = p, math.log(sd_item[p]), width[p]
            if correlation is not None and turn > 0:
                q = turn - 1
                was, wide = correlation[p, q], width_correlation[p, q]
            _slice_item_scale(
                state, was, wide, p, q, prior_item, lkj, n_items, n_pools, pool, sd_item,
                correlation, second, matrix, precision, log_det,
            )  # fmt: skip


@inner
def _log_annotator_scale(x: float, n: float, square: float, prior: Floats) -> float:
    sd = math.exp(x)
    return x + log_scale_prior(sd, prior) - n * x - 0.5 * square / (sd * sd)


_slice_annotator_scale = slicer(_log_annotator_scale)


@kernel
def _scales_of_annotators(
    state: State, width: Floats, prior: Floats, annotator_pool: Codes, annotator: Floats,
    sd_annotator: Floats,
) -> None:  # fmt: skip
    for p in range(len(width)):
        n, square = 0.0, 0.0
        for j in range(len(annotator)):
            if annotator_pool[j] == p:
                n += 1.0
                square += annotator[j] ** 2
        was = math.log(sd_annotator[p])
        x = _slice_annotator_scale(state, was, width[p], n, square, prior[p])
        sd_annotator[p] = math.exp(x)


def scales_given_effects(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, room: EffectRoom
) -> None:
    """Draw standard deviations and correlations given the effects, each by a slice."""
    designs = data.designs
    _scales_of_items(
        state, tuning.sd_item, tuning.correlation, priors.sd_item, priors.lkj, designs.n_items,
        designs.n_pools, designs.pool, par.sd_item, correlations(par), room.second, room.matrix,
        room.precision, room.log_det,
    )  # fmt: skip
    if len(tuning.sd_annotator):
        _scales_of_annotators(
            state, tuning.sd_annotator, priors.sd_annotator, data.annotator_pool, par.annotator,
            par.sd_annotator,
        )  # fmt: skip


_WIDTH = 2.5
"""Width of a slice, in approximate standard deviations of the posterior."""


_EFFECT, _ALONG, _SUM, _START = range(4)
"""Rows of ``cells``: effect, direction, number of second labels, and place of the first label."""


@inner
def _log_step(
    t: float, slope: float, curvature: float, n: int, cells: Floats, others: Floats
) -> float:
    """Return the log density of a step of an item's effects along a direction.

    This function is called most often, and each array argument costs about as much time as a label.
    So the values of one item are in only two arrays.
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


_slice_step = slicer(_log_step)


@inner
def _gather(
    i: int, item_start: Codes, cell_start: Codes, label_annotator: Indices, item: Floats,
    cell_sum: Floats, odds: Floats, cells: Floats, others: Floats,
) -> None:  # fmt: skip
    """Copy one item's effects and sums into ``cells``, and the annotators' odds into ``others``."""
    first, count = item_start[i], 0
    for c in range(first, item_start[i + 1]):
        k = c - first
        cells[_EFFECT, k], cells[_SUM, k], cells[_START, k] = item[c], cell_sum[c], count
        for n in range(cell_start[c], cell_start[c + 1]):
            others[count] = odds[label_annotator[n]]
            count += 1
        cells[_START, k + 1] = count


@inner
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


def slice_items(
    state: State, data: Crossed, par: Parameters, known: Odds, room: EffectRoom
) -> None:
    """Move every item's effects, and sum their products by design."""
    _slice_items(
        state, data.designs.of_item, data.item_start, data.cell_start, data.annotator, par.item,
        known.cell, known.cell_sum, known.annotator, room.precision, room.direction, room.second,
        room.cells, room.others,
    )  # fmt: skip


@kernel
def _slice_items(
    state: State, of_item: Codes, item_start: Codes, cell_start: Codes, label_annotator: Indices,
    item: Floats, odds: Floats, cell_sum: Floats, odds_annotator: Floats, precision: Floats,
    direction: Floats, second: Floats, cells: Floats, others: Floats,
) -> None:  # fmt: skip
    second[:] = 0.0
    for i in range(len(of_item)):
        d, first = of_item[i], item_start[i]
        n = item_start[i + 1] - first
        if n == 0:
            continue
        _gather(
            i, item_start, cell_start, label_annotator, item, cell_sum, odds_annotator, cells,
            others,
        )  # fmt: skip
        _move_item(state, n, precision[d], direction[d], cells, others)
        for a in range(n):
            item[first + a] = cells[_EFFECT, a]
            odds[first + a] = math.exp(held(cells[_EFFECT, a]))
            for b in range(n):
                second[d, a, b] += cells[_EFFECT, a] * cells[_EFFECT, b]


@inner
def _log_annotator(x: float, mean: float, sd: float, total: float, n: int, others: Floats) -> float:
    eta = held(mean + x)
    return total * eta - 0.5 * (x / sd) ** 2 - log_product(math.exp(eta), others, n)


_slice_annotator = slicer(_log_annotator)


def slice_annotators(
    state: State, data: Crossed, par: Parameters, known: Odds, others: Floats
) -> None:
    """Move every annotator's effect."""
    _slice_annotators(
        state, data.annotator_start, data.annotator_cell, data.annotator_pool, par.mu,
        par.sd_annotator, par.annotator, known.cell, known.annotator_sum, known.annotator, others,
    )  # fmt: skip


@kernel
def _slice_annotators(
    state: State, annotator_start: Codes, annotator_cell: Indices, annotator_pool: Codes,
    mu: Floats, sd_annotator: Floats, annotator: Floats, odds_cell: Floats,
    annotator_sum: Floats, odds: Floats, others: Floats,
) -> None:  # fmt: skip
    for j in range(len(annotator)):
        start, p = annotator_start[j], annotator_pool[j]
        n = annotator_start[j + 1] - start
        for k in range(n):
            others[k] = odds_cell[annotator_cell[start + k]]
        mean, sd = mu[p], sd_annotator[p]
        width = _WIDTH / math.sqrt(1.0 / (sd * sd) + QUARTER * n)
        x = _slice_annotator(state, annotator[j], width, mean, sd, annotator_sum[j], n, others)
        annotator[j] = x
        odds[j] = math.exp(held(mean + x))


def move_all(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, known: Odds,
    room: EffectRoom, paths: Transport, offset: Offset | None = None,
) -> None:  # fmt: skip
    """Move all parameters once; ``offset`` is the covariates' part of logits."""
    moved = (par.sd_item, par.sd_annotator, par.correlation)
    before = tuple(part.copy() for part in moved) if tuning.rate else ()
    seen, odds = by_items(data, known, offset)
    move_with_items(state, seen, par, priors, tuning, odds, paths)
    if len(tuning.sd_annotator):
        seen, odds = by_annotators(data, known, offset)
        move_with_annotators(state, seen, par, priors, tuning, odds, paths)
    directions(data, par, room)  # for the moves of means and items
    against_items(state, data, par, priors, known, room)
    if len(tuning.sd_annotator):
        against_annotators(state, data, par, priors)
    if offset is not None:
        move_coefficients(state, data, par, priors, offset, known, room.precision, tuning.rate)
    refresh_annotators(data, par, known)
    seen, odds = by_items(data, known, offset)
    slice_items(state, seen, par, odds, room)
    if len(tuning.sd_annotator):
        seen, odds = by_annotators(data, known, offset)
        slice_annotators(state, seen, par, odds, room.others)
    scales_given_effects(state, data, par, priors, tuning, room)
    if tuning.rate:
        _learn(
            tuning.rate, *before, *moved, tuning.sd_item, tuning.sd_annotator, tuning.correlation,
            tuning.log_sd_item, tuning.log_sd_annotator,
        )  # fmt: skip
        remember(data, par, tuning.rate, paths)
        tuning.sweep[0] += 1.0
        if tuning.sweep[0] >= tuning.sweep[1]:
            learn_paths(data, par, tuning, known, paths, offset)
            tuning.sweep[1] *= 2.0


@kernel
def _learn(
    rate: float, was_item: Floats, was_annotator: Floats, was_correlation: Floats,
    sd_item: Floats, sd_annotator: Floats, correlation: Floats, width_item: Floats,
    width_annotator: Floats, width_correlation: Floats, log_sd_item: Floats,
    log_sd_annotator: Floats,
) -> None:  # fmt: skip
    """Adapt slice widths to the typical change in a sweep; update typical standard deviations."""
    for p in range(len(sd_item)):
        x = math.log(sd_item[p])
        away = abs(x - math.log(was_item[p]))
        width_item[p] += rate * (2.5 * away - width_item[p])
        log_sd_item[p] += rate * (x - log_sd_item[p])
        for q in range(p):
            away = abs(correlation[p, q] - was_correlation[p, q])
            width_correlation[p, q] += rate * (2.5 * away - width_correlation[p, q])
    for p in range(len(width_annotator)):
        x = math.log(sd_annotator[p])
        away = abs(x - math.log(was_annotator[p]))
        width_annotator[p] += rate * (2.5 * away - width_annotator[p])
        log_sd_annotator[p] += rate * (x - log_sd_annotator[p])


def remember(data: Crossed, par: Parameters, rate: float, paths: Transport) -> None:
    """Update the running means of effects with the current state."""
    x = par.mu[data.annotator_pool] + par.annotator
    for mean, now in ((paths.mean_item, par.item), (paths.mean_annotator, x)):
        mean += rate * (now - mean)


def learn_paths(
    data: Crossed, par: Parameters, tuning: Tuning, known: Odds, paths: Transport,
    offset: Offset | None = None,
) -> None:  # fmt: skip
    """Recompute the parabolas of all effects, which determine the paths."""
    at, other = data.annotator, paths.mean_annotator
    at_cell, cell = data.annotator_cell, paths.mean_item
    if offset is not None:  # with covariates, the other side's effect differs by label
        at, other = offset.label, other[data.annotator] + offset.log
        at_cell, cell = offset.by_annotator, cell[data.cell] + offset.log
    find_parabolas(
        data.cell_start, at, other, data.cell_pool, np.zeros(data.n_pools), tuning.log_sd_item,
        known.cell_sum, paths.others, paths.item,
    )  # fmt: skip
    if len(tuning.sd_annotator):
        find_parabolas(
            data.annotator_start, at_cell, cell, data.annotator_pool, par.mu,
            tuning.log_sd_annotator, known.annotator_sum, paths.others, paths.annotator,
        )  # fmt: skip
