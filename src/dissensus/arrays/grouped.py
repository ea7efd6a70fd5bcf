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

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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


_RUN = 24
"""Runs up to this length are sorted by insertion, longer ones merged of two."""


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


@inner
def _sort_run(who: Ints, order: Ints, low: int, high: int) -> None:
    """Sort a few rows by annotator, stably, by insertion."""
    for place in range(low + 1, high):
        key, row, to = who[place], order[place], place
        while to > low and who[to - 1] > key:
            who[to], order[to] = who[to - 1], order[to - 1]
            to -= 1
        who[to], order[to] = key, row


@inner
def _merge(who: Ints, order: Ints, low: int, middle: int, high: int) -> None:
    """Merge two sorted runs that stand side by side, stably."""
    n = middle - low
    left_who, left_order = who[low:middle].copy(), order[low:middle].copy()
    left, right, to = 0, middle, low
    while left < n:
        if right < high and who[right] < left_who[left]:
            who[to], order[to] = who[right], order[right]
            right += 1
        else:
            who[to], order[to] = left_who[left], left_order[left]
            left += 1
        to += 1


@inner
def _sort(who: Ints, order: Ints, first: int, last: int) -> None:
    """Sort one item's rows by annotator, stably. `np.argsort` takes three seconds to compile."""
    length = _RUN
    for low in range(first, last, length):
        _sort_run(who, order, low, min(low + length, last))
    while length < last - first:
        for low in range(first, last - length, 2 * length):
            _merge(who, order, low, low + length, min(low + 2 * length, last))
        length *= 2


@kernel
def _grouped(item: Ints, annotator: Ints, n_items: int) -> tuple[Ints, Ints, Ints, Floats, Ints]:
    start, order, who = _by_item(item, annotator, n_items)
    own = np.empty(len(item), dtype=np.int64)
    share = np.empty(len(item))
    voices = np.zeros(n_items, dtype=np.int64)
    for i in range(n_items):
        first, last = start[i], start[i + 1]
        _sort(who, order, first, last)
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
