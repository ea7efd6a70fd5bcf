"""What prompts and voters add: one block for each prompt, and one for each voter."""

from __future__ import annotations

import math

import numpy as np

from dissensus.families.pairs.kernels.mover import Room, mover
from dissensus.families.pairs.kernels.votes import (
    ADVANTAGE,
    CELL,
    CELLS,
    GAP,
    ITEM_TIE,
    ODDS,
    OWN,
    SHARP,
    SIDE,
    TIE,
    Form,
    G,
    Parameters,
    Votes,
    fill_table,
    slopes_of,
    with_vote,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats, Ints

# What systems are better or worse by on one prompt. With ties, the last number is its tendency.


@inner
def _slopes_of_item(
    x: Floats, n: int, matrix: Floats, slope: Floats, one_of: Ints, two_of: Ints, said: Floats,
    weight: Floats, table: Floats, first_cell: int, precision: float, of_tie: float,
) -> None:  # fmt: skip
    """All arrays are of the item's votes; ``of_tie`` is a precision, or 0 without ties."""
    for j in range(n):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = precision
        slope[j] = -precision * x[j]
    tie, odds = n - 1, 1.0
    if of_tie > 0.0:
        matrix[tie, tie], slope[tie], odds = of_tie, -of_tie * x[tie], math.exp(x[tie])
    for t in range(len(said)):
        one, two, g = one_of[t] - first_cell, two_of[t] - first_cell, table[t, G]
        eta = g * (table[t, GAP] + x[one] - x[two]) + table[t, ADVANTAGE]
        apart, decided, tied = slopes_of(eta, odds * table[t, ODDS])
        if of_tie > 0.0:
            cross = -0.5 * weight[t] * g * tied * apart
            slope[tie] += weight[t] * ((1.0 if said[t] == 0.0 else 0.0) - tied)
            matrix[tie, tie] += weight[t] * tied * (1.0 - tied)
            matrix[tie, one] += cross
            matrix[tie, two] -= cross
        first = 0.5 * weight[t] * g * (said[t] - apart)
        slope[one] += first
        slope[two] -= first
        info = 0.25 * weight[t] * g * g * (decided - apart * apart)
        matrix[one, one] += info
        matrix[two, two] += info
        matrix[max(one, two), min(one, two)] -= info


@inner
def _log_density_of_item(
    x: Floats, n: int, one_of: Ints, two_of: Ints, said: Floats, weight: Floats, table: Floats,
    first_cell: int, precision: float, of_tie: float,
) -> float:  # fmt: skip
    total, odds = 0.0, 1.0
    for j in range(n):
        total -= 0.5 * precision * x[j] * x[j]
    if of_tie > 0.0:
        total += 0.5 * (precision - of_tie) * x[n - 1] * x[n - 1]
        odds = math.exp(x[n - 1])
    above = below = 1.0
    for t in range(len(said)):
        gap = table[t, GAP] + x[one_of[t] - first_cell] - x[two_of[t] - first_cell]
        eta = table[t, G] * gap + table[t, ADVANTAGE]
        total, above, below = with_vote(
            total, above, below, eta, odds * table[t, ODDS], said[t], weight[t]
        )
    return total + math.log(above) - math.log(below)


_move_item = mover(_slopes_of_item, _log_density_of_item)


@kernel
def draw_cells(
    state: State, votes: Votes, form: Form, par: Parameters, reference: Floats, how: int,
    table: Floats, work: Room,
) -> None:  # fmt: skip
    """Draw the numbers of every prompt's cells."""
    fill_table(votes, form, par, table)
    own, cell = 1.0, -1
    for t in range(len(table) if form.ties else 0):
        if votes.cell_tie[t] != cell:
            cell = votes.cell_tie[t]
            own = math.exp(par.cell[cell])
        table[t, ODDS] /= own
    precision = par.spread[CELL] ** -2.0
    of_tie = par.spread[ITEM_TIE] ** -2.0 if form.ties else 0.0
    for item in range(len(votes.item_start) - 1):
        low, high = votes.cell_start[item], votes.cell_start[item + 1]
        if low == high:  # a prompt without votes
            continue
        begin, end = votes.item_start[item], votes.item_start[item + 1]
        _move_item(
            state, par.cell[low:high], reference[low:high], high - low, how, work,
            votes.cell_left[begin:end], votes.cell_right[begin:end], votes.side[begin:end],
            votes.weight[begin:end], table[begin:end], low, precision, of_tie,
        )  # fmt: skip


# The three numbers of an annotator. Of those that a model lacks, the prior is drawn.


@inner
def _slopes_of_annotator(
    x: Floats, n: int, matrix: Floats, slope: Floats, row: Ints, said: Floats, weight: Floats,
    table: Floats, ties: bool, side: bool, common: Floats, precision: Floats,
) -> None:  # fmt: skip
    """``row`` are the annotator's votes; odds in the table lack the common and the own tendency."""
    for j in range(n):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = precision[j]
        slope[j] = -precision[j] * x[j]
    g = math.exp(x[SHARP])
    odds = math.exp(common[TIE - 1] + x[TIE]) if ties else 0.0
    shift = common[SIDE - 1] + x[SIDE] if side else 0.0
    for place in range(len(row)):
        t = row[place]
        w, ahead = weight[t], g * (table[t, GAP] + table[t, CELLS])
        apart, decided, tied = slopes_of(ahead + shift, odds * table[t, ODDS])
        first = 0.5 * w * (said[t] - apart)
        info = 0.25 * w * (decided - apart * apart)
        slope[SHARP] += ahead * first
        matrix[SHARP, SHARP] += ahead * ahead * info
        if ties:
            cross = -0.5 * w * tied * apart
            slope[TIE] += w * ((1.0 if said[t] == 0.0 else 0.0) - tied)
            matrix[TIE, TIE] += w * tied * (1.0 - tied)
            matrix[TIE, SHARP] += ahead * cross
            if side:
                matrix[SIDE, TIE] += cross
        if side:
            slope[SIDE] += first
            matrix[SIDE, SIDE] += info
            matrix[SIDE, SHARP] += ahead * info


@inner
def _log_density_of_annotator(
    x: Floats, n: int, row: Ints, said: Floats, weight: Floats, table: Floats, ties: bool,
    side: bool, common: Floats, precision: Floats,
) -> float:  # fmt: skip
    total = 0.0
    for j in range(n):
        total -= 0.5 * precision[j] * x[j] * x[j]
    g = math.exp(x[SHARP])
    odds = math.exp(common[TIE - 1] + x[TIE]) if ties else 0.0
    shift = common[SIDE - 1] + x[SIDE] if side else 0.0
    above = below = 1.0
    for place in range(len(row)):
        t = row[place]
        eta = g * (table[t, GAP] + table[t, CELLS]) + shift
        total, above, below = with_vote(
            total, above, below, eta, odds * table[t, ODDS], said[t], weight[t]
        )
    return total + math.log(above) - math.log(below)


_move_annotator = mover(_slopes_of_annotator, _log_density_of_annotator)


@inner
def _log_sharp(
    x: float, row: Ints, said: Floats, weight: Floats, table: Floats, odds: float, shift: float,
    precision: float,
) -> float:  # fmt: skip
    """Return the log density of log sharpness alone."""
    total, g = -0.5 * precision * x * x, math.exp(x)
    above = below = 1.0
    for place in range(len(row)):
        t = row[place]
        eta = g * (table[t, GAP] + table[t, CELLS]) + shift
        total, above, below = with_vote(
            total, above, below, eta, odds * table[t, ODDS], said[t], weight[t]
        )
    return total + math.log(above) - math.log(below)


_draw_sharp = slicer(_log_sharp)


@kernel
def draw_annotators(
    state: State, votes: Votes, form: Form, par: Parameters, reference: Floats, how: int,
    table: Floats, work: Room,
) -> None:  # fmt: skip
    """Draw the three numbers of every annotator."""
    fill_table(votes, form, par, table)
    precision = np.empty(3)
    for k in range(3):
        precision[k] = par.spread[OWN + k] ** -2.0
    own = np.ones(len(par.own))
    for who in range(len(own) if form.ties else 0):
        own[who] = math.exp(par.common[TIE - 1] + par.own[who, TIE])
    for t in range(len(table)):  # what prompts and covariates do to ties; the rest is the voter's
        table[t, ODDS] /= own[votes.annotator[t]]
    for who in range(len(votes.annotator_start) - 1):
        row = votes.by_annotator[votes.annotator_start[who] : votes.annotator_start[who + 1]]
        _move_annotator(
            state, par.own[who], reference[who], 3, how, work, row, votes.side, votes.weight,
            table, form.ties > 0, form.side > 0, par.common, precision,
        )  # fmt: skip
        # For voters who vote at random it is far from normal: small sharpnesses are all alike.
        odds = math.exp(par.common[TIE - 1] + par.own[who, TIE]) if form.ties else 0.0
        shift = par.common[SIDE - 1] + par.own[who, SIDE] if form.side else 0.0
        par.own[who, SHARP] = _draw_sharp(
            state, par.own[who, SHARP], 2.0 * par.spread[OWN + SHARP], row, votes.side,
            votes.weight, table, odds, shift, precision[SHARP],
        )  # fmt: skip
