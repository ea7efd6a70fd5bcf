r"""One Gibbs sweep of Bradley-Terry with ties: blocks of parameters, each along an ellipse.

A vote t of an annotator a on the systems l and r, which answered the prompt i, has

.. math::
    \eta_t = e^{\lambda_a} (s_l + u_{il} - s_r - u_{ir}) + b + b_a, \qquad
    P(\mathrm{left}) : P(\mathrm{tie}) : P(\mathrm{right})
      = e^{\eta_t / 2} : e^{\tau + \tau_a} : e^{-\eta_t / 2}.

Blocks are all strengths s with the tendency to ties and the side's advantage b; the u of one
prompt; the three numbers of one annotator. Of each block given the rest the mode m and the
curvature are found by Newton's method from a fixed point, and the block moves along an ellipse
about m (Murray, Adams & MacKay 2010) under its exact density over that of the normal
approximation. The chain is exact, however good the approximation is.

Strengths have a common normal prior here. After their mean is subtracted they have the distribution
of strengths that add up to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dissensus.kernels.compiled import Inner, inner, kernel, named_after
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import backwards, factorised, forwards
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import normal


class Votes(NamedTuple):
    """Votes sorted by prompt; without prompts all are of one, without cells."""

    left: Ints
    right: Ints
    cell_left: Ints  # Place among cells, pairs of prompt and system; empty without prompts
    cell_right: Ints
    annotator: Ints  # 0 where voters are not told apart
    side: Floats  # 1 left, 0 tie, -1 right
    weight: Floats  # Number of equal votes
    item_start: Ints  # (item + 1): its votes
    cell_start: Ints  # (item + 1): its cells
    cell_system: Ints  # (cell)
    by_annotator: Ints  # Votes, sorted by annotator
    annotator_start: Ints  # (annotator + 1)


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
    cell: Floats  # (cell)
    own: Floats  # (annotator, 3): log sharpness, tendency to ties, advantage of the left side
    spread: Floats  # (5): of strengths, of cells, and of the three numbers of annotators


SHARP, TIE, SIDE = range(3)
"""The columns of `Parameters.own`; those of `Parameters.common` are one less."""
STRENGTH, CELL, OWN = range(3)
"""Places in `Parameters.spread`; annotators' are `OWN`, `OWN` + 1 and `OWN` + 2."""


class Room(NamedTuple):
    """Work space of a block."""

    matrix: Floats
    slope: Floats
    mode: Floats
    point: Floats
    other: Floats
    trial: Floats


def room(n: int) -> Room:
    """Make room for blocks of at most so many numbers."""
    return Room(np.empty((n, n)), *(np.empty(n) for _ in range(5)))


@inner
def log_vote(eta: float, odds: float, side: float) -> float:
    """Return the log probability of a vote, ``odds`` being exp of the tendency to ties."""
    half = 0.5 * abs(eta)
    small = math.exp(-half)
    total = -half - math.log1p(small * (small + odds))
    return 0.5 * side * eta + total if side != 0.0 else math.log(odds) + total


@inner
def slopes_of(eta: float, odds: float) -> tuple[float, float, float]:
    """Return P(left) - P(right), P(left or right) and P(tie)."""
    small = math.exp(-0.5 * abs(eta))
    total = 1.0 + small * (small + odds)
    apart = (1.0 - small * small) / total
    return math.copysign(apart, eta), (1.0 + small * small) / total, small * odds / total


G, GAP, CELLS, ADVANTAGE, LOG_ODDS = range(5)
"""The columns of a table of votes: sharpness, what the strengths and what the answers to this
prompt are apart, the left side's advantage, and the tendency to ties (-inf without ties)."""


