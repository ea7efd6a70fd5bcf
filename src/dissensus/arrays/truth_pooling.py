"""What annotators' confusion matrices have in common: a population's, and how good each one is."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.truth_answers import (
    Answers,
    answers_by_label,
    largest,
    log_all_errors,
    log_answers,
    log_person,
    row_odds,
    sum_but,
)
from dissensus.arrays.truth_counts import Counts
from dissensus.arrays.truth_errors import LEAST
from dissensus.arrays.truth_parameters import SPREAD, Form, Parameters, Priors
from dissensus.arrays.truth_skills import draw_spread
from dissensus.arrays.truth_states import log_sigmoid
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.dirichlet import draw_log_row
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats

_TRIES = 50


def draw_pooling(state: State, form: Form, par: Parameters, prior: Priors, counts: Counts) -> None:
    """Draw the population's rows, how alike annotators are, and how good each is at all labels."""
    _draw_pooling(
        state, form.first_system, not form.difficulty, prior.rows, prior.alike, prior.spread,
        par.skill, par.level, par.log_population, par.alike, par.number, counts.right,
        counts.wrong, counts.error,
    )  # fmt: skip


@kernel
def _draw_pooling(
    state: State, n: int, collapsed: bool, rows: Floats, alike_prior: Floats, scale: float,
    skill: Floats, levels: Floats, log_population: Floats, alike: Floats, number: Floats,
    right: Floats, wrong: Floats, error: Floats,
) -> None:  # fmt: skip
    n_labels = len(alike)
    answers = answers_by_label(n, n_labels, collapsed, skill, right, wrong, error)
    level, odds, errors = levels[:n], np.empty(n_labels), np.empty((n_labels, n_labels))
    for z in range(n_labels):
        odds[z] = row_odds(log_population[z], z)
        for y in range(n_labels):
            errors[z, y] = -math.inf if y == z else log_population[z, y] - log_sigmoid(-odds[z])
    for z in range(n_labels):
        odds[z] = _draw_label(
            state, rows[z], alike_prior, level, alike, answers, z, odds[z], errors[z]
        )
    for v in range(n):
        level[v] = _slice_better(state, level[v], 1.0, number[SPREAD], odds, alike, answers, v)
    _shift(state, number[SPREAD], rows, alike, answers.error, level, odds, errors)
    sd = draw_spread(state, number[SPREAD], scale, 0.0, level)
    # Again in units of the spread: one of many who are alike hardly moves given what each is, and
    # one of people who are not hardly moves given how they compare (Yu & Meng 2011).
    unit = np.empty(n)
    for v in range(n):
        unit[v] = level[v] / sd
    log_sd = _slice_unit(state, math.log(sd), 1.0, scale, unit, odds, alike, answers)
    number[SPREAD] = math.exp(log_sd)
    for v in range(n):
        level[v] = number[SPREAD] * unit[v]
    for z in range(n_labels):
        for y in range(n_labels):
            log_population[z, y] = errors[z, y] + log_sigmoid(-odds[z])
        log_population[z, z] = log_sigmoid(odds[z])


@inner
def draw_below(state: State, shape: Floats, z: int, high: float, out: Floats) -> None:
    """Draw where errors fall until none of them lies above ``high``, or leave it as it is.

    How many draws fail does not hang on the row as it is: to give up after so many changes nothing
    about what it converges to.
    """
    new = np.empty(len(shape))
    for _ in range(_TRIES):
        draw_log_row(state, shape, z, new)
        fits = True
        for y in range(len(new)):
            fits = fits and (y == z or new[y] < high)
        if fits:
            for y in range(len(new)):
                out[y] = new[y]
            return


@inner
def _draw_label(
    state: State, rows: Floats, alike_prior: Floats, level: Floats, alike: Floats,
    answers: Answers, z: int, odds: float, errors: Floats,
) -> float:  # fmt: skip
    """Draw the population's row for a label and how alike annotators are; return its logit.

    The population's errors have a closed form given how many tables each count takes (Teh et al.
    2006). So has how alike they are, but tables would hold it where it is.
    """
    log_alike = _slice_alike(
        state, math.log(alike[z]), 0.5, alike_prior, odds, level, answers, z, errors
    )
    alike[z] = math.exp(log_alike)
    odds = _slice_odds(
        state, odds, 0.5, rows[z], sum_but(rows, z), largest(errors), alike[z], level, answers, z,
        errors,
    )  # fmt: skip
    if len(errors) > 2:  # of two labels errors fall where they must
        shape = np.empty(len(errors))
        _tables_taken(state, answers.error[z], alike[z], odds, errors, shape)
        for y in range(len(errors)):
            shape[y] += rows[y]
        draw_below(state, shape, z, odds, errors)
    return odds


