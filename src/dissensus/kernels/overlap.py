"""Agreement of two rankings: overlap of their first labels, and rank correlation.

A predicted list is compared with the true order. Results are expectations over random orders of
tied labels. A list is given by the codes of its labels and, for each label, the start and end of
its block of tied labels (0-based, end exclusive). A label in block [s, e) is among the first d with
probability 0 if d <= s, 1 if d >= e, and (d - s)/(e - s) in between. Padding has an empty block
(end 0). A label outside the label space has a negative code; it takes a place in the list, and is
never right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.remainder import expand
from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.sorting import falling_with_order, sort_with
from dissensus.kernels.types import Codes, Floats

_FEW = 16


@inner
def _within(start: int, end: int, depth: int) -> float:
    """Return the probability that a label of block [start, end) is among the first ``depth``."""
    if depth <= start:
        return 0.0
    if depth >= end:
        return 1.0
    return (depth - start) / (end - start)


@rowwise("void(int64[:], int64[:], int64[:])", "(p)->(p),(p)")
def block_bounds(block: Codes, start: Codes, end: Codes) -> None:
    """Return where each label's block starts and ends; a block number of 0 is padding."""
    start[:] = 0
    end[:] = 0
    for p in range(len(block)):
        if block[p] == 0:
            continue
        start[p] = start[p - 1] if p > 0 and block[p - 1] == block[p] else p
    for p in range(len(block) - 1, -1, -1):
        if block[p] == 0:
            continue
        last = p + 1 == len(block) or block[p + 1] != block[p]
        end[p] = p + 1 if last else end[p + 1]


@rowwise(
    "void(int64[:], int64[:], int64[:], int64[:], int64, float64[:])", "(k),(p),(p),(p),()->()"
)
def holds_first(top: Codes, code: Codes, start: Codes, end: Codes, depth: int, out: Floats) -> None:
    """Return the probability that the first ``depth`` predicted labels contain ``top[0]``."""
    out[0] = 0.0
    for p in range(len(code)):
        if code[p] >= 0 and code[p] == top[0]:
            out[0] = _within(start[p], end[p], depth)


@rowwise(
    "void(int64[:], int64[:], int64[:], int64[:], int64, float64[:])", "(k),(p),(p),(p),()->()"
)
def same_set(top: Codes, code: Codes, start: Codes, end: Codes, depth: int, out: Floats) -> None:
    """Return the probability that the first ``depth`` predicted labels are the first true labels.

    The order of labels does not matter. All labels above the block that straddles ``depth`` must be
    among the first true labels. Of the b labels of the straddling block, r are among the first
    ``depth``; at most one of the binomial(b, r) choices of r labels is right.
    """
    out[0] = 0.0
    sure, tied, block, room = 0, 0, 0, 0
    if depth == 0:
        return
    for p in range(len(code)):
        if end[p] == 0 or start[p] >= depth:
            continue
        true = False
        for t in range(min(depth, len(top))):
            if code[p] >= 0 and top[t] == code[p]:
                true = True
        if end[p] > depth:
            block, room = end[p] - start[p], depth - start[p]
            tied += true
        elif true:
            sure += 1
        else:
            return
    if sure + tied != depth or tied != room:
        return
    ways = 1.0
    for i in range(room):
        ways *= (block - i) / (i + 1)
    out[0] = 1.0 / ways


@kernel
def distinct_tops(top: Codes, listed: Codes, seen: Codes, example: Codes, out: Codes) -> int:
    """Give numbers to the distinct sequences of leading labels; return how many there are.

    ``top`` (draw, item, place): leading labels. Labels that no list names have the same effect on
    every score of lists, and count as one label.

    ``listed`` (item, n): labels that some list names; negative codes are padding.
    ``seen`` (item, (n + 1) ** place): filled with -1; written.
    ``example`` (sequence, 2): written: a draw and an item with this sequence.
    ``out`` (draw, item): written: the number of the sequence.
    """
    count, base = 0, listed.shape[1] + 1
    for draw in range(top.shape[0]):
        for item in range(top.shape[1]):
            number = 0
            for place in range(top.shape[2]):
                label, digit = top[draw, item, place], 0
                for p in range(base - 1):
                    if label >= 0 and listed[item, p] == label:
                        digit = p + 1
                        break
                number = number * base + digit
            if seen[item, number] < 0:
                seen[item, number] = count
                example[count, 0], example[count, 1] = draw, item
                count += 1
            out[draw, item] = seen[item, number]
    return count


