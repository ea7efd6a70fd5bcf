"""Confusion matrices of voices: rows given what was counted, and what rows have in common.

A row is two things: how often the voice is right when this is the truth (a logit, ``skill``), and
where its errors fall (``log_error``). Under a Dirichlet prior they are independent, which is what
lets the first move with how hard an item is.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.stream import State
from dissensus.arrays.truth_counts import Counts
from dissensus.arrays.truth_errors import LEAST, log_errors
from dissensus.arrays.truth_parameters import (
    COMPLETE,
    DIFFICULTY,
    HIERARCHICAL,
    Form,
    Parameters,
    Priors,
)
from dissensus.arrays.truth_pooling import draw_below, draw_pooling, log_right, row_odds, sum_but
from dissensus.arrays.truth_skills import draw_beta
from dissensus.arrays.truth_states import log_sigmoid
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


@njit(cache=True)
def draw_rows(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw the confusion matrices of annotators, and what they have in common."""
    if form.pooling == HIERARCHICAL:
        draw_pooling(state, form, par, prior, counts)
    named = form.pooling == COMPLETE
    shape = np.empty(form.n_labels)
    for v in range(form.first_system):
        for z in range(form.n_labels):
            total = _annotator_shape(form, par, prior, v, z, shape)
            _draw_row(state, ease, par, counts, v, z, shape, total, named)


@njit(cache=True)
def _annotator_shape(
    form: Form, par: Parameters, prior: Priors, v: int, z: int, out: Floats
) -> float:
    """Write the prior labels of an annotator's row; return how many are wrong as to accuracy.

    In a population that is not what his errors add up to: how good he is says nothing of where
    they fall.
    """
    if form.pooling == HIERARCHICAL:
        odds = row_odds(par.log_population[z], z) + par.level[v]
        out[:] = par.alike[z] * np.exp(par.log_population[z])
        out[z] = par.alike[z] * math.exp(log_sigmoid(odds))
        return par.alike[z] * math.exp(log_sigmoid(-odds))
    out[:] = prior.rows[z]
    return sum_but(out, z)


@njit(cache=True)
def draw_system_rows(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw the confusion matrices of systems."""
    shape = np.empty(form.n_labels)
    for v in range(form.first_system, form.n_voices):
        _draw_level(state, form, par, prior, counts, v)
        for z in range(form.n_labels):
            _system_shape(form, par, prior, v, z, shape)
            _draw_row(state, ease, par, counts, v, z, shape, sum_but(shape, z), False)


@njit(cache=True)
def _draw_row(
    state: State, ease: Floats, par: Parameters, counts: Counts, v: int, z: int, shape: Floats,
    wrong: float, named: bool,
) -> None:  # fmt: skip
    """Draw a row; one that is named says its label more often than any other."""
    low = par.log_error[v, z].max() if named else -math.inf
    par.skill[v, z] = draw_beta(
        state, par.skill[v, z], shape[z], wrong, low, par.number[DIFFICULTY] * par.slope[v],
        ease, counts.right[v, z], counts.wrong[v, z],
    )  # fmt: skip
    high = par.skill[v, z] if named else math.inf
    draw_below(state, shape + counts.error[v, z], z, high, par.log_error[v, z])


@njit(cache=True)
def _system_shape(form: Form, par: Parameters, prior: Priors, v: int, z: int, out: Floats) -> None:
    """Write the Dirichlet shape of a system's row: its accuracy, errors alike."""
    level = par.level[v]
    out[:] = prior.system * math.exp(log_sigmoid(-level)) / max(form.n_labels - 1, 1)
    out[z] = prior.system * math.exp(log_sigmoid(level))


# -- What a system's rows have in common -----------------------------------------------------------


@njit(cache=True)
def _log_level(
    level: float, weight: float, collapsed: bool, skill: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> float:  # fmt: skip
    """Return the log density of a system's level; errors summed out, accuracies if they can be."""
    out = log_sigmoid(level) + log_sigmoid(-level)  # a uniform accuracy, as a logit
    a, b = weight * math.exp(log_sigmoid(level)), weight * math.exp(log_sigmoid(-level))
    if a < LEAST or b < LEAST:
        return -math.inf
    equal = np.full(len(right), -math.log(max(len(right) - 1.0, 1.0)))
    for z in range(len(right)):
        out += log_right(a, b, collapsed, skill[z], right[z], wrong[z])
        out += log_errors(b, equal, error[z])
    return out


_slice_level = slicer(_log_level)


@njit(cache=True)
def _draw_level(
    state: State, form: Form, par: Parameters, prior: Priors, counts: Counts, v: int
) -> None:
    par.level[v] = _slice_level(
        state, par.level[v], 1.0, prior.system, not form.difficulty, par.skill[v],
        counts.right[v].sum(axis=1), counts.wrong[v].sum(axis=1), counts.error[v],
    )  # fmt: skip
