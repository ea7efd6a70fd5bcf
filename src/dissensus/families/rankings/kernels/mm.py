"""Maximum likelihood for partial rankings with ties under Plackett-Luce.

A chain of rankings leads from x to y if a ranking puts x above a second label, a ranking puts the
second above a third, and so on to y. Two labels with chains in both directions belong to the same
*group*: groups are the strongly connected components of the graph "ranked above". In a *top* group,
no label is ranked below a label outside the group.

At the maximum, each label is ranked as often as expected (see `memory`). The EM algorithm
multiplies each strength by the observed number of rankings over the expected number. It never
lowers the likelihood, and without ties is Hunter's MM algorithm (2004). It is slow where few
rankings link two parts of the labels. Its steps are therefore accelerated by a quasi-Newton method
(Lange 1995), with EM as the safeguard. `docs/derivations/maximum-likelihood.md` states when a
unique maximum exists.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dissensus.families.rankings.kernels.memory import times_expected, times_ranked
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.types import Codes, Flags, Floats, Ints


class Groups(NamedTuple):
    """The groups that the cells of all items form."""

    of_cell: Codes
    """(cell): the group of each cell; groups are numbered item after item."""
    top: npt.NDArray[np.bool_]
    """(group): whether no label outside is ranked above a label of the group."""


def groups(rankings: Rankings) -> Groups:
    """Find the groups of each item's cells."""
    above, below, n_nodes = _edges(rankings)
    graph = csr_array((np.ones(len(above), dtype=np.int32), (above, below)), (n_nodes, n_nodes))
    _, component = connected_components(graph, directed=True, connection="strong")
    reached = component[below[component[above] != component[below]]]
    n_cells = int(rankings.cell_start[-1])
    # The search numbers groups arbitrarily: renumber them in the order of cells.
    _, first, group = np.unique(component[:n_cells], return_index=True, return_inverse=True)
    rank_of = np.empty(len(first), dtype=np.int64)
    rank_of[np.argsort(first)] = np.arange(len(first))
    of_cell = rank_of[group]
    top = np.ones(len(first), dtype=bool)
    top[of_cell[np.isin(component[:n_cells], reached)]] = False
    return Groups(of_cell, top)


def _edges(rankings: Rankings) -> tuple[Codes, Codes, int]:
    """Return the edges of a graph with the same paths between cells as "ranked above".

    Each block gets a node, with edges from its members and from the node of the block before, and
    to the members of the block after. The number of edges then grows with that of rows, not with
    that of pairs of rows.
    """
    ranking, item, cell = _indices(rankings)
    n_cells = int(rankings.cell_start[-1])
    first = _changes(ranking) | _changes(rankings.rank)
    block = n_cells + np.cumsum(first) - 1
    later = block > block[rankings.ranking_start[ranking]]  # not in its ranking's first block
    chained = first & later
    unlisted, listed_last = _unlisted(rankings, item, ranking, block)
    above = np.concatenate([cell, block[later] - 1, block[chained] - 1, listed_last])
    below = np.concatenate([block, cell[later], block[chained], unlisted])
    return above, below, n_cells + int(first.sum())


def _indices(rankings: Rankings) -> tuple[Codes, Codes, Codes]:
    """Return the ranking of each row, the item of each ranking, and the cell of each row."""
    ranking = np.repeat(np.arange(len(rankings.closed)), np.diff(rankings.ranking_start))
    item = np.repeat(np.arange(len(rankings.item_start) - 1), np.diff(rankings.item_start))
    return ranking, item, rankings.cell_start[item[ranking]] + rankings.place


def _changes(values: Codes) -> npt.NDArray[np.bool_]:
    """Mark the first value, and each value that differs from the one before it."""
    new = np.ones(len(values), dtype=bool)
    new[1:] = np.diff(values) != 0
    return new


def _unlisted(rankings: Rankings, item: Codes, ranking: Codes, block: Codes) -> tuple[Codes, Codes]:
    """Return the cells that each open ranking does not list, and the ranking's last block."""
    lists_any = np.diff(rankings.ranking_start) > 0
    n_cells = np.where(rankings.closed | ~lists_any, 0, rankings.n_cells[item])
    start = np.concatenate([[0], np.cumsum(n_cells)])
    owner = np.repeat(np.arange(len(n_cells)), n_cells)
    cell = np.arange(start[-1]) - start[owner] + rankings.cell_start[item[owner]]
    open_row = ~rankings.closed[ranking]
    is_unlisted = np.ones(start[-1], dtype=bool)
    is_unlisted[start[ranking[open_row]] + rankings.place[open_row]] = False
    last = rankings.ranking_start[1:][owner[is_unlisted]] - 1
    return cell[is_unlisted], block[last]


