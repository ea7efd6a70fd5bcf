"""How often each label was given to each item, counting every annotator once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.types import Floats, Ints


class LabelShares(NamedTuple):
    r"""The distinct labels of each item, as a sparse matrix (item, label), and their squares.

    With :math:`q_{rk}` the share of label k in what annotator r said about an item,
    ``amount`` is :math:`n_k = \sum_r q_{rk}`.
    """

    start: Ints
    """(item + 1): entries ``start[i]`` to ``start[i + 1]`` belong to item i."""
    label: Ints
    """(entry): label code."""
    amount: Floats
    """(entry): the annotators who said so; a fraction of one where they said other things too."""
    agreement: Floats
    r"""(item): :math:`\sum_{r \neq s} \sum_k q_{rk} q_{sk}`, agreeing ordered pairs."""
    own: Floats
    r"""(item): :math:`\sum_r \sum_k q_{rk}^2`: the annotators, if nobody repeats."""


@inner
def _own_squares(said: Ints, first: int, last: int, times: Ints) -> float:
    """Sum the squared shares of one annotator's labels of one item; ``times`` is zeros (label)."""
    total = 0
    for row in range(first, last):
        times[said[row]] += 1
    for row in range(first, last):
        total += times[said[row]] * times[said[row]]
        times[said[row]] = 0
    return total / (last - first) ** 2


@kernel
def _label_shares(
    start: Ints, own: Ints, share: Floats, said: Ints, n_labels: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    n_items = len(start) - 1
    where = np.empty(n_labels, dtype=np.int64)  # of a label's entry, if this item has one
    for k in range(n_labels):
        where[k] = -1
    times = np.zeros(n_labels, dtype=np.int64)
    starts = np.zeros(n_items + 1, dtype=np.int64)
    label = np.empty(len(said), dtype=np.int64)
    amount = np.empty(len(said))
    agreement, alone = np.zeros(n_items), np.zeros(n_items)
    n = 0
    for i in range(n_items):
        begin, squares, total, place = n, 0.0, 0.0, start[i]
        while place < start[i + 1]:
            if own[place] == place + 1:
                squares += 1.0
            else:
                squares += _own_squares(said, place, own[place], times)
            for row in range(place, own[place]):
                code = said[row]
                # Without a branch: whether a label is new cannot be foreseen.
                new = where[code] < begin
                entry = n if new else where[code]
                where[code], label[entry] = entry, code
                amount[entry] = share[row] + (0.0 if new else amount[entry])
                n += new
            place = own[place]
        for entry in range(begin, n):
            total += amount[entry] ** 2
        agreement[i], alone[i] = total - squares, squares
        starts[i + 1] = n
    return starts, label[:n].copy(), amount[:n].copy(), agreement, alone


def label_shares(rows: Grouped, codes: npt.NDArray[np.integer], n_labels: int) -> LabelShares:
    """Count labels by item, in time and memory linear in the rows.

    Parameters
    ----------
    rows : Grouped
        From `dissensus.arrays.grouped`.
    codes : array of int (row)
        Label codes, as the rows stand in the data.
    n_labels : int
        How many labels there are.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> rows = grouped(np.array([0, 0, 0]), np.array([0, 1, 2]), 1)
    >>> found = label_shares(rows, np.array([1, 1, 0]), 2)
    >>> found.label.tolist(), found.amount.tolist(), found.agreement.tolist()
    ([1, 0], [2.0, 1.0], [2.0])
    """
    said = codes.astype(np.int64, copy=False)[rows.order]
    return LabelShares(*_label_shares(rows.start, rows.own, rows.share, said, n_labels))
