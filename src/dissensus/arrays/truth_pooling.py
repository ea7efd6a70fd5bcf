"""What annotators' confusion matrices have in common: a population's, and how good each one is.

Rows of annotators are summed out where they can be. Errors always can, as they have nothing to do
with how hard an item is; accuracies only if all items are as hard.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.log_sums import log_total
from dissensus.arrays.rising_factorial import log_rising
from dissensus.arrays.stream import State, uniform
from dissensus.arrays.truth_counts import Counts
from dissensus.arrays.truth_errors import LEAST, draw_log_row, log_errors
from dissensus.arrays.truth_parameters import SPREAD, Form, Parameters, Priors
from dissensus.arrays.truth_skills import draw_spread
from dissensus.arrays.truth_states import log_sigmoid
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]

_TRIES = 50


class Answers(NamedTuple):
    """Answers of annotators where one label is the truth."""

    collapsed: bool
    """Whether accuracies are summed out."""
    skill: Floats
    """Logits of accuracies, if not (annotator)."""
    right: Floats
    """(annotator)"""
    wrong: Floats
    error: Floats
    """Wrong answers (annotator, response)."""


@njit(cache=True)
def draw_pooling(state: State, form: Form, par: Parameters, prior: Priors, counts: Counts) -> None:
    """Draw the population's rows, how alike annotators are, and how good each is at all labels."""
    n, collapsed = form.first_system, not form.difficulty
    right, wrong = counts.right[:n].sum(axis=2), counts.wrong[:n].sum(axis=2)
    error, level, skill = counts.error[:n], par.level[:n], par.skill[:n]
    odds, errors = np.empty(form.n_labels), par.log_population.copy()
    for z in range(form.n_labels):
        odds[z] = row_odds(errors[z], z)
        errors[z] -= log_sigmoid(-odds[z])
        errors[z, z] = -math.inf
        seen = Answers(
            collapsed, skill[:, z].copy(), right[:, z].copy(), wrong[:, z].copy(),
            error[:, z].copy(),
        )  # fmt: skip
        odds[z] = _draw_label(state, par, prior, seen, z, odds[z], errors[z])
    for v in range(n):
        level[v] = _slice_better(
            state, level[v], 1.0, par.number[SPREAD], odds, par.alike, collapsed, skill[v],
            right[v], wrong[v],
        )  # fmt: skip
    _draw_shift(state, par, prior, error, level, odds, errors)
    sd = draw_spread(state, par.number[SPREAD], prior.spread, 0.0, level)
    # Again in units of the spread: one of many who are alike hardly moves given what each is, and
    # one of people who are not hardly moves given how they compare (Yu & Meng 2011).
    unit = level / sd
    par.number[SPREAD] = math.exp(
        _slice_unit(state, math.log(sd), 1.0, prior.spread, unit, odds, par.alike, collapsed, skill,
                    right, wrong)
    )  # fmt: skip
    level[:] = par.number[SPREAD] * unit
    for z in range(form.n_labels):
        par.log_population[z] = errors[z] + log_sigmoid(-odds[z])
        par.log_population[z, z] = log_sigmoid(odds[z])


@njit(cache=True)
def row_odds(row: Floats, z: int) -> float:
    """Return the logit of being right from the logarithms of a row."""
    others = row.copy()
    others[z] = -math.inf
    return row[z] - log_total(others)


@njit(cache=True)
def sum_but(row: Floats, z: int) -> float:
    """Add a row up but for one place."""
    out = 0.0
    for y in range(len(row)):
        out += 0.0 if y == z else row[y]
    return out


@njit(cache=True)
def log_right(
    a: float, b: float, collapsed: bool, skill: float, right: float, wrong: float
) -> float:
    """Return the log density of an accuracy under Beta(a, b), or of answers, it summed out."""
    if collapsed:
        return log_rising(a, right) + log_rising(b, wrong) - log_rising(a + b, right + wrong)
    out = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return out + a * log_sigmoid(skill) + b * log_sigmoid(-skill)


@njit(cache=True)
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
            out[:] = new
            return


@njit(cache=True)
def _draw_label(
    state: State, par: Parameters, prior: Priors, seen: Answers, z: int, odds: float,
    errors: Floats,
) -> float:  # fmt: skip
    """Draw the population's row for a label and how alike annotators are; return its logit.

    The population's errors have a closed form given how many tables each count takes (Teh et al.
    2006). So has how alike they are, but tables would hold it where it is.
    """
    level, log_alike = par.level[: len(seen.right)], math.log(par.alike[z])
    log_alike = _slice_alike(state, log_alike, 0.5, prior.alike, odds, level, seen, errors)
    par.alike[z] = math.exp(log_alike)
    own, rest = prior.rows[z, z], sum_but(prior.rows[z], z)
    odds = _slice_odds(state, odds, 0.5, own, rest, errors.max(), par.alike[z], level, seen, errors)
    if len(errors) > 2:  # of two labels errors fall where they must
        weight = par.alike[z] * np.exp(log_sigmoid(-odds) + errors)
        taken = prior.rows[z] + _tables_taken(state, seen.error, weight)
        draw_below(state, taken, z, odds, errors)
    return odds


@njit(cache=True)
def _tables_taken(state: State, error: Floats, weight: Floats) -> Floats:
    """Draw how many tables errors of all annotators take, by response."""
    out = np.zeros(len(weight))
    for v in range(len(error)):
        for y in range(len(weight)):
            if error[v, y] > 0.0:
                out[y] += _tables(state, error[v, y], weight[y])
    return out


