"""Labels of items: counts, pairs of labels, and leading labels."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import AnnotationError
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.grouped import Grouped, LabelShares
from dissensus.kernels.sorting import falling_with_order
from dissensus.kernels.types import Flags, Floats, Ints

TOLERANCE: Final = 1e-9
"""Amounts with a smaller relative difference are tied: 1/2 + 1/3 - 1/3 is not exactly 1/2."""


@kernel
def amounts_at(start: Ints, label: Ints, amount: Floats, answers: Ints, n_labels: int) -> Floats:
    """Return the amount that each system's answer has among the item's labels (item, system).

    ``start``, ``label`` and ``amount`` are those of `LabelShares`. Answers outside 0 to
    ``n_labels - 1`` have the amount 0.
    """
    amount_of = np.zeros(n_labels)
    out = np.zeros(answers.shape)
    for i in range(len(start) - 1):
        for entry in range(start[i], start[i + 1]):
            amount_of[label[entry]] = amount[entry]
        for s in range(answers.shape[1]):
            if 0 <= answers[i, s] < n_labels:
                out[i, s] = amount_of[answers[i, s]]
        for entry in range(start[i], start[i + 1]):
            amount_of[label[entry]] = 0.0
    return out


@kernel
def leaders(start: Ints, amount: Floats) -> Floats:
    """Return 1 for the most frequent label of an item, 1/n for each of n tied labels, else 0.

    ``start`` and ``amount`` are those of `LabelShares`.
    """
    out = np.zeros(len(amount))
    for i in range(len(start) - 1):
        bound, n = 0.0, 0
        for entry in range(start[i], start[i + 1]):
            bound = max(bound, amount[entry] * (1.0 - TOLERANCE))
        for entry in range(start[i], start[i + 1]):
            n += amount[entry] >= bound
        for entry in range(start[i], start[i + 1]):
            out[entry] = (amount[entry] >= bound) / n
    return out


MOST: Final = 100_000_000
"""Maximum number of pairs in a list; this many take 2.4 gigabytes."""


class LabelPairs(NamedTuple):
    r"""Pairs a < b of labels by item, with :math:`\sum_{r \neq s} q_{ra} q_{sb} + q_{rb} q_{sa}`.

    For any distance, the disagreement of an item's annotators is the sum, over these pairs, of the
    amount times the distance of the two labels. A pair may occur in several entries.
    """

    start: Ints
    """(item + 1): entries ``start[i]`` to ``start[i + 1]`` belong to item i."""
    cell: Ints
    """(entry): the lower label code times the number of labels, plus the higher one."""
    amount: Floats
    """(entry): number of ordered pairs of annotators; each pair of annotators counts twice."""


@kernel
def _count(starts: Ints, start: Ints, own: Ints) -> Ints:
    """Return where each item's entries begin (item + 1).

    Entries are pairs of distinct labels, and pairs of one annotator's own rows.
    """
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
        for row in range(start[i], start[i + 1]):
            # Pairs of labels by the same annotator do not count: they are subtracted.
            for other_row in range(row + 1, own[row]):
                a, b = codes[order[row]], codes[order[other_row]]
                cell[n] = min(a, b) * n_labels + max(a, b)
                weight[n] = -2.0 * scale[i] * share[row] * share[other_row] if a != b else 0.0
                n += 1
    return cell, weight


def label_pairs(
    rows: Grouped, shares: LabelShares, codes: npt.NDArray[np.integer], n_labels: int, scale: Floats
) -> LabelPairs:
    """List the pairs of labels of each item.

    Time and memory grow with the squared number of an item's *distinct* labels, not of its rows.

    ``codes`` (row) are in the order of the data; ``scale`` (item) multiplies the amounts.
    """
    begin = _count(shares.start, rows.start, rows.own)
    if begin[-1] > MOST:
        raise AnnotationError(
            "annotations",
            expected=f"up to {MOST:,} pairs of different labels within items",
            found=f"{begin[-1]:,}",
            hint="Round the numbers, or use a distance that needs no list of pairs: nominal, "
            "interval (squared) or absolute",
        )
    entries = _label_pairs(
        begin, shares.start, shares.label, shares.amount, rows.start, rows.order, rows.own,
        rows.share, codes.astype(np.int64, copy=False), scale, n_labels,
    )  # fmt: skip
    return LabelPairs(begin, *entries)


@inner
def _ordered(total: Floats, group: Ints, size: Ints, score: Floats) -> None:
    """Group tied totals, the largest first; write each total's group, each group's size, score."""
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
    """Count the leading labels of the other annotators, and how many of them one annotator names.

    This annotator's amounts (``own``) are subtracted. Of the labels that the annotator did not
    name, only those in the highest group can lead. The search for this group skips groups of which
    the annotator named all labels.
    """
    best = 0.0
    for place in entry:
        mine[group[place]] += 1
        best = max(best, total[place] - own[place])
    top = 0
    while top < len(size) and size[top] > 0 and mine[top] == size[top]:
        top += 1
    rest = score[top] if top < len(size) and size[top] > 0 else 0.0
    bound = max(best, rest) * (1.0 - TOLERANCE)
    leading = size[top] - mine[top] if rest > 0.0 and rest >= bound else 0
    named = 0
    for place in entry:
        mine[group[place]] = 0
        named += total[place] - own[place] >= bound
    return leading + named, named


@kernel
def _leading_label_named(
    start: Ints, end_of: Ints, weight: Floats, row_code: Ints, any_tied: bool, place_of: Ints,
    stamp: Ints, out: Floats, each: Floats,
) -> None:  # fmt: skip
    """Write the results of `leading_label_named` into ``out`` and ``each``.

    ``place_of`` (label) is the place of the label among the item's distinct labels, -1 if it is not
    one. ``stamp`` (label) is the first row of the last annotator who named the label.
    """
    for i in range(len(start) - 1):
        first, last = start[i], start[i + 1]
        if first == last or end_of[first] == last:
            continue
        total, n = np.zeros(last - first), 0
        for row in range(first, last):
            if place_of[row_code[row]] < 0:
                place_of[row_code[row]] = n
                n += 1
            total[place_of[row_code[row]]] += weight[row]
        group, size = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        score, mine = np.empty(n), np.zeros(n, dtype=np.int64)
        _ordered(total, group, size, score)
        entry, own, begin = np.empty(n, dtype=np.int64), np.zeros(n), first
        credit, n_annotators = 0.0, 0
        while begin < last:
            distinct = 0
            for row in range(begin, end_of[begin]):
                place = place_of[row_code[row]]
                if stamp[row_code[row]] != begin:
                    stamp[row_code[row]], entry[distinct], own[place] = begin, place, 0.0
                    distinct += 1
                own[place] += weight[row]
            chosen = entry[:distinct]
            leading, named = _named(chosen, own, total, group, size, score, mine)
            each[begin] = min(named, 1) if any_tied else named / leading
            credit += each[begin]
            n_annotators += 1
            begin = end_of[begin]
        out[i] = credit / n_annotators
        for row in range(first, last):
            place_of[row_code[row]] = -1


def leading_label_named(
    rows: Grouped, weight: Floats, codes: npt.NDArray[np.integer], n_labels: int, *,
    any_tied: bool = False,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return how often annotators name the leading label of the other annotators of an item.

    Time is linear in the rows (except for sorting an item's distinct labels), and does not grow
    with the number of pairs of annotators.

    ``weight`` (row): the amount > 0 that a row adds to its label's score.
    ``codes`` (row): label codes. Both are in the order of the data.
    ``any_tied``: whether naming one of n leading labels counts as 1; if not, it counts as 1/n.
    Returns two arrays. The first (item) is the share of annotators who name it, NaN with fewer than
    two annotators. The second (row, in the order of ``rows``) is 1, 1/n or 0 for each annotator, at
    the annotator's first row of an item. It is NaN in other rows, and where no other annotator gave
    a label.

    >>> from dissensus.kernels.grouped import grouped
    >>> rows = grouped(np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]), 2)
    >>> leading_label_named(rows, np.ones(4), np.array([1, 1, 0, 1]), 2)[1]
    array([0.5, 0.5, 0. , nan])
    """
    row_code = codes.astype(np.int64, copy=False)[rows.order]
    out, each = np.full(len(rows.start) - 1, np.nan), np.full(len(row_code), np.nan)
    place_of, stamp = np.full(n_labels, -1), np.full(n_labels, -1)
    _leading_label_named(
        rows.start, rows.own, weight[rows.order], row_code, any_tied, place_of, stamp, out, each
    )
    return out, each


