"""Rows by item, and within an item by annotator: what all pairs of annotators are counted from.

An annotator who gave an item several labels speaks once, with the shares of those labels: a row
then weighs one over their number. So a pair of annotators weighs the same however often either
repeated a judgement, and sums over pairs are sums over rows (Lovchinsky et al. 2020, Eq. 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.stable_sort import sort_with
from dissensus.arrays.types import Floats, Ints


class Grouped(NamedTuple):
    """Rows in the order of their items and annotators."""

    start: Ints
    """(item + 1): rows ``start[i]`` to ``start[i + 1]`` of the order belong to item i."""
    order: Ints
    """(row): which row stands where."""
    own: Ints
    """(row): the row, in the order, after the last one of the same item and annotator."""
    share: Floats
    """(row): one over the number of labels the annotator gave the item, in the order."""
    voices: Ints
    """(item): how many annotators spoke about the item."""


@inner
def _by_item(item: Ints, annotator: Ints, n_items: int) -> tuple[Ints, Ints, Ints]:
    """Sort rows by item, stably, by counting; their annotators go with them."""
    start = np.zeros(n_items + 1, dtype=np.int64)
    for row in range(len(item)):
        start[item[row] + 1] += 1
    for i in range(n_items):
        start[i + 1] += start[i]
    place = start[:-1].copy()
    order, who = np.empty(len(item), dtype=np.int64), np.empty(len(item), dtype=np.int64)
    for row in range(len(item)):
        to = place[item[row]]
        order[to], who[to] = row, annotator[row]
        place[item[row]] = to + 1
    return start, order, who


@kernel
def _grouped(item: Ints, annotator: Ints, n_items: int) -> tuple[Ints, Ints, Ints, Floats, Ints]:
    start, order, who = _by_item(item, annotator, n_items)
    own = np.empty(len(item), dtype=np.int64)
    share = np.empty(len(item))
    voices = np.zeros(n_items, dtype=np.int64)
    for i in range(n_items):
        first, last = start[i], start[i + 1]
        sort_with(who, order, first, last)
        while first < last:
            end = first + 1
            while end < last and who[end] == who[first]:
                end += 1
            for row in range(first, end):
                own[row] = end
                share[row] = 1.0 / (end - first)
            voices[i] += 1
            first = end
    return start, order, own, share, voices


def grouped(
    item: npt.NDArray[np.integer], annotator: npt.NDArray[np.integer], n_items: int
) -> Grouped:
    """Order rows by item and annotator, in time linear in the rows.

    Parameters
    ----------
    item, annotator : array of int (row)
        Codes.
    n_items : int
        How many items there are; some may have no row.

    Examples
    --------
    >>> rows = grouped(np.array([1, 0, 1, 1]), np.array([0, 0, 2, 0]), 2)
    >>> rows.order.tolist(), rows.share.tolist(), rows.voices.tolist()
    ([1, 0, 3, 2], [1.0, 0.5, 0.5, 1.0], [1, 2])
    """
    item, annotator = item.astype(np.int64, copy=False), annotator.astype(np.int64, copy=False)
    return Grouped(*_grouped(item, annotator, n_items))