@njit(cache=True)
def _tables(state: State, n: float, alpha: float) -> float:
    """Draw how many tables n guests of a Chinese restaurant take."""
    found = 0.0
    for guest in range(int(n)):
        if uniform(state) * (alpha + guest) < alpha:
            found += 1.0
    return found


@njit(cache=True)
def _log_answers(alike: float, odds: float, level: Floats, seen: Answers, errors: Floats) -> float:
    """Return the log density of annotators' rows for a label, or of their answers."""
    out = _log_all_errors(alike, odds, seen.error, errors)
    for v in range(len(level)):
        out += _log_own(
            odds + level[v], alike, seen.collapsed, seen.skill[v], seen.right[v], seen.wrong[v]
        )
    return out


@njit(cache=True)
def _log_all_errors(alike: float, odds: float, error: Floats, errors: Floats) -> float:
    """Return the log-likelihood of all errors for a label, where they fall summed out."""
    whole = alike * math.exp(log_sigmoid(-odds))
    if whole < LEAST:
        return -math.inf
    out = 0.0
    if len(errors) > 2:
        for v in range(len(error)):
            out += log_errors(whole, errors, error[v])
    return out


@njit(cache=True)
def _log_own(
    odds: float, alike: float, collapsed: bool, skill: float, right: float, wrong: float
) -> float:
    """Return the log density of one annotator's accuracy around his own typical one."""
    if collapsed and right + wrong == 0.0:
        return 0.0
    a, b = alike * math.exp(log_sigmoid(odds)), alike * math.exp(log_sigmoid(-odds))
    if a < LEAST or b < LEAST:
        return -math.inf
    return log_right(a, b, collapsed, skill, right, wrong)


@njit(cache=True)
def _log_alike(
    log_alike: float, prior: Floats, odds: float, level: Floats, seen: Answers, errors: Floats
) -> float:
    """Return the log density of how alike annotators' rows are, a Gamma a priori."""
    alike = math.exp(log_alike)
    if alike < LEAST:
        return -math.inf
    out = prior[0] * log_alike - prior[1] * alike
    return out + _log_answers(alike, odds, level, seen, errors)


_slice_alike = slicer(_log_alike)


@njit(cache=True)
def _log_odds(
    odds: float, own: float, rest: float, low: float, alike: float, level: Floats, seen: Answers,
    errors: Floats,
) -> float:  # fmt: skip
    """Return the log density of the population's logit, a Beta accuracy a priori above a bound."""
    if odds <= low:
        return -math.inf
    out = own * log_sigmoid(odds) + rest * log_sigmoid(-odds)
    return out + _log_answers(alike, odds, level, seen, errors)


_slice_odds = slicer(_log_odds)


@njit(cache=True)
def _log_person(
    level: float, odds: Floats, alike: Floats, collapsed: bool, skill: Floats, right: Floats,
    wrong: Floats,
) -> float:  # fmt: skip
    """Return the log density of one annotator's accuracies, or of his answers."""
    out = 0.0
    for z in range(len(odds)):
        out += _log_own(odds[z] + level, alike[z], collapsed, skill[z], right[z], wrong[z])
    return out


@njit(cache=True)
def _log_better(
    level: float, sd: float, odds: Floats, alike: Floats, collapsed: bool, skill: Floats,
    right: Floats, wrong: Floats,
) -> float:  # fmt: skip
    """Return the log density of how much better than typical one annotator is, in logits."""
    prior = -0.5 * (level / sd) ** 2
    return prior + _log_person(level, odds, alike, collapsed, skill, right, wrong)


_slice_better = slicer(_log_better)


@njit(cache=True)
def _log_unit(
    log_sd: float, scale: float, unit: Floats, odds: Floats, alike: Floats, collapsed: bool,
    skill: Floats, right: Floats, wrong: Floats,
) -> float:  # fmt: skip
    """Return the log density of the spread, given by how many of it annotators differ."""
    sd = math.exp(log_sd)
    if sd < 1e-9:  # a spread of nothing: nobody's share of it could be told
        return -math.inf
    out = log_sd - 0.5 * (sd / scale) ** 2
    for v in range(len(unit)):
        out += _log_person(sd * unit[v], odds, alike, collapsed, skill[v], right[v], wrong[v])
    return out


_slice_unit = slicer(_log_unit)


@njit(cache=True)
def _log_shift(
    shift: float, sd: float, level: Floats, odds: Floats, alike: Floats, rows: Floats,
    error: Floats, errors: Floats,
) -> float:  # fmt: skip
    """Return the log density with the population better by so much, and each annotator worse.

    What each is stays as it is, and so all accuracies and right answers: what changes is the prior
    of the population and of levels, and how alike errors are held to be.
    """
    out = 0.0
    for one in level:
        out -= 0.5 * ((one - shift) / sd) ** 2
    for z in range(len(odds)):
        moved = odds[z] + shift
        if moved <= errors[z].max():
            return -math.inf
        out += rows[z, z] * log_sigmoid(moved)
        out += sum_but(rows[z], z) * log_sigmoid(-moved)
        out += _log_all_errors(alike[z], moved, error[:, z], errors[z])
    return out


_slice_shift = slicer(_log_shift)


@njit(cache=True)
def _draw_shift(
    state: State, par: Parameters, prior: Priors, error: Floats, level: Floats, odds: Floats,
    errors: Floats,
) -> None:  # fmt: skip
    """Move the population's logits and all levels at once, which else would hold each other."""
    shift = _slice_shift(
        state, 0.0, 0.2, par.number[SPREAD], level, odds, par.alike, prior.rows, error, errors
    )
    odds += shift
    level -= shift
