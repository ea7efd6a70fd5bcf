"""Distances between the labels of two annotators: numbers, sets, partial rankings."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.sorting import sorted_with_order
from dissensus.kernels.types import Array, Floats, Ints


@inner
def reach(values: Floats, weights: Floats, tolerance: float) -> Floats:
    """Return the weighted sum of each number's excesses over smaller numbers (number).

    ``values`` are sorted. An excess is the difference minus the tolerance, but at least 0.

    >>> reach(np.array([1.0, 3.0, 5.0]), np.ones(3), 1.0)[1:]
    array([1., 4.])
    """
    out = np.zeros(len(values))
    weight, moment, low = 0.0, 0.0, 0
    for high in range(len(values)):
        while values[high] - values[low] > tolerance:
            weight += weights[low]
            moment += weights[low] * (values[low] - values[0])
            low += 1
        out[high] = (values[high] - values[0] - tolerance) * weight - moment
    return out


@inner
def _apart(values: Floats, weights: Floats) -> float:
    """Sum weight times weight times absolute difference, over ordered pairs of sorted numbers."""
    exceeds, total = reach(values, weights, 0.0), 0.0
    for k in range(len(values)):
        total += weights[k] * exceeds[k]
    return 2.0 * total


@kernel
def _far_pairs(start: Ints, own: Ints, share: Floats, numbers: Floats) -> tuple[Floats, Floats]:
    n_items = len(start) - 1
    within, alone = np.zeros(n_items), np.zeros(n_items)
    for i in range(n_items):
        first, last = start[i], start[i + 1]
        if last == first:
            continue
        values, order = sorted_with_order(numbers[first:last])
        shares = np.empty(last - first)
        for k in range(last - first):
            shares[k] = share[first + order[k]]
        within[i] = _apart(values, shares)
        place = first
        while place < last:
            if own[place] > place + 1:
                values, _ = sorted_with_order(numbers[place : own[place]])
                alone[i] += _apart(values, share[place : own[place]])
            place = own[place]
    return within - alone, alone


def far_pairs(rows: Grouped, values: Floats) -> tuple[Floats, Floats]:
    r"""Sum absolute differences between an item's labels, times both labels' shares.

    Numbers are sorted, so that an item with n numbers takes time n log n, not n squared.

    ``values`` (row) are in the order of the data.
    Returns two sums (item): over ordered pairs of labels by different annotators, and over ordered
    pairs of labels by the same annotator.
    """
    return _far_pairs(rows.start, rows.own, rows.share, values[rows.order])


class Lists(NamedTuple):
    """Lists of labels in order of their codes, with the place of each label in its ranking."""

    start: Ints
    """(list + 1): entries ``start[n]`` to ``start[n + 1]`` belong to list n."""
    code: Ints
    """(entry): label code, rising along a list."""
    ahead: Ints
    """(entry): number of labels in earlier blocks."""
    size: Ints
    """(entry): number of labels in its block."""


def lists_of(number: Ints, code: Ints, block: Ints, n_lists: int) -> Lists:
    """Arrange rows of labels in lists; a label occurs at most once in a list.

    Each row has the ``number`` of its list, the ``code`` of its label, and its ``block``: lower
    blocks come first, labels of one block are tied.
    """
    order = np.lexsort((block, number))
    number, code, block = number[order], code[order], block[order]
    new = (np.diff(number, prepend=-1) != 0) | (np.diff(block, prepend=-1) != 0)
    head = np.flatnonzero(new)
    size = np.diff(np.append(head, len(number)))
    start = np.searchsorted(number, np.arange(n_lists + 1))
    ahead = np.repeat(head, size) - start[number]
    size = np.repeat(size, size)
    order = np.lexsort((code, number))
    return Lists(start, code[order], ahead[order], size[order])


@kernel
def _common(
    start: Ints, code: Ints, other_start: Ints, other_code: Ints, left: Ints, right: Ints
) -> Floats:
    out = np.empty(len(left))
    for pair in range(len(left)):
        entry, other_entry = start[left[pair]], other_start[right[pair]]
        end, other_end = start[left[pair] + 1], other_start[right[pair] + 1]
        common = 0
        while entry < end and other_entry < other_end:
            common += code[entry] == other_code[other_entry]
            step, other_step = (
                code[entry] <= other_code[other_entry],
                code[entry] >= other_code[other_entry],
            )
            entry, other_entry = entry + step, other_entry + other_step
        out[pair] = common
    return out


def set_distance(lists: Lists, others: Lists, left: Ints, right: Ints, name: str) -> Floats:
    """Return the distance "jaccard" or "masi" of each pair of lists, taken as sets (pair)."""
    common = _common(lists.start, lists.code, others.start, others.code, left, right)
    return distance_of_sets(common, np.diff(lists.start)[left], np.diff(others.start)[right], name)


_MASI: Final = (2 / 3, 1 / 3)
"""Weights of sets of which one contains the other, and of sets that overlap (Passonneau 2006)."""


def distance_of_sets(common: Floats, left: Array, right: Array, name: str) -> Floats:
    r"""Return distances of pairs of sets, from numbers of labels in both sets and in each set.

    Jaccard's distance is :math:`1 - |A \cap B| / |A \cup B|`, 0 for empty sets.

    >>> distance_of_sets(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1, 2, 1, 0]),
    ...                  np.array([2, 2, 1, 0]), "masi").round(3)
    array([0.667, 0.889, 1.   , 0.   ])
    """
    union = left + right - common
    share = np.divide(common, union, out=np.ones_like(common), where=union > 0)
    if name == "jaccard":
        return np.asarray(1.0 - share)
    smaller, equal = np.minimum(left, right), common == union
    weight = np.where(common == smaller, _MASI[0], _MASI[1])
    return np.asarray(1.0 - share * np.where(equal, 1.0, np.where(common > 0, weight, 0.0)))


@inner
def _among_first(depth: int, ahead: int, size: int) -> float:
    """Return the probability that a label of this block is among the first ``depth``."""
    return min(1.0, max(0.0, (depth - ahead) / size))


@kernel
def _lengths(start: Ints, ahead: Ints, size: Ints, n_labels: int, depth: int) -> Floats:
    """Return the square root of each list's average overlap with itself (UAO)."""
    out = np.empty(len(start) - 1)
    for n in range(len(out)):
        listed, total = start[n + 1] - start[n], 0.0
        rest = n_labels - listed
        for d in range(1, depth + 1):
            at_depth = 0.0
            for entry in range(start[n], start[n + 1]):
                at_depth += _among_first(d, ahead[entry], size[entry]) ** 2
            if rest > 0:
                at_depth += rest * _among_first(d, listed, rest) ** 2
            total += at_depth / d
        out[n] = math.sqrt(total / depth)
    return out


