"""Items whose leading label hangs on one annotator."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.types import Ints

ROUNDING: Final = 1e-9
"""Sums of shares that differ by less are equal: three thirds are not 1 to the bit."""


@kernel
def _slim_majority(
    start: Ints, own: Ints, share: npt.NDArray[np.float64], said: Ints, n_labels: int
) -> npt.NDArray[np.bool_]:
    n_items = len(start) - 1
    votes, mine = np.zeros(n_labels), np.zeros(n_labels)
    seen = np.empty(n_labels, dtype=np.int64)
    out = np.zeros(n_items, dtype=np.bool_)
    for i in range(n_items):
        n, lead = 0, -1
        for row in range(start[i], start[i + 1]):
            if votes[said[row]] == 0.0:
                seen[n] = said[row]
                n += 1
            votes[said[row]] += share[row]
        for entry in range(n):
            if lead < 0 or votes[seen[entry]] > votes[lead]:
                lead = seen[entry]
        place = start[i]
        while place < start[i + 1] and n_labels > 1 and not out[i]:
            for row in range(place, own[place]):
                mine[said[row]] += share[row]
            rival = 0.0 if n < n_labels else -1.0  # a label that nobody gave yet
            for entry in range(n):
                if seen[entry] != lead:
                    rival = max(rival, votes[seen[entry]] - mine[seen[entry]])
            out[i] = rival + 1.0 >= votes[lead] - mine[lead] - ROUNDING
            for row in range(place, own[place]):
                mine[said[row]] = 0.0
            place = own[place]
        for entry in range(n):
            votes[seen[entry]] = 0.0
    return out


def slim_majority(rows: Grouped, said: Ints, n_labels: int) -> npt.NDArray[np.bool_]:
    """Return whether the leading label would be beaten or tied, if one annotator changed his.

    An annotator with several labels for an item changes all of them. An item whose leading labels
    are tied already has a slim majority too; one with a single label to give has none.

    Parameters
    ----------
    rows : Grouped
        From `dissensus.arrays.grouped`.
    said : array of int (row)
        Label codes, in the order of ``rows``.
    n_labels : int
        How many labels could be given.

    Returns
    -------
    array of bool (item)

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> rows = grouped(np.repeat([0, 1], 4), np.tile(np.arange(4), 2), 2)
    >>> slim_majority(rows, np.array([0, 0, 0, 1, 0, 0, 0, 0]), 2)
    array([ True, False])
    """
    return _slim_majority(rows.start, rows.own, rows.share, said, n_labels)
