"""Agreement of a predicted list with the true order, as an expectation over ties.

A predicted list is given by the labels' codes and, for each, where its block of tied labels
starts and ends (0-based, end exclusive): a label in block [s, e) is among the first d with
probability 0 if d <= s, 1 if d >= e, and (d - s)/(e - s) between, when ties are broken at
random. Padding has an empty block (end 0); a label outside the label space has a negative
code, fills its place in the list, and is never right.
"""

from __future__ import annotations

import numpy as np

from dissensus.arrays.compiled import inner
from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.types import Codes, Floats

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
    """Return the probability that the first ``depth`` predicted labels hold ``top[0]``."""
    out[0] = 0.0
    for p in range(len(code)):
        if code[p] >= 0 and code[p] == top[0]:
            out[0] = _within(start[p], end[p], depth)


@rowwise(
    "void(int64[:], int64[:], int64[:], int64[:], int64, float64[:])", "(k),(p),(p),(p),()->()"
)
def same_set(top: Codes, code: Codes, start: Codes, end: Codes, depth: int, out: Floats) -> None:
    """Return the probability that the first ``depth`` predicted labels are the first true ones.

    All labels above the block that straddles ``depth`` must be true ones; of the straddling
    block's b labels, r find room, and one of binomial(b, r) choices is right, if any.
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


@inner
def _table(code: Codes) -> Codes:
    """Return where each label stands in a long list, by code; -1 for a label that does not.

    For a short list nothing: it is searched sooner than the table is made.
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
    """Return where a label stands in a list, -1 if it does not."""
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
    """Return the expected overlap of the first d labels, weighted over depths d and summed.

    Every overlap-based metric (overlap at k, average overlap, rank-biased overlap) is such a
    sum; they differ in the weights only. ``tail[d]`` is the sum of the weights of depth d + 1 and
    all larger ones: a label in both lists counts from the depth on at which it is in both.
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
