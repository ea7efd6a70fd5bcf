"""Likelihood of annotators' answers, given the population that their rows come from.

Rows of annotators are summed out where they can be. Errors always can, as they have nothing to do
with how hard an item is; accuracies only if all items are as hard.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.arrays.truth_errors import LEAST, log_errors
from dissensus.arrays.truth_states import log_sigmoid
from dissensus.kernels.compiled import inner
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