@inner
def fill_table(votes: Votes, form: Form, par: Parameters, table: Floats) -> None:
    """Write the table (vote, column).

    Blocks read columns of it: functions that are called for each vote with all of a model's arrays
    would take ten times as long.
    """
    left, right, annotator = votes.left, votes.right, votes.annotator
    for t in range(len(left)):
        a = annotator[t]
        table[t, G] = 1.0
        table[t, GAP] = par.strength[left[t]] - par.strength[right[t]]
        table[t, CELLS] = 0.0
        table[t, ADVANTAGE] = par.common[SIDE - 1] if form.side else 0.0
        table[t, LOG_ODDS] = par.common[TIE - 1] if form.ties else -math.inf
        if form.items:
            table[t, CELLS] = par.cell[votes.cell_left[t]] - par.cell[votes.cell_right[t]]
        if form.annotators:
            table[t, G] = math.exp(par.own[a, SHARP])
            if form.side:
                table[t, ADVANTAGE] += par.own[a, SIDE]
            if form.ties:
                table[t, LOG_ODDS] += par.own[a, TIE]


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


_STEPS = 6
"""Maximum number of Newton's steps."""
_NEAR = 0.002
"""The mode is near enough if a step is expected to add no more than half of this, for each number,
to the log density."""
_FAR = 3.0
"""No number moves farther in one step."""


KEEP, LEARN, JUMP = range(3)
"""How a block is moved: with a fixed reference; in the warm-up, when the reference follows the
mode; and at first, when the normal approximation is drawn from, as far from the mode, where its
tail is thinner than the density's, a chain would stay for long."""


def mover(slopes: Callable[..., None], log_density: Callable[..., float]) -> Any:
    r"""Compile a move of the leading n numbers of ``at``.

    ``slopes`` (x, n, matrix, slope, \*args) writes the curvature and the slope of the log density,
    ``log_density`` (x, n, \*args) returns it. ``reference`` is where Newton's method begins; in the
    warm-up (``how``) it becomes the mode that was found.
    """

    def move(
        state: State, at: Floats, reference: Floats, n: int, how: int, work: Room, *args: Any
    ) -> None:
        mode, slope, matrix = work.mode, work.slope, work.matrix
        for k in range(n):
            mode[k] = reference[k]
        for _ in range(_STEPS):
            slopes(mode, n, matrix, slope, *args)
            if not factorised(matrix, n):
                return
            forwards(matrix, n, slope)
            gain, farthest = 0.0, 0.0
            for k in range(n):
                gain += slope[k] * slope[k]
            backwards(matrix, n, slope)
            for k in range(n):
                farthest = max(farthest, abs(slope[k]))
            part = _FAR / farthest if farthest > _FAR else 1.0
            for k in range(n):
                mode[k] += part * slope[k]
            if gain < _NEAR * n:
                break
        point, other, trial = work.point, work.other, work.trial
        for k in range(n):
            total = 0.0
            for j in range(k, n):
                total += matrix[j, k] * (at[j] - mode[j])
            point[k], other[k], trial[k] = total, normal(state), at[k]
        height, angle, low, high = 0.0, 0.0, 0.0, 0.0
        first = True
        if how == JUMP:
            backwards(matrix, n, other)
            for k in range(n):
                trial[k] = mode[k] + other[k]
        while how != JUMP:
            square = 0.0
            if not first:
                for k in range(n):
                    trial[k] = point[k] * math.cos(angle) + other[k] * math.sin(angle)
                    square += trial[k] * trial[k]
                backwards(matrix, n, trial)
                for k in range(n):
                    trial[k] += mode[k]
            else:
                for k in range(n):
                    square += point[k] * point[k]
            now = log_density(trial, n, *args) + 0.5 * square
            if first:
                height = now + math.log(uniform(state))
                angle = 2.0 * math.pi * uniform(state)
                low, high = angle - 2.0 * math.pi, angle
                first = False
                continue
            if now >= height or high - low < 1e-12:
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + uniform(state) * (high - low)
        for k in range(n):
            at[k] = trial[k]
            if how != KEEP:
                reference[k] = mode[k]

    return Inner(named_after(move, slopes), cache=False)


