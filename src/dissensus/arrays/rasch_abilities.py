"""Abilities and their mean, moved with who guessed summed out, the truth being given.

Who knew is drawn from abilities, and abilities given who knew could hardly move: of 100,000 labels
the worst of 200 abilities had a sixth of the effective draws (`benchmarks/abilities.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import QUARTER
from dissensus.arrays.crossed_odds import Odds, held, log_product, refresh_annotators
from dissensus.arrays.crossed_parameters import Parameters, Priors
from dissensus.arrays.rasch_data import Said
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Codes, Floats, Indices

_WIDTH = 2.5
"""Of a slice, in standard deviations of about the posterior."""


class Answers(NamedTuple):
    """How easy the items are that each annotator labelled, and those he was right about."""

    ease: Floats
    """(label), in the order of annotators."""
    right: Floats
    """(label): as much of each annotator's part as he has right."""
    n_right: Codes
    """(annotator)"""


def answers_room(data: Crossed) -> Answers:
    """Make room."""
    n = len(data.annotator_cell)
    return Answers(np.empty(n), np.empty(n), np.empty(len(data.annotator_pool), dtype=np.int64))


@kernel
def _gather(
    value: Floats, who: Indices, cell: Indices, start: Codes, odds: Floats, ease: Floats,
    right: Floats, n_right: Codes,
) -> None:  # fmt: skip
    """Read off which labels are right, as marked in the values."""
    n_right[:] = 0
    seen = np.zeros(len(n_right), dtype=np.int64)
    for k in range(len(value)):
        j = who[k]
        easy = odds[cell[k]]
        ease[start[j] + seen[j]] = easy
        seen[j] += 1
        if value[k] > 0.0:
            right[start[j] + n_right[j]] = easy
            n_right[j] += 1


@inner
def _log_labels(
    ability: float, guessed: float, ease: Floats, right: Floats, n: int, n_right: int
) -> float:
    """Return the log-likelihood of an annotator's labels, up to a constant."""
    odds = math.exp(held(ability))
    return log_product(guessed * odds, right, n_right) - log_product(odds, ease, n)


@inner
def _log_effect(
    x: float, mean: float, sd: float, guessed: float, ease: Floats, right: Floats, n: int,
    n_right: int,
) -> float:  # fmt: skip
    return -0.5 * (x / sd) ** 2 + _log_labels(mean + x, guessed, ease, right, n, n_right)


_slice_effect = slicer(_log_effect)


@kernel
def _move_effects(
    state: State, start: Codes, mean: float, sd: float, guessed: float, ease: Floats,
    right: Floats, n_right: Codes, effect: Floats,
) -> None:  # fmt: skip
    for j in range(len(effect)):
        first, n = start[j], start[j + 1] - start[j]
        width = _WIDTH / math.sqrt(1.0 / (sd * sd) + QUARTER * n)
        effect[j] = _slice_effect(
            state, effect[j], width, mean, sd, guessed, ease[first:], right[first:], n, n_right[j]
        )


@inner
def _log_mean(
    mean: float, centre: float, sd: float, guessed: float, effect: Floats, start: Codes,
    ease: Floats, right: Floats, n_right: Codes,
) -> float:  # fmt: skip
    total = -0.5 * ((mean - centre) / sd) ** 2
    for j in range(len(effect)):
        first = start[j]
        total += _log_labels(
            mean + effect[j], guessed, ease[first:], right[first:], start[j + 1] - first,
            n_right[j],
        )  # fmt: skip
    return total


_slice_mean = slicer(_log_mean)


@kernel
def _move_mean(
    state: State, start: Codes, prior: Floats, guessed: float, ease: Floats, right: Floats,
    n_right: Codes, effect: Floats, mu: Floats,
) -> None:  # fmt: skip
    centre, spread = prior[0, 0], prior[0, 1]
    width = _WIDTH / math.sqrt(1.0 / (spread * spread) + QUARTER * len(ease))
    mu[0] = _slice_mean(
        state, mu[0], width, centre, spread, guessed, effect, start, ease, right, n_right
    )


def move_abilities(
    state: State, data: Crossed, said: Said, par: Parameters, priors: Priors, known: Odds,
    answers: Answers,
) -> None:  # fmt: skip
    """Move every annotator's effect, and then the mean of all."""
    start, guessed, effect = data.annotator_start, said.guessed, par.annotator
    _gather(data.value, data.annotator, data.cell, start, known.cell, *answers)
    _move_effects(state, start, par.mu[0], par.sd_annotator[0], guessed, *answers, effect)
    _move_mean(state, start, priors.mu, guessed, *answers, effect, par.mu)
    refresh_annotators(data, par, known)
