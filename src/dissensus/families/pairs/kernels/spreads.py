"""Spreads and means: given the numbers, and with the numbers moved along."""

from __future__ import annotations

import math

import numpy as np

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
    STRENGTH,
    TIE,
    Form,
    G,
    Parameters,
    Votes,
    fill_table,
    with_vote,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats
from dissensus.kernels.variates import normal

# Spreads: given the numbers, and with the numbers as multiples of them.


@inner
def _log_spread(x: float, n: float, square: float, scale: float) -> float:
    """Return the log density of a log standard deviation, with a half-normal prior."""
    sd = math.exp(x)
    return x - n * x - 0.5 * square / (sd * sd) - 0.5 * (sd / scale) ** 2


_draw_spread = slicer(_log_spread)


@inner
def _log_stretched(
    x: float, said: Floats, weight: Floats, table: Floats, own: Floats, of: int, sd: float,
    scale: float,
) -> float:  # fmt: skip
    """Return the log density of multiplying a spread, and all numbers that have it, by exp(x).

    ``own`` (vote) are the numbers of annotators or prompts that have it, or the differences of
    strengths.
    """
    more = math.exp(x) - 1.0
    total = x - 0.5 * ((1.0 + more) * sd / scale) ** 2
    above = below = 1.0
    for t in range(len(said)):
        g, gap, cells = table[t, G], table[t, GAP], table[t, CELLS]
        shift, odds = table[t, ADVANTAGE], table[t, ODDS]
        if of == STRENGTH:
            gap += more * own[t]
        elif of == CELL:
            cells += more * cells
        elif of == OWN + SHARP:
            g *= math.exp(more * own[t])
        elif of in (OWN + TIE, ITEM_TIE):
            odds *= math.exp(more * own[t])
        else:
            shift += more * own[t]
        eta = g * (gap + cells) + shift
        total, above, below = with_vote(total, above, below, eta, odds, said[t], weight[t])
    return total + math.log(above) - math.log(below)


_draw_stretch = slicer(_log_stretched)


@inner
def _has(form: Form, of: int) -> bool:
    """Return whether a model has this spread."""
    if of == STRENGTH:
        return True
    if of == CELL:
        return form.items > 0
    if of == ITEM_TIE:
        return form.items > 0 and form.ties > 0
    if form.annotators == 0:
        return False
    return (
        of == OWN + SHARP
        or (of == OWN + TIE and form.ties > 0)
        or (of == OWN + SIDE and form.side > 0)
    )


@inner
def _is_of(of: int, system: int, n_systems: int) -> bool:
    """Return whether a cell has this spread: `CELL`, or `ITEM_TIE` for the last of a prompt."""
    return (of == ITEM_TIE) == (system == n_systems)


@kernel
def draw_spreads(state: State, votes: Votes, form: Form, par: Parameters, scale: Floats) -> None:
    """Draw each spread given the numbers that have it."""
    for of in range(len(par.spread)):
        if not _has(form, of):
            continue
        n, square = 0, 0.0
        if of == STRENGTH:
            n = len(par.strength)
            for k in range(n):
                square += par.strength[k] ** 2
        elif of in (CELL, ITEM_TIE):
            for c in range(len(par.cell)):
                if _is_of(of, votes.cell_system[c], len(par.strength)):
                    n += 1
                    square += par.cell[c] ** 2
        else:
            n = len(par.own)
            for k in range(n):
                square += par.own[k, of - OWN] ** 2
        at = math.log(par.spread[of])
        par.spread[of] = math.exp(_draw_spread(state, at, 1.0, float(n), square, scale[of]))


@kernel
def stretch(
    state: State, votes: Votes, form: Form, par: Parameters, scale: Floats, of: int,
    table: Floats, own: Floats,
) -> None:  # fmt: skip
    """Draw a spread, and with it all numbers that have it."""
    fill_table(votes, form, par, table)
    for t in range(len(own)):
        if of == STRENGTH:
            own[t] = par.strength[votes.left[t]] - par.strength[votes.right[t]]
        elif of == ITEM_TIE:
            own[t] = par.cell[votes.cell_tie[t]]
        elif of >= OWN:
            own[t] = par.own[votes.annotator[t], of - OWN]
    factor = math.exp(_draw_stretch(
        state, 0.0, 0.5, votes.side, votes.weight, table, own, of, par.spread[of], scale[of]
    ))  # fmt: skip
    par.spread[of] *= factor
    if of == STRENGTH:
        for k in range(len(par.strength)):
            par.strength[k] *= factor
    elif of in (CELL, ITEM_TIE):
        for c in range(len(par.cell)):
            if _is_of(of, votes.cell_system[c], len(par.strength)):
                par.cell[c] *= factor
    else:
        for k in range(len(par.own)):
            par.own[k, of - OWN] *= factor