# All strengths, with the tendency to ties and the side's advantage, if the model has them.


@inner
def slopes_of_all(
    x: Floats, n: int, matrix: Floats, slope: Floats, votes: Votes, form: Form, par: Parameters,
    rest: Floats, precision: Floats,
) -> None:  # fmt: skip
    """``rest`` (vote, 3): sharpness, eta without this block, exp of the own tendency to ties."""
    left, right, said, weight = votes.left, votes.right, votes.side, votes.weight
    n_systems = len(par.strength)
    tie = n_systems
    side = n_systems + form.ties
    for j in range(n):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = precision[j]
        slope[j] = -precision[j] * x[j]
    every = math.exp(x[tie]) if form.ties else 0.0
    for t in range(len(left)):
        one, two, g, w = left[t], right[t], rest[t, 0], weight[t]
        eta = g * (x[one] - x[two]) + rest[t, 1]
        if form.side:
            eta += x[side]
        apart, decided, tied = slopes_of(eta, every * rest[t, 2])
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
    for t in range(len(left)):
        eta = rest[t, 0] * (x[left[t]] - x[right[t]]) + rest[t, 1] + shift
        total += weight[t] * log_vote(eta, every * rest[t, 2], said[t])
    return total


_move_all = mover(slopes_of_all, _log_density_of_all)


@kernel
def draw_strengths(
    state: State, votes: Votes, form: Form, par: Parameters, prior: Floats, reference: Floats,
    how: int, table: Floats, work: Room,
) -> None:  # fmt: skip
    """Draw strengths, tendency to ties and advantage of the left side.

    ``prior`` has the precisions of the last two.
    """
    n_systems = len(par.strength)
    fill_table(votes, form, par, table)
    rest = table[:, :3]
    for t in range(len(table)):  # without what is drawn
        g, shift, log_odds = table[t, G], table[t, ADVANTAGE], table[t, LOG_ODDS]
        rest[t, 0] = g
        rest[t, 1] = g * table[t, CELLS] + (shift - par.common[SIDE - 1] if form.side else 0.0)
        rest[t, 2] = math.exp(log_odds - par.common[TIE - 1]) if form.ties else 0.0
    n = n_systems + form.ties + form.side
    at, precision = np.empty(n), np.empty(n)
    for k in range(n_systems):
        at[k] = par.strength[k]
        precision[k] = par.spread[STRENGTH] ** -2.0
    if form.ties:
        at[n_systems], precision[n_systems] = par.common[TIE - 1], prior[TIE - 1]
    if form.side:
        at[n - 1], precision[n - 1] = par.common[SIDE - 1], prior[SIDE - 1]
    _move_all(state, at, reference, n, how, work, votes, form, par, rest, precision)
    for k in range(n_systems):
        par.strength[k] = at[k]
    if form.ties:
        par.common[TIE - 1] = at[n_systems]
    if form.side:
        par.common[SIDE - 1] = at[n - 1]


# What systems are better or worse by on one prompt.


@inner
def _slopes_of_item(
    x: Floats, n: int, matrix: Floats, slope: Floats, one_of: Ints, two_of: Ints, said: Floats,
    weight: Floats, table: Floats, first_cell: int, precision: float,
) -> None:  # fmt: skip
    """All arrays are of the item's votes."""
    for j in range(n):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = precision
        slope[j] = -precision * x[j]
    for t in range(len(said)):
        one, two, g = one_of[t] - first_cell, two_of[t] - first_cell, table[t, G]
        eta = g * (table[t, GAP] + x[one] - x[two]) + table[t, ADVANTAGE]
        apart, decided, _ = slopes_of(eta, table[t, LOG_ODDS])
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
    first_cell: int, precision: float,
) -> float:  # fmt: skip
    total = 0.0
    for j in range(n):
        total -= 0.5 * precision * x[j] * x[j]
    for t in range(len(said)):
        gap = table[t, GAP] + x[one_of[t] - first_cell] - x[two_of[t] - first_cell]
        eta = table[t, G] * gap + table[t, ADVANTAGE]
        total += weight[t] * log_vote(eta, table[t, LOG_ODDS], said[t])
    return total


