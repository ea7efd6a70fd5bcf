"""Which labels the rankings put above which, and the groups this makes.

A chain of rankings leads from x to y if some ranking puts x above a second label, some ranking
puts that one above a third, and so on to y. Labels with a chain both ways belong to one *group*.
A group above which nobody puts any other label is a *top* group. These are the strongly connected
components of the graph "ranked above", and those among them without an edge from outside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dissensus.kernels.rankings import Rankings
from dissensus.kernels.types import Codes


class Groups(NamedTuple):
    """The groups that the cells of all items form."""

    of_cell: Codes
    """(cell): the group of each cell; groups are numbered item after item."""
    top: npt.NDArray[np.bool_]
    """(group): whether no label outside is ranked above it."""


def groups(rankings: Rankings) -> Groups:
    """Find the groups of each item's cells.

    Parameters
    ----------
    rankings : Rankings
        Partial rankings of all items.

    Examples
    --------
    x before y before z, and y before x before z, of one item:

    >>> both = Rankings(*map(np.array, (
    ...     [0, 2], [0, 3, 6], [0, 1, 2, 1, 0, 2], [1, 2, 3] * 2, [0, 3], [False] * 2)))
    >>> groups(both)
    Groups(of_cell=array([0, 0, 1]), top=array([ True, False]))
    """
    above, below, n_nodes = _edges(rankings)
    graph = csr_array((np.ones(len(above), dtype=np.int32), (above, below)), (n_nodes, n_nodes))
    _, found = connected_components(graph, directed=True, connection="strong")
    reached = found[below[found[above] != found[below]]]
    n_cells = int(rankings.cell_start[-1])
    # Numbered anew in the order of cells: the search numbers them as it likes.
    _, first, group = np.unique(found[:n_cells], return_index=True, return_inverse=True)
    rank_of = np.empty(len(first), dtype=np.int64)
    rank_of[np.argsort(first)] = np.arange(len(first))
    of_cell = rank_of[group]
    top = np.ones(len(first), dtype=bool)
    top[of_cell[np.isin(found[:n_cells], reached)]] = False
    return Groups(of_cell, top)


def _edges(rankings: Rankings) -> tuple[Codes, Codes, int]:
    """Return the edges of a graph in which the same cells can be reached as by "ranked above".

    Each block gets a node: reached from its members and the block before, with edges to the
    members of the block after. So the edges are as many as the rows, not as their pairs.
    """
    ranking, item, cell = _whose(rankings)
    n_cells = int(rankings.cell_start[-1])
    first = _changes(ranking) | _changes(rankings.rank)
    block = n_cells + np.cumsum(first) - 1
    later = block > block[rankings.ranking_start[ranking]]  # not in its ranking's first block
    chained = first & later
    unlisted, listed_last = _unlisted(rankings, item, ranking, block)
    above = np.concatenate([cell, block[later] - 1, block[chained] - 1, listed_last])
    below = np.concatenate([block, cell[later], block[chained], unlisted])
    return above, below, n_cells + int(first.sum())


def _whose(rankings: Rankings) -> tuple[Codes, Codes, Codes]:
    """Return the ranking of each row, the item of each ranking, and the cell of each row."""
    ranking = np.repeat(np.arange(len(rankings.closed)), np.diff(rankings.ranking_start))
    item = np.repeat(np.arange(len(rankings.item_start) - 1), np.diff(rankings.item_start))
    return ranking, item, rankings.cell_start[item[ranking]] + rankings.place


def _changes(values: Codes) -> npt.NDArray[np.bool_]:
    """Mark the values that differ from the one before, and the first."""
    new = np.ones(len(values), dtype=bool)
    new[1:] = np.diff(values) != 0
    return new


def _unlisted(rankings: Rankings, item: Codes, ranking: Codes, block: Codes) -> tuple[Codes, Codes]:
    """Return the cells that open rankings do not list, and the last block before each."""
    says = np.diff(rankings.ranking_start) > 0
    n_there = np.where(rankings.closed | ~says, 0, rankings.n_cells[item])
    start = np.concatenate([[0], np.cumsum(n_there)])
    owner = np.repeat(np.arange(len(n_there)), n_there)
    there = np.arange(start[-1]) - start[owner] + rankings.cell_start[item[owner]]
    open_row = ~rankings.closed[ranking]
    left = np.ones(start[-1], dtype=bool)
    left[start[ranking[open_row]] + rankings.place[open_row]] = False
    last = rankings.ranking_start[1:][owner[left]] - 1
    return there[left], block[last]


def within(rankings: Rankings, of_cell: Codes) -> tuple[Rankings, Codes]:
    """Take the rankings apart: what they say within each group is a problem of its own.

    Parameters
    ----------
    rankings : Rankings
        Partial rankings of all items.
    of_cell : array (cell)
        The group of each cell.

    Returns
    -------
    Rankings
        With a group in place of an item. A block keeps the number it had.
    order : array (cell)
        Which of the original cells each of its cells is.

    Examples
    --------
    >>> both = Rankings(*map(np.array, (
    ...     [0, 2], [0, 3, 6], [0, 1, 2, 1, 0, 2], [1, 2, 3] * 2, [0, 3], [False] * 2)))
    >>> apart, order = within(both, groups(both).of_cell)
    >>> apart.n_cells, apart.ranking_start, apart.place
    (array([2, 1]), array([0, 2, 4, 5, 6]), array([0, 1, 1, 0, 0, 0]))
    """
    n_groups = int(of_cell.max(initial=-1)) + 1
    order = np.argsort(of_cell, kind="stable")
    cell_start = np.searchsorted(of_cell[order], np.arange(n_groups + 1))
    place = np.empty_like(order)
    place[order] = np.arange(len(order)) - cell_start[of_cell[order]]
    ranking, _, cell = _whose(rankings)
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
