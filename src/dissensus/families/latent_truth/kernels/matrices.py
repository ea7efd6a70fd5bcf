"""Confusion matrices: rows of annotators and systems, and the population of annotators.

The row of a true label consists of the logit of being right (``skill``) and the distribution of
errors (``log_error``). Under a Dirichlet prior the two are independent, so that difficulty and an
annotator's level can change the logit only. Parameters that rows share are drawn with the errors
integrated out. If all items are equally difficult, accuracies are integrated out too
(``collapsed``); otherwise this integral has no closed form.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.families.latent_truth.kernels.accuracies import draw_beta, draw_spread
from dissensus.families.latent_truth.kernels.data import DIFFICULTY, SPREAD
from dissensus.families.latent_truth.kernels.errors import LEAST, log_errors
from dissensus.families.latent_truth.kernels.states import log_sigmoid, lowest
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.dirichlet import draw_log_row
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import log_rising
from dissensus.kernels.types import Floats
from dissensus.kernels.variates import normal, tables

_TRIES: Final = 50
"""Maximum number of attempts of `_draw_below`."""
_NO_SPREAD: Final = 1e-9
"""Standard deviations below this are excluded, because levels divided by them may overflow."""


@inner
def row_odds(row: Floats, z: int) -> float:
    """Return the logit of being right about label z, given the logarithms of the matrix's row."""
    top, summed = -math.inf, 0.0
    for y in range(len(row)):
        if y != z:
            top = max(top, row[y])
    for y in range(len(row)):
        if y != z and top > -math.inf:
            summed += math.exp(row[y] - top)
    return row[z] - (top + math.log(summed) if top > -math.inf else top)


@inner
def _largest(values: Floats) -> float:
    out = -math.inf
    for y in range(len(values)):
        out = max(out, values[y])
    return out


@inner
def _sum_but(row: Floats, z: int) -> float:
    """Return the sum of a row without the entry at place z."""
    out = 0.0
    for y in range(len(row)):
        out += 0.0 if y == z else row[y]
    return out


# The likelihood of annotators' answers, given the population of annotators.


class Answers(NamedTuple):
    """Numbers of annotators' answers by true label, summed over difficulties."""

    collapsed: bool  # Whether accuracies are integrated out
    skill: Floats  # Logits of accuracies, used if these are not integrated out (label, annotator)
    right: Floats  # (label, annotator)
    wrong: Floats  # (label, annotator)
    error: Floats  # Wrong answers (label, annotator, response)


