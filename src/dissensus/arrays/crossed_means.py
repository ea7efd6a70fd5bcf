"""Means of pools under logistic labels, moved against the effects: no label sees it."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import EffectRoom
from dissensus.arrays.crossed_odds import Odds, held
from dissensus.arrays.crossed_parameters import Parameters, Priors
from dissensus.arrays.normal_variates import normal
from dissensus.arrays.small_matrices import backwards, factorised, forwards
from dissensus.arrays.stream import State


@njit(cache=True)
def against_items(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Odds, room: EffectRoom
) -> None:
    """Move the means of all pools at once, and the items' effects the other way.

    No label sees it, so that it is a Gaussian draw. All at once, since where pools agree about the
    items one mean could hardly move without the others.
    """
    n_pools = len(par.mu)
    precision, move = room.matrix, np.empty(n_pools)
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
    if (par.mu + move < priors.least).any():  # drawn without the bound, and refused: it stays
        return
    par.mu[:] += move
    for c in range(len(par.item)):
        par.item[c] -= move[data.cell_pool[c]]
        known.cell[c] = math.exp(held(par.item[c]))


@njit(cache=True)
def against_annotators(state: State, data: Crossed, par: Parameters, priors: Priors) -> None:
    """Move each pool's mean, and its annotators' effects the other way."""
    for p in range(len(par.mu)):
        mean, sd = priors.mu[p]
        precision, linear = 1.0 / (sd * sd), (mean - par.mu[p]) / (sd * sd)
        for j in range(len(par.annotator)):
            if data.annotator_pool[j] == p:
                precision += 1.0 / par.sd_annotator[p] ** 2
                linear += par.annotator[j] / par.sd_annotator[p] ** 2
        move = linear / precision + normal(state) / math.sqrt(precision)
        if par.mu[p] + move < priors.least[p]:
            continue
        par.mu[p] += move
        for j in range(len(par.annotator)):
            if data.annotator_pool[j] == p:
                par.annotator[j] -= move
