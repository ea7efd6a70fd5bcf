"""Labels of two kinds under crossed effects, drawn without latent numbers.

Slices under the exact density of one effect are cheaper than a Polya-Gamma variate for each of its
labels, and nothing latent holds the chain back (`docs/decisions`). Standard deviations and
correlations are drawn twice a sweep: given the effects, and with the effects along paths
(`crossed_transport`). Means move against the items and against the annotators.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import EffectRoom, directions
from dissensus.arrays.crossed_means import against_annotators, against_items
from dissensus.arrays.crossed_odds import Odds, refresh_annotators
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning
from dissensus.arrays.crossed_scales import scales_given_effects
from dissensus.arrays.crossed_sites import find_parabolas
from dissensus.arrays.crossed_slices import slice_annotators, slice_items
from dissensus.arrays.crossed_transport import (
    Transport,
    move_with_annotators,
    move_with_items,
)
from dissensus.kernels.compiled import kernel
from dissensus.kernels.random import State
from dissensus.kernels.types import Floats


def move_all(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, known: Odds,
    room: EffectRoom, paths: Transport,
) -> None:  # fmt: skip
    """Move everything once."""
    moved = (par.sd_item, par.sd_annotator, par.correlation)
    before = tuple(part.copy() for part in moved) if tuning.rate else ()
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
    if tuning.rate:
        _learn(
            tuning.rate, *before, *moved, tuning.sd_item, tuning.sd_annotator, tuning.correlation,
            tuning.log_sd_item, tuning.log_sd_annotator,
        )  # fmt: skip
        remember(data, par, tuning.rate, paths)
        tuning.sweep[0] += 1.0
        if tuning.sweep[0] >= tuning.sweep[1]:
            learn_paths(data, par, tuning, known, paths)
            tuning.sweep[1] *= 2.0


@kernel
def _learn(
    rate: float, was_item: Floats, was_annotator: Floats, was_correlation: Floats,
    sd_item: Floats, sd_annotator: Floats, correlation: Floats, width_item: Floats,
    width_annotator: Floats, width_correlation: Floats, log_sd_item: Floats,
    log_sd_annotator: Floats,
) -> None:  # fmt: skip
    """Let slices become about as wide as what they move moves in a sweep."""
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
    """Add where the chain stands to what is known of the posterior."""
    x = par.mu[data.annotator_pool] + par.annotator
    for mean, now in ((paths.mean_item, par.item), (paths.mean_annotator, x)):
        mean += rate * (now - mean)


def learn_paths(
    data: Crossed, par: Parameters, tuning: Tuning, known: Odds, paths: Transport
) -> None:
    """Find all parabolas anew."""
    find_parabolas(
        data.cell_start, data.annotator, paths.mean_annotator, data.cell_pool,
        np.zeros(data.n_pools), tuning.log_sd_item, known.cell_sum, paths.others, paths.item,
    )  # fmt: skip
    if len(tuning.sd_annotator):
        find_parabolas(
            data.annotator_start, data.annotator_cell, paths.mean_item, data.annotator_pool,
            par.mu, tuning.log_sd_annotator, known.annotator_sum, paths.others, paths.annotator,
        )  # fmt: skip
