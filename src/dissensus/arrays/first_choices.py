"""How often two annotators of one item begin with the same labels: a check of ranking models."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import kernel
from dissensus.arrays.rankings import Rankings
from dissensus.arrays.stable_sort import sorted_with_order
from dissensus.arrays.stream import mixed
from dissensus.arrays.types import Codes


def first_choice_agreement(rankings: Rankings, codes: Codes) -> npt.NDArray[np.float64]:
    """Return the share of pairs of rankings of one item whose first blocks are the same set.

    Parameters
    ----------
    rankings : Rankings
        Where items, rankings and blocks begin.
    codes : array (draw, row)
        The label in each row's place.

    Returns
    -------
    array (draw)
        NaN where no item has two rankings.

    Examples
    --------
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
    item_start: Codes, ranking_start: Codes, rank: Codes, mark: npt.NDArray[np.uint64],
    codes: Codes, low: int, out: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """Compare sets by the sum of their members' marks: sorted, equal ones are neighbours."""
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
