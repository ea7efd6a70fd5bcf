"""All strengths, with the tendency to ties, the side's advantage, and coefficients of covariates.

The block x has strengths, tendency to ties, advantage, coefficients of differences and coefficients
of ties, in this order, as far as the model has them.
"""

from __future__ import annotations

import numpy as np

from dissensus.families.pairs.kernels.mover import Room, mover
from dissensus.families.pairs.kernels.votes import (
    ADVANTAGE,
    CELLS,
    CROSS,
    ETA,
    FIRST,
    FIRST_TIED,
    NEVER,
    SECOND,
    SECOND_TIED,
    SIDE,
    STRENGTH,
    TASTES,
    TENDENCY,
    TIE,
    TIED,
    Form,
    G,
    Parameters,
    Votes,
    fill_table,
    log_votes,
    write_slopes,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.types import Floats

REST_ETA, REST_TIED = 1, 2
"""Rows of ``rest``, after `G`: eta and the tendency to ties, without the parts of this block."""


@inner
def _predict(x: Floats, votes: Votes, form: Form, n_systems: int, rest: Floats,
             rows: Floats) -> None:  # fmt: skip
    """Write eta and the tendency to ties of each vote."""
    left, right = votes.left, votes.right
    side = n_systems + form.ties
    along, n_along, n_tied = side + form.side, votes.along.shape[1], votes.tied.shape[1]
    every = x[n_systems] if form.ties else NEVER
    shift = x[side] if form.side else 0.0
    for t in range(len(left)):
        gap = x[left[t]] - x[right[t]]
        for c in range(n_along):
            gap += x[along + c] * votes.along[t, c]
        rows[ETA, t] = rest[G, t] * gap + rest[REST_ETA, t] + shift
        rows[TIED, t] = every + rest[REST_TIED, t]
        for c in range(n_tied):
            rows[TIED, t] += x[along + n_along + c] * votes.tied[t, c]


@inner
def slopes_of_all(
    x: Floats, n: int, matrix: Floats, slope: Floats, votes: Votes, form: Form, n_systems: int,
    rest: Floats, rows: Floats, precision: Floats,
) -> None:  # fmt: skip
    """Write the curvature and the slope of the log density, given ``rest`` (row, vote)."""
    left, right = votes.left, votes.right
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
    _predict(x, votes, form, n_systems, rest, rows)
    write_slopes(len(left), rows, votes.side, votes.weight)
    for t in range(len(left)):
        left_system, right_system, g = left[t], right[t], rest[G, t]
        first, info, cross = rows[FIRST, t], rows[SECOND, t], rows[CROSS, t]
        slope[left_system] += g * first
        slope[right_system] -= g * first
        matrix[left_system, left_system] += g * g * info
        matrix[right_system, right_system] += g * g * info
        matrix[max(left_system, right_system), min(left_system, right_system)] -= g * g * info
        if form.side:
            slope[side] += first
            matrix[side, side] += info
            matrix[side, left_system] += g * info
            matrix[side, right_system] -= g * info
        if form.ties:
            slope[tie] += rows[FIRST_TIED, t]
            matrix[tie, tie] += rows[SECOND_TIED, t]
            matrix[tie, left_system] += g * cross
            matrix[tie, right_system] -= g * cross
            if form.side:
                matrix[side, tie] += cross
        for c in range(n_along):
            z, row = g * votes.along[t, c], along + c
            slope[row] += z * first
            matrix[row, left_system] += z * g * info
            matrix[row, right_system] -= z * g * info
            if form.side:
                matrix[row, side] += z * info
            if form.ties:
                matrix[row, tie] += z * cross
            for b in range(c + 1):
                matrix[row, along + b] += z * g * votes.along[t, b] * info
        for c in range(n_tied):
            z, row = votes.tied[t, c], ties + c
            slope[row] += z * rows[FIRST_TIED, t]
            matrix[row, left_system] += z * g * cross
            matrix[row, right_system] -= z * g * cross
            matrix[row, tie] += z * rows[SECOND_TIED, t]
            if form.side:
                matrix[row, side] += z * cross
            for b in range(n_along):
                matrix[row, along + b] += z * g * votes.along[t, b] * cross
            for b in range(c + 1):
                matrix[row, ties + b] += z * votes.tied[t, b] * rows[SECOND_TIED, t]


@inner
def _log_density_of_all(
    x: Floats, n: int, votes: Votes, form: Form, n_systems: int, rest: Floats, rows: Floats,
    precision: Floats,
) -> float:  # fmt: skip
    total = 0.0
    for j in range(n):
        total -= 0.5 * precision[j] * x[j] * x[j]
    _predict(x, votes, form, n_systems, rest, rows)
    return total + log_votes(len(votes.left), rows, votes.side, votes.weight)


_move_all = mover(slopes_of_all, _log_density_of_all)


@kernel
def draw_strengths(
    state: State, votes: Votes, form: Form, par: Parameters, prior: Floats, reference: Floats,
    how: int, table: Floats, work: Room, rows: Floats,
) -> None:  # fmt: skip
    """Draw strengths, tendency to ties, advantage of the left side, and coefficients.

    ``prior`` has the precisions of all these numbers except the strengths.
    """
    n_systems, n_coefficients = len(par.strength), len(par.coefficient)
    n_along, n_tied = votes.along.shape[1], votes.tied.shape[1]
    fill_table(votes, form, par, table)
    rest = table[:3]
    for t in range(len(votes.left)):  # the parts that are not in this block
        eta = table[G, t] * (table[CELLS, t] + table[TASTES, t]) + table[ADVANTAGE, t]
        tie = 0.0
        if form.side:
            eta -= par.common[SIDE - 1]
        if form.ties:
            tie = table[TENDENCY, t] - par.common[TIE - 1]
            for c in range(n_tied):
                tie -= par.coefficient[n_along + c] * votes.tied[t, c]
        rest[REST_ETA, t], rest[REST_TIED, t] = eta, tie
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
    _move_all(state, at, reference, n, how, work, votes, form, n_systems, rest, rows, precision)
    for k in range(n_systems):
        par.strength[k] = at[k]
    if form.ties:
        par.common[TIE - 1] = at[n_systems]
    if form.side:
        par.common[SIDE - 1] = at[first - 1]
    for k in range(n_coefficients):
        par.coefficient[k] = at[first + k]