@inner
def _table(code: Codes) -> Codes:
    """Return the place of each label in a long list, by code; -1 if the label is not in it.

    The result is empty for a short list: searching the list is faster than making a table.
    """
    size = 0
    if len(code) > _FEW:
        for p in range(len(code)):
            size = max(size, code[p] + 1)
    place = np.empty(size, dtype=np.int64)
    for label in range(size):
        place[label] = -1
    for p in range(len(code)):
        if 0 <= code[p] < len(place):
            place[code[p]] = p
    return place


@inner
def _find(label: int, code: Codes, table: Codes) -> int:
    """Return the place of a label in a list, -1 if the label is not in the list."""
    if len(code) > _FEW:
        return int(table[label]) if 0 <= label < len(table) else -1
    for p in range(len(code)):
        if label >= 0 and code[p] == label:
            return p
    return -1


@rowwise(
    "void(int64[:], int64[:], int64[:], int64[:], float64[:], float64[:])",
    "(k),(p),(p),(p),(k)->()",
)
def weighted_overlap(
    top: Codes, code: Codes, start: Codes, end: Codes, tail: Floats, out: Floats
) -> None:
    """Return the expected overlap of two lists' first d labels, as a weighted sum over depths d.

    Every overlap-based metric (overlap at k, average overlap, rank-biased overlap) is such a
    sum; they differ in the weights only. ``tail[d]`` is the sum of the weights of depth d + 1 and
    of all larger depths: a label counts at all depths at which the first d labels of both lists
    contain it.
    """
    total = 0.0
    table = _table(code)
    for t in range(len(top)):
        p = _find(top[t], code, table)
        if p < 0:
            continue
        for d in range(max(t, start[p]), min(end[p] - 1, len(top))):
            following = tail[d + 1] if d + 1 < len(top) else 0.0
            total += (tail[d] - following) * _within(start[p], end[p], d + 1)
        sure = max(t, end[p] - 1)
        if sure < len(top):
            total += tail[sure]
    out[0] = min(total, 1.0)


def depth_membership(blocks: Sequence[Sequence[int]], n_labels: int, depth: int) -> Floats:
    r"""Return the probability that each label is among the first d (d from 1 to depth, label).

    This is :math:`T P_B` of Stutz et al. (2023, B.5): the running sum over positions of the
    expected permutation matrix. Unlisted labels form the last block.
    """
    listed = [label for block in blocks for label in block]
    start = np.full(n_labels, len(listed), dtype=np.float64)
    size = np.full(n_labels, max(1, n_labels - len(listed)), dtype=np.float64)
    passed = 0
    for block in blocks:
        start[list(block)], size[list(block)] = passed, len(block)
        passed += len(block)
    first = np.arange(1, depth + 1)[:, None]
    return np.clip((first - start) / size, 0, 1)


def average_overlap(membership: Floats, other_membership: Floats) -> float:
    r"""Return the expected average overlap :math:`\mathrm{tr}((T P)^\top D\, (T P'))`.

    ``membership`` and ``other_membership`` (depth, label) are from `depth_membership`.
    """
    depth = len(membership)
    weight = 1 / (depth * np.arange(1, depth + 1))
    return float(weight @ (membership * other_membership).sum(axis=1))


