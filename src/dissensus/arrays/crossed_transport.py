r"""Moving standard deviations and correlations of logistic effects, and the effects with them.

Given the effects, their standard deviation can hardly move; given the effects as multiples of it
(Yu & Meng 2011), the likelihood holds it. Here each effect goes along with where its *posterior*
goes, about, as far as `dissensus.arrays.crossed_sites` knows: with a prior N(c, k) of the
effect given those of the same item in other pools, and a parabola gx - hx^2/2 for its likelihood,
to

.. math:: x' = M' + S' (x - M) / S, \quad M = (c/k + g) S^2, \quad S^2 = 1 / (1/k + h),

and the number that c and k hang on is drawn under the exact density along this path. The chain is
exact whatever g and h are, as long as they do not move with it. The better they are,
the closer this is to drawing the number without any effects at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_covariance import effect_precisions, log_lkj
from dissensus.arrays.crossed_data import Crossed, longest
from dissensus.arrays.crossed_odds import Odds, held, log_of_annotators, log_of_cells
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning, log_scale_prior
from dissensus.arrays.crossed_sites import Sites, place, sites
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


class Transport(NamedTuple):
    """Parabolas of both kinds of effects, and room to compute in."""

    item: Sites
    annotator: Sites
    mean_item: Floats
    """(cell): about where effects are, learned while a chain warms up."""
    mean_annotator: Floats
    """(annotator): with the mean of the pool."""
    rest: Floats
    """(effect): in units of the posterior that the parabola makes."""
    others: Floats
    """(label)"""
    precision: Floats
    """(design, place, place): of an item's effects."""
    log_det: Floats
    """(design): of their covariance."""
    matrix: Floats
    """(pool, pool)"""


@njit(cache=True)
def transport(data: Crossed) -> Transport:
    """Start with nothing learned."""
    d, p = data.designs.pool.shape
    c, j = len(data.cell_pool), len(data.annotator_pool)
    return Transport(
        sites(c), sites(j), np.zeros(c), np.zeros(j), np.empty(max(c, j)),
        np.empty(longest(data)), np.empty((d, p, p)), np.empty(d), np.empty((p, p)),
    )  # fmt: skip


@njit(cache=True)
def prior_precisions(data: Crossed, par: Parameters, room: Transport) -> bool:
    """Write the precision of an item's effects, by design; return whether there is one."""
    return effect_precisions(data.designs, par, room.matrix, room.precision, room.log_det)


# -- Items ------------------------------------------------------------------------------------


@njit(cache=True)
def _follow(
    data: Crossed, par: Parameters, pool: int, s: float, room: Transport, off: bool, out: Floats
) -> float:
    """Move the cells of a pool along their paths; return the log density of items' effects.

    With `off` the cells are where they are, and their rest is found; else it is the other way
    round, and the volume of the path is part of the density. The correction of a path
    that is known in s, the logarithm of the pool's standard deviation, is taken in any case.
    """
    site, precision, start = room.item, room.precision, data.item_start
    total, volume = 0.0, 1.0
    for d in range(len(room.log_det)):
        total -= 0.5 * data.designs.n_items[d] * room.log_det[d]
    for i in range(len(start) - 1):
        d, first, stop = data.designs.of_item[i], start[i], start[i + 1]
        for c in range(first, stop):
            if data.cell_pool[c] == pool:
                k = precision[d, c - first, c - first]
                pull = site.linear[c]
                for other in range(first, stop):
                    if other != c:
                        pull -= precision[d, c - first, other - first] * par.item[other]
                inverse = 1.0 / (k + site.curvature[c])
                away = s - site.log_sd[c]
                spread = math.sqrt(inverse) * math.exp(site.stretch[c] * away)
                middle = pull * inverse + site.shift[c] * away
                if off:
                    room.rest[c] = (par.item[c] - middle) / spread
                else:
                    out[c] = middle + spread * room.rest[c]
                volume *= spread
                if not 1e-100 < volume < 1e100:
                    total += math.log(volume)
                    volume = 1.0
        for a in range(first, stop):
            for b in range(first, stop):
                total -= 0.5 * precision[d, a - first, b - first] * out[a] * out[b]
    return total + math.log(volume)


@njit(cache=True)
def _of_sd_item(
    s: float, p: int, data: Crossed, par: Parameters, priors: Priors, known: Odds, room: Transport
) -> float:
    par.sd_item[p] = math.exp(s)
    if not prior_precisions(data, par, room):
        return -np.inf
    total = s + log_scale_prior(par.sd_item[p], priors.sd_item[p])
    total += _follow(data, par, p, s, room, False, known.trial)
    return total + log_of_cells(data, known, p, known.trial, known.annotator)