_move_item = mover(_slopes_of_item, _log_density_of_item)


@kernel
def draw_cells(
    state: State, votes: Votes, form: Form, par: Parameters, reference: Floats, how: int,
    table: Floats, work: Room,
) -> None:  # fmt: skip
    """Draw the numbers of every prompt's cells."""
    fill_table(votes, form, par, table)
    for t in range(len(table)):
        table[t, LOG_ODDS] = math.exp(table[t, LOG_ODDS])
    precision = par.spread[CELL] ** -2.0
    for item in range(len(votes.item_start) - 1):
        low, high = votes.cell_start[item], votes.cell_start[item + 1]
        begin, end = votes.item_start[item], votes.item_start[item + 1]
        _move_item(
            state, par.cell[low:high], reference[low:high], high - low, how, work,
            votes.cell_left[begin:end], votes.cell_right[begin:end], votes.side[begin:end],
            votes.weight[begin:end], table[begin:end], low, precision,
        )  # fmt: skip


# The three numbers of an annotator. Of those that a model lacks, the prior is drawn.


@inner
def _slopes_of_annotator(
    x: Floats, n: int, matrix: Floats, slope: Floats, row: Ints, said: Floats, weight: Floats,
    table: Floats, ties: bool, side: bool, common: Floats, precision: Floats,
) -> None:  # fmt: skip
    """``row`` are the annotator's votes."""
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
        apart, decided, tied = slopes_of(ahead + shift, odds)
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
    for place in range(len(row)):
        t = row[place]
        eta = g * (table[t, GAP] + table[t, CELLS]) + shift
        total += weight[t] * log_vote(eta, odds, said[t])
    return total


_move_annotator = mover(_slopes_of_annotator, _log_density_of_annotator)


