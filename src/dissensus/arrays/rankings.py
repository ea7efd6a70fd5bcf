"""Partial rankings of many items, laid out for kernels that pass over them once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.arrays.types import Codes


class Rankings(NamedTuple):
    """Who ranked what, item after item.

    An item has *cells*: the labels that somebody named for it, and perhaps more that nobody did,
    each with a strength of its own.

    Examples
    --------
    One item with three cells; x before y and z:

    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [0], [1], [0, 3], [False])))
    >>> one.n_cells
    array([3])
    """

    item_start: Codes
    """(item + 1): where each item's rankings start."""
    ranking_start: Codes
    """(ranking + 1): where each ranking's rows start; rows in order of rank."""
    place: Codes
    """(row): which of the item's cells is listed."""
    rank: Codes
    """(row): the number of its block, from 1."""
    cell_start: Codes
    """(item + 1): where each item's cells start, if those of all items stand in one row."""
    closed: npt.NDArray[np.bool_]
    """(ranking): only the listed cells were there to choose from.

    Else those not listed were, and come after the listed ones."""

    @property
    def n_cells(self) -> Codes:
        """Number of cells of each item."""
        return np.diff(self.cell_start)

    def part(self, low: int, high: int) -> Rankings:
        """Take the items from low to high, and nothing of the others.

        Examples
        --------
        >>> columns = [0, 1, 2], [0, 1, 2], [0, 1], [1, 1], [0, 3, 5], [False, False]
        >>> Rankings(*map(np.array, columns)).part(1, 2).place
        array([1])
        """
        rankings = self.item_start[low : high + 1]
        rows = self.ranking_start[rankings[0] : rankings[-1] + 1]
        cells = self.cell_start[low : high + 1]
        return Rankings(
            item_start=rankings - rankings[0],
            ranking_start=rows - rows[0],
            place=self.place[rows[0] : rows[-1]],
            rank=self.rank[rows[0] : rows[-1]],
            cell_start=cells - cells[0],
            closed=self.closed[rankings[0] : rankings[-1]],
        )
