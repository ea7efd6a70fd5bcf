"""Whether an annotator names the label that leads among the others of the same item."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.label_lookup import TOLERANCE
from dissensus.arrays.stable_sort import falling_with_order
from dissensus.arrays.types import Floats, Ints


@inner
def _ordered(total: Floats, group: Ints, size: Ints, score: Floats) -> None:
    """Find groups of tied totals from the highest on: their numbers, sizes and scores."""
    _, order = falling_with_order(total[: len(group)])
    n = -1
    for entry in order:
        if n < 0 or total[entry] < score[n] * (1.0 - TOLERANCE):
            n += 1
            size[n], score[n] = 0, total[entry]
        group[entry] = n
        size[n] += 1


@inner
def _named(
    entry: Ints, own: Floats, total: Floats, group: Ints, size: Ints, score: Floats, mine: Ints
) -> tuple[int, int]:
    """Count the labels that lead among the others, and those of them that the annotator names.

    The annotator's labels lose what he gave them; of all others, the highest group that is not
    his alone leads. So no more groups are looked at than he has labels, and one.
    """
    best = 0.0
    for one in entry:
        mine[group[one]] += 1
        best = max(best, total[one] - own[one])
    top = 0
    while top < len(size) and size[top] > 0 and mine[top] == size[top]:
        top += 1
    rest = score[top] if top < len(size) and size[top] > 0 else 0.0
    bound = max(best, rest) * (1.0 - TOLERANCE)
    leading = size[top] - mine[top] if rest > 0.0 and rest >= bound else 0
    named = 0
    for one in entry:
        mine[group[one]] = 0
        named += total[one] - own[one] >= bound
    return leading + named, named


@kernel
def _leading_label_named(
    start: Ints, end_of: Ints, weight: Floats, said: Ints, any_tied: bool, where: Ints,
    stamp: Ints, out: Floats, each: Floats,
) -> None:  # fmt: skip
    """Write the means by item, and each annotator's credit at his first row of an item.

    `where` (label) is that of a label's entry, if this item has one, -1 before; `stamp` (label) the
    last annotator's first row to name it.
    """
    for i in range(len(start) - 1):
        first, last = start[i], start[i + 1]
        if first == last or end_of[first] == last:
            continue
        total, n = np.zeros(last - first), 0
        for row in range(first, last):
            if where[said[row]] < 0:
                where[said[row]] = n
                n += 1
            total[where[said[row]]] += weight[row]
        group, size = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        score, mine = np.empty(n), np.zeros(n, dtype=np.int64)
        _ordered(total, group, size, score)
        entry, own, begin = np.empty(n, dtype=np.int64), np.zeros(n), first
        credit, voices = 0.0, 0
        while begin < last:
            distinct = 0
            for row in range(begin, end_of[begin]):
                one = where[said[row]]
                if stamp[said[row]] != begin:
                    stamp[said[row]], entry[distinct], own[one] = begin, one, 0.0
                    distinct += 1
                own[one] += weight[row]
            chosen = entry[:distinct]
            leading, named = _named(chosen, own, total, group, size, score, mine)
            each[begin] = min(named, 1) if any_tied else named / leading
            credit += each[begin]
            voices += 1
            begin = end_of[begin]
        out[i] = credit / voices
        for row in range(first, last):
            where[said[row]] = -1


def leading_label_named(
    rows: Grouped,
    weight: Floats,
    codes: npt.NDArray[np.integer],
    n_labels: int,
    *,
    any_tied: bool = False,
) -> Floats:
    """Return the share of an item's annotators who name the label that leads among the others.

    Time grows with the rows (sorting an item's distinct labels apart), not with pairs of
    annotators.

    Parameters
    ----------
    rows : Grouped
        From `dissensus.arrays.grouped`.
    weight : array (row)
        What a row adds to its label's score, > 0, as the rows stand in the data.
    codes : array of int (row)
        Label codes, as the rows stand in the data.
    n_labels : int
        How many labels there are.
    any_tied : bool
        Whether naming one of several leaders counts in full; else it counts the share named.

    Returns
    -------
    array (item)
        NaN where fewer than two annotators spoke.

    See Also
    --------
    leading_label_by_annotator : The same of each annotator, over items.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> rows = grouped(np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]), 2)
    >>> leading_label_named(rows, np.ones(4), np.array([1, 1, 0, 1]), 2)
    array([0.33333333,        nan])
    """
    return _both(rows, weight, codes, n_labels, any_tied)[0]


def leading_label_by_annotator(
    rows: Grouped,
    weight: Floats,
    codes: npt.NDArray[np.integer],
    n_labels: int,
    annotator: npt.NDArray[np.integer],
    n_annotators: int,
) -> Floats:
    """Return how often each annotator names the label that leads among the others of an item.

    Of n leading labels, naming one counts 1/n.

    Parameters
    ----------
    rows, weight, codes, n_labels
        As for `leading_label_named`.
    annotator : array of int (row)
        Codes of annotators, as the rows stand in the data.
    n_annotators : int
        How many there are.

    Returns
    -------
    array (annotator)
        The mean over items that somebody else annotated too; NaN where there are none.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> item, who = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0])
    >>> rows = grouped(item, who, 2)
    >>> leading_label_by_annotator(rows, np.ones(4), np.array([1, 1, 0, 1]), 2, who, 3)
    array([0.5, 0.5, 0. ])
    """
    each = _both(rows, weight, codes, n_labels, False)[1]
    judged = np.isfinite(each)
    who = annotator[rows.order][judged]
    count = np.bincount(who, minlength=n_annotators)
    total = np.bincount(who, weights=each[judged], minlength=n_annotators)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def leading_label_by_voice(
    rows: Grouped, weight: Floats, codes: npt.NDArray[np.integer], n_labels: int
) -> Floats:
    """Return whether each annotator names the label that leads among the others of the item.

    Parameters
    ----------
    rows, weight, codes, n_labels
        As for `leading_label_named`.

    Returns
    -------
    array (row)
        In the order of ``rows``: at an annotator's first row of an item the share of the leading
        labels that he names, NaN at all others and where nobody else spoke.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> rows = grouped(np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]), 2)
    >>> leading_label_by_voice(rows, np.ones(4), np.array([1, 1, 0, 1]), 2)
    array([0.5, 0.5, 0. , nan])
    """
    return _both(rows, weight, codes, n_labels, False)[1]


def _both(
    rows: Grouped, weight: Floats, codes: npt.NDArray[np.integer], n_labels: int, any_tied: bool
) -> tuple[Floats, Floats]:
    """Return the means by item, and each annotator's credit at his first row of an item."""
    said = codes.astype(np.int64, copy=False)[rows.order]
    out, each = np.full(len(rows.start) - 1, np.nan), np.full(len(said), np.nan)
    where, stamp = np.full(n_labels, -1), np.full(n_labels, -1)
    _leading_label_named(
        rows.start, rows.own, weight[rows.order], said, any_tied, where, stamp, out, each
    )
    return out, each
