r"""Moves of standard deviations and correlations of logistic effects, together with the effects.

Given the effects, a standard deviation can hardly move. Given the effects divided by the standard
deviation (Yu & Meng 2011), the likelihood restricts its moves. So each effect is moved
approximately as its *posterior* moves. Let N(c, k) be the prior of an effect x, given the effects
of the same item in other pools, and let the parabola gx - hx^2/2 approximate its log-likelihood
(`odds`). If c and k change to c' and k', the effect moves to

.. math:: x' = M' + S' (x - M) / S, \quad M = (c/k + g) S^2, \quad S^2 = 1 / (1/k + h).

where M' and S' are computed from c' and k'. The standard deviation or correlation on which c and k
depend is drawn from the exact density along this path. The chain is exact for all constants g and
h. The better the parabola fits, the closer the draw is to one with all effects integrated out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dissensus.families.crossed.kernels.covariance import effect_precisions, log_lkj
from dissensus.families.crossed.kernels.data import (
    Crossed,
    Parameters,
    Priors,
    Tuning,
    correlations,
    log_scale_prior,
    longest,
)
from dissensus.families.crossed.kernels.odds import (
    CURVATURE,
    LINEAR,
    LOG_SD,
    SHIFT,
    STRETCH,
    Odds,
    exponentials,
    log_of_annotators,
    log_of_cells,
    sites,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import factorised
from dissensus.kernels.types import Codes, Floats, Indices

QUARTER = 0.25
"""Maximum information of one label about an effect on the logit scale."""


class EffectRoom(NamedTuple):
    """The prior of items' effects, by design, and work space for moves of effects."""

    second: Floats  # (design, place, place): sums of products of effects
    precision: Floats  # (design, place, place): of the prior
    log_det: Floats  # (design): of its covariance
    direction: Floats  # (design, place, place): each row is a direction of moves
    matrix: Floats
    cells: Floats  # (4, place + 1): state of one item's cells, see `logistic._gather`
    others: Floats  # (label): odds of the other side, of one item or one annotator


def effect_room(data: Crossed) -> EffectRoom:
    """Allocate the work space."""
    n, p = data.designs.pool.shape
    shape = (n, p, p)
    return EffectRoom(
        np.empty(shape), np.empty(shape), np.empty(n), np.empty(shape), np.empty((p, p)),
        np.empty((4, p + 1)), np.empty(longest(data)),
    )  # fmt: skip


def directions(data: Crossed, par: Parameters, room: EffectRoom) -> None:
    """Write, by design, the prior precision and the directions along which effects are moved.

    Effects of one item in several pools are correlated. Moves along the columns of a factor of
    their approximate posterior covariance, one after another, are nearly independent.
    """
    designs = data.designs
    _directions(
        designs.n_pools, designs.pool, designs.n_labels, par.sd_item, correlations(par),
        room.matrix, room.precision, room.log_det, room.direction,
    )  # fmt: skip


@kernel
def _directions(
    n_pools: Codes, pool: Codes, n_labels: Floats, sd_item: Floats,
    correlation: Floats | None, matrix: Floats, precision: Floats, log_det: Floats,
    direction: Floats,
) -> None:  # fmt: skip
    effect_precisions(n_pools, pool, sd_item, correlation, matrix, precision, log_det)
    for d in range(len(n_pools)):
        if correlation is None:
            direction[d, 0, 0] = 1.0 / math.sqrt(precision[d, 0, 0] + QUARTER * n_labels[d, 0])
        else:
            _along_columns(n_pools[d], n_labels[d], precision[d], matrix, direction[d])


@inner
def _along_columns(
    n: int, n_labels: Floats, precision: Floats, matrix: Floats, direction: Floats
) -> None:
    for i in range(n):
        for j in range(n):
            matrix[i, j] = precision[i, j]
        matrix[i, i] += QUARTER * n_labels[i]
    factorised(matrix, n)
    for k in range(n):  # L' x = e_k: outer products of the solutions add up to the inverse
        for i in range(direction.shape[1]):
            direction[k, i] = 1.0 if i == k else 0.0
        for i in range(k, -1, -1):
            for j in range(i + 1, k + 1):
                direction[k, i] -= matrix[j, i] * direction[k, j]
            direction[k, i] /= matrix[i, i]


class Transport(NamedTuple):
    """Parabolas of items' and annotators' effects, and work space."""

    item: Floats  # (part of a parabola, cell): see `odds`
    annotator: Floats
    mean_item: Floats  # (cell): mean of effects, learned in the warm-up
    mean_annotator: Floats  # (annotator): with the mean of the pool
    rest: Floats  # (effect): effect, standardised by mean and sd of its path
    others: Floats  # (label)
    precision: Floats  # (design, place, place): of an item's effects
    log_det: Floats  # (design): of their covariance
    matrix: Floats  # (pool, pool)


