"""What prompts and voters add, a block for each, and the spreads and means of what they add."""

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
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import normal

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