@inner
def _log_sharp(
    x: float, row: Ints, said: Floats, weight: Floats, table: Floats, odds: float, shift: float,
    precision: float,
) -> float:  # fmt: skip
    """Return the log density of log sharpness alone."""
    total, g = -0.5 * precision * x * x, math.exp(x)
    for place in range(len(row)):
        t = row[place]
        eta = g * (table[t, GAP] + table[t, CELLS]) + shift
        total += weight[t] * log_vote(eta, odds, said[t])
    return total


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
    for who in range(len(votes.annotator_start) - 1):
        row = votes.by_annotator[votes.annotator_start[who] : votes.annotator_start[who + 1]]
        _move_annotator(
            state, par.own[who], reference[who], 3, how, work, row, votes.side, votes.weight,
            table, form.ties > 0, form.side > 0, par.common, precision,
        )  # fmt: skip
        # Of who votes by chance it is not normal: all small sharpnesses are alike.
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

    ``own`` (vote) are the annotators' numbers that have it.
    """
    more = math.exp(x) - 1.0
    total = x - 0.5 * ((1.0 + more) * sd / scale) ** 2
    for t in range(len(said)):
        g, gap, cells = table[t, G], table[t, GAP], table[t, CELLS]
        shift, log_odds = table[t, ADVANTAGE], table[t, LOG_ODDS]
        if of == STRENGTH:
            gap += more * gap
        elif of == CELL:
            cells += more * cells
        elif of == OWN + SHARP:
            g *= math.exp(more * own[t])
        elif of == OWN + TIE:
            log_odds += more * own[t]
        else:
            shift += more * own[t]
        total += weight[t] * log_vote(g * (gap + cells) + shift, math.exp(log_odds), said[t])
    return total


_draw_stretch = slicer(_log_stretched)


@inner
def _has(form: Form, of: int) -> bool:
    """Return whether a model has this spread."""
    if of == STRENGTH:
        return True
    if of == CELL:
        return form.items > 0
    if form.annotators == 0:
        return False
    return (
        of == OWN + SHARP
        or (of == OWN + TIE and form.ties > 0)
        or (of == OWN + SIDE and form.side > 0)
    )


@kernel
def draw_spreads(state: State, form: Form, par: Parameters, scale: Floats) -> None:
    """Draw each spread given the numbers that have it."""
    for of in range(5):
        if not _has(form, of):
            continue
        n, square = 0, 0.0
        if of == STRENGTH:
            n = len(par.strength)
            for k in range(n):
                square += par.strength[k] ** 2
        elif of == CELL:
            n = len(par.cell)
            for k in range(n):
                square += par.cell[k] ** 2
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
    if of >= OWN:
        for t in range(len(own)):
            own[t] = par.own[votes.annotator[t], of - OWN]
    factor = math.exp(_draw_stretch(
        state, 0.0, 0.5, votes.side, votes.weight, table, own, of, par.spread[of], scale[of]
    ))  # fmt: skip
    par.spread[of] *= factor
    if of == STRENGTH:
        for k in range(len(par.strength)):
            par.strength[k] *= factor
    elif of == CELL:
        for k in range(len(par.cell)):
            par.cell[k] *= factor
    else:
        for k in range(len(par.own)):
            par.own[k, of - OWN] *= factor


@inner
def _log_scale(
    x: float, n: float, total: float, square: float, own: float, strength: float, cell: float,
    strength_scale: float, cell_scale: float,
) -> float:  # fmt: skip
    moved = square + 2.0 * x * total + n * x * x
    factor = math.exp(-x)
    out = -0.5 * moved / (own * own) - 0.5 * (strength * factor / strength_scale) ** 2 - x
    if cell > 0.0:
        out -= 0.5 * (cell * factor / cell_scale) ** 2 + x
    return out


_draw_scale = slicer(_log_scale)


# Means given the sums of mean and deviation, which the votes do not tell apart.


@kernel
def draw_means(
    state: State, votes: Votes, form: Form, par: Parameters, prior: Floats, scale: Floats
) -> None:
    """Draw strengths, ties and side with every answer's quality, and every annotator, as it is."""
    if form.items:
        n_systems = len(par.strength)
        total, n = np.zeros(n_systems), np.zeros(n_systems)
        for c in range(len(par.cell)):
            k = votes.cell_system[c]
            total[k] += par.strength[k] + par.cell[c]
            n[k] += 1.0
        shift = np.empty(n_systems)
        own = par.spread[CELL] ** -2.0
        for k in range(n_systems):
            precision = n[k] * own + par.spread[STRENGTH] ** -2.0
            drawn = total[k] * own / precision + normal(state) / math.sqrt(precision)
            shift[k] = drawn - par.strength[k]
            par.strength[k] = drawn
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
        _draw_unit(state, par, form, scale)


@inner
def _draw_unit(state: State, par: Parameters, form: Form, scale: Floats) -> None:
    """Make all annotators sharper, and all strengths smaller by as much."""
    # Log sharpness has mean 0 and strengths a spread that is free: the slice is along
    # x, log sharpness + x, strengths, cells and their spreads times exp(-x).
    n, total, square = len(par.own), 0.0, 0.0
    for a in range(n):
        total += par.own[a, SHARP]
        square += par.own[a, SHARP] ** 2
    cell = par.spread[CELL] if form.items else 0.0
    x = _draw_scale(
        state, 0.0, 0.2, float(n), total, square, par.spread[OWN + SHARP], par.spread[STRENGTH],
        cell, scale[STRENGTH], scale[CELL],
    )  # fmt: skip
    factor = math.exp(-x)
    for a in range(n):
        par.own[a, SHARP] += x
    for k in range(len(par.strength)):
        par.strength[k] *= factor
    par.spread[STRENGTH] *= factor
    if form.items:
        for c in range(len(par.cell)):
            par.cell[c] *= factor
        par.spread[CELL] *= factor