def within(rankings: Rankings, of_cell: Codes) -> tuple[Rankings, Codes]:
    """Split the rankings by group, because each group is a separate problem.

    Returns rankings in which groups take the place of items and blocks keep their numbers, and the
    original index of each cell of these rankings.
    """
    n_groups = int(of_cell.max(initial=-1)) + 1
    order = np.argsort(of_cell, kind="stable")
    cell_start = np.searchsorted(of_cell[order], np.arange(n_groups + 1))
    place = np.empty_like(order)
    place[order] = np.arange(len(order)) - cell_start[of_cell[order]]
    ranking, _, cell = _indices(rankings)
    row = np.argsort(of_cell[cell], kind="stable")  # keeps the order by ranking and rank
    group, ranking = of_cell[cell[row]], ranking[row]
    starts = np.flatnonzero(_changes(group) | _changes(ranking))
    apart = Rankings(
        item_start=np.searchsorted(group[starts], np.arange(n_groups + 1)),
        ranking_start=np.append(starts, len(row)),
        place=place[cell[row]],
        rank=rankings.rank[row],
        cell_start=cell_start,
        closed=rankings.closed[ranking[starts]],
    )
    return apart, order


_MEMORY = 30
"""Number of steps from which the curvature is estimated."""

_LONGEST = 10.0
"""Maximum change of a log strength in one step: the likelihood is flat far from the maximum."""

_MOST_CUTS = 30
"""Maximum number of times that a step is shortened; then the EM step is taken instead."""

_ROUNDING = 1e-12
"""Relative rounding error by which a sum of logarithms may seem to decrease."""


class Maximum(NamedTuple):
    """Maximum of the likelihood of each item's rankings, or its limit."""

    share: Floats
    """(cell): its share of the sum of the item's strengths."""
    top: Flags
    """(cell): whether its share is above 0."""
    log_likelihood: Floats
    """(item): the maximum, or the supremum if it is not reached."""
    n_tops: Ints
    """(item): number of top groups; 1 if the shares are unique."""
    n_passes: Ints
    """(item): number of passes over all rankings."""
    reached: Flags
    """(item): whether the maximum was reached within the limit of passes."""


def maximum(rankings: Rankings, *, tolerance: float, max_passes: int) -> Maximum:
    """Find the strengths under which the rankings of each item are most probable.

    As the strengths of different groups move apart, the likelihood tends to a product with one
    factor for each group; each factor has one maximum. Only the top group keeps a share. If there
    are several top groups, the rankings do not decide between them, and each gets a part in
    proportion to its number of cells.

    Stops when the EM algorithm would change no strength by more than the fraction `tolerance`, or
    after `max_passes` passes over a group's rankings.

    Examples
    --------
    Twice x before y, once y before x:

    >>> three = Rankings(*map(np.array, (
    ...     [0, 3], [0, 2, 4, 6], [0, 1, 0, 1, 1, 0], [1, 2] * 3, [0, 2], [False] * 3)))
    >>> maximum(three, tolerance=1e-10, max_passes=100).share.round(6)
    array([0.666667, 0.333333])
    """
    of_cell, top = groups(rankings)
    apart, order = within(rankings, of_cell)
    item_of_cell = np.repeat(np.arange(len(rankings.n_cells)), rankings.n_cells)
    log_strength = np.zeros(len(order))
    value, passes = np.zeros(len(top)), np.zeros(len(top), dtype=np.int64)
    reached = np.ones(len(top), dtype=bool)
    _solve(apart, tolerance, max_passes, log_strength, value, passes, reached)
    n_items = len(rankings.n_cells)
    item = np.empty(len(top), dtype=np.int64)
    item[of_cell] = item_of_cell
    strength = np.empty(len(order))
    strength[order] = np.exp(log_strength)  # sums to the number of cells in each group
    strength[~top[of_cell]] = 0.0
    total = np.bincount(item_of_cell, strength, minlength=n_items)
    return Maximum(
        share=strength / total[item_of_cell],
        top=top[of_cell],
        log_likelihood=np.bincount(item, value, minlength=n_items),
        n_tops=np.bincount(item[top], minlength=n_items),
        n_passes=np.bincount(item, passes, minlength=n_items).astype(np.int64),
        reached=np.bincount(item[~reached], minlength=n_items) == 0,
    )


