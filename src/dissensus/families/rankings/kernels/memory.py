r"""Observed and expected counts of the rankings that list a label, and the memory of a sweep.

In each ranking r, labels arrive at times :math:`t_{rk} \sim \mathrm{Exp}(\lambda_k)`. A label
was *seen to arrive* if it is listed in a block with something after it; :math:`n_k` counts these
rankings. It was *at risk* until it was seen to arrive. A label that was not seen to arrive was at
risk until the last arrival that was seen. The derivative of the exact log-likelihood by
:math:`\log \lambda_k` is :math:`n_k` minus :math:`\lambda_k` times the expected time at risk.
`docs/derivations/maximum-likelihood.md` derives it.

The EM algorithm has the same two steps as a sweep, times given strengths and strengths given times,
with means in place of draws:

.. math::
    u_k \gets u_k + \log \frac{a_k + \mathrm{power}\, n_k}
    {\lambda_k \sum_j a_j / \sum_j \lambda_j + \mathrm{power}\, e_k(u)},

where :math:`a_k` is the prior shape, and :math:`e_k` is :math:`\lambda_k` times the expected time
at risk. Near the mode, each step multiplies the remaining error by the share of the information in
the times that the rankings do not have. In draws, this share is the correlation of one sweep with
the next (Liu 1994, Dempster, Laird & Rubin 1977). It is therefore known before sampling.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import inner, kernel, part
from dissensus.kernels.plackett_luce import log_before_rest, log_likelihood_and_gradient
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_total
from dissensus.kernels.types import Codes, Floats, Ints

WIDEST = 600.0
"""Up to this range of log strengths, sums of strengths themselves neither over- nor underflow."""


@inner
def times_ranked(rankings: Rankings, item: int) -> Floats:
    """For each cell, count the rankings that list it in a block with something after it."""
    n_cells = rankings.cell_start[item + 1] - rankings.cell_start[item]
    count = np.zeros(n_cells)
    for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
        low, high = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
        complete = rankings.closed[ranking] or high - low == n_cells
        for row in range(low, high):
            if not complete or rankings.rank[row] < rankings.rank[high - 1]:
                count[rankings.place[row]] += 1.0
    return count


@inner
def times_expected(rankings: Rankings, item: int, log_strength: Floats, expected: Floats) -> float:
    r"""Return the log-likelihood of one item's rankings, and write the expected count of each cell.

    `log_strength` is finite, of any scale; `expected` becomes :math:`\lambda_k` times the expected
    time at risk. The gradient is `times_ranked` minus `expected`.
    """
    top, bottom, n_cells = -np.inf, np.inf, len(log_strength)
    for cell in range(n_cells):
        top, bottom = max(top, log_strength[cell]), min(bottom, log_strength[cell])
    if top - bottom > WIDEST:
        for cell in range(n_cells):
            expected[cell] = 0.0
        return in_logs(rankings, item, log_strength, expected)
    return in_plain_numbers(rankings, item, log_strength, top, expected)


@inner
def in_plain_numbers(
    rankings: Rankings, item: int, log_strength: Floats, top: float, expected: Floats
) -> float:
    """Compute `times_expected` for log strengths within `WIDEST` of the largest, `top`."""
    low, high = rankings.item_start[item], rankings.item_start[item + 1]
    n_cells = len(log_strength)
    later, ratio, share = np.empty(n_cells), np.empty(n_cells), np.empty(n_cells)
    strength = np.empty(n_cells)
    listed = np.empty(n_cells, dtype=np.int64)
    for cell in range(n_cells):
        strength[cell], listed[cell] = math.exp(log_strength[cell] - top), -1
        expected[cell] = 0.0
    summed = 0.0
    for ranking in range(low, high):
        start, stop = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
        place, rank = rankings.place[start:stop], rankings.rank[start:stop]
        rest = 0.0
        if not rankings.closed[ranking]:
            for row in range(len(place)):
                listed[place[row]] = ranking
            for cell in range(n_cells):
                if listed[cell] != ranking:
                    rest += strength[cell]
        _rest_after(strength, place, rank, rest, later)
        value, risk = _expect_listed(strength, place, rank, later, ratio, share, expected)
        summed += value
        if not rankings.closed[ranking]:
            for cell in range(n_cells):
                if listed[cell] != ranking:
                    expected[cell] += strength[cell] * risk
    return summed


@inner
def _rest_after(strength: Floats, place: Ints, rank: Ints, rest: float, later: Floats) -> None:
    """Write the sum of strengths after each row's block; adding from the end avoids differences."""
    total = rest
    for row in range(len(place) - 1, -1, -1):
        if row == len(place) - 1 or rank[row] != rank[row + 1]:
            rest = total
        later[row] = rest
        total += strength[place[row]]