@inner
def _by_theta(theta: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Return minus theta in rising order, and ``place`` in the same order."""
    falling, order = falling_with_order(theta)
    walked = np.empty(len(order))
    for k in range(len(order)):
        walked[k] = place[order[k]]
    return falling, walked


@inner
def _tied_pairs(ordered: Floats, first: int, last: int) -> float:
    """Count the pairs of equal numbers in a sorted part of an array."""
    pairs, run = 0.0, 0
    for i in range(first + 1, last):
        run = run + 1 if ordered[i] == ordered[i - 1] else 0
        pairs += run
    return pairs


@inner
def _sort_counting(values: Floats) -> float:
    """Sort in place by merging, and return the number of pairs in the wrong order."""
    n, width, swaps = len(values), 1, 0.0
    merged = np.empty(n)
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and values[i] <= values[j]):
                    merged[k] = values[i]
                    i += 1
                else:
                    merged[k] = values[j]
                    j += 1
                    swaps += middle - i
        for k in range(n):
            values[k] = merged[k]
        width *= 2
    return swaps


@inner
def _tau_b(theta: Floats, place: Floats) -> float:
    """Return tau-b of minus theta and place, by Knight's (1966) O(n log n) method."""
    n = len(theta)
    falling, walked = _by_theta(theta, place)
    tied_theta, tied_both, i = 0.0, 0.0, 0
    for j in range(1, n + 1):  # ties of theta must not count as pairs in the wrong order
        if j == n or falling[j] != falling[i]:
            if j - i > 1:
                tied_theta += (j - i) * (j - i - 1) / 2
                sort_with(walked, falling, i, j)
                tied_both += _tied_pairs(walked, i, j)
            i = j
    wrong = _sort_counting(walked)
    tied_place = _tied_pairs(walked, 0, n)
    pairs = n * (n - 1) / 2
    score = pairs - tied_theta - tied_place + tied_both - 2 * wrong
    scale = math.sqrt(pairs - tied_theta) * math.sqrt(pairs - tied_place)
    return max(-1.0, min(1.0, score / scale)) if scale > 0 else np.nan


@inner
def _footrule(theta: Floats, place: Floats) -> float:
    """Return the summed distance of mid-ranks, divided by its largest value floor(n^2/2)."""
    n = len(theta)
    falling, walked = _by_theta(theta, place)
    total, i = 0.0, 0
    while i < n:
        j = i
        while j + 1 < n and falling[j + 1] == falling[i]:
            j += 1
        middle = (i + j) / 2 + 1
        for k in range(i, j + 1):
            total += abs(middle - walked[k])
        i = j + 1
    return total / (n * n // 2) if n > 1 else np.nan


@rowwise("void(float64[:], float64[:], float64[:])", "(n),(n)->()")
def kendall_dense(theta: Floats, place: Floats, out: Floats) -> None:
    """Return tau-b of plausibilities and predicted mid-ranks."""
    out[0] = _tau_b(theta, place)


@rowwise("void(float64[:], float64[:], float64[:])", "(n),(n)->()")
def footrule_dense(theta: Floats, place: Floats, out: Floats) -> None:
    """Return the normalised footrule of plausibilities and predicted mid-ranks."""
    out[0] = _footrule(theta, place)


@rowwise(
    "void(float64[:], int64[:], int64[:], float64, uint64, float64[:], float64[:])",
    "(c),(c),(c),(),(),(n)->()",
)
def kendall_candidates(
    theta: Floats, codes: Codes, sizes: Codes, a: float, key: int, place: Floats, out: Floats
) -> None:
    """Do as `kendall_dense`, for a row in candidate form."""
    dense = np.empty(len(place))
    expand(theta, codes, sizes, a, key, dense)
    out[0] = _tau_b(dense, place)


@rowwise(
    "void(float64[:], int64[:], int64[:], float64, uint64, float64[:], float64[:])",
    "(c),(c),(c),(),(),(n)->()",
)
def footrule_candidates(
    theta: Floats, codes: Codes, sizes: Codes, a: float, key: int, place: Floats, out: Floats
) -> None:
    """Do as `footrule_dense`, for a row in candidate form."""
    dense = np.empty(len(place))
    expand(theta, codes, sizes, a, key, dense)
    out[0] = _footrule(dense, place)
