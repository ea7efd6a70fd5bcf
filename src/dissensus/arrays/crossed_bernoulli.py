"""Labels of two kinds under crossed effects, drawn without latent numbers.

Slices under the exact density of one effect are cheaper than a Polya-Gamma variate for each of its
labels, and nothing latent holds the chain back (`docs/decisions`). Standard deviations and
correlations are drawn twice a sweep: given the effects, and with the effects along paths
(`dissensus.arrays.crossed_transport`). Means move against the items and against the annotators.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import EffectRoom, directions
from dissensus.arrays.crossed_means import against_annotators, against_items
from dissensus.arrays.crossed_odds import Odds, refresh_annotators
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning
from dissensus.arrays.crossed_scales import scales_given_effects
from dissensus.arrays.crossed_slices import slice_annotators, slice_items
from dissensus.arrays.crossed_transport import (
    Transport,
    learn_paths,
    move_with_annotators,
    move_with_items,
    remember,
)
from dissensus.arrays.stream import State

Floats = npt.NDArray[np.float64]


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
    directions(data, par, room)  # which means and items go by
    against_items(state, data, par, priors, known, room)
    if len(tuning.sd_annotator):
        against_annotators(state, data, par, priors)
    refresh_annotators(data, par, known)
    slice_items(state, data, par, known, room)
    if len(tuning.sd_annotator):
        slice_annotators(state, data, par, known, room.others)
    scales_given_effects(state, data, par, priors, tuning, room)
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
