"""Confusion matrices of voices: rows given what was counted, and what rows have in common.

A row is two things: how often the voice is right when this is the truth (a logit, ``skill``), and
where its errors fall (``log_error``). Under a Dirichlet prior they are independent, which is what
lets the first move with how hard an item is.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.truth_answers import largest, log_right, row_odds, sum_but
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
from dissensus.arrays.truth_pooling import draw_below, draw_pooling
from dissensus.arrays.truth_skills import draw_beta
from dissensus.arrays.truth_states import log_sigmoid
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats


def draw_rows(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw the confusion matrices of annotators, and what they have in common."""
    if form.pooling == HIERARCHICAL:
        draw_pooling(state, form, par, prior, counts)
    _draw_annotators(
        state, form.first_system, form.pooling == HIERARCHICAL, form.pooling == COMPLETE,
        prior.rows, ease, par.skill, par.log_error, par.slope, par.number, par.log_population,
        par.alike, par.level, counts.right, counts.wrong, counts.error,
    )  # fmt: skip


@kernel
def _draw_annotators(
    state: State, n: int, pooled: bool, named: bool, rows: Floats, ease: Floats, skill: Floats,
    log_error: Floats, slope: Floats, number: Floats, log_population: Floats, alike: Floats,
    level: Floats, right: Floats, wrong: Floats, error: Floats,
) -> None:  # fmt: skip
    """Draw annotators' rows: around the population's where they are pooled, else from the prior."""
    n_labels = len(alike)
    shape = np.empty(n_labels)
    for v in range(n):
        for z in range(n_labels):
            if pooled:
                less = _population_shape(log_population[z], alike[z], level[v], z, shape)
            else:
                for y in range(n_labels):
                    shape[y] = rows[z, y]
                less = sum_but(shape, z)
            skill[v, z] = draw_row(
                state, skill[v, z], number[DIFFICULTY] * slope[v], ease, right[v, z],
                wrong[v, z], error[v, z], z, shape, less, named, log_error[v, z],
            )  # fmt: skip


@inner
def _population_shape(
    log_population: Floats, alike: float, level: float, z: int, out: Floats
) -> float:
    """Write the prior labels of an annotator's row; return how many are wrong as to accuracy.

    In a population that is not what the errors add up to: how good an annotator is says nothing
    of where the errors fall.
    """
    odds = row_odds(log_population, z) + level
    for y in range(len(out)):
        out[y] = alike * math.exp(log_population[y])
    out[z] = alike * math.exp(log_sigmoid(odds))
    return alike * math.exp(log_sigmoid(-odds))


def draw_system_rows(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw the confusion matrices of systems."""
    _draw_systems(
        state, form.first_system, not form.difficulty, prior.system, ease, par.skill,
        par.log_error, par.slope, par.number, par.level, counts.right, counts.wrong, counts.error,
    )  # fmt: skip


@kernel
def _draw_systems(
    state: State, first_system: int, collapsed: bool, weight: float, ease: Floats, skill: Floats,
    log_error: Floats, slope: Floats, number: Floats, level: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> None:  # fmt: skip
    """Draw each system's level, and its rows, drawn to that accuracy with errors alike."""
    n = skill.shape[1]
    shape, hits, misses = np.empty(n), np.empty(n), np.empty(n)
    for v in range(first_system, len(skill)):
        for z in range(n):
            hits[z] = misses[z] = 0.0
            for q in range(len(ease)):
                hits[z] += right[v, z, q]
                misses[z] += wrong[v, z, q]
        level[v] = _slice_level(
            state, level[v], 1.0, weight, collapsed, skill[v], hits, misses, error[v]
        )
        for z in range(n):
            for y in range(n):
                shape[y] = weight * math.exp(log_sigmoid(-level[v])) / max(n - 1, 1)
            shape[z] = weight * math.exp(log_sigmoid(level[v]))
            skill[v, z] = draw_row(
                state, skill[v, z], number[DIFFICULTY] * slope[v], ease, right[v, z],
                wrong[v, z], error[v, z], z, shape, sum_but(shape, z), False, log_error[v, z],
            )  # fmt: skip


@inner
def draw_row(
    state: State, skill: float, spread: float, ease: Floats, right: Floats, wrong: Floats,
    error: Floats, z: int, shape: Floats, less: float, named: bool, log_error: Floats,
) -> float:  # fmt: skip
    """Draw a row and return its logit; one that is named says its label more often than others."""
    low = largest(log_error) if named else -math.inf
    skill = draw_beta(state, skill, shape[z], less, low, spread, ease, right, wrong)
    high = skill if named else math.inf
    counted = np.empty(len(shape))
    for y in range(len(shape)):
        counted[y] = shape[y] + error[y]
    draw_below(state, counted, z, high, log_error)
    return skill


# -- What a system's rows have in common -----------------------------------------------------------


@inner
def _log_level(
    level: float, weight: float, collapsed: bool, skill: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> float:  # fmt: skip
    """Return the log density of a system's level; errors summed out, accuracies if they can be."""
    out = log_sigmoid(level) + log_sigmoid(-level)  # a uniform accuracy, as a logit
    a, b = weight * math.exp(log_sigmoid(level)), weight * math.exp(log_sigmoid(-level))
    if a < LEAST or b < LEAST:
        return -math.inf
    equal = np.empty(len(right))
    for y in range(len(right)):
        equal[y] = -math.log(max(len(right) - 1.0, 1.0))
    for z in range(len(right)):
        out += log_right(a, b, collapsed, skill[z], right[z], wrong[z])
        out += log_errors(b, equal, error[z])
    return out


_slice_level = slicer(_log_level)
