"""Sweeps over abilities and difficulties, the truth of items known or drawn with them.

Given which labels are known to who gave them (which are right, if nobody guesses), abilities and
difficulties are crossed effects of two kinds of labels, and `crossed_bernoulli` moves them. Given
these, the truth of an item is one of as many labels as there are, each with the odds of all who
said it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_bernoulli import move_all
from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import effect_room
from dissensus.arrays.crossed_odds import Odds, odds
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning
from dissensus.arrays.crossed_transport import Transport
from dissensus.arrays.rasch_abilities import answers_room, move_abilities
from dissensus.arrays.rasch_data import UNKNOWN, Said, Truth
from dissensus.arrays.rasch_marginal import log_marginals
from dissensus.arrays.rasch_unknown import Room, look, move_difficulties, weigh
from dissensus.arrays.stream import State, uniform
from dissensus.arrays.truth_errors import draw_log_row

Floats = npt.NDArray[np.float64]


class Trace(NamedTuple):
    """Draws, with the draw in front; of size 0 in the other axes what is not kept."""

    mu: Floats
    sd_item: Floats
    sd_annotator: Floats
    annotator: Floats
    item: Floats
    log_prevalence: Floats
    log_level: Floats
    truth: Floats
    """(draw, cell, label)"""
    truth_mean: Floats
    """(cell, label)"""
    each: Floats
    """(draw, cell): the log-likelihood of its labels, its difficulty summed out."""
    log_likelihood: Floats
    """(draw)"""


def trace_room(said: Said, data: Crossed, draws: int, *, items: bool, each: bool) -> Trace:
    """Make room for draws."""
    n, n_cells = len(said.prevalence), len(data.cell_pool)
    n_levels = int(said.level.max()) + 1 if len(said.level) else 0
    return Trace(
        mu=np.empty(draws), sd_item=np.empty(draws), sd_annotator=np.empty(draws),
        annotator=np.empty((draws, len(data.annotator_pool))),
        item=np.empty((draws, n_cells if items else 0)),
        log_prevalence=np.empty((draws, n)),
        log_level=np.empty((draws, 2, n_levels)),
        truth=np.empty((draws, n_cells if items else 0, n)),
        truth_mean=np.zeros((n_cells, n)),
        each=np.empty((draws, n_cells if each else 0)),
        log_likelihood=np.empty(draws),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def advance(
    state: State, data: Crossed, said: Said, par: Parameters, priors: Priors, tuning: Tuning,
    paths: Transport, now: Truth, summing: Room, n: int, trace: Trace, first: int,
) -> None:  # fmt: skip
    """Go through n sweeps, keeping what they find from the place ``first`` on, or nothing below 0.

    Which labels are known is written into the values of ``data``.
    """
    known, room, answers = odds(data, par), effect_room(data), answers_room(data)
    counts = np.empty(len(said.prevalence))
    unknown = said.guessed > 0.0 or (said.truth == UNKNOWN).any()
    for sweep in range(n):
        if unknown or sweep == 0 or first >= 0:
            look(data, said, known, now, summing)
        if unknown:
            move_difficulties(state, data, said, par, priors, known, now, summing, tuning.rate)
        if unknown or sweep == 0 or first >= 0:  # which are right is then known for good
            draw_truth(state, data, said, par, now, summing, counts)
        if first >= 0:
            _keep(data, said, par, now, summing, trace, first + sweep)
        if said.guessed:
            move_abilities(state, data, said, par, priors, known, answers)
            draw_known(state, data, said, known)
        if unknown or sweep == 0:
            _count(data, known)
        draw_log_row(state, said.prevalence + counts, -1, now.log_prevalence)
        if len(said.level):
            _draw_levels(state, said, now, summing)
        move_all(state, data, par, priors, tuning, known, room, paths)


@njit(cache=True)
def draw_truth(
    state: State, data: Crossed, said: Said, par: Parameters, now: Truth, summing: Room,
    counts: Floats,
) -> None:  # fmt: skip
    """Draw the truth of all items, count it, and mark which labels are right.

    The likelihood of a truth is that of all labels being wrong, times the odds of those that are
    right; how wrong labels fall on the others is the same for all.
    """
    weight = summing.weight
    counts[:] = 0.0
    summing.levels[:] = 0.0
    for c in range(len(par.item)):
        start, stop = data.cell_start[c], data.cell_start[c + 1]
        wrong = weigh(
            par.item[c], start, stop, said.label, summing.odds, summing.gain, said.guessed,
            now.log_prevalence, weight,
        )  # fmt: skip
        wrong += all_wrong(start, stop, said, now)
        z = _settled(state, said.truth[c], weight, wrong, now, c)
        counts[z] += 1.0
        for k in range(start, stop):
            right = said.label[k] == z
            data.value[k] = 1.0 if right else 0.0
            if len(said.level):
                summing.levels[int(right), said.level[k]] += 1.0


@njit(cache=True)
def all_wrong(start: int, stop: int, said: Said, now: Truth) -> float:
    """Return what labels and levels of wrong labels add, whatever the truth and the difficulty."""
    ways = said.guessed if said.guessed else max(len(said.prevalence) - 1, 1)
    total = -(stop - start) * math.log(ways)
    if len(said.level):
        for k in range(start, stop):
            total += now.log_level[0, said.level[k]]
    return total


@njit(cache=True)
def draw_known(state: State, data: Crossed, said: Said, known: Odds) -> None:
    """Of the labels marked as right, leave the mark on those that were known, and not guessed."""
    for k in range(len(data.value)):
        if data.value[k] > 0.0:
            odds = known.cell[data.cell[k]] * known.annotator[data.annotator[k]]
            if uniform(state) * (1.0 + said.guessed * odds) <= 1.0:
                data.value[k] = 0.0


@njit(cache=True)
def _count(data: Crossed, known: Odds) -> None:
    """Count the marks of items, and of annotators."""
    known.cell_sum[:] = 0.0
    known.annotator_sum[:] = 0.0
    for k in range(len(data.value)):
        known.cell_sum[data.cell[k]] += data.value[k]
        known.annotator_sum[data.annotator[k]] += data.value[k]


@njit(cache=True)
def _settled(state: State, truth: int, weight: Floats, wrong: float, now: Truth, c: int) -> int:
    """Write the probabilities of an item's labels, and draw its truth, unless it is known."""
    if truth != UNKNOWN:
        now.log_likelihood[c] = wrong + weight[truth]
        now.probability[c] = 0.0
        now.probability[c, truth] = 1.0
        return truth
    high = weight.max()
    total = 0.0
    for z in range(len(weight)):
        now.probability[c, z] = math.exp(weight[z] - high)
        total += now.probability[c, z]
    now.log_likelihood[c] = wrong + high + math.log(total)
    now.probability[c] /= total
    rest = uniform(state)
    for z in range(len(weight) - 1):
        rest -= now.probability[c, z]
        if rest < 0.0:
            return z
    return len(weight) - 1