@inner
def _log_scale(
    x: float, n: float, total: float, square: float, own: float, strength: float, cell: float,
    strength_scale: float, cell_scale: float, n_along: float, along: float,
) -> float:  # fmt: skip
    moved = square + 2.0 * x * total + n * x * x
    factor = math.exp(-x)
    out = -0.5 * moved / (own * own) - 0.5 * (strength * factor / strength_scale) ** 2 - x
    out -= 0.5 * along * factor * factor + n_along * x
    if cell > 0.0:
        out -= 0.5 * (cell * factor / cell_scale) ** 2 + x
    return out


_draw_scale = slicer(_log_scale)


# Means given the sums of mean and deviation, which the votes do not tell apart.


@kernel
def draw_means(
    state: State, votes: Votes, form: Form, par: Parameters, prior: Floats, scale: Floats
) -> None:
    """Draw strengths, ties and side; answers' quality, prompts and annotators stay as they are."""
    if form.items:
        n_systems = len(par.strength)
        every = n_systems + form.ties  # the last is the tendency to ties
        mean, total, n = np.empty(every), np.zeros(every), np.zeros(every)
        for k in range(n_systems):
            mean[k] = par.strength[k]
        if form.ties:
            mean[n_systems] = par.common[TIE - 1]
        for c in range(len(par.cell)):
            k = votes.cell_system[c]
            total[k] += mean[k] + par.cell[c]
            n[k] += 1.0
        shift = np.empty(every)
        for k in range(every):
            of_tie = k == n_systems
            own = par.spread[ITEM_TIE if of_tie else CELL] ** -2.0
            precision = n[k] * own
            precision += prior[TIE - 1] if of_tie else par.spread[STRENGTH] ** -2.0
            drawn = total[k] * own / precision + normal(state) / math.sqrt(precision)
            shift[k], mean[k] = drawn - mean[k], drawn
        for k in range(n_systems):
            par.strength[k] = mean[k]
        if form.ties:
            par.common[TIE - 1] = mean[n_systems]
        for c in range(len(par.cell)):
            par.cell[c] -= shift[votes.cell_system[c]]
    if form.annotators:
        for of in range(TIE, SIDE + 1):
            if not _has(form, OWN + of):
                continue
            own = par.spread[OWN + of] ** -2.0
            total_own = 0.0
            for a in range(len(par.own)):
                total_own += par.common[of - 1] + par.own[a, of]
            precision = len(par.own) * own + prior[of - 1]
            drawn = total_own * own / precision + normal(state) / math.sqrt(precision)
            for a in range(len(par.own)):
                par.own[a, of] -= drawn - par.common[of - 1]
            par.common[of - 1] = drawn
        _draw_unit(state, votes, par, form, prior, scale)


@inner
def _draw_unit(
    state: State, votes: Votes, par: Parameters, form: Form, prior: Floats, scale: Floats
) -> None:
    """Make all annotators sharper, and strengths and coefficients smaller by as much."""
    # Log sharpness has mean 0 and strengths a spread that is free: the slice is along
    # x, log sharpness + x, strengths, cells and their spreads times exp(-x).
    n, total, square = len(par.own), 0.0, 0.0
    for a in range(n):
        total += par.own[a, SHARP]
        square += par.own[a, SHARP] ** 2
    cell = par.spread[CELL] if form.items else 0.0
    n_along, along = votes.along.shape[1], 0.0
    for c in range(n_along):
        along += prior[SIDE + c] * par.coefficient[c] ** 2
    x = _draw_scale(
        state, 0.0, 0.2, float(n), total, square, par.spread[OWN + SHARP], par.spread[STRENGTH],
        cell, scale[STRENGTH], scale[CELL], float(n_along), along,
    )  # fmt: skip
    factor = math.exp(-x)
    for a in range(n):
        par.own[a, SHARP] += x
    for k in range(len(par.strength)):
        par.strength[k] *= factor
    par.spread[STRENGTH] *= factor
    for c in range(n_along):
        par.coefficient[c] *= factor
    if form.items:
        for c in range(len(par.cell)):
            if _is_of(CELL, votes.cell_system[c], len(par.strength)):
                par.cell[c] *= factor
        par.spread[CELL] *= factor
