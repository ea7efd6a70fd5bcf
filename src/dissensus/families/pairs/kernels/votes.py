r"""Votes on pairs, what a chain knows, and the probability of a vote.

A vote t of an annotator a on the systems l and r, which answered the prompt i, has

.. math::
    \eta_t = e^{\lambda_a} (s_l + u_{il} - s_r - u_{ir} + z_t' \beta) + b + b_a, \qquad
    P(\mathrm{left}) : P(\mathrm{tie}) : P(\mathrm{right})
      = e^{\eta_t / 2} : e^{\tau + \tau_i + \tau_a + w_t' \gamma} : e^{-\eta_t / 2}.

Covariates z and w are what is known of the two answers, such as a judge's verdict. Strengths have a
common normal prior here. After their mean is subtracted they have the distribution
of strengths that add up to 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Floats, Ints


class Votes(NamedTuple):
    """Votes sorted by prompt; without prompts all are of one, without cells."""

    left: Ints
    right: Ints
    # Places among cells, pairs of prompt and system, after which each prompt has one more for its
    # tendency to ties. Empty without prompts; the last also without ties.
    cell_left: Ints
    cell_right: Ints
    cell_tie: Ints
    annotator: Ints  # 0 where voters are not told apart
    side: Floats  # 1 left, 0 tie, -1 right
    weight: Floats  # Number of equal votes
    item_start: Ints  # (item + 1): its votes
    cell_start: Ints  # (item + 1): its cells
    cell_system: Ints  # (cell); the number of systems for a tendency to ties
    by_annotator: Ints  # Votes, sorted by annotator
    annotator_start: Ints  # (annotator + 1)
    along: Floats  # (vote, covariate of the difference)
    tied: Floats  # (vote, covariate of ties)


class Form(NamedTuple):
    """The parts that a model has, as numbers: 1 or 0."""

    ties: int
    side: int
    items: int
    annotators: int


class Parameters(NamedTuple):
    """The state of a chain; a sweep writes over it."""

    strength: Floats  # (system), not centred
    common: Floats  # (2): tendency to ties, advantage of the left side
    cell: Floats  # (cell): what systems are better by, and each prompt's tendency to ties
    own: Floats  # (annotator, 3): log sharpness, tendency to ties, advantage of the left side
    spread: Floats  # (6): of strengths, cells, annotators' three numbers, prompts' ties
    coefficient: Floats  # (covariate): of the difference, then of ties


SHARP, TIE, SIDE = range(3)
"""The columns of `Parameters.own`; those of `Parameters.common` are one less."""
STRENGTH, CELL, OWN, ITEM_TIE = 0, 1, 2, 5
"""Places in `Parameters.spread`; annotators' are `OWN`, `OWN` + 1 and `OWN` + 2, and `ITEM_TIE` is
that of prompts' tendencies to ties."""


@inner
def log_vote(eta: float, odds: float, side: float) -> float:
    """Return the log probability of a vote, ``odds`` being exp of the tendency to ties."""
    half = 0.5 * abs(eta)
    small = math.exp(-half)
    # log1p would take three times as long, for digits that are lost in the sum over votes.
    total = -half - math.log(1.0 + small * (small + odds))
    return 0.5 * side * eta + total if side != 0.0 else math.log(odds) + total


_LARGE = 1e100
"""Factors between 1 / this and this may be multiplied, and so may products of two of them."""


@inner
def with_vote(
    total: float, above: float, below: float, eta: float, odds: float, side: float, weight: float
) -> tuple[float, float, float]:
    """Add the log probability of a vote to a sum, total + log(above / below).

    A logarithm takes as long as all the rest of a vote: factors are multiplied for as long as
    they are of moderate size.
    """
    half = 0.5 * abs(eta)
    small = math.exp(-half)
    divisor = 1.0 + small * (small + odds)
    if weight != 1.0 or divisor > _LARGE or (side == 0.0 and not 1.0 / _LARGE < odds < _LARGE):
        return total + weight * log_vote(eta, odds, side), above, below
    total += 0.5 * side * eta - half
    below *= divisor
    if side == 0.0:
        above *= odds
    if below > _LARGE or not 1.0 / _LARGE < above < _LARGE:
        return total + math.log(above) - math.log(below), 1.0, 1.0
    return total, above, below


@inner
def slopes_of(eta: float, odds: float) -> tuple[float, float, float]:
    """Return P(left) - P(right), P(left or right) and P(tie)."""
    small = math.exp(-0.5 * abs(eta))
    total = 1.0 + small * (small + odds)
    apart = (1.0 - small * small) / total
    return math.copysign(apart, eta), (1.0 + small * small) / total, small * odds / total


G, GAP, CELLS, ADVANTAGE, ODDS = range(5)
"""The columns of a table of votes: sharpness, what strengths and covariates and what the answers to
this prompt are apart, the left side's advantage, and exp of the tendency to ties (0 without)."""


@inner
def fill_table(votes: Votes, form: Form, par: Parameters, table: Floats) -> None:
    """Write the table (vote, column).

    Blocks read columns of it: functions that are called for each vote with all of a model's arrays
    would take ten times as long.
    """
    left, right, annotator = votes.left, votes.right, votes.annotator
    n_along, n_tied = votes.along.shape[1], votes.tied.shape[1]
    # One exponential for each annotator and prompt: those of votes would take longer than the rest.
    sharp, tie = np.ones(len(par.own)), np.ones(len(par.own))
    for a in range(len(par.own) if form.annotators else 0):
        sharp[a] = math.exp(par.own[a, SHARP])
        if form.ties:
            tie[a] = math.exp(par.own[a, TIE])
    every, of_item, cell = math.exp(par.common[TIE - 1]) if form.ties else 0.0, 1.0, -1
    for t in range(len(left)):
        a = annotator[t]
        table[t, G] = sharp[a]
        table[t, GAP] = par.strength[left[t]] - par.strength[right[t]]
        table[t, CELLS] = 0.0
        table[t, ADVANTAGE] = par.common[SIDE - 1] if form.side else 0.0
        if form.items:
            table[t, CELLS] = par.cell[votes.cell_left[t]] - par.cell[votes.cell_right[t]]
            if form.ties and votes.cell_tie[t] != cell:
                cell = votes.cell_tie[t]
                of_item = math.exp(par.cell[cell])
        if form.annotators and form.side:
            table[t, ADVANTAGE] += par.own[a, SIDE]
        for c in range(n_along):
            table[t, GAP] += par.coefficient[c] * votes.along[t, c]
        table[t, ODDS] = every * of_item * tie[a]
        if n_tied:
            total = 0.0
            for c in range(n_tied):
                total += par.coefficient[n_along + c] * votes.tied[t, c]
            table[t, ODDS] *= math.exp(total)


@kernel
def log_likelihoods(votes: Votes, form: Form, par: Parameters, table: Floats, out: Floats) -> float:
    """Write the log probability of each vote, and return their weighted sum."""
    fill_table(votes, form, par, table)
    side, weight, total = votes.side, votes.weight, 0.0
    for t in range(len(side)):
        eta = table[t, G] * (table[t, GAP] + table[t, CELLS]) + table[t, ADVANTAGE]
        out[t] = log_vote(eta, table[t, ODDS], side[t])
        total += weight[t] * out[t]
    return total
