r"""How much of itself an item's sampler by arrival times remembers from sweep to sweep.

The EM algorithm goes to the mode by the same two steps, times given strengths and strengths given
times, with means in place of draws:

.. math::
    u_k \gets u_k + \log \frac{a_k + \mathrm{power}\, n_k}
    {\lambda_k \sum_j a_j / \sum_j \lambda_j + \mathrm{power}\, e_k(u)},

where n says how often each label was ranked and e how often that was to be expected
(`times_ranked`). Near the mode, each step shrinks what is left by the part of the
information that the times hold and the rankings do not; and in draws, that part is the correlation
of one sweep with the next (Liu 1994, Dempster, Laird & Rubin 1977). So it is known before anything
is drawn.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.times_ranked import in_plain_numbers, times_ranked
from dissensus.kernels.compiled import inner, kernel, part
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_total
from dissensus.kernels.types import Codes, Floats

_ROUNDS = 12
"""Towards the mode, and then towards the direction that is forgotten last. What is found is never
more than is kept, and in 720 random cases was a tenth less at most."""

_STEP = 1e-4
"""How far from the mode the algorithm is tried."""

_GOLDEN = 0.6180339887498949
"""Multiples of it are spread evenly in (0, 1): a start that favours no direction."""


@kernel
def memories(rankings: Rankings, items: Codes, shape: Floats, power: float, out: Floats) -> None:
    """Write the `memory` of each of some items, given the shapes of all items' cells."""
    for k in range(len(items)):
        mine = shape[rankings.cell_start[items[k]] : rankings.cell_start[items[k] + 1]]
        out[k] = memory(rankings, items[k], mine, power)


@part
def memory(rankings: Rankings, item: int, shape: Floats, power: float) -> float:
    """Return the part of itself that the slowest direction keeps from sweep to sweep.

    Of 1,000 draws, about 1,000 (1 - memory) / (1 + memory) are worth an independent one.

    Parameters
    ----------
    rankings : Rankings
        Of all items, of annotators whose sharpness is 1.
    item : int
        Which.
    shape : array (cell)
        Prior shapes of this item's cells.
    power : float
        Of the likelihood.

    Returns
    -------
    float
        From 0 to 1; a little less than it is, where that is much.

    Examples
    --------
    One ranking of x before y before z, and ten; the more is known, the less one sweep changes:

    >>> one = Rankings(*map(np.array, ([0, 1], [0, 3], [0, 1, 2], [1, 2, 3], [0, 3], [True])))
    >>> [round(memory(one, 0, np.ones(3), power), 2) for power in (1.0, 10.0)]
    [0.17, 0.7]
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
            if length < _STEP:  # nothing is kept
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
    """Return the length of a vector where the likelihood's curvature is the measure."""
    summed = 0.0
    for k in range(len(away)):
        summed += weight[k] * away[k] * away[k]
    return math.sqrt(summed)


@part
def _step(
    rankings: Rankings, item: int, shape: Floats, power: float, got: Floats, at: Floats,
    expected: Floats, out: Floats,
) -> None:  # fmt: skip
    """Write the log strengths after one step from those before, both relative to their sum."""
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