def transport(data: Crossed) -> Transport:
    """Return flat parabolas, and means of 0: nothing is learned yet."""
    d, p = data.designs.pool.shape
    c, j = len(data.cell_pool), len(data.annotator_pool)
    return Transport(
        sites(c), sites(j), np.zeros(c), np.zeros(j), np.empty(max(c, j)), np.empty(longest(data)),
        np.empty((d, p, p)), np.empty(d), np.empty((p, p)),
    )  # fmt: skip


@inner
def _path_of_cell(
    s: float, c: int, d: int, first: int, stop: int, item: Floats, site: Floats, precision: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Return a cell's approximate posterior mean and sd, given the item's other cells.

    ``s`` is the logarithm of the pool's standard deviation. If a correlation is moved, s is
    constant, but the corrections for s still apply.
    """
    pull = site[LINEAR, c]
    for other in range(first, stop):
        if other != c:
            pull -= precision[d, c - first, other - first] * item[other]
    inverse = 1.0 / (precision[d, c - first, c - first] + site[CURVATURE, c])
    away = s - site[LOG_SD, c]
    spread = math.sqrt(inverse) * math.exp(site[STRETCH, c] * away)
    return pull * inverse + site[SHIFT, c] * away, spread


@inner
def _find_rests(
    pool: int, s: float, of_item: Codes, item_start: Codes, cell_pool: Codes, item: Floats,
    site: Floats, precision: Floats, rest: Floats,
) -> None:  # fmt: skip
    """Write the standardised effects of a pool's cells, which stay constant along paths."""
    for i in range(len(of_item)):
        d, first, stop = of_item[i], item_start[i], item_start[i + 1]
        for c in range(first, stop):
            if cell_pool[c] == pool:
                middle, spread = _path_of_cell(s, c, d, first, stop, item, site, precision)
                rest[c] = (item[c] - middle) / spread


@inner
def _follow(
    pool: int, s: float, n_items: Floats, of_item: Codes, item_start: Codes, cell_pool: Codes,
    item: Floats, site: Floats, precision: Floats, log_det: Floats, rest: Floats, out: Floats,
) -> float:  # fmt: skip
    """Move effects of a pool's cells along their paths; return the log density of items' effects.

    The density includes the Jacobian of the path.
    """
    total, volume = 0.0, 1.0
    for d in range(len(log_det)):
        total -= 0.5 * n_items[d] * log_det[d]
    for i in range(len(of_item)):
        d, first, stop = of_item[i], item_start[i], item_start[i + 1]
        for c in range(first, stop):
            if cell_pool[c] == pool:
                middle, spread = _path_of_cell(s, c, d, first, stop, item, site, precision)
                out[c] = middle + spread * rest[c]
                volume *= spread
                if not 1e-100 < volume < 1e100:
                    total += math.log(volume)
                    volume = 1.0
        for a in range(first, stop):
            for b in range(first, stop):
                total -= 0.5 * precision[d, a - first, b - first] * out[a] * out[b]
    return total + math.log(volume)


@inner
def _log_along_items(
    x: float, p: int, q: int, prior_item: Floats, lkj: float, n_pools: Codes, pool: Codes,
    sd_item: Floats, correlation: Floats | None, matrix: Floats, cell_start: Codes,
    label_annotator: Indices, cell_sum: Floats, odds: Floats, n_items: Floats, of_item: Codes,
    item_start: Codes, cell_pool: Codes, item: Floats, site: Floats, precision: Floats,
    log_det: Floats, rest: Floats, out: Floats,
) -> float:  # fmt: skip
    """Return the log density of a correlation or, if p = q, of a log standard deviation."""
    if correlation is None or p == q:
        s = x
        sd_item[p] = math.exp(s)
        total = s + log_scale_prior(sd_item[p], prior_item[p])
    elif abs(x) >= 1.0:
        return -np.inf
    else:
        s = math.log(sd_item[p])
        correlation[p, q], correlation[q, p] = x, x
        total = log_lkj(correlation, lkj, matrix)
    if total == -np.inf or not effect_precisions(
        n_pools, pool, sd_item, correlation, matrix, precision, log_det
    ):
        return -np.inf
    total += _follow(
        p, s, n_items, of_item, item_start, cell_pool, item, site, precision, log_det, rest, out
    )
    return total + log_of_cells(p, cell_start, cell_pool, label_annotator, cell_sum, odds, out)


_slice_along_items = slicer(_log_along_items)


@kernel
def _move_with_items(
    state: State, width: Floats, width_correlation: Floats, prior_item: Floats, lkj: float,
    n_pools: Codes, pool: Codes, sd_item: Floats, correlation: Floats | None, matrix: Floats,
    cell_start: Codes, label_annotator: Indices, cell_sum: Floats, odds: Floats, n_items: Floats,
    of_item: Codes, item_start: Codes, cell_pool: Codes, item: Floats, site: Floats,
    precision: Floats, log_det: Floats, rest: Floats, out: Floats,
) -> None:  # fmt: skip
    for c in range(len(item)):
        out[c] = item[c]
    n, s = len(sd_item), 0.0
    for turn in range(n * n):  # by pool: the standard deviation, then correlations
        p, k = turn // n, turn % n
        q = p if k == 0 else (k - 1 if k <= p else k)
        s = math.log(sd_item[p]) if p == q else s
        was, wide = s, width[p]
        if correlation is not None and p != q:
            was, wide = correlation[p, q], width_correlation[max(p, q), min(p, q)]
        effect_precisions(n_pools, pool, sd_item, correlation, matrix, precision, log_det)
        _find_rests(p, s, of_item, item_start, cell_pool, item, site, precision, rest)
        x = _slice_along_items(
            state, was, wide, p, q, prior_item, lkj, n_pools, pool, sd_item, correlation, matrix,
            cell_start, label_annotator, cell_sum, odds, n_items, of_item, item_start, cell_pool,
            item, site, precision, log_det, rest, out,
        )  # fmt: skip
        s = x if p == q else s
        for c in range(len(item)):
            item[c] = out[c]


def along_items(
    data: Crossed, par: Parameters, priors: Priors, known: Odds, room: Transport
) -> tuple[Any, ...]:
    """Return the arguments of the density along the paths of items."""
    designs = data.designs
    return (
        priors.sd_item, priors.lkj, designs.n_pools, designs.pool, par.sd_item, correlations(par),
        room.matrix, data.cell_start, data.annotator, known.cell_sum, known.annotator,
        designs.n_items, designs.of_item, data.item_start, data.cell_pool, par.item, room.item,
        room.precision, room.log_det, room.rest, known.trial,
    )  # fmt: skip


def move_with_items(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, known: Odds,
    room: Transport,
) -> None:  # fmt: skip
    """Move standard deviations and correlations of items' effects, and the effects along paths."""
    _move_with_items(
        state, tuning.sd_item, tuning.correlation, *along_items(data, par, priors, known, room)
    )
    exponentials(data.cell_pool, np.zeros(data.n_pools), par.item, known.cell)


@inner
def _path(s: float, j: int, site: Floats) -> tuple[float, float]:
    """Return an annotator's approximate posterior mean and sd."""
    inverse = 1.0 / (math.exp(-2.0 * s) + site[CURVATURE, j])
    away = s - site[LOG_SD, j]
    spread = math.sqrt(inverse) * math.exp(site[STRETCH, j] * away)
    return site[LINEAR, j] * inverse + site[SHIFT, j] * away, spread


@inner
def _log_along_annotators(
    s: float, p: int, prior: Floats, cell_start: Codes, cell_pool: Codes, label_annotator: Indices,
    annotator_pool: Codes, annotator_sum: Floats, cell: Floats, mu: Floats, annotator: Floats,
    site: Floats, rest: Floats, trial: Floats,
) -> float:  # fmt: skip
    sd = math.exp(s)
    total = s + log_scale_prior(sd, prior[p])
    for j in range(len(annotator)):
        if annotator_pool[j] == p:
            middle, spread = _path(s, j, site)
            x = middle + spread * rest[j]
            total += math.log(spread) - s - 0.5 * (x / sd) ** 2
            annotator[j] = x
    return total + log_of_annotators(
        p, cell_start, cell_pool, label_annotator, annotator_pool, annotator_sum, cell, mu[p],
        annotator, trial,
    )  # fmt: skip


_slice_along_annotators = slicer(_log_along_annotators)


@kernel
def _move_with_annotators(
    state: State, width: Floats, sd_annotator: Floats, prior: Floats, cell_start: Codes,
    cell_pool: Codes, label_annotator: Indices, annotator_pool: Codes, annotator_sum: Floats,
    cell: Floats, mu: Floats, annotator: Floats, site: Floats, rest: Floats, trial: Floats,
) -> None:  # fmt: skip
    for p in range(len(width)):
        was = math.log(sd_annotator[p])
        for j in range(len(annotator)):
            if annotator_pool[j] == p:
                middle, spread = _path(was, j, site)
                rest[j] = (annotator[j] - middle) / spread
        s = _slice_along_annotators(
            state, was, width[p], p, prior, cell_start, cell_pool, label_annotator, annotator_pool,
            annotator_sum, cell, mu, annotator, site, rest, trial,
        )  # fmt: skip
        sd_annotator[p] = math.exp(s)


def along_annotators(
    data: Crossed, par: Parameters, priors: Priors, known: Odds, room: Transport
) -> tuple[Any, ...]:
    """Return the arguments of the density along the paths of annotators."""
    return (
        priors.sd_annotator, data.cell_start, data.cell_pool, data.annotator, data.annotator_pool,
        known.annotator_sum, known.cell, par.mu, par.annotator, room.annotator, room.rest,
        known.trial_annotator,
    )  # fmt: skip


def move_with_annotators(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, known: Odds,
    room: Transport,
) -> None:  # fmt: skip
    """Move standard deviations of annotators' effects, and the effects along paths."""
    _move_with_annotators(
        state, tuning.sd_annotator, par.sd_annotator, *along_annotators(data, par, priors, known,
        room),
    )  # fmt: skip
