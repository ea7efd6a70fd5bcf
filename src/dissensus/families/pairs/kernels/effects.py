"""Effects of prompts and voters (one block per prompt and per voter), their spreads and means."""

from __future__ import annotations

import math

import numpy as np

from dissensus.families.pairs.kernels.mover import Room, mover
from dissensus.families.pairs.kernels.votes import (
    ADVANTAGE,
    CELL,
    CELLS,
    CROSS,
    ETA,
    FIRST,
    FIRST_TIED,
    GAP,
    ITEM_TIE,
    OWN,
    SECOND,
    SECOND_TIED,
    SHARP,
    SIDE,
    STRENGTH,
    TASTE,
    TASTES,
    TENDENCY,
    TIE,
    TIED,
    Cells,
    Form,
    G,
    Parameters,
    Votes,
    fill_table,
    log_votes,
    write_eta,
    write_slopes,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import normal
from dissensus.kernels.vectors import exp

# The numbers of one prompt, or of one voter, are effects of systems. With ties, the last number of
# a prompt is its tendency to ties.


@inner
def _predict_item(
    x: Floats, n: int, left: Ints, right: Ints, table: Floats, rows: Floats, first_cell: int,
    ties: bool,
) -> None:  # fmt: skip
    """Write eta and the tendency to ties of each of the prompt's votes."""
    more = x[n - 1] if ties else 0.0
    for t in range(len(left)):
        gap = table[GAP, t] + x[left[t] - first_cell] - x[right[t] - first_cell]
        rows[ETA, t] = table[G, t] * gap + table[ADVANTAGE, t]
        rows[TIED, t] = table[TENDENCY, t] + more


@inner
def _slopes_of_item(
    x: Floats, n: int, matrix: Floats, slope: Floats, left: Ints, right: Ints, winner: Floats,
    weight: Floats, table: Floats, rows: Floats, first_cell: int, precision: float, of_tie: float,
) -> None:  # fmt: skip
    """Write the curvature and the slope of the log density of one prompt's, or voter's, numbers.

    Arrays hold this prompt's votes; ``winner`` (1 left, 0 tie, -1 right) and ``weight`` hold later
    prompts' votes too. ``of_tie`` is the precision of the tendency to ties, or 0 without ties.
    """
    for j in range(n):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = precision
        slope[j] = -precision * x[j]
    tie = n - 1
    if of_tie > 0.0:
        matrix[tie, tie], slope[tie] = of_tie, -of_tie * x[tie]
    _predict_item(x, n, left, right, table, rows, first_cell, of_tie > 0.0)
    write_slopes(len(left), rows, winner, weight)
    for t in range(len(left)):
        left_cell, right_cell, g = left[t] - first_cell, right[t] - first_cell, table[G, t]
        first, info = g * rows[FIRST, t], g * g * rows[SECOND, t]
        slope[left_cell] += first
        slope[right_cell] -= first
        matrix[left_cell, left_cell] += info
        matrix[right_cell, right_cell] += info
        matrix[max(left_cell, right_cell), min(left_cell, right_cell)] -= info
        if of_tie > 0.0:
            cross = g * rows[CROSS, t]
            slope[tie] += rows[FIRST_TIED, t]
            matrix[tie, tie] += rows[SECOND_TIED, t]
            matrix[tie, left_cell] += cross
            matrix[tie, right_cell] -= cross


@inner
def _log_density_of_item(
    x: Floats, n: int, left: Ints, right: Ints, winner: Floats, weight: Floats, table: Floats,
    rows: Floats, first_cell: int, precision: float, of_tie: float,
) -> float:  # fmt: skip
    total = 0.0
    for j in range(n):
        total -= 0.5 * precision * x[j] * x[j]
    if of_tie > 0.0:
        total += 0.5 * (precision - of_tie) * x[n - 1] * x[n - 1]
    _predict_item(x, n, left, right, table, rows, first_cell, of_tie > 0.0)
    return total + log_votes(len(left), rows, winner, weight)


_move_item = mover(_slopes_of_item, _log_density_of_item)


@inner
def _cells_of(of: int, votes: Votes, par: Parameters) -> tuple[Cells, Floats]:
    """Return the cells whose numbers have the spread ``of``, and these numbers."""
    return (votes.voters, par.taste) if of == TASTE else (votes.prompts, par.cell)


@kernel
def draw_cells(
    state: State, votes: Votes, form: Form, par: Parameters, reference: Floats, how: int,
    table: Floats, work: Room, rows: Floats, ordered: Floats, of: int,
) -> None:  # fmt: skip
    """Draw the numbers of every prompt's cells (``of`` is `CELL`), or of every voter's (`TASTE`).

    ``ordered`` (row, vote) is work space.
    """
    fill_table(votes, form, par, table)
    cells, x = _cells_of(of, votes, par)
    others = CELLS if of == TASTE else TASTES
    ties = form.ties > 0 and of == CELL
    for place in range(len(cells.order)):
        t = cells.order[place]
        ordered[G, place], ordered[ADVANTAGE, place] = table[G, t], table[ADVANTAGE, t]
        ordered[GAP, place] = table[GAP, t] + table[others, t]
        ordered[TENDENCY, place] = table[TENDENCY, t] - (x[cells.tie[place]] if ties else 0.0)
    precision = par.spread[of] ** -2.0
    of_tie = par.spread[ITEM_TIE] ** -2.0 if ties else 0.0
    for k in range(len(cells.start) - 1):
        low, high = cells.cell_start[k], cells.cell_start[k + 1]
        if low == high:  # a prompt or a voter without votes
            continue
        begin, end = cells.start[k], cells.start[k + 1]
        _move_item(
            state, x[low:high], reference[low:high], high - low, how, work,
            cells.left[begin:end], cells.right[begin:end], cells.side[begin:],
            cells.weight[begin:], ordered[:, begin:end], rows, low, precision, of_tie,
        )  # fmt: skip


# The three numbers of an annotator; a number that the model lacks is drawn from its prior.


@inner
def _predict_annotator(
    x: Floats, ahead: Floats, tendency: Floats, rows: Floats, form: Form, side: float
) -> None:
    """Write eta and the tendency to ties of each of the annotator's votes."""
    g = math.exp(x[SHARP])
    shift = side + x[SIDE] if form.side else 0.0
    more = x[TIE] if form.ties else 0.0
    for t in range(len(ahead)):
        rows[ETA, t] = g * ahead[t] + shift
        rows[TIED, t] = tendency[t] + more


@inner
def _slopes_of_annotator(
    x: Floats, n: int, matrix: Floats, slope: Floats, ahead: Floats, tendency: Floats,
    winner: Floats, weight: Floats, rows: Floats, form: Form, side: float, precision: Floats,
) -> None:  # fmt: skip
    """Write the curvature and the slope of the log density of one annotator's numbers.

    Arrays hold this annotator's votes; ``winner`` and ``weight`` hold later annotators' votes too.
    ``ahead`` is eta without the side's advantage at sharpness 1, and ``tendency`` the tendency to
    ties without the annotator's part.
    """
    for j in range(n):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = precision[j]
        slope[j] = -precision[j] * x[j]
    g = math.exp(x[SHARP])
    _predict_annotator(x, ahead, tendency, rows, form, side)
    write_slopes(len(ahead), rows, winner, weight)
    for t in range(len(ahead)):
        by = g * ahead[t]
        first, info, cross = rows[FIRST, t], rows[SECOND, t], rows[CROSS, t]
        slope[SHARP] += by * first
        matrix[SHARP, SHARP] += by * by * info
        if form.ties:
            slope[TIE] += rows[FIRST_TIED, t]
            matrix[TIE, TIE] += rows[SECOND_TIED, t]
            matrix[TIE, SHARP] += by * cross
            if form.side:
                matrix[SIDE, TIE] += cross
        if form.side:
            slope[SIDE] += first
            matrix[SIDE, SIDE] += info
            matrix[SIDE, SHARP] += by * info


@inner
def _log_density_of_annotator(
    x: Floats, n: int, ahead: Floats, tendency: Floats, winner: Floats, weight: Floats,
    rows: Floats, form: Form, side: float, precision: Floats,
) -> float:  # fmt: skip
    total = 0.0
    for j in range(n):
        total -= 0.5 * precision[j] * x[j] * x[j]
    _predict_annotator(x, ahead, tendency, rows, form, side)
    return total + log_votes(len(ahead), rows, winner, weight)


_move_annotator = mover(_slopes_of_annotator, _log_density_of_annotator)


@inner
def _log_sharp(
    x: float, ahead: Floats, winner: Floats, weight: Floats, rows: Floats,
    shift: float, precision: float,
) -> float:  # fmt: skip
    """Return the log density of log sharpness alone."""
    g = math.exp(x)
    for t in range(len(ahead)):
        rows[ETA, t] = g * ahead[t] + shift
    return log_votes(len(ahead), rows, winner, weight) - 0.5 * precision * x * x


_draw_sharp = slicer(_log_sharp)


@kernel
def draw_annotators(
    state: State, votes: Votes, form: Form, par: Parameters, reference: Floats, how: int,
    table: Floats, work: Room, rows: Floats, ordered: Floats,
) -> None:  # fmt: skip
    """Draw the three numbers of every annotator; ``ordered`` (row, vote) is work space."""
    fill_table(votes, form, par, table)
    precision = np.empty(3)
    for k in range(3):
        precision[k] = par.spread[OWN + k] ** -2.0
    voters = votes.voters
    for place in range(len(voters.order)):
        t = voters.order[place]
        ordered[0, place] = table[GAP, t] + table[CELLS, t] + table[TASTES, t]
        ordered[1, place] = table[TENDENCY, t]
    side = par.common[SIDE - 1]
    for annotator in range(len(voters.start) - 1):
        begin, end = voters.start[annotator], voters.start[annotator + 1]
        ahead, tendency = ordered[0, begin:end], ordered[1, begin:end]
        winner, weight = voters.side[begin:], voters.weight[begin:]
        x = par.own[annotator]
        for t in range(len(ahead) if form.ties else 0):
            tendency[t] -= x[TIE]
        _move_annotator(
            state, x, reference[annotator], 3, how, work, ahead, tendency, winner, weight, rows,
            form, side, precision,
        )  # fmt: skip
        # For voters who vote at random, the density of the log sharpness is not normal: all small
        # sharpnesses fit equally well.
        for t in range(len(ahead)):
            rows[TIED, t] = tendency[t] + (x[TIE] if form.ties else 0.0)
        x[SHARP] = _draw_sharp(
            state, x[SHARP], 2.0 * par.spread[OWN + SHARP], ahead, winner, weight, rows,
            side + x[SIDE] if form.side else 0.0, precision[SHARP],
        )  # fmt: skip


# A spread is the standard deviation of some numbers. It is drawn given these numbers, and it is
# multiplied together with them.


@inner
def _log_spread(x: float, n: float, square: float, scale: float) -> float:
    """Return the log density of a log standard deviation of n numbers, with a half-normal prior.

    ``square`` is the sum of their squares. For the spread of strengths, ``n`` is one less, because
    its Rayleigh prior has one more factor sd.
    """
    sd = math.exp(x)
    return x - n * x - 0.5 * square / (sd * sd) - 0.5 * (sd / scale) ** 2


_draw_spread = slicer(_log_spread)


@inner
def _log_stretched(
    x: float, winner: Floats, weight: Floats, table: Floats, own: Floats, rows: Floats, of: int,
    sd: float, scale: float,
) -> float:  # fmt: skip
    """Return the log density if a spread, and all numbers that have it, are multiplied by exp(x).

    ``own`` (vote) is the part of eta, of the log sharpness or of the tendency to ties that these
    numbers contribute.
    """
    more = math.exp(x) - 1.0
    total = (2.0 if of == STRENGTH else 1.0) * x - 0.5 * ((1.0 + more) * sd / scale) ** 2
    write_eta(table, rows)
    is_tie = of in (OWN + TIE, ITEM_TIE)
    for t in range(len(winner)):
        rows[TIED, t] = table[TENDENCY, t] + (more * own[t] if is_tie else 0.0)
    if of == OWN + SHARP:
        for t in range(len(winner)):
            shift = table[ADVANTAGE, t]
            rows[ETA, t] = (rows[ETA, t] - shift) * exp(more * own[t]) + shift
    elif not is_tie:
        for t in range(len(winner)):
            rows[ETA, t] += more * own[t]
    return total + log_votes(len(winner), rows, winner, weight)


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
    if of == TASTE:
        return form.tastes > 0
    if form.annotators == 0:
        return False
    return (
        of == OWN + SHARP
        or (of == OWN + TIE and form.ties > 0)
        or (of == OWN + SIDE and form.side > 0)
    )


@inner
def _is_of(of: int, system: int, n_systems: int) -> bool:
    """Return whether a cell has the spread ``of``: a prompt's last cell has `ITEM_TIE` only."""
    return (of == ITEM_TIE) == (system == n_systems)


@inner
def _multiply(factor: float, of: int, votes: Votes, par: Parameters) -> None:
    """Multiply a spread, and all effects whose prior has this spread, by a given factor."""
    par.spread[of] *= factor
    if of == STRENGTH:
        for k in range(len(par.strength)):
            par.strength[k] *= factor
    elif of in (CELL, ITEM_TIE, TASTE):
        cells, x = _cells_of(of, votes, par)
        for c in range(len(x)):
            if _is_of(of, cells.system[c], len(par.strength)):
                x[c] *= factor
    else:
        for k in range(len(par.own)):
            par.own[k, of - OWN] *= factor


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
        elif of in (CELL, ITEM_TIE, TASTE):
            cells, x = _cells_of(of, votes, par)
            for c in range(len(x)):
                if _is_of(of, cells.system[c], len(par.strength)):
                    n += 1
                    square += x[c] ** 2
        else:
            n = len(par.own)
            for k in range(n):
                square += par.own[k, of - OWN] ** 2
        at, flat = math.log(par.spread[of]), of == STRENGTH
        par.spread[of] = math.exp(_draw_spread(state, at, 1.0, float(n - flat), square, scale[of]))


@kernel
def stretch(
    state: State, votes: Votes, form: Form, par: Parameters, scale: Floats, of: int,
    table: Floats, own: Floats, rows: Floats,
) -> None:  # fmt: skip
    """Multiply a spread, and all effects whose prior has this spread, by a random factor."""
    fill_table(votes, form, par, table)
    for t in range(len(votes.left)):
        if of == STRENGTH:
            own[t] = table[G, t] * (par.strength[votes.left[t]] - par.strength[votes.right[t]])
        elif of in (CELL, TASTE):
            own[t] = table[G, t] * table[CELLS if of == CELL else TASTES, t]
        elif of == ITEM_TIE:
            own[t] = par.cell[votes.prompts.tie[t]]
        else:
            own[t] = par.own[votes.annotator[t], of - OWN]
    factor = math.exp(_draw_stretch(
        state, 0.0, 0.5, votes.side, votes.weight, table, own, rows, of, par.spread[of], scale[of]
    ))  # fmt: skip
    _multiply(factor, of, votes, par)


@inner
def _log_scale(
    x: float, n: float, total: float, square: float, own: float, n_others: float, others: float,
) -> float:  # fmt: skip
    """Return the log density of x in `_draw_unit`.

    ``n``, ``total`` and ``square`` are the number, the sum and the sum of squares of log
    sharpnesses. ``others`` is the sum of squares of spreads and coefficients, each divided by the
    scale of its prior.
    """
    moved = square + 2.0 * x * total + n * x * x
    factor = math.exp(-x)
    return -0.5 * moved / (own * own) - 0.5 * others * factor * factor - n_others * x


_draw_scale = slicer(_log_scale)


# Means are drawn given the sums of mean and deviation: the likelihood depends only on these sums.


@kernel
def draw_means(
    state: State, votes: Votes, form: Form, par: Parameters, prior: Floats, scale: Floats
) -> None:
    """Draw strengths, tie tendency and side, given their sums with prompts' and voters' numbers."""
    for of in (CELL, TASTE):  # strengths given their sums with cells, then with tastes
        if _has(form, of):
            _draw_means_of_cells(state, votes, form, par, prior, of)
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
def _draw_means_of_cells(
    state: State, votes: Votes, form: Form, par: Parameters, prior: Floats, of: int
) -> None:
    """Draw strengths, and with prompts the tendency to ties, given their sums with cells."""
    cells, x = _cells_of(of, votes, par)
    n_systems, ties = len(par.strength), form.ties > 0 and of == CELL
    every = n_systems + ties  # the last is the tendency to ties
    mean, total, n = np.empty(every), np.zeros(every), np.zeros(every)
    for k in range(n_systems):
        mean[k] = par.strength[k]
    if ties:
        mean[n_systems] = par.common[TIE - 1]
    for c in range(len(x)):
        k = cells.system[c]
        total[k] += mean[k] + x[c]
        n[k] += 1.0
    shift = np.empty(every)
    for k in range(every):
        of_tie = k == n_systems
        own = par.spread[ITEM_TIE if of_tie else of] ** -2.0
        precision = n[k] * own
        precision += prior[TIE - 1] if of_tie else par.spread[STRENGTH] ** -2.0
        drawn = total[k] * own / precision + normal(state) / math.sqrt(precision)
        shift[k], mean[k] = drawn - mean[k], drawn
    for k in range(n_systems):
        par.strength[k] = mean[k]
    if ties:
        par.common[TIE - 1] = mean[n_systems]
    for c in range(len(x)):
        x[c] -= shift[cells.system[c]]


@inner
def _draw_unit(
    state: State, votes: Votes, par: Parameters, form: Form, prior: Floats, scale: Floats
) -> None:
    """Multiply sharpnesses by a random exp(x), and divide strengths and coefficients by it."""
    # x is added to all log sharpnesses; strengths, coefficients, cells and their spreads are
    # multiplied by exp(-x). The likelihood does not change.
    n, total, square = len(par.own), 0.0, 0.0
    for a in range(n):
        total += par.own[a, SHARP]
        square += par.own[a, SHARP] ** 2
    n_along = votes.along.shape[1]
    # Strengths and cells keep their ratio to their spread. The density therefore changes by the
    # priors of spreads and coefficients, and by a factor exp(-x) for each of these. The spread of
    # strengths has one more such factor, from its Rayleigh prior.
    n_others, others = 1.0 + n_along, 0.0
    for c in range(n_along):
        others += prior[SIDE + c] * par.coefficient[c] ** 2
    for of in (STRENGTH, CELL, TASTE):
        if _has(form, of):
            n_others += 1.0
            others += (par.spread[of] / scale[of]) ** 2
    x = _draw_scale(
        state, 0.0, 0.2, float(n), total, square, par.spread[OWN + SHARP], n_others, others
    )
    factor = math.exp(-x)
    for a in range(n):
        par.own[a, SHARP] += x
    for c in range(n_along):
        par.coefficient[c] *= factor
    for of in (STRENGTH, CELL, TASTE):
        if _has(form, of):
            _multiply(factor, of, votes, par)