@kernel
def _rank_distance(
    start: Ints, code: Ints, ahead: Ints, size: Ints, length: Floats,
    other_start: Ints, other_code: Ints, other_ahead: Ints, other_size: Ints, other_length: Floats,
    left: Ints, right: Ints, n_labels: int, depth: int,
) -> Floats:  # fmt: skip
    # For two vectors of length 1, half the squared distance is 1 minus their product. The squared
    # distance keeps all digits if vectors are close, and is exactly 0 for equal rankings.
    out = np.empty(len(left))
    for pair in range(len(left)):
        entry, other_entry = start[left[pair]], other_start[right[pair]]
        end, other_end = start[left[pair] + 1], other_start[right[pair] + 1]
        n, m, union, total = end - entry, other_end - other_entry, 0, 0.0
        scale, other_scale = 1.0 / length[left[pair]], 1.0 / other_length[right[pair]]
        while True:  # one step for each label in either list, and one for all other labels
            first = entry < end and (
                other_entry >= other_end or code[entry] <= other_code[other_entry]
            )
            second = other_entry < other_end and (
                entry >= end or other_code[other_entry] <= code[entry]
            )
            weight = 1 if first or second else n_labels - union
            a, b = (ahead[entry], size[entry]) if first else (n, max(1, n_labels - n))
            c, e = (
                (other_ahead[other_entry], other_size[other_entry])
                if second
                else (m, max(1, n_labels - m))
            )
            if weight > 0:
                for d in range(min(a, c) + 1, depth + 1):
                    gap = _among_first(d, a, b) * scale - _among_first(d, c, e) * other_scale
                    total += weight * gap * gap / d
            if not (first or second):
                break
            entry, other_entry, union = entry + first, other_entry + second, union + 1
        apart = total / (2.0 * depth)
        out[pair] = apart if apart > 1e-24 else 0.0  # smaller values are rounding errors
    return out


def rank_distance(
    lists: Lists, others: Lists, left: Ints, right: Ints, n_labels: int, depth: int
) -> Floats:
    r"""Return 1 minus the mean average overlap of pairs of partial rankings.

    :math:`1 - \mathrm{UAO}(b, b') / \sqrt{\mathrm{UAO}(b, b) \mathrm{UAO}(b', b')}` (Stutz et al.
    2023, B.5). UAO is the expected average overlap before normalisation. Time is proportional to
    the number of listed labels times the depth. Labels that are not listed form the last block.

    ``left``, ``right`` (pair): places in ``lists`` and in ``others``.
    """
    left_lists, right_lists = (
        (*each, _lengths(each.start, each.ahead, each.size, n_labels, depth))
        for each in (lists, others)
    )
    return _rank_distance(*left_lists, *right_lists, left, right, n_labels, depth)
