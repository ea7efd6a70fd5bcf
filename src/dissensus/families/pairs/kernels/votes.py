r"""Votes on pairs, the parameters of a chain, and the probability of a vote.

A vote t of an annotator a on the systems l and r, which answered the prompt i, has

.. math::
    \eta_t = e^{\lambda_a} (s_l + u_{il} + v_{al} - s_r - u_{ir} - v_{ar} + z_t' \beta)
      + b + b_a, \qquad
    P(\mathrm{left}) : P(\mathrm{tie}) : P(\mathrm{right})
      = e^{\eta_t / 2} : e^{\tau + \tau_i + \tau_a + w_t' \gamma} : e^{-\eta_t / 2}.

Covariates z and w describe the two answers, for example a judge's verdict on them. Strengths have a
common normal prior here. After their mean is subtracted, they have the distribution of strengths
that add up to 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel, part
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.vectors import exp, log, unchecked


class Cells(NamedTuple):
    """Votes sorted by prompt, or by voter, and cells: pairs of a prompt (voter) and a system.

    With ties, a prompt has one more cell, its last, for its tendency to ties. ``left`` and
    ``right`` are empty if the model has no cells, ``tie`` also for voters and without ties.
    """

    order: Ints  # Indices of votes; the following arrays by vote are in this order
    start: Ints  # (prompt + 1): where its votes start
    side: Floats  # 1 left, 0 tie, -1 right
    weight: Floats  # Number of equal votes
    left: Ints  # Places among cells
    right: Ints
    tie: Ints
    cell_start: Ints  # (prompt + 1): where its cells start
    system: Ints  # (cell): code of its system; the number of systems for a tendency to ties


class Votes(NamedTuple):
    """Votes sorted by prompt. A model without prompts (voters) has one of them, without cells."""

    left: Ints
    right: Ints
    annotator: Ints  # 0 if the model ignores voters
    side: Floats  # 1 left, 0 tie, -1 right
    weight: Floats  # Number of equal votes
    prompts: Cells
    voters: Cells
    along: Floats  # (vote, covariate of the difference)
    tied: Floats  # (vote, covariate of ties)


class Form(NamedTuple):
    """The parts that a model has, as numbers: 1 or 0."""

    ties: int
    side: int
    items: int
    annotators: int
    tastes: int


class Parameters(NamedTuple):
    """Current values of all parameters; each sweep overwrites them."""

    strength: Floats  # (system), not centred
    common: Floats  # (2): tendency to ties, advantage of the left side
    cell: Floats  # (cell): effects of systems on a prompt, and each prompt's tendency to ties
    own: Floats  # (annotator, 3): log sharpness, tendency to ties, advantage of the left side
    spread: Floats  # (7): of strengths, cells, annotators' three numbers, prompts' ties, tastes
    coefficient: Floats  # (covariate): of the difference, then of ties
    taste: Floats  # (voters' cell): effects of systems for a voter


SHARP, TIE, SIDE = range(3)
"""The columns of `Parameters.own`; indices of `Parameters.common` are one less."""
STRENGTH, CELL, OWN, ITEM_TIE, TASTE = 0, 1, 2, 5, 6
"""Places in `Parameters.spread`; annotators' are `OWN`, `OWN` + 1 and `OWN` + 2, and `ITEM_TIE` is
the spread of prompts' tendencies to ties."""


NEVER = -np.inf
"""The tendency to ties of a model without ties."""

G, GAP, CELLS, ADVANTAGE, TENDENCY, TASTES = range(6)
"""The rows of a table of votes: sharpness, the difference in strengths and covariates, the
difference in the prompt's effects on the two systems, the advantage of the left side, the tendency
to ties, and the difference in the voter's tastes."""

ETA, TIED, OUT, FIRST, FIRST_TIED, SECOND, SECOND_TIED, CROSS = range(8)
"""The rows of an array that blocks write for their votes: eta and the tendency to ties; the log
probability; its derivatives by eta and by this tendency; minus its second derivatives."""

_FEW = 8
"""With fewer votes, exponentials are computed one by one: several at once would take longer."""
_MOST = 700.0
"""Maximum excess of the tendency to ties over half of eta: beyond it, all votes are ties, and the
exponential would overflow."""


def empty_table(n: int) -> Floats:
    """Allocate the table of n votes."""
    return np.empty((6, n))


def empty_rows(n: int) -> Floats:
    """Allocate the array that blocks write for n votes."""
    return np.empty((8, n))


@inner
def _filled(n: int, longest: int) -> int:
    """Return n rounded up to a multiple of 8, at most ``longest``: loops take 8 votes at once."""
    return min(n + 7 & ~7, longest)


@unchecked
def log_votes(n: int, rows: Floats, side: Floats, weight: Floats) -> float:
    """Write the log probabilities of the first n votes, and return their weighted sum."""
    if n < _FEW:
        total = 0.0
        for t in range(n):
            eta, tied = rows[ETA, t], rows[TIED, t]
            rows[OUT, t] = _log_vote(eta, tied, side[t])
            total += weight[t] * rows[OUT, t]
        return total
    for t in range(_filled(n, len(side))):
        eta = rows[ETA, t]
        half = 0.5 * abs(eta)
        tied = min(rows[TIED, t] - half, _MOST)
        own = 0.5 * side[t] * eta - half if side[t] != 0.0 else tied
        rows[OUT, t] = own - log(1.0 + exp(-abs(eta)) + exp(tied))
    # An addition waits for the previous one of the same sum: four sums are added in parallel.
    first = second = third = fourth = 0.0
    for t in range(0, n - 3, 4):
        first += weight[t] * rows[OUT, t]
        second += weight[t + 1] * rows[OUT, t + 1]
        third += weight[t + 2] * rows[OUT, t + 2]
        fourth += weight[t + 3] * rows[OUT, t + 3]
    for t in range(n - n % 4, n):
        first += weight[t] * rows[OUT, t]
    return (first + second) + (third + fourth)


