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

from dissensus.arrays.gamma import log_gamma_variate
from dissensus.arrays.stream import State, uniform
from dissensus.arrays.truth_counts import Counts
from dissensus.arrays.truth_errors import draw_log_row
from dissensus.arrays.truth_parameters import (
    COMPLETE,
    DIFFICULTY,
    HIERARCHICAL,
    Form,
    Parameters,
    Priors,
)
from dissensus.arrays.truth_skills import draw_beta
from dissensus.arrays.truth_states import log_sigmoid
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]

_TRIES = 50


@njit(cache=True)
def draw_rows(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw the confusion matrices of annotators, and what they have in common."""
    if form.pooling == HIERARCHICAL:
        for z in range(form.n_labels):
            if form.difficulty:
                _draw_common_of_rows(state, form, par, prior, z)
            else:
                _draw_common_of_counts(state, form, par, prior, counts, z)
    shape = np.empty(form.n_labels)
    for v in range(form.first_system):
        for z in range(form.n_labels):
            if form.pooling == HIERARCHICAL:
                shape[:] = par.alike[z] * np.exp(par.log_population[z])
            else:
                shape[:] = prior.rows[z]
            named = form.pooling == COMPLETE
            _draw_row(state, form, ease, par, counts, v, z, shape, named)


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
            _draw_row(state, form, ease, par, counts, v, z, shape, named=False)


@njit(cache=True)
def _draw_row(
    state: State, form: Form, ease: Floats, par: Parameters, counts: Counts, v: int, z: int,
    shape: Floats, named: bool,
) -> None:  # fmt: skip
    """Draw a row; one that is named says its label more often than any other."""
    wrong = 0.0
    for y in range(form.n_labels):
        wrong += 0.0 if y == z else shape[y]
    low = par.log_error[v, z].max() if named else -math.inf
    par.skill[v, z] = draw_beta(
        state, par.skill[v, z], shape[z], wrong, low, par.number[DIFFICULTY] * par.slope[v],
        ease, counts.right[v, z], counts.wrong[v, z],
    )  # fmt: skip
    high = par.skill[v, z] if named else math.inf
    _draw_below(state, shape + counts.error[v, z], z, z, high, par.log_error[v, z])


@njit(cache=True)
def _draw_below(
    state: State, shape: Floats, skipped: int, z: int, high: float, out: Floats
) -> None:
    """Draw a row until no other label than its own lies above ``high``, or leave it as it is.

    How many draws fail does not hang on the row as it is: to give up after so many changes nothing
    about what it converges to. With no place skipped, ``high`` is what the row's own label gets.
    """
    new = np.empty(len(shape))
    for _ in range(_TRIES):
        draw_log_row(state, shape, skipped, new)
        bound = min(high, new[z]) if skipped < 0 else high
        fits = True
        for y in range(len(new)):
            fits = fits and (y == z or new[y] < bound)
        if fits:
            out[:] = new
            return


@njit(cache=True)
def _system_shape(form: Form, par: Parameters, prior: Priors, v: int, z: int, out: Floats) -> None:
    """Write the Dirichlet shape of a system's row: its accuracy, errors alike."""
    level = par.level[v - form.first_system]
    out[:] = prior.system * math.exp(log_sigmoid(-level)) / max(form.n_labels - 1, 1)
    out[z] = prior.system * math.exp(log_sigmoid(level))


# -- What a system's rows have in common -----------------------------------------------------------


@njit(cache=True)
def _log_beta_function(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@njit(cache=True)
def _log_level(
    level: float, weight: float, collapsed: bool, skill: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> float:  # fmt: skip
    """Return the log density of a system's level; errors summed out, accuracies if they can be."""
    out = log_sigmoid(level) + log_sigmoid(-level)  # a uniform accuracy, as a logit
    a, b = weight * math.exp(log_sigmoid(level)), weight * math.exp(log_sigmoid(-level))
    n = len(right)
    each = b / max(n - 1, 1)
    if a < 1e-300 or each < 1e-300:
        return -math.inf
    for z in range(n):
        out -= _log_beta_function(a, b)
        if collapsed:
            out += _log_beta_function(a + right[z], b + wrong[z])
        else:
            out += a * log_sigmoid(skill[z]) + b * log_sigmoid(-skill[z])
        out += math.lgamma(b) - math.lgamma(b + wrong[z])
        for y in range(n):
            if error[z, y] > 0.0:
                out += math.lgamma(each + error[z, y]) - math.lgamma(each)
    return out


_slice_level = slicer(_log_level)


@njit(cache=True)
def _draw_level(
    state: State, form: Form, par: Parameters, prior: Priors, counts: Counts, v: int
) -> None:
    s = v - form.first_system
    par.level[s] = _slice_level(
        state, par.level[s], 1.0, prior.system, not form.difficulty, par.skill[v],
        counts.right[v].sum(axis=1), counts.wrong[v].sum(axis=1), counts.error[v],
    )  # fmt: skip


# -- What annotators' rows have in common ----------------------------------------------------------


@njit(cache=True)
def _tables(state: State, n: float, alpha: float) -> float:
    """Draw how many tables n guests of a Chinese restaurant take."""
    found = 0.0
    for guest in range(int(n)):
        if uniform(state) * (alpha + guest) < alpha:
            found += 1.0
    return found


@njit(cache=True)
def _log_alike_of_counts(log_alike: float, prior: Floats, mean: Floats, said: Floats) -> float:
    """Return the log density of how alike annotators are, given what each said; rows summed out."""
    alike = math.exp(log_alike)
    out = prior[0] * log_alike - prior[1] * alike
    for v in range(len(said)):
        total = 0.0
        for y in range(len(mean)):
            if said[v, y] > 0.0:
                a = alike * math.exp(mean[y])
                if a < 1e-300:
                    return -math.inf
                total += said[v, y]
                out += math.lgamma(a + said[v, y]) - math.lgamma(a)
        if total > 0.0:
            out += math.lgamma(alike) - math.lgamma(alike + total)
    return out


_slice_alike_of_counts = slicer(_log_alike_of_counts)


@njit(cache=True)
def _draw_common_of_counts(
    state: State, form: Form, par: Parameters, prior: Priors, counts: Counts, z: int
) -> None:
    """Draw the population's row and how alike annotators are, their own rows summed out.

    Given how many tables each count takes, the population's row has a closed form (Teh et al.
    2006). So has the other, but tables hold it where it is: with many labels it would hardly move.
    """
    n = form.n_labels
    said = counts.error[: form.first_system, z].copy()
    for v in range(form.first_system):
        said[v, z] = counts.right[v, z].sum()
    mean = par.log_population[z]
    log_alike = math.log(par.alike[z])
    par.alike[z] = math.exp(_slice_alike_of_counts(state, log_alike, 0.5, prior.alike, mean, said))
    taken = np.zeros(n)
    for v in range(form.first_system):
        for y in range(n):
            if said[v, y] > 0.0:
                taken[y] += _tables(state, said[v, y], par.alike[z] * math.exp(mean[y]))
    _draw_below(state, prior.rows[z] + taken, -1, z, math.inf, mean)


@njit(cache=True)
def _log_alike(log_alike: float, prior: Floats, n: int, row: Floats, mean: Floats) -> float:
    """Return the log density of how alike n rows are, given sums of their logarithms."""
    alike = math.exp(log_alike)
    out = prior[0] * log_alike - prior[1] * alike
    return out + _log_rows(alike, n, row, mean)


@njit(cache=True)
def _log_rows(alike: float, n: int, row: Floats, mean: Floats) -> float:
    """Return the log density of n Dirichlet rows around a mean, of which the logs add up to row."""
    out = n * math.lgamma(alike)
    for y in range(len(row)):
        a = alike * math.exp(mean[y])
        if a < 1e-300:
            return -math.inf
        out += a * row[y] - n * math.lgamma(a)
    return out


_slice_alike = slicer(_log_alike)


@njit(cache=True)
def _log_part(
    log_part: float, y: int, z: int, prior: float, alike: float, n: int, row: Floats,
    part: Floats, mean: Floats,
) -> float:  # fmt: skip
    """Return the log density of one of the gammas that make the population's row."""
    part[y] = log_part
    high = part.max()
    total = high + math.log(np.exp(part - high).sum())
    mean[:] = part - total
    if part.argmax() != z:
        return -math.inf
    return prior * log_part - math.exp(log_part) + _log_rows(alike, n, row, mean)


_slice_part = slicer(_log_part)


@njit(cache=True)
def _draw_common_of_rows(state: State, form: Form, par: Parameters, prior: Priors, z: int) -> None:
    """Draw them given annotators' rows, where these cannot be summed out."""
    n, n_rows = form.n_labels, form.first_system
    row = np.zeros(n)
    for v in range(n_rows):
        wrong = log_sigmoid(-par.skill[v, z])
        for y in range(n):
            row[y] += log_sigmoid(par.skill[v, z]) if y == z else wrong + par.log_error[v, z, y]
    mean = par.log_population[z]
    log_alike = math.log(par.alike[z])
    par.alike[z] = math.exp(_slice_alike(state, log_alike, 0.5, prior.alike, n_rows, row, mean))
    part = mean + log_gamma_variate(state, prior.rows[z].sum())
    for y in range(n):
        part[y] = _slice_part(
            state, part[y], 0.5, y, z, prior.rows[z, y], par.alike[z], n_rows, row, part, mean
        )
