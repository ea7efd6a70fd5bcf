"""Difficulties and their spread, moved with the truth of items and who guessed summed out.

An item that annotators disagree about is easy and has one truth, or difficult and has the other:
given the one, the other could hardly move. Where the truth is known and nobody guesses there is
nothing to sum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_odds import LARGE, Odds, held
from dissensus.arrays.crossed_parameters import Parameters, Priors, log_scale_prior
from dissensus.arrays.rasch_data import UNKNOWN, Said, Truth
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Room(NamedTuple):
    """What moves write to, made once a chain."""

    weight: Floats
    """(label)"""
    rest: Floats
    """(cell): effects of items in units of their spread."""
    odds: Floats
    """(label given): of the annotator, for an item of effect 0."""
    gain: Floats
    """(label given): what its being right adds to the log-likelihood, but for its odds."""
    levels: Floats
    """(right, level): how often each level of confidence went with wrong and with right labels."""
    width: Floats
    """(2): of the slice of the spread's logarithm, and of that of an item's effect."""


def room(said: Said, n_cells: int) -> Room:
    """Make room."""
    n = len(said.label)
    n_levels = int(said.level.max()) + 1 if len(said.level) else 0
    return Room(
        np.empty(len(said.prevalence)), np.empty(n_cells), np.empty(n), np.empty(n),
        np.empty((2, n_levels)), np.array([0.1, 2.0]),
    )  # fmt: skip


@njit(cache=True)
def look(data: Crossed, said: Said, known: Odds, now: Truth, room: Room) -> None:
    """Write what each label says whatever its item is like."""
    logit = np.log(known.annotator) + math.log(max(len(room.weight) - 1, 1))
    for k in range(len(room.odds)):
        j = data.annotator[k]
        room.odds[k] = known.annotator[j]
        room.gain[k] = 0.0 if said.guessed else logit[j]
        if len(said.level):
            level = said.level[k]
            room.gain[k] += now.log_level[1, level] - now.log_level[0, level]


@njit(cache=True)
def weigh(
    effect: float, start: int, stop: int, label: Ints, odds: Floats, gain: Floats,
    guessed: float, log_prevalence: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Write the weight of each truth, as a logarithm; return that of all labels being wrong.

    A right label has the odds of its being known, in as many parts as wrong labels have; and one
    part of its having been guessed.
    """
    effect = held(effect)
    easy = math.exp(effect)
    weight[:] = log_prevalence
    product, wrong = 1.0, 0.0
    for k in range(start, stop):
        product *= 1.0 + easy * odds[k]
        if product > LARGE:
            wrong -= math.log(product)
            product = 1.0
        right = math.log(1.0 + guessed * easy * odds[k]) if guessed else effect
        weight[label[k]] += gain[k] + right
    return wrong - math.log(product)


@njit(cache=True)
def log_labels(
    effect: float, start: int, stop: int, truth: int, label: Ints, odds: Floats, gain: Floats,
    guessed: float, log_prevalence: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Return the log-likelihood of an item's labels if it had this effect, up to a constant."""
    wrong = weigh(effect, start, stop, label, odds, gain, guessed, log_prevalence, weight)
    if truth != UNKNOWN:
        return wrong + weight[truth]
    high = weight.max()
    seen = 0.0
    for z in range(len(weight)):
        seen += math.exp(weight[z] - high)
    return wrong + high + math.log(seen)


@njit(cache=True)
def _log_effect(
    effect: float, sd: float, start: int, stop: int, truth: int, label: Ints, odds: Floats,
    gain: Floats, guessed: float, log_prevalence: Floats, weight: Floats,
) -> float:  # fmt: skip
    z = effect / sd
    return -0.5 * z * z + log_labels(
        effect, start, stop, truth, label, odds, gain, guessed, log_prevalence, weight
    )


_slice_effect = slicer(_log_effect)


@njit(cache=True)
def _log_spread(
    x: float, prior: Floats, cell_start: Ints, truth: Ints, label: Ints, rest: Floats, odds: Floats,
    gain: Floats, guessed: float, log_prevalence: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of the spread, all effects going along with it."""
    sd = math.exp(x)
    total = x + log_scale_prior(sd, prior)
    for c in range(len(rest)):
        total += log_labels(
            sd * rest[c], cell_start[c], cell_start[c + 1], truth[c], label, odds, gain, guessed,
            log_prevalence, weight,
        )  # fmt: skip
    return total


_slice_spread = slicer(_log_spread)


@njit(cache=True)
def move_difficulties(
    state: State, data: Crossed, said: Said, par: Parameters, priors: Priors, known: Odds,
    now: Truth, room: Room, rate: float,
) -> None:  # fmt: skip
    """Move the spread with all effects, and then each effect; truths must be drawn next.

    What labels say must have been looked at (`look`). The rate is that of learning, or 0.
    """
    start, was = data.cell_start, math.log(par.sd_item[0])
    for c in range(len(room.rest)):
        room.rest[c] = par.item[c] / par.sd_item[0]
    x = _slice_spread(
        state, was, room.width[0], priors.sd_item[0], start, said.truth, said.label, room.rest,
        room.odds, room.gain, said.guessed, now.log_prevalence, room.weight,
    )  # fmt: skip
    sd = math.exp(x)
    par.sd_item[0] = sd
    room.width[0] += rate * (2.5 * abs(x - was) - room.width[0])
    for c in range(len(room.rest)):
        par.item[c] = _slice_effect(
            state, sd * room.rest[c], room.width[1] * sd, sd, start[c], start[c + 1],
            said.truth[c], said.label, room.odds, room.gain, said.guessed, now.log_prevalence,
            room.weight,
        )  # fmt: skip
        known.cell[c] = math.exp(held(par.item[c]))
