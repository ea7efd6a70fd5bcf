"""All strengths, with the tendency to ties, the side's advantage, and coefficients of covariates.

A block is x: strengths, tendency to ties, advantage, coefficients of differences, those of ties, as
far as the model has them.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.families.pairs.kernels.mover import Room, mover
from dissensus.families.pairs.kernels.votes import (
    ADVANTAGE,
    CELLS,
    ODDS,
    SIDE,
    STRENGTH,
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
from dissensus.kernels.types import Floats


@inner
def slopes_of_all(
    x: Floats, n: int, matrix: Floats, slope: Floats, votes: Votes, form: Form, par: Parameters,
    rest: Floats, precision: Floats,
) -> None:  # fmt: skip
    """``rest`` (vote, 3): sharpness, eta and odds of a tie without this block."""
    left, right, said, weight = votes.left, votes.right, votes.side, votes.weight
    n_systems = len(par.strength)
    tie = n_systems
    side = n_systems + form.ties
    along = side + form.side
    n_along, n_tied = votes.along.shape[1], votes.tied.shape[1]
    ties = along + n_along
    for j in range(n):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = precision[j]
        slope[j] = -precision[j] * x[j]
    every = math.exp(x[tie]) if form.ties else 0.0
    for t in range(len(left)):
        one, two, g, w = left[t], right[t], rest[t, 0], weight[t]
        gap = x[one] - x[two]
        for c in range(n_along):
            gap += x[along + c] * votes.along[t, c]
        eta = g * gap + rest[t, 1]
        if form.side:
            eta += x[side]
        odds = every * rest[t, 2] * _odds(x, ties, votes, t)
        apart, decided, tied = slopes_of(eta, odds)
        first = 0.5 * w * (said[t] - apart)
        slope[one] += g * first
        slope[two] -= g * first
        if form.side:
            slope[side] += first
        if form.ties:
            slope[tie] += w * ((1.0 if said[t] == 0.0 else 0.0) - tied)
        info = 0.25 * w * (decided - apart * apart)
        matrix[one, one] += g * g * info
        matrix[two, two] += g * g * info
        matrix[max(one, two), min(one, two)] -= g * g * info
        if form.side:
            matrix[side, side] += info
            matrix[side, one] += g * info
            matrix[side, two] -= g * info
        if form.ties:
            cross = -0.5 * w * tied * apart
            matrix[tie, tie] += w * tied * (1.0 - tied)
            matrix[tie, one] += g * cross
            matrix[tie, two] -= g * cross
            if form.side:
                matrix[side, tie] += cross
        else:
            cross = 0.0
        for c in range(n_along):
            z, row = g * votes.along[t, c], along + c
            slope[row] += z * first
            matrix[row, one] += z * g * info
            matrix[row, two] -= z * g * info
            if form.side:
                matrix[row, side] += z * info
            if form.ties:
                matrix[row, tie] += z * cross
            for b in range(c + 1):
                matrix[row, along + b] += z * g * votes.along[t, b] * info
        for c in range(n_tied):
            z, row = votes.tied[t, c], ties + c
            slope[row] += z * w * ((1.0 if said[t] == 0.0 else 0.0) - tied)
            matrix[row, one] += z * g * cross
            matrix[row, two] -= z * g * cross
            matrix[row, tie] += z * w * tied * (1.0 - tied)
            if form.side:
                matrix[row, side] += z * cross
            for b in range(n_along):
                matrix[row, along + b] += z * g * votes.along[t, b] * cross
            for b in range(c + 1):
                matrix[row, ties + b] += z * votes.tied[t, b] * w * tied * (1.0 - tied)


@inner
def _odds(x: Floats, first: int, votes: Votes, t: int) -> float:
    """Return the covariates' factor of the odds of a tie; ``first`` is their first place in x."""
    if votes.tied.shape[1] == 0:
        return 1.0
    total = 0.0
    for c in range(votes.tied.shape[1]):
        total += x[first + c] * votes.tied[t, c]
    return math.exp(total)


@inner
def _log_density_of_all(
    x: Floats, n: int, votes: Votes, form: Form, par: Parameters, rest: Floats, precision: Floats
) -> float:
    total = 0.0
    for j in range(n):
        total -= 0.5 * precision[j] * x[j] * x[j]
    n_systems = len(par.strength)
    every = math.exp(x[n_systems]) if form.ties else 0.0
    shift = x[n_systems + form.ties] if form.side else 0.0
    left, right, said, weight = votes.left, votes.right, votes.side, votes.weight
    along, n_along = n_systems + form.ties + form.side, votes.along.shape[1]
    above = below = 1.0
    for t in range(len(left)):
        gap = x[left[t]] - x[right[t]]
        for c in range(n_along):
            gap += x[along + c] * votes.along[t, c]
        eta = rest[t, 0] * gap + rest[t, 1] + shift
        odds = every * rest[t, 2] * _odds(x, along + n_along, votes, t)
        total, above, below = with_vote(total, above, below, eta, odds, said[t], weight[t])
    return total + math.log(above) - math.log(below)


_move_all = mover(slopes_of_all, _log_density_of_all)


@kernel
def draw_strengths(
    state: State, votes: Votes, form: Form, par: Parameters, prior: Floats, reference: Floats,
    how: int, table: Floats, work: Room,
) -> None:  # fmt: skip
    """Draw strengths, tendency to ties, advantage of the left side, and coefficients.

    ``prior`` has the precisions of all but strengths.
    """
    n_systems, n_coefficients = len(par.strength), len(par.coefficient)
    fill_table(votes, form, par, table)
    every = math.exp(par.common[TIE - 1])
    rest = table[:, :3]
    for t in range(len(table)):  # without what is drawn
        g = table[t, G]
        rest[t, 1] = g * table[t, CELLS]
        if form.side:
            rest[t, 1] += table[t, ADVANTAGE] - par.common[SIDE - 1]
        rest[t, 0] = g
        rest[t, 2] = 0.0
        if form.ties:
            drawn = _odds(par.coefficient, votes.along.shape[1], votes, t)
            rest[t, 2] = table[t, ODDS] / (every * drawn)
    first = n_systems + form.ties + form.side
    n = first + n_coefficients
    at, precision = np.empty(n), np.empty(n)
    for k in range(n_systems):
        at[k] = par.strength[k]
        precision[k] = par.spread[STRENGTH] ** -2.0
    if form.ties:
        at[n_systems], precision[n_systems] = par.common[TIE - 1], prior[TIE - 1]
    if form.side:
        at[first - 1], precision[first - 1] = par.common[SIDE - 1], prior[SIDE - 1]
    for k in range(n_coefficients):
        at[first + k], precision[first + k] = par.coefficient[k], prior[SIDE + k]
    _move_all(state, at, reference, n, how, work, votes, form, par, rest, precision)
    for k in range(n_systems):
        par.strength[k] = at[k]
    if form.ties:
        par.common[TIE - 1] = at[n_systems]
    if form.side:
        par.common[SIDE - 1] = at[first - 1]
    for k in range(n_coefficients):
        par.coefficient[k] = at[first + k]