@inner
def _log_vote(eta: float, tied: float, side: float) -> float:
    half = 0.5 * abs(eta)
    tied = min(tied - half, _MOST)
    own = 0.5 * side * eta - half if side != 0.0 else tied
    return own - math.log(1.0 + math.exp(-abs(eta)) + math.exp(tied))


@unchecked
def write_slopes(n: int, rows: Floats, side: Floats, weight: Floats) -> None:
    """Write the slopes and curvatures of the first n votes."""
    if n < _FEW:
        for t in range(n):
            far, tied = abs(rows[ETA, t]), rows[TIED, t]
            odds = math.exp(min(tied - 0.5 * far, _MOST))
            _write_slopes(t, rows, math.exp(-far), odds, side[t], weight[t])
        return
    for t in range(_filled(n, len(side))):
        far, tied = abs(rows[ETA, t]), rows[TIED, t]
        odds = exp(min(tied - 0.5 * far, _MOST))
        _write_slopes(t, rows, exp(-far), odds, side[t], weight[t])


@part
def _write_slopes(
    t: int, rows: Floats, less: float, odds: float, side: float, weight: float
) -> None:
    """Write the slopes and curvatures of one vote.

    ``less`` and ``odds`` are the odds of the less probable side, and of a tie, against the more
    probable side.
    """
    whole = 1.0 / (1.0 + less + odds)
    apart = (1.0 - less) * whole  # P(left) - P(right)
    apart = apart if rows[ETA, t] >= 0.0 else -apart
    tied = odds * whole
    rows[FIRST, t] = 0.5 * weight * (side - apart)
    rows[FIRST_TIED, t] = weight * ((1.0 if side == 0.0 else 0.0) - tied)
    rows[SECOND, t] = 0.25 * weight * ((1.0 + less) * whole - apart * apart)
    rows[SECOND_TIED, t] = weight * tied * (1.0 - tied)
    rows[CROSS, t] = -0.5 * weight * tied * apart


@inner
def fill_table(votes: Votes, form: Form, par: Parameters, table: Floats) -> None:
    """Write the table (row, vote).

    Blocks read the rows of this table. Functions that are called for each vote with all arrays of a
    model would take ten times as long.
    """
    left, right, annotator, n = votes.left, votes.right, votes.annotator, len(votes.left)
    n_along, n_tied = votes.along.shape[1], votes.tied.shape[1]
    every = par.common[TIE - 1] if form.ties else NEVER
    side = par.common[SIDE - 1] if form.side else 0.0
    for t in range(n):
        table[GAP, t] = par.strength[left[t]] - par.strength[right[t]]
        table[G, t], table[CELLS, t], table[ADVANTAGE, t] = 1.0, 0.0, side
        table[TENDENCY, t], table[TASTES, t] = every, 0.0
    if form.items:
        for t in range(n):  # votes are in the order of prompts
            table[CELLS, t] = par.cell[votes.prompts.left[t]] - par.cell[votes.prompts.right[t]]
    if form.items and form.ties:
        for t in range(n):
            table[TENDENCY, t] += par.cell[votes.prompts.tie[t]]
    if form.tastes:
        left_cell, right_cell = votes.voters.left, votes.voters.right
        for place in range(n):
            table[TASTES, votes.voters.order[place]] = (
                par.taste[left_cell[place]] - par.taste[right_cell[place]]
            )
    if form.annotators:
        sharp = np.empty(len(par.own))
        for a in range(len(sharp)):
            sharp[a] = math.exp(par.own[a, SHARP])
        for t in range(n):
            table[G, t] = sharp[annotator[t]]
    if form.annotators and form.side:
        for t in range(n):
            table[ADVANTAGE, t] += par.own[annotator[t], SIDE]
    if form.annotators and form.ties:
        for t in range(n):
            table[TENDENCY, t] += par.own[annotator[t], TIE]
    for c in range(n_along):
        for t in range(n):
            table[GAP, t] += par.coefficient[c] * votes.along[t, c]
    for c in range(n_tied):
        for t in range(n):
            table[TENDENCY, t] += par.coefficient[n_along + c] * votes.tied[t, c]


@inner
def write_eta(table: Floats, rows: Floats) -> None:
    """Write eta of each vote: how far the left side is ahead of the right."""
    for t in range(table.shape[1]):
        gap = table[GAP, t] + table[CELLS, t] + table[TASTES, t]
        rows[ETA, t] = table[G, t] * gap + table[ADVANTAGE, t]


@kernel
def log_likelihoods(
    votes: Votes, form: Form, par: Parameters, table: Floats, rows: Floats
) -> float:
    """Write the log probability of each vote, and return their weighted sum."""
    fill_table(votes, form, par, table)
    write_eta(table, rows)
    for t in range(len(votes.side)):
        rows[TIED, t] = table[TENDENCY, t]
    return log_votes(len(votes.side), rows, votes.side, votes.weight)
