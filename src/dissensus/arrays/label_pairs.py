"""Pairs of different labels that different annotators gave the same item."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.label_shares import LabelShares
from dissensus.arrays.types import Floats, Ints
from dissensus.errors import AnnotationError

MOST: Final = 100_000_000
"""Pairs that are listed: 2.4 gigabytes of them."""


class LabelPairs(NamedTuple):
    r"""Pairs a < b of labels by item, with :math:`\sum_{r \neq s} q_{ra} q_{sb} + q_{rb} q_{sa}`.

    Any disagreement of the annotators of an item is the sum over its pairs of the amount times
    the distance of the two labels. A pair may stand several times; its amounts add up.
    """

    start: Ints
    """(item + 1): entries ``start[i]`` to ``start[i + 1]`` belong to item i."""
    cell: Ints
    """(entry): the lower label code times the number of labels, plus the higher one."""
    amount: Floats
    """(entry): ordered pairs of annotators, each counted once in either order."""


@kernel
def _count(starts: Ints, start: Ints, own: Ints) -> Ints:
    """Count the entries of each item: pairs of labels, and of one annotator's own rows."""
    n = np.zeros(len(start), dtype=np.int64)
    for i in range(len(start) - 1):
        distinct = starts[i + 1] - starts[i]
        entries = distinct * (distinct - 1) // 2
        place = start[i]
        while place < start[i + 1]:
            run = own[place] - place
            entries += run * (run - 1) // 2
            place = own[place]
        n[i + 1] = n[i] + entries
    return n


@kernel
def _label_pairs(
    begin: Ints, starts: Ints, label: Ints, amount: Floats, start: Ints, order: Ints, own: Ints,
    share: Floats, codes: Ints, scale: Floats, n_labels: int,
) -> tuple[Ints, Floats]:  # fmt: skip
    cell = np.empty(begin[-1], dtype=np.int64)
    weight = np.empty(begin[-1])
    for i in range(len(start) - 1):
        n = begin[i]
        for a in range(starts[i], starts[i + 1]):
            for b in range(a + 1, starts[i + 1]):
                cell[n] = min(label[a], label[b]) * n_labels + max(label[a], label[b])
                weight[n] = 2.0 * scale[i] * amount[a] * amount[b]
                n += 1
        for one in range(start[i], start[i + 1]):
            for two in range(one + 1, own[one]):  # not a pair: the same annotator
                a, b = codes[order[one]], codes[order[two]]
                cell[n] = min(a, b) * n_labels + max(a, b)
                weight[n] = -2.0 * scale[i] * share[one] * share[two] if a != b else 0.0
                n += 1
    return cell, weight


def label_pairs(
    rows: Grouped,
    shares: LabelShares,
    codes: npt.NDArray[np.integer],
    n_labels: int,
    scale: Floats,
) -> LabelPairs:
    """List the pairs of labels of each item.

    Time and memory grow with the square of an item's *distinct* labels, not of its rows.

    Parameters
    ----------
    rows : Grouped
        From `dissensus.arrays.grouped`.
    shares : LabelShares
        Of the same rows.
    codes : array of int (row)
        Label codes, as the rows stand in the data.
    n_labels : int
        How many labels there are.
    scale : array (item)
        Multiplies the amounts of an item.

    Raises
    ------
    AnnotationError
        If they are more than memory holds.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> from dissensus.arrays.label_shares import label_shares
    >>> rows, codes = grouped(np.zeros(3, int), np.arange(3), 1), np.array([2, 0, 2])
    >>> found = label_pairs(rows, label_shares(rows, codes, 3), codes, 3, np.ones(1))
    >>> found.cell.tolist(), found.amount.tolist()
    ([2], [4.0])
    """
    begin = _count(shares.start, rows.start, rows.own)
    if begin[-1] > MOST:
        raise AnnotationError(
            "annotations",
            expected=f"up to {MOST:,} pairs of different labels within items",
            found=f"{begin[-1]:,}",
            hint="Round the numbers, or take a distance that needs no list of pairs: nominal, "
            "interval (squared) or absolute",
        )
    found = _label_pairs(
        begin, shares.start, shares.label, shares.amount, rows.start, rows.order, rows.own,
        rows.share, codes.astype(np.int64, copy=False), scale, n_labels,
    )  # fmt: skip
    return LabelPairs(begin, *found)
