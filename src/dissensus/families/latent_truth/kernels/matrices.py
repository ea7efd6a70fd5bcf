"""Confusion matrices of voices: rows given what was counted, and what rows have in common.

Likelihood of annotators' answers, given the population that their rows come from.
Rows of annotators are summed out where they can be. Errors always can, as they have nothing to do
with how hard an item is; accuracies only if all items are as hard.

A row is two things: how often the voice is right when this is the truth (a logit, ``skill``), and
where its errors fall (``log_error``). Under a Dirichlet prior they are independent, which is what
lets the first move with how hard an item is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.families.latent_truth.kernels.accuracies import draw_beta, draw_spread
from dissensus.families.latent_truth.kernels.data import (
    COMPLETE,
    DIFFICULTY,
    HIERARCHICAL,
    SPREAD,
    Form,
    Parameters,
    Priors,
)
from dissensus.families.latent_truth.kernels.difficulty import LEAST, log_errors
from dissensus.families.latent_truth.kernels.states import Counts, log_sigmoid
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.dirichlet import draw_log_row
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import log_rising
from dissensus.kernels.types import Floats


class Answers(NamedTuple):
    """Answers of annotators, by true label."""

    collapsed: bool
    """Whether accuracies are summed out."""
    skill: Floats
    """Logits of accuracies, used if not (label, annotator)."""
    right: Floats
    """(label, annotator)"""
    wrong: Floats
    error: Floats
    """Wrong answers (label, annotator, response)."""


@inner
def answers_by_label(
    n: int, n_labels: int, collapsed: bool, skill: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> Answers:  # fmt: skip
    """Lay annotators' answers out by label, however hard the items (label, annotator)."""
    answers = Answers(
        collapsed, np.empty((n_labels, n)), np.zeros((n_labels, n)), np.zeros((n_labels, n)),
        np.empty((n_labels, n, n_labels)),
    )  # fmt: skip
    for v in range(n):
        for z in range(n_labels):
            answers.skill[z, v] = skill[v, z]
            for q in range(right.shape[2]):
                answers.right[z, v] += right[v, z, q]
                answers.wrong[z, v] += wrong[v, z, q]
            for y in range(n_labels):
                answers.error[z, v, y] = error[v, z, y]
    return answers


@inner
def row_odds(row: Floats, z: int) -> float:
    """Return the logit of being right from the logarithms of a row."""
    top, summed = -math.inf, 0.0
    for y in range(len(row)):
        if y != z:
            top = max(top, row[y])
    for y in range(len(row)):
        if y != z and top > -math.inf:
            summed += math.exp(row[y] - top)
    return row[z] - (top + math.log(summed) if top > -math.inf else top)


@inner
def largest(values: Floats) -> float:
    """Return the largest of some numbers."""
    out = -math.inf
    for y in range(len(values)):
        out = max(out, values[y])
    return out


@inner
def sum_but(row: Floats, z: int) -> float:
    """Add a row up but for one place."""
    out = 0.0
    for y in range(len(row)):
        out += 0.0 if y == z else row[y]
    return out


@inner
def log_right(
    a: float, b: float, collapsed: bool, skill: float, right: float, wrong: float
) -> float:
    """Return the log density of an accuracy under Beta(a, b), or of answers, it summed out."""
    if collapsed:
        return log_rising(a, right) + log_rising(b, wrong) - log_rising(a + b, right + wrong)
    out = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return out + a * log_sigmoid(skill) + b * log_sigmoid(-skill)


@inner
def log_answers(
    alike: float, odds: float, level: Floats, answers: Answers, z: int, errors: Floats
) -> float:
    """Return the log density of annotators' rows for a label, or of their answers."""
    out = log_all_errors(alike, odds, answers.error[z], errors)
    for v in range(len(level)):
        out += log_own(odds + level[v], alike, answers, z, v)
    return out


@inner
def log_all_errors(alike: float, odds: float, error: Floats, errors: Floats) -> float:
    """Return the log-likelihood of all errors for a label, where they fall summed out."""
    whole = alike * math.exp(log_sigmoid(-odds))
    if whole < LEAST:
        return -math.inf
    out = 0.0
    if len(errors) > 2:
        for v in range(len(error)):
            out += log_errors(whole, errors, error[v])
    return out


@inner
def log_own(odds: float, alike: float, answers: Answers, z: int, v: int) -> float:
    """Return the log density of one annotator's accuracy, given the logit of the typical one."""
    right, wrong = answers.right[z, v], answers.wrong[z, v]
    if answers.collapsed and right + wrong == 0.0:
        return 0.0
    a, b = alike * math.exp(log_sigmoid(odds)), alike * math.exp(log_sigmoid(-odds))
    if a < LEAST or b < LEAST:
        return -math.inf
    return log_right(a, b, answers.collapsed, answers.skill[z, v], right, wrong)


@inner
def log_person(level: float, odds: Floats, alike: Floats, answers: Answers, v: int) -> float:
    """Return the log density of one annotator's accuracies, or of the annotator's answers."""
    out = 0.0
    for z in range(len(odds)):
        out += log_own(odds[z] + level, alike[z], answers, z, v)
    return out


# What annotators' confusion matrices have in common: a population's, and how good each one is.


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
