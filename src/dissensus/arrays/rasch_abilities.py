"""Abilities and their mean, moved with who guessed summed out, the truth being given.

Who knew is drawn from abilities, and abilities given who knew could hardly move: of 100,000 labels
the worst of 200 abilities had a sixth of the effective draws (`benchmarks/abilities.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import QUARTER
from dissensus.arrays.crossed_odds import Odds, held, log_product, refresh_annotators
from dissensus.arrays.crossed_parameters import Parameters, Priors
from dissensus.arrays.rasch_data import Said
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_WIDTH = 2.5
"""Of a slice, in standard deviations of about the posterior."""


class Answers(NamedTuple):
    """How easy the items are that each annotator labelled, and those he was right about."""

    ease: Floats
    """(label), in the order of annotators."""
    right: Floats
    """(label): as much of each annotator's part as he has right."""
    n_right: Ints
    """(annotator)"""


@njit(cache=True)
def answers_room(data: Crossed) -> Answers:
    """Make room."""
    n = len(data.annotator_cell)
    n_right = np.empty(len(data.annotator_pool), dtype=np.int64)
    return Answers(np.empty(n), np.empty(n), n_right)


@njit(cache=True)
def gather(data: Crossed, known: Odds, answers: Answers) -> None:
    """Read off which labels are right, as marked in the values of ``data``."""
    answers.n_right[:] = 0
    seen = np.zeros(len(answers.n_right), dtype=np.int64)
    for k in range(len(data.value)):
        j = data.annotator[k]
        start = data.annotator_start[j]
        ease = known.cell[data.cell[k]]
        answers.ease[start + seen[j]] = ease
        seen[j] += 1
        if data.value[k] > 0.0:
            answers.right[start + answers.n_right[j]] = ease
            answers.n_right[j] += 1


@njit(cache=True)
def _log_labels(
    ability: float, guessed: float, ease: Floats, right: Floats, n: int, n_right: int
) -> float:
    """Return the log-likelihood of an annotator's labels, up to a constant."""
    odds = math.exp(held(ability))
    return log_product(guessed * odds, right, n_right) - log_product(odds, ease, n)


@njit(cache=True)
def _log_effect(
    x: float, mean: float, sd: float, guessed: float, ease: Floats, right: Floats, n: int,
    n_right: int,
) -> float:  # fmt: skip
    return -0.5 * (x / sd) ** 2 + _log_labels(mean + x, guessed, ease, right, n, n_right)


_slice_effect = slicer(_log_effect)


@njit(cache=True)
def _log_mean(
    mean: float, centre: float, sd: float, guessed: float, effect: Floats, start: Ints,
    ease: Floats, right: Floats, n_right: Ints,
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


@njit(cache=True)
def move_abilities(
    state: State, data: Crossed, said: Said, par: Parameters, priors: Priors, known: Odds,
    answers: Answers,
) -> None:  # fmt: skip
    """Move every annotator's effect, and then the mean of all."""
    gather(data, known, answers)
    start, sd, mean = data.annotator_start, par.sd_annotator[0], par.mu[0]
    for j in range(len(par.annotator)):
        first, n = start[j], start[j + 1] - start[j]
        width = _WIDTH / math.sqrt(1.0 / (sd * sd) + QUARTER * n)
        par.annotator[j] = _slice_effect(
            state, par.annotator[j], width, mean, sd, said.guessed, answers.ease[first:],
            answers.right[first:], n, answers.n_right[j],
        )  # fmt: skip
    centre, spread = priors.mu[0, 0], priors.mu[0, 1]
    width = _WIDTH / math.sqrt(1.0 / (spread * spread) + QUARTER * len(data.value))
    par.mu[0] = _slice_mean(
        state, mean, width, centre, spread, said.guessed, par.annotator, start, answers.ease,
        answers.right, answers.n_right,
    )  # fmt: skip
    refresh_annotators(data, par, known)