@njit(cache=True)
def _of_correlation(
    r: float, p: int, q: int, data: Crossed, par: Parameters, priors: Priors, known: Odds,
    room: Transport,
) -> float:  # fmt: skip
    if abs(r) >= 1.0:
        return -np.inf
    par.correlation[p, q], par.correlation[q, p] = r, r
    total = log_lkj(par.correlation, priors.lkj, room.matrix)
    if total == -np.inf or not prior_precisions(data, par, room):
        return -np.inf
    total += _follow(data, par, p, math.log(par.sd_item[p]), room, False, known.trial)
    return total + log_of_cells(data, known, p, known.trial, known.annotator)


_slice_sd_item = slicer(_of_sd_item)
_slice_correlation = slicer(_of_correlation)


@njit(cache=True)
def move_with_items(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, known: Odds,
    room: Transport,
) -> None:  # fmt: skip
    """Move standard deviations and correlations of items, and the effects with them."""
    known.trial[:] = par.item
    for p in range(len(par.mu)):
        was, width = math.log(par.sd_item[p]), tuning.sd_item[p]
        prior_precisions(data, par, room)
        _follow(data, par, p, was, room, True, known.trial)
        s = _slice_sd_item(state, was, width, p, data, par, priors, known, room)
        par.sd_item[p] = math.exp(s)
        par.item[:] = known.trial
        for q in range(len(par.mu)):
            if q != p:
                r = par.correlation[p, q]
                width = tuning.correlation[max(p, q), min(p, q)]
                prior_precisions(data, par, room)
                _follow(data, par, p, s, room, True, known.trial)
                r = _slice_correlation(state, r, width, p, q, data, par, priors, known, room)
                par.correlation[p, q], par.correlation[q, p] = r, r
                par.item[:] = known.trial
    for c in range(len(par.item)):
        known.cell[c] = math.exp(held(par.item[c]))


# -- Annotators -------------------------------------------------------------------------------


@njit(cache=True)
def _path(site: Sites, j: int, s: float) -> tuple[float, float]:
    """Return where an annotator's posterior is, about, and how wide."""
    inverse = 1.0 / (math.exp(-2.0 * s) + site.curvature[j])
    away = s - site.log_sd[j]
    spread = math.sqrt(inverse) * math.exp(site.stretch[j] * away)
    return site.linear[j] * inverse + site.shift[j] * away, spread


@njit(cache=True)
def _of_sd_annotator(
    s: float, p: int, data: Crossed, par: Parameters, priors: Priors, known: Odds, room: Transport
) -> float:
    sd = math.exp(s)
    total = s + log_scale_prior(sd, priors.sd_annotator[p])
    for j in range(len(par.annotator)):
        if data.annotator_pool[j] == p:
            middle, spread = _path(room.annotator, j, s)
            x = middle + spread * room.rest[j]
            total += math.log(spread) - s - 0.5 * (x / sd) ** 2
            par.annotator[j] = x
    return total + log_of_annotators(data, known, p, par)


_slice_sd_annotator = slicer(_of_sd_annotator)


@njit(cache=True)
def move_with_annotators(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, known: Odds,
    room: Transport,
) -> None:  # fmt: skip
    """Move standard deviations of annotators, and the effects with them."""
    for p in range(len(tuning.sd_annotator)):
        was, width = math.log(par.sd_annotator[p]), tuning.sd_annotator[p]
        for j in range(len(par.annotator)):
            if data.annotator_pool[j] == p:
                middle, spread = _path(room.annotator, j, was)
                room.rest[j] = (par.annotator[j] - middle) / spread
        s = _slice_sd_annotator(state, was, width, p, data, par, priors, known, room)
        par.sd_annotator[p] = math.exp(s)


# -- Learning ---------------------------------------------------------------------------------


@njit(cache=True)
def remember(data: Crossed, par: Parameters, rate: float, room: Transport) -> None:
    """Add where the chain stands to what is known of the posterior."""
    room.mean_item[:] += rate * (par.item - room.mean_item)
    for j in range(len(par.annotator)):
        x = par.mu[data.annotator_pool[j]] + par.annotator[j]
        room.mean_annotator[j] += rate * (x - room.mean_annotator[j])


@njit(cache=True)
def learn_paths(
    data: Crossed, par: Parameters, tuning: Tuning, known: Odds, room: Transport
) -> None:
    """Find all parabolas anew."""
    for c in range(len(par.item)):
        start, stop = data.cell_start[c], data.cell_start[c + 1]
        for n in range(start, stop):
            room.others[n - start] = math.exp(held(room.mean_annotator[data.annotator[n]]))
        log_sd = tuning.log_sd_item[data.cell_pool[c]]
        place(room.item, c, 0.0, log_sd, known.cell_sum[c], room.others, stop - start)
    if not len(tuning.sd_annotator):
        return
    for j in range(len(par.annotator)):
        start, stop, p = (
            data.annotator_start[j],
            data.annotator_start[j + 1],
            data.annotator_pool[j],
        )
        for n in range(start, stop):
            room.others[n - start] = math.exp(held(room.mean_item[data.annotator_cell[n]]))
        log_sd, total = tuning.log_sd_annotator[p], known.annotator_sum[j]
        place(room.annotator, j, par.mu[p], log_sd, total, room.others, stop - start)
