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


@inner
def slopes_of(eta: float, odds: float) -> tuple[float, float, float]:
    """Return P(left) - P(right), P(left or right) and P(tie)."""
    small = math.exp(-0.5 * abs(eta))
    total = 1.0 + small * (small + odds)
    apart = (1.0 - small * small) / total
    return math.copysign(apart, eta), (1.0 + small * small) / total, small * odds / total


G, GAP, CELLS, ADVANTAGE, LOG_ODDS = range(5)
"""The columns of a table of votes: sharpness, what strengths and covariates and what the answers to
this prompt are apart, the left side's advantage, and the tendency to ties (-inf without ties)."""


@inner
def fill_table(votes: Votes, form: Form, par: Parameters, table: Floats) -> None:
    """Write the table (vote, column).

    Blocks read columns of it: functions that are called for each vote with all of a model's arrays
    would take ten times as long.
    """
    left, right, annotator = votes.left, votes.right, votes.annotator
    n_along, n_tied = votes.along.shape[1], votes.tied.shape[1]
    for t in range(len(left)):
        a = annotator[t]
        table[t, G] = 1.0
        table[t, GAP] = par.strength[left[t]] - par.strength[right[t]]
        table[t, CELLS] = 0.0
        table[t, ADVANTAGE] = par.common[SIDE - 1] if form.side else 0.0
        table[t, LOG_ODDS] = par.common[TIE - 1] if form.ties else -math.inf
        if form.items:
            table[t, CELLS] = par.cell[votes.cell_left[t]] - par.cell[votes.cell_right[t]]
            if form.ties:
                table[t, LOG_ODDS] += par.cell[votes.cell_tie[t]]
        if form.annotators:
            table[t, G] = math.exp(par.own[a, SHARP])
            if form.side:
                table[t, ADVANTAGE] += par.own[a, SIDE]
            if form.ties:
                table[t, LOG_ODDS] += par.own[a, TIE]
        for c in range(n_along):
            table[t, GAP] += par.coefficient[c] * votes.along[t, c]
        for c in range(n_tied):
            table[t, LOG_ODDS] += par.coefficient[n_along + c] * votes.tied[t, c]


@kernel
def log_likelihoods(votes: Votes, form: Form, par: Parameters, table: Floats, out: Floats) -> float:
    """Write the log probability of each vote, and return their weighted sum."""
    fill_table(votes, form, par, table)
    side, weight, total = votes.side, votes.weight, 0.0
    for t in range(len(side)):
        eta = table[t, G] * (table[t, GAP] + table[t, CELLS]) + table[t, ADVANTAGE]
        out[t] = log_vote(eta, math.exp(table[t, LOG_ODDS]), side[t])
        total += weight[t] * out[t]
    return total
