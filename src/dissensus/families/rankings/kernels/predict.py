r"""The log-likelihood of rankings, and new rankings, given draws of the plausibilities.

**Log-likelihood.** For ranking r of item i, with the power :math:`\gamma_r` and the sharpness
:math:`g_r`,

.. math:: \gamma_r \log p(b_r \mid \lambda_i^{g_r})

`dissensus.kernels.plackett_luce` computes p for one ranking. This module computes it for all
rankings and thousands of draws. A strength may be 0, if a plausibility is below the smallest
floating-point number.

**New rankings** are those that new annotators with the same plausibilities would give, shaped like
the data. Labels are chosen with probabilities proportional to their plausibilities, without an
array over the labels of the remainder. An item's annotators choose from its named labels and from
the remainder: U labels whose shares of its mass are a symmetric Dirichlet(a) draw. A choice is made
among the named labels, the labels of the remainder that were drawn before, and the rest of the
remainder with its mass. If the choice falls on the rest, a label of the rest is drawn with
probability proportional to its share. The share of one of n labels has the density
Beta(a, (n - 1) a); weighting by the share adds 1 to the first parameter. So the drawn label takes
Beta(a + 1, (n - 1) a) of the rest. Which of the n exchangeable labels it is has a uniform
distribution. The other n - 1 divide the new rest as a symmetric Dirichlet(a) again, independent of
all earlier choices. From then on the drawn label keeps its share, for this annotator and for later
annotators, who may choose it too: the split is part of the draw.

With a sharpness other than 1, labels are chosen in proportion to a power of their plausibility. The
weight of the rest is then a sum of powers, which is largest if the split of the rest is even, or if
one label has the whole rest. Labels are drawn from the rest until this maximum is negligible. For
an even split (a infinite) the weight is known exactly.

A new annotator's list has the length and ties of an observed one: label after label is chosen
among the remaining ones with probability proportional to its plausibility (to the power of the
sharpness), and labels in tied places have no order. All new annotators of an item have the same
draw of the plausibilities, with the same split of the remainder.

The shares of the remainder's labels come from the stream by which metrics split the remainder
(`dissensus.kernels.remainder`): with the metrics' keys, both have the same labels with the same
shares.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.plackett_luce import log_before_rest
from dissensus.kernels.random import State, row_keys, started, uniform
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.remainder import SMALL, parted
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Codes, Flags, Floats, Keys
from dissensus.kernels.variates import log_gamma_variate

_NEGLIGIBLE = -40.0
"""A weight e^-40 times another is below the other's last digit."""
_CHOICES = 1
"""Seed of the streams that choose labels."""


