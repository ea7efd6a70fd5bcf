"""Standard deviations and correlations of logistic effects, given the effects."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.crossed_covariance import effect_precisions, log_lkj
from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import EffectRoom
from dissensus.arrays.crossed_parameters import (
    Parameters,
    Priors,
    Tuning,
    correlations,
    log_scale_prior,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Codes, Floats


@inner
def _of_items(
    x: float, p: int, q: int, prior_item: Floats, lkj: float, n_items: Floats, n_pools: Codes,
    pool: Codes, sd_item: Floats, correlation: Floats | None, second: Floats, matrix: Floats,
    precision: Floats, log_det: Floats,
) -> float:  # fmt: skip
    """Return the log density of a correlation, or where p = q, of the log standard deviation."""
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


_slice_of_items = slicer(_of_items)


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
            _slice_of_items(
                state, was, wide, p, q, prior_item, lkj, n_items, n_pools, pool, sd_item,
                correlation, second, matrix, precision, log_det,
            )  # fmt: skip


@inner
def _of_annotators(x: float, n: float, square: float, prior: Floats) -> float:
    sd = math.exp(x)
    return x + log_scale_prior(sd, prior) - n * x - 0.5 * square / (sd * sd)


_slice_of_annotators = slicer(_of_annotators)


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
        x = _slice_of_annotators(state, was, width[p], n, square, prior[p])
        sd_annotator[p] = math.exp(x)


def scales_given_effects(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, room: EffectRoom
) -> None:
    """Draw each by a slice."""
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