@kernel
def _solve(
    rankings: Rankings, tolerance: float, max_passes: int, log_strength: Floats, value: Floats,
    passes: Ints, reached: Flags,
) -> None:  # fmt: skip
    """Solve group after group, and scale their strengths to sum to the number of cells."""
    for group in range(len(value)):
        mine = log_strength[rankings.cell_start[group] : rankings.cell_start[group + 1]]
        if len(mine) > 1:
            value[group], passes[group], reached[group] = _climb(
                rankings, group, mine, tolerance, max_passes
            )
            top = mine.max()
            mine -= top + np.log(np.exp(mine - top).mean())


@inner
def _climb(
    rankings: Rankings, item: int, u: Floats, tolerance: float, max_passes: int
) -> tuple[float, int, bool]:
    """Climb from `u`, in place, until each label is ranked as often as expected."""
    observed = times_ranked(rankings, item)
    expected, trial_expected = np.empty(len(u)), np.empty(len(u))
    moves, bends = np.empty((_MEMORY, len(u))), np.empty((_MEMORY, len(u)))
    products = np.empty(_MEMORY)
    n_stored = 0
    value = times_expected(rankings, item, u, expected)
    passes = 1
    while True:
        gradient = observed - expected
        if np.abs(gradient / observed).max() <= tolerance:
            return value, passes, True
        if passes >= max_passes:
            return value, passes, False
        step = _direction(gradient, observed, moves, bends, products, n_stored)
        trial, trial_value, n_tries = _along(
            rankings, item, u, step, value, gradient @ step, observed, trial_expected
        )
        passes += n_tries
        if n_tries > _MOST_CUTS:
            n_stored = 0
            trial = u + np.minimum(np.log(observed / np.maximum(expected, 1e-300)), _LONGEST)
            trial_value = times_expected(rankings, item, trial, trial_expected)
            passes += 1
        bend = trial_expected - expected
        n_stored = _remember(trial - u, bend, moves, bends, products, n_stored)
        u[:], expected[:], value = trial, trial_expected, trial_value


@inner
def _along(
    rankings: Rankings, item: int, u: Floats, step: Floats, value: float, slope: float,
    observed: Floats, expected: Floats,
) -> tuple[Floats, float, int]:  # fmt: skip
    """Take a step, or a part of it if the maximum along the step lies well before its end.

    The slope at the end of the step shows this, because the likelihood is log-concave. Differences
    in the likelihood itself can be lost in rounding. Returns strengths, value and number of tries.
    """
    trial, trial_value = u, value
    if not slope > 0:  # only rounding errors can cause this
        return trial, trial_value, _MOST_CUTS + 1
    part = min(1.0, _LONGEST / np.abs(step).max())
    for tries in range(1, _MOST_CUTS + 1):
        trial = u + part * step
        trial_value = times_expected(rankings, item, trial, expected)
        end = (observed - expected) @ step
        if end >= -0.5 * slope and trial_value >= value - _ROUNDING * abs(value):
            return trial, trial_value, tries
        part *= 0.5 if end >= 0 else min(0.5, max(0.1, slope / (slope - end)))
    return trial, trial_value, _MOST_CUTS + 1


@inner
def _direction(
    gradient: Floats,
    observed: Floats,
    moves: Floats,
    bends: Floats,
    products: Floats,
    n_stored: int,
) -> Floats:
    """Multiply the gradient by the estimated inverse curvature (limited-memory BFGS, two loops).

    Without stored moves it is the EM step to first order, with `observed` as the curvature.
    """
    step = gradient.copy()
    oldest = max(0, n_stored - _MEMORY)
    part = np.empty(_MEMORY)
    for number in range(n_stored - 1, oldest - 1, -1):
        slot = number % _MEMORY
        part[slot] = moves[slot] @ step / products[slot]
        step -= part[slot] * bends[slot]
    step /= observed
    if n_stored > 0:
        newest = (n_stored - 1) % _MEMORY
        step *= products[newest] / (bends[newest] @ (bends[newest] / observed))
    for number in range(oldest, n_stored):
        slot = number % _MEMORY
        step += (part[slot] - bends[slot] @ step / products[slot]) * moves[slot]
    return step


@inner
def _remember(
    move: Floats, bend: Floats, moves: Floats, bends: Floats, products: Floats, n_stored: int
) -> int:
    """Store the decrease of the gradient along a move, unless it is lost in rounding."""
    product = move @ bend
    if product <= _ROUNDING * np.abs(move).max() * np.abs(bend).max():
        return n_stored
    newest = n_stored % _MEMORY
    moves[newest], bends[newest], products[newest] = move, bend, product
    return n_stored + 1