def log_strengths(rankings: Rankings, plausibility: Floats, candidate: Codes) -> Floats:
    """Return the cells' log plausibilities (draw, cell); -inf where the plausibility is 0.

    Parameters
    ----------
    rankings : Rankings
        Only its cells are read.
    plausibility : array (draw, item, candidate)
        The named labels' masses, padding, and last the remainder's.
    candidate : array (cell)
        Each cell's column; an item's cells have different columns.

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
        In a closed ranking, cells that are not listed are absent.
    log_strength : array (draw, cell)
        Finite or -inf, of any scale. A cell may stand for several unlisted labels, with the sum of
        their strengths, only at sharpness 1: the sum of powers is not the power of the sum.
    power, sharpness : float or array, broadcast to (draw, ranking)
        :math:`\gamma_r > 0` and :math:`g_r > 0`. A sharpness of None is 1.

    Notes
    -----
    An unlisted cell of strength 0 adds nothing to the rest. A listed cell of strength 0 makes the
    likelihood 0, unless no cell comes after its block: this block is not informative.

    Time grows with the draws times the rows, and with the number of cells that any ranking of an
    item names. Other cells are summed once for each draw, and again where the sharpness changes
    from one ranking to the next.

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
    unlisted, ratio, no_share = np.empty(most, dtype=np.bool_), np.empty(most), np.empty(0)
    for draw in range(len(out)):
        for item in range(len(item_start) - 1):
            start, end = cell_start[item], cell_start[item + 1]
            cells, known = log_strength[draw, start:end], named[start:end]
            unlisted[: end - start] = known
            at, log_others = 0.0, -np.inf
            for ranking in range(item_start[item], item_start[item + 1]):
                first, past = ranking_start[ranking], ranking_start[ranking + 1]
                sharp, log_rest, any_after = sharpness[draw, ranking], -np.inf, False
                if first < past and not closed[ranking]:
                    if sharp != at:
                        at, log_others = sharp, _log_total(-np.inf, cells, known, False, sharp)
                    for row in range(first, past):
                        unlisted[place[row]] = False
                    log_rest = _log_total(log_others, cells, unlisted, True, sharp)
                    for row in range(first, past):
                        unlisted[place[row]] = True
                    any_after = past - first < end - start
                out[draw, ranking] = _of_ranking(
                    cells, place[first:past], rank[first:past], sharp, log_rest, any_after,
                    ratio, no_share,
                )  # fmt: skip


@inner
def _of_ranking(
    cells: Floats, place: Codes, rank: Codes, sharp: float, log_rest: float, any_after: bool,
    ratio: Floats, no_share: Floats,
) -> float:  # fmt: skip
    """Return the log-likelihood of one ranking.

    Blocks are added from last to first, so that the sum of strengths after each grows by positive
    terms only. `any_after` is whether any cell comes after the ranking, even with strength 0.
    """
    summed, high = 0.0, len(place)
    while high > 0:
        low = high - 1
        while low > 0 and rank[low - 1] == rank[high - 1]:
            low -= 1
        log_after = log_rest
        for row in range(low, high):
            log_listed = sharp * cells[place[row]]
            if log_listed == -np.inf and any_after:
                return -np.inf
            ratio[row - low] = log_listed - log_after  # not read if all later strengths are 0
            log_rest = log_plus(log_rest, log_listed)
        if log_after > -np.inf:
            if high - low == 1:
                # The value of log_before_rest for one label, without the call.
                summed += min(ratio[0], 0.0) - math.log1p(math.exp(-abs(ratio[0])))
            else:
                summed += log_before_rest(ratio[: high - low], no_share)
        any_after = True
        high = low
    return summed


@inner
def _log_total(log_start: float, cells: Floats, flag: Flags, value: bool, sharp: float) -> float:
    """Return the log of exp(`log_start`) plus the strengths of all cells whose flag is `value`."""
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


# The functions below take arrays and numbers, not tuples of arrays: Numba counts the references to
# each array of a tuple at every call, which took most of the time.


@inner
def next_log_share(
    state: State, log_rest: float, step: int, members: Codes, a: float
) -> tuple[float, float]:
    """Take the next share off the rest, and move its label to ``members[step]``.

    Does the same as `dissensus.kernels.remainder.next_share`, with the same random numbers, but in
    logarithms: with powers far below 1, even shares below any floating-point number matter.
    Returns the logarithms of the share and of the new rest.
    """
    if step == 0:
        for member in range(len(members)):
            members[member] = member
    left = len(members) - step - 1
    pick = step + int(uniform(state) * (left + 1))
    members[step], members[pick] = members[pick], members[step]
    if left == 0:
        return log_rest, -np.inf
    if a < SMALL:
        taken, _, log_kept = parted(state, a, left)
        return log_rest + math.log(taken), log_rest + log_kept
    if a == np.inf:
        odds = math.log(left)
    else:
        odds = log_gamma_variate(state, a * left) - log_gamma_variate(state, 1.0 + a)
    both = max(odds, 0.0) + math.log1p(math.exp(-abs(odds)))
    return log_rest - both, log_rest + odds - both


@inner
def log_hidden(log_rest: float, n_hidden: int, a: float, sharp: float) -> float:
    """Return the logarithm of the weight of the rest, or of an upper bound of this weight.

    It is the weight itself if the sharpness is 1, the split is even, or one label is left. The sum
    of powers is largest if all shares are equal (powers below 1) or if one label has the whole rest
    (powers above 1).
    """
    if n_hidden == 0 or log_rest == -np.inf:
        return -np.inf
    if sharp < 1.0 or (sharp > 1.0 and a == np.inf):
        return math.log(n_hidden) + sharp * (log_rest - math.log(n_hidden))
    return sharp * log_rest


@inner
def look(
    state: State, log_mass: Floats, taken: Flags, n_named: int, n_seen: int, log_rest: float,
    members: Codes, a: float, sharp: float,
) -> tuple[int, float]:  # fmt: skip
    """Draw labels from the rest until the weight of the rest is known, or negligible.

    `log_mass` and `taken` hold the named labels, then the labels drawn from the rest, and are
    extended. Returns the number of labels drawn from the rest, and the log rest.
    """
    if sharp == 1.0 or a == np.inf:
        return n_seen, log_rest
    top = -np.inf
    for k in range(n_named + n_seen):
        if not taken[k]:
            top = max(top, sharp * log_mass[k])
    while n_seen < len(members) - 1:
        if log_hidden(log_rest, len(members) - n_seen, a, sharp) <= top + _NEGLIGIBLE:
            break
        log_share, log_rest = next_log_share(state, log_rest, n_seen, members, a)
        log_mass[n_named + n_seen], taken[n_named + n_seen] = log_share, False
        top = max(top, sharp * log_share)
        n_seen += 1
    return n_seen, log_rest


@inner
def choose(
    state: State, log_mass: Floats, taken: Flags, n_known: int, log_other: float, n_other: int,
    sharp: float, weight: Floats,
) -> int:  # fmt: skip
    """Draw a label that is not taken, and return its place, or `n_known` for a label of the rest.

    `log_other` is the log weight of all `n_other` labels of the rest together; `weight` is work
    space, longer than `n_known`. If no remaining label has any mass, all are equally likely.
    """
    top = log_other
    for k in range(n_known):
        if not taken[k]:
            top = max(top, sharp * log_mass[k])
    total = 0.0
    for k in range(n_known):
        weight[k] = 0.0
        if not taken[k]:
            weight[k] = math.exp(sharp * log_mass[k] - top) if top > -np.inf else 1.0
        total += weight[k]
    weight[n_known] = math.exp(log_other - top) if top > -np.inf else n_other
    left, pick = uniform(state) * (total + weight[n_known]), n_known
    for k in range(n_known + 1):
        if weight[k] > 0.0:  # so that rounding never chooses a label without weight
            pick = k
            left -= weight[k]
            if left <= 0.0:
                break
    return pick


def predicted(
    rankings: Rankings, theta: Floats, candidate: Codes, n_unnamed: Codes, concentration: Floats,
    keys: Keys, split_keys: Keys, sharpness: npt.ArrayLike = 1.0,
) -> npt.NDArray[np.int32]:  # fmt: skip
    r"""Draw a new ranking for each draw and observed ranking, with its length and its ties.

    Parameters
    ----------
    rankings : Rankings
        The observed rankings. New lists of a closed ranking hold its own labels only.
    theta : array (draw, item, column)
        Masses of named labels, padding, and last of the remainder; of any scale.
    candidate : array (cell)
        Each cell's column; an item's unnamed cells, if any, come last.
    n_unnamed, concentration : array (item)
        Number of labels of the remainder, and the Dirichlet parameter by which it is split;
        infinite for an even split.
    keys : array (item)
        Each item's own random stream, different from chain to chain.
    split_keys : array (draw, item)
        The streams that split the remainder: those of the metrics.
    sharpness : float or array, broadcast to (draw, ranking)
        Labels are chosen with theta to this power.

    Returns
    -------
    array (draw, row)
        The chosen label's column, or ``column - 1 + j`` for the j-th unnamed label of the item.
        Labels in tied places are in ascending order.

    Notes
    -----
    Labels of mass 0 fill a list's last places evenly: the limit of equal strengths that go to 0.

    At sharpness 1, the posterior of the split is this Dirichlet distribution. At sharpness g,
    strengths of labels that nobody listed have a density proportional to
    :math:`\lambda^{a-1} e^{-\lambda - E \lambda^g}`, and the Dirichlet split is an approximation.
    The candidate form makes the same approximation for all metrics.
    """
    n_draws, n_items, n_columns = theta.shape
    sharp = np.broadcast_to(np.asarray(sharpness, np.float64), (n_draws, len(rankings.closed)))
    named = candidate < n_columns - 1
    owner = np.repeat(np.arange(n_items), rankings.n_cells)
    column_start = np.searchsorted(owner[named], np.arange(n_items + 1))
    draw = np.arange(n_draws, dtype=np.uint64)[:, None]
    out = np.empty((n_draws, len(rankings.place)), dtype=np.int32)
    _predicted(
        *rankings[:4], rankings.closed, column_start, candidate[named], n_unnamed,
        concentration, theta, sharp, row_keys(draw, keys, seed=_CHOICES), split_keys, out,
    )  # fmt: skip
    return out


@kernel
def _predicted(
    item_start: Codes, ranking_start: Codes, place: Codes, rank: Codes, closed: Flags,
    column_start: Codes, column: Codes, n_unnamed: Codes, concentration: Floats, theta: Floats,
    sharpness: Floats, keys: Keys, split_keys: Keys, out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    most = 0
    for item in range(len(n_unnamed)):
        most = max(most, n_unnamed[item])
    members, room = np.empty(most, np.int64), theta.shape[2] + most
    log_mass, taken, weight = np.empty(room), np.empty(room, np.bool_), np.empty(room + 1)
    for draw in range(len(theta)):
        for item in range(len(n_unnamed)):
            low, high = item_start[item], item_start[item + 1]
            columns = column[column_start[item] : column_start[item + 1]]
            for k in range(len(columns)):
                log_mass[k] = _log(theta[draw, item, columns[k]])
            _item(
                started(keys[draw, item]), started(split_keys[draw, item]),
                ranking_start[low : high + 1], place, rank, closed[low:high], columns,
                theta.shape[2] - 1, _log(theta[draw, item, -1]), members[: n_unnamed[item]],
                concentration[item], sharpness[draw, low:high], log_mass, taken, weight, out[draw],
            )  # fmt: skip


@inner
def _log(mass: float) -> float:
    return math.log(mass) if mass > 0.0 else -np.inf


@inner
def _item(
    state: State, split: State, starts: Codes, place: Codes, rank: Codes, closed: Flags,
    columns: Codes, last: int, log_rest: float, members: Codes, a: float, sharpness: Floats,
    log_mass: Floats, taken: Flags, weight: Floats, out: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    """Write the lists of one item's annotators under one draw."""
    n_named, n_seen = len(columns), 0
    for ranking in range(len(closed)):
        sharp, shut = sharpness[ranking], closed[ranking]
        taken[: n_named + n_seen] = shut
        if shut:
            for row in range(starts[ranking], starts[ranking + 1]):
                taken[place[row]] = False
        for row in range(starts[ranking], starts[ranking + 1]):
            n_hidden, log_other = 0, -np.inf
            if not shut:
                n_seen, log_rest = look(
                    split, log_mass, taken, n_named, n_seen, log_rest, members, a, sharp
                )
                n_hidden = len(members) - n_seen
                log_other = log_hidden(log_rest, n_hidden, a, sharp)
            n_known = n_named + n_seen
            pick = choose(state, log_mass, taken, n_known, log_other, n_hidden, sharp, weight)
            if pick == n_known:
                log_mass[pick], log_rest = next_log_share(split, log_rest, n_seen, members, a)
                n_seen += 1
            taken[pick] = True
            label = columns[pick] if pick < n_named else last + members[pick - n_named]
            _insert(out, rank, starts[ranking], row, label)


@inner
def _insert(out: npt.NDArray[np.int32], rank: Codes, start: int, row: int, label: int) -> None:
    """Put a label in the next row, or before larger ones that it is tied with."""
    while row > start and rank[row - 1] == rank[row] and out[row - 1] > label:
        out[row] = out[row - 1]
        row -= 1
    out[row] = label
