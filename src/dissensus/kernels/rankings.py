"""Rankings as blocks of label codes: layouts, inverse ranks, first choices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiled import kernel
from dissensus.kernels.random import mixed
from dissensus.kernels.sorting import sorted_with_order
from dissensus.kernels.types import Codes, Flags, Floats, Keys


def inverse_rank_weights(rank: Codes, ranking: Codes, *, split_ties: bool) -> Floats:
    r"""Return the weight of each ranked label (row): :math:`1/(l\,|b_l|)` or :math:`1/l`.

    ``rank`` (row) is the number l of the label's block, from 1. With ``split_ties``, the weight of
    a block is divided by its size (Eq. 14 of Stutz et al. 2023); their published code does not
    divide it.
    """
    weight = 1.0 / rank
    if split_ties:
        block = ranking * (int(rank.max()) + 1) + rank
        _, place, size = np.unique(block, return_inverse=True, return_counts=True)
        weight = weight / size[place]
    return np.asarray(weight)


class Rankings(NamedTuple):
    """Rankings, item by item.

    An item has *cells*, each with a strength: the labels that were named for the item, and perhaps
    unnamed labels.
    """

    item_start: Codes
    """(item + 1): where each item's rankings start."""
    ranking_start: Codes
    """(ranking + 1): where each ranking's rows start; its rows are in the order of ranks."""
    place: Codes
    """(row): place of the listed cell among the cells of the item."""
    rank: Codes
    """(row): the number of the row's block, from 1."""
    cell_start: Codes
    """(item + 1): where each item's cells start among the cells of all items."""
    closed: Flags
    """(ranking): whether only the listed cells could be chosen.

    If not, the cells that are not listed come after the listed ones."""

    @property
    def n_cells(self) -> Codes:
        """Number of cells of each item."""
        return np.diff(self.cell_start)

    def part(self, low: int, high: int) -> Rankings:
        """Return the rankings of items ``low`` to ``high`` - 1.

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

    def first_blocks(self) -> Rankings:
        """Keep only the first block of rankings that are not closed, and all blocks of the others.

        A closed ranking with only its first block would have probability 1.

        >>> columns = [0, 2], [0, 2, 3], [0, 1, 1], [1, 2, 1], [0, 3], [False, False]
        >>> Rankings(*map(np.array, columns)).first_blocks().place
        array([0, 1])
        """
        of_row = np.repeat(np.arange(len(self.closed)), np.diff(self.ranking_start))
        kept = (self.rank == 1) | self.closed[of_row]
        start = np.concatenate([[0], np.cumsum(kept)])[self.ranking_start]
        return self._replace(ranking_start=start, place=self.place[kept], rank=self.rank[kept])


def first_choice_agreement(rankings: Rankings, codes: Codes) -> Floats:
    """Return the share of pairs of rankings of one item whose first blocks are the same set.

    ``codes`` (draw, row) are labels. The result (draw) is NaN where no item has two rankings.

    >>> columns = [0, 3], [0, 1, 2, 4], [0, 0, 1, 0], [1, 1, 1, 1], [0, 2], [False] * 3
    >>> first_choice_agreement(Rankings(*map(np.array, columns)), np.array([[5, 5, 7, 5]]))
    array([0.33333333])
    """
    low = int(codes.min(initial=0))
    mark = mixed(np.arange(codes.max(initial=0) - low + 1, dtype=np.uint64) + np.uint64(1))
    out = np.empty(len(codes))
    _agreement(rankings.item_start, rankings.ranking_start, rankings.rank, mark, codes, low, out)
    return out


@kernel
def _agreement(
    item_start: Codes, ranking_start: Codes, rank: Codes, mark: Keys,
    codes: Codes, low: int, out: Floats,
) -> None:  # fmt: skip
    """Write the agreement (draw); sets with equal sums of members' hashes count as equal."""
    for draw in range(len(codes)):
        same = pairs = 0
        for item in range(len(item_start) - 1):
            start, end = item_start[item], item_start[item + 1]
            sums = np.zeros(end - start, dtype=np.uint64)
            for ranking in range(start, end):
                for row in range(ranking_start[ranking], ranking_start[ranking + 1]):
                    if rank[row] == 1:
                        sums[ranking - start] += mark[codes[draw, row] - low]
            sums, _ = sorted_with_order(sums)
            pairs += len(sums) * (len(sums) - 1) // 2
            run = 0
            for place in range(1, len(sums)):
                run = run + 1 if sums[place] == sums[place - 1] else 0
                same += run
        out[draw] = same / pairs if pairs > 0 else np.nan
