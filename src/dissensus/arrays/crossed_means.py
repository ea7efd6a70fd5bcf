"""Means of pools under logistic labels, moved against the effects: no label sees it."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import EffectRoom
from dissensus.arrays.crossed_odds import Odds, held
from dissensus.arrays.crossed_parameters import Parameters, Priors, correlations
from dissensus.kernels.compiled import kernel
from dissensus.kernels.random import State
from dissensus.kernels.special import backwards, factorised, forwards
from dissensus.kernels.types import Codes, Floats
from dissensus.kernels.variates import normal


def against_items(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Odds, room: EffectRoom
) -> None:
    """Move the means of all pools at once, and the items' effects the other way.

    No label sees it, so that it is a Gaussian draw. All at once, since where pools agree about the
    items one mean could hardly move without the others.
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
        if mu[p] + move[p] < least[p]:  # drawn without the bound, and refused: it stays
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
