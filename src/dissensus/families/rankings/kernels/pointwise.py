r"""The log-likelihood of every ranking under every draw of the strengths.

For ranking r of item i, with the power :math:`\gamma_r` and the sharpness :math:`g_r`,

.. math:: \gamma_r \log p(b_r \mid \lambda_i^{g_r})

`dissensus.kernels.plackett_luce` has one such p; here thousands of draws pass over all rankings,
and a strength may be 0, as a plausibility below the smallest number is.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.plackett_luce import log_before_rest
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Flags, Floats


def log_strengths(rankings: Rankings, plausibility: Floats, candidate: Codes) -> Floats:
    """Return the cells' log plausibilities (draw, cell); -inf where the plausibility is 0.

    Parameters
    ----------
    rankings : Rankings
        Only its cells are read.
    plausibility : array (draw, item, candidate)
        The named labels' masses, padding, and last the remainder's.
    candidate : array (cell)
        A separate column for each of an item's cells.

    Examples
    --------
    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [0], [1], [0, 2], [False])))
    >>> theta = np.array([[[0.25, 0.0, 0.75]]])  # one label, padding, the remainder
    >>> np.exp(log_strengths(one, theta, np.array([0, 2])))
    array([[0.25, 0.75]])
    """
    owner = np.repeat(np.arange(plausibility.shape[1]), rankings.n_cells)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(plausibility[:, owner, candidate]))


def pointwise(
    rankings: Rankings,
    log_strength: Floats,
    *,
    power: npt.ArrayLike = 1.0,
    sharpness: npt.ArrayLike | None = None,
) -> Floats:
    r"""Return :math:`\gamma_r \log p(b_r \mid \lambda_i^{g_r})` (draw, ranking), 0 if r is empty.

    Parameters
    ----------
    rankings : Rankings
        In a closed ranking the cells not listed are not there.
    log_strength : array (draw, cell)
        Finite or -inf, of any scale. A cell may stand for several unlisted labels, with the sum of
        their strengths, only at sharpness 1: the sum of powers is not the power of the sum.
    power, sharpness : float or array, broadcast to (draw, ranking)
        :math:`\gamma_r > 0` and :math:`g_r > 0`. A sharpness of None is 1.

    Notes
    -----
    A cell of strength 0 that is not listed adds nothing to the rest. One that is listed makes the
    likelihood 0, unless no cell comes after its block: that block is not informative.

    Time grows with the draws times the rows, and with the cells an item's rankings name between
    them; cells that none of them names are summed once for each draw, and again where the
    sharpness changes from one ranking to the next.

    Examples
    --------
    x before y and z, under two draws:

    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [0], [1], [0, 3], [False])))
    >>> log_strength = np.log([[2.0, 1.0, 1.0], [1.0, 1.0, 2.0]])
    >>> np.exp(pointwise(one, log_strength)).round(6)
    array([[0.5 ],
           [0.25]])
    """
    shape = (len(log_strength), len(rankings.closed))
    sharp = np.broadcast_to(1.0 if sharpness is None else sharpness, shape)
    row = rankings.ranking_start[rankings.item_start]
    named = np.zeros(rankings.cell_start[-1], dtype=np.bool_)
    named[rankings.place + np.repeat(rankings.cell_start[:-1], np.diff(row))] = True
    out = np.empty(shape)
    _pointwise(*rankings, named, np.asarray(log_strength, dtype=np.float64), sharp, out)
    out *= np.asarray(power)
    return out


@kernel
def _pointwise(
    item_start: Codes, ranking_start: Codes, place: Codes, rank: Codes, cell_start: Codes,
    closed: Flags, named: Flags, log_strength: Floats, sharpness: Floats, out: Floats,
) -> None:  # fmt: skip
    most = 0
    for item in range(len(item_start) - 1):
        most = max(most, cell_start[item + 1] - cell_start[item])
    wanted, ratio, no_share = np.empty(most, dtype=np.bool_), np.empty(most), np.empty(0)
    for draw in range(len(out)):
        for item in range(len(item_start) - 1):
            start, end = cell_start[item], cell_start[item + 1]
            cells, known = log_strength[draw, start:end], named[start:end]
            wanted[: end - start] = known
            at, log_others = 0.0, -np.inf
            for ranking in range(item_start[item], item_start[item + 1]):
                first, past = ranking_start[ranking], ranking_start[ranking + 1]
                sharp, log_rest, something = sharpness[draw, ranking], -np.inf, False
                if first < past and not closed[ranking]:
                    if sharp != at:
                        at, log_others = sharp, _log_total(-np.inf, cells, known, False, sharp)
                    for row in range(first, past):
                        wanted[place[row]] = False
                    log_rest = _log_total(log_others, cells, wanted, True, sharp)
                    for row in range(first, past):
                        wanted[place[row]] = True
                    something = past - first < end - start
                out[draw, ranking] = _one(
                    cells, place[first:past], rank[first:past], sharp, log_rest, something,
                    ratio, no_share,
                )  # fmt: skip


@inner
def _one(
    cells: Floats, place: Codes, rank: Codes, sharp: float, log_rest: float, something: bool,
    ratio: Floats, no_share: Floats,
) -> float:  # fmt: skip
    """Add the blocks, last to first, so that the sum after each grows by positive terms only.

    `something`: whether any cell comes after, also one of strength 0.
    """
    summed, high = 0.0, len(place)
    while high > 0:
        low = high - 1
        while low > 0 and rank[low - 1] == rank[high - 1]:
            low -= 1
        log_after = log_rest
        for row in range(low, high):
            log_one = sharp * cells[place[row]]
            if log_one == -np.inf and something:
                return -np.inf
            ratio[row - low] = log_one - log_after  # not read if nothing of weight comes after
            log_rest = log_plus(log_rest, log_one)
        if log_after > -np.inf:
            if high - low == 1:
                # The value of log_before_rest for one label, without the call.
                summed += min(ratio[0], 0.0) - math.log1p(math.exp(-abs(ratio[0])))
            else:
                summed += log_before_rest(ratio[: high - low], no_share)
        something = True
        high = low
    return summed


@inner
def _log_total(log_start: float, cells: Floats, flag: Flags, value: bool, sharp: float) -> float:
    """Add to a logarithm the strengths of all cells that are flagged so."""
    top = log_start
    for cell in range(len(cells)):
        if flag[cell] == value:
            top = max(top, sharp * cells[cell])
    if top == -np.inf:
        return top
    total = math.exp(log_start - top)
    for cell in range(len(cells)):
        if flag[cell] == value:
            total += math.exp(sharp * cells[cell] - top)
    return top + math.log(total)