@inner
def _answers_by_label(
    n: int, n_labels: int, collapsed: bool, skill: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> Answers:  # fmt: skip
    answers = Answers(
        collapsed, np.empty((n_labels, n)), np.zeros((n_labels, n)), np.zeros((n_labels, n)),
        np.empty((n_labels, n, n_labels)),
    )  # fmt: skip
    for r in range(n):
        for z in range(n_labels):
            answers.skill[z, r] = skill[r, z]
            for q in range(right.shape[2]):
                answers.right[z, r] += right[r, z, q]
                answers.wrong[z, r] += wrong[r, z, q]
            for y in range(n_labels):
                answers.error[z, r, y] = error[r, z, y]
    return answers


@inner
def _log_right(
    a: float, b: float, collapsed: bool, skill: float, right: float, wrong: float
) -> float:
    """Return the log density of an accuracy's logit under Beta(a, b).

    If collapsed, return the log-probability of the right and wrong answers instead.
    """
    if collapsed:
        return log_rising(a, right) + log_rising(b, wrong) - log_rising(a + b, right + wrong)
    out = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return out + a * log_sigmoid(skill) + b * log_sigmoid(-skill)


@inner
def _log_own(odds: float, alike: float, answers: Answers, z: int, r: int) -> float:
    """Return `_log_right` of annotator r for label z; ``odds`` is the logit of the prior mean."""
    right, wrong = answers.right[z, r], answers.wrong[z, r]
    if answers.collapsed and right + wrong == 0.0:
        return 0.0
    a, b = alike * math.exp(log_sigmoid(odds)), alike * math.exp(log_sigmoid(-odds))
    if a < LEAST or b < LEAST:
        return -math.inf
    return _log_right(a, b, answers.collapsed, answers.skill[z, r], right, wrong)


@inner
def _log_person(level: float, odds: Floats, alike: Floats, answers: Answers, r: int) -> float:
    """Return the sum of `_log_own` over labels, given annotator r's level."""
    out = 0.0
    for z in range(len(odds)):
        out += _log_own(odds[z] + level, alike[z], answers, z, r)
    return out


@inner
def _log_all_errors(alike: float, odds: float, error: Floats, errors: Floats) -> float:
    """Return the log-likelihood of all annotators' errors about one label."""
    whole = alike * math.exp(log_sigmoid(-odds))
    if whole < LEAST:
        return -math.inf
    out = 0.0
    if len(errors) > 2:
        for r in range(len(error)):
            out += log_errors(whole, errors, error[r])
    return out


@inner
def _log_answers(
    alike: float, odds: float, level: Floats, answers: Answers, z: int, errors: Floats
) -> float:
    """Return the log density of all annotators' errors and accuracies for one label."""
    out = _log_all_errors(alike, odds, answers.error[z], errors)
    for r in range(len(level)):
        out += _log_own(odds + level[r], alike, answers, z, r)
    return out


# The population: its matrix, the similarity of annotators, and the level of each annotator.


@inner
def _log_alike(
    log_alike: float, prior: Floats, odds: float, level: Floats, answers: Answers, z: int,
    errors: Floats,
) -> float:  # fmt: skip
    """Return the log density of a label's ``confusion_concentration``, with a Gamma prior."""
    alike = math.exp(log_alike)
    if alike < LEAST:
        return -math.inf
    out = prior[0] * log_alike - prior[1] * alike
    return out + _log_answers(alike, odds, level, answers, z, errors)


_slice_alike = slicer(_log_alike)


@inner
def _log_odds(
    odds: float, own: float, rest: float, low: float, alike: float, level: Floats,
    answers: Answers, z: int, errors: Floats,
) -> float:  # fmt: skip
    """Return the log density of the population's logit; its prior is Beta above ``low``."""
    if odds <= low:
        return -math.inf
    out = own * log_sigmoid(odds) + rest * log_sigmoid(-odds)
    return out + _log_answers(alike, odds, level, answers, z, errors)


_slice_odds = slicer(_log_odds)


@inner
def _log_annotator_level(
    level: float, mean: float, sd: float, odds: Floats, alike: Floats, answers: Answers, r: int
) -> float:
    """Return the log density of the difference of annotator r's logits from the population's."""
    prior = -0.5 * ((level - mean) / sd) ** 2
    return prior + _log_person(level, odds, alike, answers, r)


_slice_annotator_level = slicer(_log_annotator_level)


@inner
def _log_unit(
    log_sd: float, scale: float, mean: Floats, unit: Floats, odds: Floats, alike: Floats,
    answers: Answers,
) -> float:  # fmt: skip
    """Return the log density of the spread's logarithm, given ``unit`` (annotator).

    ``unit`` is the deviation of each annotator's level from its mean, divided by the spread.
    """
    sd = math.exp(log_sd)
    if sd < _NO_SPREAD:
        return -math.inf
    out = log_sd - 0.5 * (sd / scale) ** 2
    for r in range(len(unit)):
        out += _log_person(mean[r] + sd * unit[r], odds, alike, answers, r)
    return out


_slice_unit = slicer(_log_unit)


@inner
def _log_shift(
    shift: float, sd: float, rest: Floats, odds: Floats, alike: Floats, rows: Floats,
    error: Floats, errors: Floats,
) -> float:  # fmt: skip
    """Return the log density after the population's logits rise and all levels fall by ``shift``.

    The annotators' logits stay the same. The prior densities of the population and of levels
    change, and so does the concentration of errors.
    """
    out = 0.0
    for r in range(len(rest)):
        out -= 0.5 * ((rest[r] - shift) / sd) ** 2
    for z in range(len(odds)):
        moved = odds[z] + shift
        if moved <= _largest(errors[z]):
            return -math.inf
        out += rows[z, z] * log_sigmoid(moved)
        out += _sum_but(rows[z], z) * log_sigmoid(-moved)
        out += _log_all_errors(alike[z], moved, error[z], errors[z])
    return out


_slice_shift = slicer(_log_shift)


@kernel
def draw_population(
    state: State, n: int, collapsed: bool, rows: Floats, alike_prior: Floats, scale: float,
    skill: Floats, mean: Floats, levels: Floats, log_population: Floats, alike: Floats,
    number: Floats, right: Floats, wrong: Floats, error: Floats,
) -> None:  # fmt: skip
    """Draw the population's rows, the similarity of annotators, and the level of each annotator.

    ``mean`` (annotator) is the increase of an annotator's logits by covariates.
    """
    n_labels = len(alike)
    answers = _answers_by_label(n, n_labels, collapsed, skill, right, wrong, error)
    rest, odds, errors = levels[:n], np.empty(n_labels), np.empty((n_labels, n_labels))
    level = np.empty(n)
    for r in range(n):
        level[r] = mean[r] + rest[r]
    for z in range(n_labels):
        odds[z] = row_odds(log_population[z], z)
        for y in range(n_labels):
            errors[z, y] = -math.inf if y == z else log_population[z, y] - log_sigmoid(-odds[z])
    for z in range(n_labels):
        odds[z] = _draw_label(
            state, rows[z], alike_prior, level, alike, answers, z, odds[z], errors[z]
        )
    for r in range(n):
        level[r] = _slice_annotator_level(
            state, level[r], 1.0, mean[r], number[SPREAD], odds, alike, answers, r
        )
        rest[r] = level[r] - mean[r]
    _draw_shift(state, number[SPREAD], rows, alike, answers.error, rest, odds, errors)
    sd = draw_spread(state, number[SPREAD], scale, 0.0, rest)
    # The spread is drawn again, given the ratios of levels to the spread (Yu & Meng 2011). Given
    # levels, it hardly moves if many annotators are alike. Given ratios, it hardly moves if
    # annotators differ.
    unit = np.empty(n)
    for r in range(n):
        unit[r] = rest[r] / sd
    log_sd = _slice_unit(state, math.log(sd), 1.0, scale, mean, unit, odds, alike, answers)
    number[SPREAD] = math.exp(log_sd)
    for r in range(n):
        rest[r] = number[SPREAD] * unit[r]
    for z in range(n_labels):
        for y in range(n_labels):
            log_population[z, y] = errors[z, y] + log_sigmoid(-odds[z])
        log_population[z, z] = log_sigmoid(odds[z])


@inner
def _draw_label(
    state: State, rows: Floats, alike_prior: Floats, level: Floats, alike: Floats,
    answers: Answers, z: int, odds: float, errors: Floats,
) -> float:  # fmt: skip
    """Draw the population's row for a label, and the annotators' similarity; return the logit.

    Given a number of tables for each count (Teh et al. 2006), the population's errors have a
    Dirichlet posterior. ``alike`` is drawn with these numbers summed out: given them, it would
    hardly move.
    """
    log_alike = _slice_alike(
        state, math.log(alike[z]), 0.5, alike_prior, odds, level, answers, z, errors
    )
    alike[z] = math.exp(log_alike)
    odds = _slice_odds(
        state, odds, 0.5, rows[z], _sum_but(rows, z), _largest(errors), alike[z], level, answers,
        z, errors,
    )  # fmt: skip
    if len(errors) > 2:  # with two labels there is one wrong answer
        shape = np.empty(len(errors))
        _draw_tables(state, answers.error[z], alike[z], odds, errors, shape)
        for y in range(len(errors)):
            shape[y] += rows[y]
        _draw_below(state, shape, z, odds, errors)
    return odds


@inner
def _draw_tables(
    state: State, error: Floats, alike: float, odds: float, errors: Floats, out: Floats
) -> None:
    """Draw numbers of tables for annotators' errors; write the sum over annotators (response)."""
    weight = np.empty(len(out))
    for y in range(len(out)):
        out[y] = 0.0
        weight[y] = alike * math.exp(log_sigmoid(-odds) + errors[y])
    for r in range(len(error)):
        for y in range(len(out)):
            if error[r, y] > 0.0:
                out[y] += tables(state, error[r, y], weight[y])


@inner
def _draw_below(state: State, shape: Floats, z: int, high: float, out: Floats) -> None:
    """Draw log-probabilities of errors until all are below ``high``; keep ``out`` if 50 draws fail.

    Whether all draws fail does not depend on the previous ``out``, so that the chain stays exact.
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
def _draw_shift(
    state: State, sd: float, rows: Floats, alike: Floats, error: Floats, rest: Floats,
    odds: Floats, errors: Floats,
) -> None:  # fmt: skip
    """Raise the population's logits and lower all levels by the same random shift.

    Drawn separately, the logits and the levels hardly move.
    """
    shift = _slice_shift(state, 0.0, 0.2, sd, rest, odds, alike, rows, error, errors)
    for z in range(len(odds)):
        odds[z] += shift
    for r in range(len(rest)):
        rest[r] -= shift


# Coefficients of covariates.


@inner
def _log_along(
    move: float, at: float, step: Floats, level: Floats, odds: Floats, alike: Floats,
    answers: Answers,
) -> float:  # fmt: skip
    """Return the log density after a move of coefficients, given deviations from the regression."""
    out = -0.5 * (at + move) ** 2
    for r in range(len(level)):
        out += _log_person(level[r] + move * step[r], odds, alike, answers, r)
    return out


_slice_along = slicer(_log_along)


@kernel
def draw_coefficients(
    state: State, along: Floats, collapsed: bool, skill: Floats, log_population: Floats,
    alike: Floats, number: Floats, level: Floats, rest: Floats, at: Floats, right: Floats,
    wrong: Floats, error: Floats,
) -> None:  # fmt: skip
    """Draw coefficients given levels, and again given the levels' deviations from the regression.

    The first draw hardly moves coefficients if annotators are alike. The second draw hardly moves
    them if each annotator has many labels. ``along`` (direction, annotator) and g are those of
    `Regression`; g is written into ``at``. ``rest`` is ``level`` minus the regression with the
    prior means; the deviations are written into it.
    """
    n, n_labels = len(level), len(alike)
    answers = _answers_by_label(n, n_labels, collapsed, skill, right, wrong, error)
    odds, variance = np.empty(n_labels), number[SPREAD] ** 2
    for z in range(n_labels):
        odds[z] = row_odds(log_population[z], z)
    for k in range(len(at)):  # a joint draw, as the directions are orthogonal
        weight, fitted = variance, 0.0
        for r in range(n):
            weight += along[k, r] ** 2
            fitted += along[k, r] * rest[r]
        at[k] = fitted / weight + math.sqrt(variance / weight) * normal(state)
        for r in range(n):
            rest[r] -= at[k] * along[k, r]
    for k in range(len(at)):
        move = _slice_along(state, 0.0, 1.0, at[k], along[k], level, odds, alike, answers)
        at[k] += move
        for r in range(n):
            level[r] += move * along[k, r]


# Rows of annotators and systems.


@inner
def draw_row(
    state: State, skill: float, spread: float, ease: Floats, right: Floats, wrong: Floats,
    error: Floats, z: int, shape: Floats, less: float, named: bool, log_error: Floats,
) -> float:  # fmt: skip
    """Draw the row of label z, and return its logit; if ``named``, z is the likeliest response.

    ``shape`` is the Dirichlet prior of the errors, and the prior of the accuracy is
    Beta(``shape[z]``, ``less``).
    """
    low = _largest(log_error) if named else -math.inf
    guess = lowest(len(shape))
    skill = draw_beta(state, skill, shape[z], less, low, spread, ease, guess, right, wrong)
    high = skill if named else math.inf
    counted = np.empty(len(shape))
    for y in range(len(shape)):
        counted[y] = shape[y] + error[y]
    _draw_below(state, counted, z, high, log_error)
    return skill


@kernel
def draw_annotators(
    state: State, n: int, pooled: bool, named: bool, rows: Floats, ease: Floats, skill: Floats,
    log_error: Floats, slope: Floats, number: Floats, log_population: Floats, alike: Floats,
    level: Floats, right: Floats, wrong: Floats, error: Floats,
) -> None:  # fmt: skip
    """Draw annotators' rows. The prior is around the population's rows if pooled, else ``rows``."""
    n_labels = len(alike)
    shape = np.empty(n_labels)
    for r in range(n):
        for z in range(n_labels):
            if pooled:
                less = _population_shape(log_population[z], alike[z], level[r], z, shape)
            else:
                for y in range(n_labels):
                    shape[y] = rows[z, y]
                less = _sum_but(shape, z)
            skill[r, z] = draw_row(
                state, skill[r, z], number[DIFFICULTY] * slope[r], ease, right[r, z],
                wrong[r, z], error[r, z], z, shape, less, named, log_error[r, z],
            )  # fmt: skip


@inner
def _population_shape(
    log_population: Floats, alike: float, level: float, z: int, out: Floats
) -> float:
    """Write the Dirichlet shape of an annotator's row; return the Beta parameter of being wrong.

    The Beta parameter depends on the annotator's level. The shapes of errors do not, so that their
    sum differs from the Beta parameter.
    """
    odds = row_odds(log_population, z) + level
    for y in range(len(out)):
        out[y] = alike * math.exp(log_population[y])
    out[z] = alike * math.exp(log_sigmoid(odds))
    return alike * math.exp(log_sigmoid(-odds))


@inner
def _log_level(
    level: float, weight: float, collapsed: bool, skill: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logit of a system's level, which is uniform a priori."""
    out = log_sigmoid(level) + log_sigmoid(-level)
    a, b = weight * math.exp(log_sigmoid(level)), weight * math.exp(log_sigmoid(-level))
    if a < LEAST or b < LEAST:
        return -math.inf
    equal = np.empty(len(right))
    for y in range(len(right)):
        equal[y] = -math.log(max(len(right) - 1.0, 1.0))
    for z in range(len(right)):
        out += _log_right(a, b, collapsed, skill[z], right[z], wrong[z])
        out += log_errors(b, equal, error[z])
    return out


_slice_level = slicer(_log_level)


@kernel
def draw_systems(
    state: State, first_system: int, collapsed: bool, weight: float, ease: Floats, skill: Floats,
    log_error: Floats, slope: Floats, number: Floats, level: Floats, right: Floats, wrong: Floats,
    error: Floats,
) -> None:  # fmt: skip
    """Draw each system's level and rows; rows have a prior around the level and equal errors."""
    n = skill.shape[1]
    shape, hits, misses = np.empty(n), np.empty(n), np.empty(n)
    for r in range(first_system, len(skill)):
        for z in range(n):
            hits[z] = misses[z] = 0.0
            for q in range(len(ease)):
                hits[z] += right[r, z, q]
                misses[z] += wrong[r, z, q]
        level[r] = _slice_level(
            state, level[r], 1.0, weight, collapsed, skill[r], hits, misses, error[r]
        )
        for z in range(n):
            for y in range(n):
                shape[y] = weight * math.exp(log_sigmoid(-level[r])) / max(n - 1, 1)
            shape[z] = weight * math.exp(log_sigmoid(level[r]))
            skill[r, z] = draw_row(
                state, skill[r, z], number[DIFFICULTY] * slope[r], ease, right[r, z],
                wrong[r, z], error[r, z], z, shape, _sum_but(shape, z), False, log_error[r, z],
            )  # fmt: skip