@njit(cache=True)
def _draw_levels(state: State, said: Said, now: Truth, summing: Room) -> None:
    """Draw how often each level of confidence goes with wrong labels, and with right ones."""
    for right in range(2):
        counts = said.level_prior + summing.levels[right]
        draw_log_row(state, counts, -1, now.log_level[right])


@njit(cache=True)
def _keep(
    data: Crossed, said: Said, par: Parameters, now: Truth, summing: Room, trace: Trace, place: int
) -> None:
    """Write one draw down."""
    trace.mu[place] = par.mu[0]
    trace.sd_item[place] = par.sd_item[0]
    trace.sd_annotator[place] = par.sd_annotator[0]
    trace.annotator[place] = par.annotator
    trace.log_prevalence[place] = now.log_prevalence
    trace.truth_mean[:] += now.probability / len(trace.mu)
    trace.log_likelihood[place] = now.log_likelihood.sum()
    if trace.item.shape[1]:
        trace.item[place] = par.item
        trace.truth[place] = now.probability
    if trace.log_level.shape[2]:
        trace.log_level[place] = now.log_level
    if trace.each.shape[1]:
        each = trace.each[place]
        log_marginals(par.sd_item[0], data, said, now, summing, each)
        for c in range(len(each)):
            each[c] += all_wrong(data.cell_start[c], data.cell_start[c + 1], said, now)


@njit(cache=True, nogil=True)
def replay(
    state: State, data: Crossed, said: Said, many: Trace, par: Parameters, now: Truth,
    summing: Room, trace: Trace,
) -> None:  # fmt: skip
    """Keep what follows of the truth from parameters drawn elsewhere, draw in front."""
    counts = np.empty(len(said.prevalence))
    for place in range(len(many.mu)):
        par.mu[0] = many.mu[place]
        par.sd_item[0] = many.sd_item[place]
        par.sd_annotator[0] = many.sd_annotator[place]
        par.annotator[:] = many.annotator[place]
        par.item[:] = many.item[place]
        now.log_prevalence[:] = many.log_prevalence[place]
        if len(said.level):
            now.log_level[:] = many.log_level[place]
        known = odds(data, par)
        look(data, said, known, now, summing)
        draw_truth(state, data, said, par, now, summing, counts)
        _keep(data, said, par, now, summing, trace, place)
