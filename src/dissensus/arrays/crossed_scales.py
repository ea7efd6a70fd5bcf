"""Standard deviations and correlations of logistic effects, given the effects."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_covariance import effect_covariance, log_lkj
from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import EffectRoom
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning, log_scale_prior
from dissensus.arrays.small_matrices import factorised, inverted
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


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
def scales_given_effects(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, room: EffectRoom
) -> None:
    """Draw each by a slice."""
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