@part
def _expect_listed(
    strength: Floats, place: Ints, rank: Ints, later: Floats, ratio: Floats, share: Floats,
    expected: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Add the expected counts of listed cells; return the log-likelihood and the expected time."""
    summed, time, row = 0.0, 0.0, 0
    while row < len(place):
        stop = row + 1
        while stop < len(place) and rank[stop] == rank[row]:
            stop += 1
        rest = later[row]
        if rest == 0.0:  # the last block: no label comes after it
            for tied in range(row, stop):
                expected[place[tied]] += strength[place[tied]] * time
        elif stop == row + 1:
            mine = strength[place[row]]
            summed += math.log(mine / (mine + rest))
            time += 1.0 / (mine + rest)
            expected[place[row]] += mine * time
        else:
            for tied in range(row, stop):
                ratio[tied - row] = math.log(strength[place[tied]] / rest)
            summed += log_before_rest(ratio[: stop - row], share[: stop - row])
            at_risk = 0.0
            for tied in range(row, stop):
                expected[place[tied]] += strength[place[tied]] * time + (1.0 - share[tied - row])
                at_risk += share[tied - row]
            time += at_risk / rest
        row = stop
    return summed, time


@inner
def in_logs(rankings: Rankings, item: int, log_strength: Floats, expected: Floats) -> float:
    """Compute `times_expected` for strengths too far apart to be added directly."""
    expected += times_ranked(rankings, item)
    all_cells = np.arange(len(log_strength))
    summed = 0.0
    for ranking in range(rankings.item_start[item], rankings.item_start[item + 1]):
        start, stop = rankings.ranking_start[ranking], rankings.ranking_start[ranking + 1]
        place, rank = rankings.place[start:stop], rankings.rank[start:stop]
        is_end = np.ones(len(rank), dtype=np.bool_)
        is_end[:-1] = rank[1:] != rank[:-1]
        available = place if rankings.closed[ranking] else all_cells
        codes = np.arange(len(place)) if rankings.closed[ranking] else place
        value, gradient = log_likelihood_and_gradient(
            log_strength[available], codes, np.flatnonzero(is_end) + 1
        )
        summed += value
        expected[available] -= gradient
    return summed


_ROUNDS = 12
"""Number of EM steps towards the mode, and of further steps towards the slowest direction. The
result is never above the true memory, and in 720 random cases was below it by at most a tenth."""

_STEP = 1e-4
"""Distance from the mode at which a step of the EM algorithm is evaluated."""

_GOLDEN = 0.6180339887498949
"""The fractional parts of its multiples are spread evenly: a start that favours no direction."""


@kernel
def memories(rankings: Rankings, items: Codes, shape: Floats, power: float, out: Floats) -> None:
    """Write the `memory` of each item in `items`, given the prior shapes of all items' cells."""
    for k in range(len(items)):
        mine = shape[rankings.cell_start[items[k]] : rankings.cell_start[items[k] + 1]]
        out[k] = memory(rankings, items[k], mine, power)


@part
def memory(rankings: Rankings, item: int, shape: Floats, power: float) -> float:
    """Return the correlation of successive sweeps in the slowest direction, from 0 to 1.

    1,000 draws have an effective sample size of about 1,000 (1 - memory) / (1 + memory). `shape`
    (cell) are this item's prior shapes; all annotators have sharpness 1.
    """
    if rankings.item_start[item] == rankings.item_start[item + 1]:
        return 0.0
    n, got = len(shape), times_ranked(rankings, item)
    at, tried, ahead, away, room = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        got[k] = shape[k] + power * got[k]
        at[k] = tried[k] = math.log(got[k])
    for turn in range(2 * _ROUNDS + 1):
        if turn > _ROUNDS:
            length = _length(got, away)
            if length < _STEP:  # the item has no memory
                return 0.0
            for k in range(n):
                away[k] *= _STEP / length
                tried[k] = at[k] + away[k]
        _step(rankings, item, shape, power, got, tried, room, away)
        for k in range(n):
            if turn < _ROUNDS:
                at[k] = tried[k] = away[k]
            elif turn == _ROUNDS:
                ahead[k], away[k] = away[k], (k + 1) * _GOLDEN % 1.0 - 0.5
            else:
                away[k] = (away[k] - ahead[k]) / _STEP
    return min(_length(got, away), 1.0)


@inner
def _length(weight: Floats, away: Floats) -> float:
    """Return the length of a vector whose squares are weighted by the likelihood's curvature."""
    summed = 0.0
    for k in range(len(away)):
        summed += weight[k] * away[k] * away[k]
    return math.sqrt(summed)


@part
def _step(
    rankings: Rankings, item: int, shape: Floats, power: float, got: Floats, at: Floats,
    expected: Floats, out: Floats,
) -> None:  # fmt: skip
    """Write the log shares after one EM step from the log strengths `at`."""
    top = -np.inf
    for k in range(len(at)):
        top = max(top, at[k])
    in_plain_numbers(rankings, item, at, top, expected)
    whole, summed = 0.0, 0.0
    for k in range(len(at)):
        whole += math.exp(at[k] - top)
        summed += shape[k]
    prior = summed / whole
    for k in range(len(at)):
        out[k] = at[k] + math.log(got[k] / (math.exp(at[k] - top) * prior + power * expected[k]))
    whole = log_total(out)
    for k in range(len(at)):
        out[k] -= whole
