"""Gibbs sampling of crossed effects: one sweep costs as much as reading the labels twice."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_annotators import annotator_room, move_annotators
from dissensus.arrays.crossed_bernoulli import effect_room, move_all
from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_items import item_room, label_sums, move_items
from dissensus.arrays.crossed_odds import odds
from dissensus.arrays.crossed_ordinal import draw_latent, move_cutpoints, slopes_room
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning
from dissensus.arrays.crossed_scale import move_scale
from dissensus.arrays.crossed_transport import Transport
from dissensus.arrays.stream import State

Floats = npt.NDArray[np.float64]


class Trace(NamedTuple):
    """Draws, with the draw in front; effects of size 0 are not kept."""

    mu: Floats
    sd_item: Floats
    sd_annotator: Floats
    sd: Floats
    correlation: Floats
    gap: Floats
    item: Floats
    annotator: Floats


@njit(cache=True)
def keep(par: Parameters, trace: Trace, draw: int) -> None:
    """Write down where the chain stands."""
    trace.mu[draw] = par.mu
    trace.sd_item[draw] = par.sd_item
    trace.sd_annotator[draw] = par.sd_annotator
    trace.sd[draw] = par.sd
    trace.correlation[draw] = par.correlation
    trace.gap[draw] = par.gap
    if trace.item.shape[1]:
        trace.item[draw] = par.item
    if trace.annotator.shape[1]:
        trace.annotator[draw] = par.annotator


@njit(cache=True, nogil=True)
def gaussian_sweeps(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, n: int,
    trace: Trace, first: int,
) -> None:  # fmt: skip
    sums, room = item_room(data.designs, len(data.cell_pool))
    of_annotators = annotator_room(data)
    labels = label_sums(data, par.latent)
    for sweep in range(n):
        move_items(state, data, labels, par, priors, tuning, sums, room)
        if len(tuning.sd_annotator):
            move_annotators(state, data, labels, par, priors, tuning, of_annotators)
        if first >= 0:
            keep(par, trace, first + sweep)


@njit(cache=True, nogil=True)
def ordinal_sweeps(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, n: int,
    trace: Trace, first: int,
) -> int:  # fmt: skip
    sums, room = item_room(data.designs, len(data.cell_pool))
    of_annotators = annotator_room(data)
    labels = label_sums(data, par.latent)
    boundary, here, there = slopes_room(len(par.mu), len(par.gap))
    moved = 0
    for sweep in range(n):
        moved += move_cutpoints(state, data, par, priors, first < 0, boundary, here, there)
        draw_latent(state, data, par, labels)
        move_items(state, data, labels, par, priors, tuning, sums, room)
        if len(tuning.sd_annotator):
            move_annotators(state, data, labels, par, priors, tuning, of_annotators)
        move_scale(state, data, par, priors)
        if first >= 0:
            keep(par, trace, first + sweep)
    return moved


@njit(cache=True, nogil=True)
def bernoulli_sweeps(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning, n: int,
    trace: Trace, first: int, paths: Transport,
) -> None:  # fmt: skip
    known, room = odds(data, par), effect_room(data)
    for sweep in range(n):
        move_all(state, data, par, priors, tuning, known, room, paths)
        if first >= 0:
            keep(par, trace, first + sweep)