@inner
def _tables_taken(
    state: State, error: Floats, alike: float, odds: float, errors: Floats, out: Floats
) -> None:
    """Draw how many tables the errors of all annotators take, by response."""
    weight = np.empty(len(out))
    for y in range(len(out)):
        out[y] = 0.0
        weight[y] = alike * math.exp(log_sigmoid(-odds) + errors[y])
    for v in range(len(error)):
        for y in range(len(out)):
            if error[v, y] > 0.0:
                out[y] += _tables(state, error[v, y], weight[y])


@inner
def _tables(state: State, n: float, alpha: float) -> float:
    """Draw how many tables n guests of a Chinese restaurant take."""
    tables = 0.0
    for guest in range(int(n)):
        if uniform(state) * (alpha + guest) < alpha:
            tables += 1.0
    return tables


@inner
def _log_alike(
    log_alike: float, prior: Floats, odds: float, level: Floats, answers: Answers, z: int,
    errors: Floats,
) -> float:  # fmt: skip
    """Return the log density of how alike annotators' rows are, a Gamma a priori."""
    alike = math.exp(log_alike)
    if alike < LEAST:
        return -math.inf
    out = prior[0] * log_alike - prior[1] * alike
    return out + log_answers(alike, odds, level, answers, z, errors)


_slice_alike = slicer(_log_alike)


@inner
def _log_odds(
    odds: float, own: float, rest: float, low: float, alike: float, level: Floats,
    answers: Answers, z: int, errors: Floats,
) -> float:  # fmt: skip
    """Return the log density of the population's logit, a Beta accuracy a priori above a bound."""
    if odds <= low:
        return -math.inf
    out = own * log_sigmoid(odds) + rest * log_sigmoid(-odds)
    return out + log_answers(alike, odds, level, answers, z, errors)


_slice_odds = slicer(_log_odds)


@inner
def _log_better(
    level: float, sd: float, odds: Floats, alike: Floats, answers: Answers, v: int
) -> float:
    """Return the log density of how much better than typical one annotator is, in logits."""
    prior = -0.5 * (level / sd) ** 2
    return prior + log_person(level, odds, alike, answers, v)


_slice_better = slicer(_log_better)


@inner
def _log_unit(
    log_sd: float, scale: float, unit: Floats, odds: Floats, alike: Floats, answers: Answers
) -> float:
    """Return the log density of the spread, given by how many of it annotators differ."""
    sd = math.exp(log_sd)
    if sd < 1e-9:  # a spread of nothing: nobody's share of it could be told
        return -math.inf
    out = log_sd - 0.5 * (sd / scale) ** 2
    for v in range(len(unit)):
        out += log_person(sd * unit[v], odds, alike, answers, v)
    return out


_slice_unit = slicer(_log_unit)


@inner
def _log_shift(
    shift: float, sd: float, level: Floats, odds: Floats, alike: Floats, rows: Floats,
    error: Floats, errors: Floats,
) -> float:  # fmt: skip
    """Return the log density with the population better by so much, and each annotator worse.

    What each is stays as it is, and so all accuracies and right answers: what changes is the prior
    of the population and of levels, and how alike errors are held to be.
    """
    out = 0.0
    for v in range(len(level)):
        out -= 0.5 * ((level[v] - shift) / sd) ** 2
    for z in range(len(odds)):
        moved = odds[z] + shift
        if moved <= largest(errors[z]):
            return -math.inf
        out += rows[z, z] * log_sigmoid(moved)
        out += sum_but(rows[z], z) * log_sigmoid(-moved)
        out += log_all_errors(alike[z], moved, error[z], errors[z])
    return out


_slice_shift = slicer(_log_shift)


@inner
def _shift(
    state: State, sd: float, rows: Floats, alike: Floats, error: Floats, level: Floats,
    odds: Floats, errors: Floats,
) -> None:  # fmt: skip
    """Move the population's logits and all levels at once, which else would hold each other."""
    shift = _slice_shift(state, 0.0, 0.2, sd, level, odds, alike, rows, error, errors)
    for z in range(len(odds)):
        odds[z] += shift
    for v in range(len(level)):
        level[v] -= shift
