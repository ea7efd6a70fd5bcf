"""Labels that nobody listed: one cell while an item is sampled, and their own parts of it after.

No ranking tells them apart. So given the mass of all of them their parts have a Dirichlet
distribution with their prior's shapes, whatever was said.
"""

from __future__ import annotations

import numpy as np

from dissensus.kernels.compiled import kernel
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_total
from dissensus.kernels.types import Flags, Floats, Ints, Keys
from dissensus.kernels.variates import LEAST, log_gamma_variate


def together(rankings: Rankings, shape: Floats) -> tuple[Rankings, Floats, Flags]:
    """Make one cell, the last, of those that no ranking of an item lists.

    Parameters
    ----------
    rankings : Rankings
    shape : array (draw, cell)

    Returns
    -------
    Rankings
        Of fewer cells.
    array (draw, cell)
        Of these.
    array (cell)
        Which of those there were are listed.

    Examples
    --------
    x, of cells w, x and y:

    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [1], [1], [0, 3], [False])))
    >>> fewer, shape, listed = together(one, np.array([[1.0, 2.0, 4.0]]))
    >>> fewer.place.tolist(), fewer.cell_start.tolist(), shape.tolist()
    ([0], [0, 2], [[2.0, 5.0]])
    """
    start, n_items = rankings.cell_start, len(rankings.n_cells)
    owner = np.repeat(np.arange(n_items), rankings.n_cells)
    item = np.repeat(np.arange(n_items), np.diff(rankings.item_start))
    row = start[np.repeat(item, np.diff(rankings.ranking_start))] + rankings.place
    listed = np.zeros(len(owner), dtype=np.bool_)
    listed[row] = True
    n_listed = np.bincount(owner, listed, n_items).astype(np.int64)
    n_cells = n_listed + (n_listed < rankings.n_cells)
    cell_start = np.concatenate([[0], np.cumsum(n_cells)])
    before = np.cumsum(listed) - listed
    within = np.where(listed, before - before[start[:-1]][owner], n_listed[owner])
    fewer = np.zeros((len(shape), cell_start[-1]))
    to = cell_start[owner] + within
    fewer[:, to[listed]] = shape[:, listed]
    for cell in np.flatnonzero(~listed):
        fewer[:, to[cell]] += shape[:, cell]
    whole = rankings._replace(place=within[row], cell_start=cell_start)
    return whole, fewer, listed


@kernel
def share_out(
    keys: Keys, theta: Floats, shape: Floats, cell_start: Ints, listed: Flags, column: Ints,
    out: Floats,
) -> None:  # fmt: skip
    """Write the masses of all cells.

    Parameters
    ----------
    keys : array (item)
        Where each item's stream starts; written.
    theta : array (draw, item, column)
        Of the listed cells, and last of all others together.
    shape : array (draw, cell)
        Of the prior.
    cell_start : array (item + 1)
    listed : array (cell)
    column : array (cell)
        Where a cell's mass goes.
    out : array (draw, item, column)
        Written; 0 before.
    """
    parts = np.empty(shape.shape[1])
    for draw in range(len(out)):
        for item in range(len(keys)):
            low, high, place = cell_start[item], cell_start[item + 1], 0
            n = 0
            for cell in range(low, high):
                if listed[cell]:
                    out[draw, item, column[cell]] += theta[draw, item, place]
                    place += 1
                else:
                    of = max(shape[draw, cell], LEAST)
                    parts[n] = log_gamma_variate(keys[item : item + 1], of)
                    n += 1
            if n > 0:
                whole, rest, k = log_total(parts[:n]), theta[draw, item, -1], 0
                for cell in range(low, high):
                    if not listed[cell]:
                        out[draw, item, column[cell]] += rest * np.exp(parts[k] - whole)
                        k += 1
