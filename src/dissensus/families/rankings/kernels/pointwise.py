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

from dissensus.errors import ArgumentError
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.plackett_luce import log_before_rest
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Flags, Floats


def log_strengths(rankings: Rankings, plausibility: Floats, candidate: Codes) -> Floats:
    r"""Take the cells' log plausibilities out of the form that samplers write.

    Parameters
    ----------
    rankings : Rankings
        Only its cells are read.
    plausibility : array (draw, item, candidate)
        The named labels' masses, padding, and last the remainder's.
    candidate : array (cell)
        Which column is a cell's own.

    Returns
    -------
    array (draw, cell)
        Where the plausibility is 0: -inf.

    Raises
    ------
    ArgumentError
        If two cells of an item have the same column: their masses are stored as a sum, which
        does not say what each has. Or if a column does not exist.

    Examples
    --------
    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [0], [1], [0, 2], [False])))
    >>> theta = np.array([[[0.25, 0.0, 0.75]]])  # one label, padding, the remainder
    >>> np.exp(log_strengths(one, theta, np.array([0, 2])))
    array([[0.25, 0.75]])
    """
    n_items, n_columns = plausibility.shape[1:]
    if n_items != len(rankings.n_cells):
        raise ArgumentError(
            "plausibility", expected=f"{len(rankings.n_cells)} items", found=f"{n_items}"
        )
    owner = np.repeat(np.arange(n_items), rankings.n_cells)
    if candidate.shape != owner.shape or ((candidate < 0) | (candidate >= n_columns)).any():
        raise ArgumentError(
            "candidate",
            expected=f"one of {n_columns} columns for each of {len(owner)} cells",
            found=f"shape {candidate.shape}, columns {np.unique(candidate)}",
        )
    if len(np.unique(owner * n_columns + candidate)) < len(owner):
        raise ArgumentError(
            "candidate",
            expected="a column of its own for each cell of an item",
            found="cells that share one",
            hint="The sum of their masses does not say what each has: lay out with lumped=True",
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(plausibility[:, owner, candidate]))


def pointwise(
    rankings: Rankings,
    log_strength: Floats,
    *,
    power: npt.ArrayLike = 1.0,
    sharpness: npt.ArrayLike | None = None,
) -> Floats:
    r"""Return :math:`\gamma_r \log p(b_r \mid \lambda_i^{g_r})` for each draw and ranking.

    Parameters
    ----------
    rankings : Rankings
        What the annotators said. In a closed ranking the cells not listed are not there.
    log_strength : array (draw, cell)
        Of all items' cells in one row, as ``rankings.cell_start`` says; of any scale. A cell may
        stand for several labels that no ranking lists, with the sum of their strengths, as long as
        the sharpness is 1: the sum of powers is not the power of the sum.
    power : float or array, broadcast to (draw, ranking)
        How often a ranking counts, :math:`\gamma_r > 0`.
    sharpness : float or array, broadcast to (draw, ranking)
        How much the strengths matter to it, :math:`g_r > 0`. None: 1.

    Returns
    -------
    array (draw, ranking)
        0 for an empty ranking.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a log strength is neither a number nor -inf, or a power or a
        sharpness is not positive.

    Notes
    -----
    A cell of strength 0 that is not listed adds nothing to what comes after. One that is listed
    makes the likelihood 0, unless no cell at all comes after its block: that block says nothing.
    (Zero against zeros has no value; it counts as 0 too.)

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
    >>> np.exp(pointwise(one, log_strength, sharpness=2.0)).round(6)  # 4 / 6 and 1 / 6
    array([[0.666667],
           [0.166667]])
    """
    n_cells, n_rankings = int(rankings.cell_start[-1]), len(rankings.ranking_start) - 1
    if log_strength.ndim != 2 or log_strength.shape[1] != n_cells:
        raise ArgumentError(
            "log_strength", expected=f"shape (draw, {n_cells})", found=f"{log_strength.shape}"
        )
    if log_strength.size and not log_strength.max() < np.inf:  # a NaN fails this too
        bad = log_strength[~(log_strength < np.inf)]
        raise ArgumentError("log_strength", expected="numbers, or -inf", found=str(bad[0]))
    shape = (len(log_strength), n_rankings)
    sharp = per_ranking("sharpness", 1.0 if sharpness is None else sharpness, shape)
    times = per_ranking("power", power, shape)
    named = np.zeros(n_cells, dtype=np.bool_)
    named[listed_cell(rankings)] = True
    out = np.empty(shape)
    _pointwise(*rankings, named, np.asarray(log_strength, dtype=np.float64), sharp, out)
    out *= times
    return out


def per_ranking(name: str, value: npt.ArrayLike, shape: tuple[int, int]) -> Floats:
    """Broadcast positive numbers to (draw, ranking), or raise naming the argument.

    Examples
    --------
    >>> per_ranking("power", [1.0, 3.0], (2, 2))
    array([[1., 3.],
           [1., 3.]])
    """
    given = np.asarray(value, dtype=np.float64)
    try:
        out = np.broadcast_to(given, shape)
    except ValueError as problem:
        raise ArgumentError(
            name, expected=f"something to be broadcast to (draw, ranking) {shape}",
            found=f"shape {given.shape}",
        ) from problem  # fmt: skip
    proper = (given > 0) & (given < np.inf)
    if not proper.all():
        raise ArgumentError(name, expected="finite numbers > 0", found=str(given[~proper][0]))
    return out


def listed_cell(rankings: Rankings) -> Codes:
    """Return which of all items' cells each row lists.

    Examples
    --------
    >>> two = Rankings(*map(np.array, ([0, 1, 2], [0, 1, 2], [0, 1], [1, 1], [0, 3, 5], [0, 0])))
    >>> listed_cell(two)
    array([0, 4])
    """
    row = rankings.ranking_start[rankings.item_start]
    return np.asarray(rankings.place + np.repeat(rankings.cell_start[:-1], np.diff(row)))


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
    """Add up the blocks, last to first, so that what comes after grows by positive terms only.

    `something` says whether any cell comes after, be it of strength 0.
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
                # What log_before_rest gives for one label, without the call.
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