def leading_label_by_annotator(
    rows: Grouped,
    weight: Floats,
    codes: npt.NDArray[np.integer],
    n_labels: int,
    annotator: npt.NDArray[np.integer],
    n_annotators: int,
) -> Floats:
    """Return how often each annotator names the leading label of the other annotators (annotator).

    Of n leading labels, naming one counts 1/n. The result is a mean over items that other
    annotators labelled too; it is NaN without such items.
    """
    _, each = leading_label_named(rows, weight, codes, n_labels)
    judged = np.isfinite(each)
    judged_annotator = annotator[rows.order][judged]
    count = np.bincount(judged_annotator, minlength=n_annotators)
    total = np.bincount(judged_annotator, weights=each[judged], minlength=n_annotators)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


ROUNDING: Final = 1e-9
"""Sums of shares that differ by less than this are equal: three thirds may not be exactly 1."""


@kernel
def slim_majority(start: Ints, own: Ints, share: Floats, row_code: Ints, n_labels: int) -> Flags:
    """Return whether a change by one annotator could make another label lead or tie (item).

    If an annotator gave the item several labels, a change replaces all of them. An item whose
    leading labels are tied has a slim majority too. If the label space has one label, no item has a
    slim majority. Rows are in the order of `Grouped`.
    """
    n_items = len(start) - 1
    votes, mine = np.zeros(n_labels), np.zeros(n_labels)
    seen = np.empty(n_labels, dtype=np.int64)
    out = np.zeros(n_items, dtype=np.bool_)
    for i in range(n_items):
        n, lead = 0, -1
        for row in range(start[i], start[i + 1]):
            if votes[row_code[row]] == 0.0:
                seen[n] = row_code[row]
                n += 1
            votes[row_code[row]] += share[row]
        for entry in range(n):
            if lead < 0 or votes[seen[entry]] > votes[lead]:
                lead = seen[entry]
        place = start[i]
        while place < start[i + 1] and n_labels > 1 and not out[i]:
            for row in range(place, own[place]):
                mine[row_code[row]] += share[row]
            rival = 0.0 if n < n_labels else -1.0  # 0 votes: a label that no annotator gave
            for entry in range(n):
                if seen[entry] != lead:
                    rival = max(rival, votes[seen[entry]] - mine[seen[entry]])
            out[i] = rival + 1.0 >= votes[lead] - mine[lead] - ROUNDING
            for row in range(place, own[place]):
                mine[row_code[row]] = 0.0
            place = own[place]
        for entry in range(n):
            votes[seen[entry]] = 0.0
    return out
