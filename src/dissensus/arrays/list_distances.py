"""Distances between lists of labels: as sets, and as partial rankings."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.types import Floats, Ints


class Lists(NamedTuple):
    """Lists of labels in order of their codes, with the place of each label in its ranking."""

    start: Ints
    """(list + 1): entries ``start[n]`` to ``start[n + 1]`` belong to list n."""
    code: Ints
    """(entry): label code, rising along a list."""
    ahead: Ints
    """(entry): how many labels are in the blocks before its own."""
    size: Ints
    """(entry): how many labels are in its block."""


def lists_of(number: Ints, code: Ints, block: Ints, n_lists: int) -> Lists:
    """Lay out lists whose labels stand in rows; each label once in a list.

    Parameters
    ----------
    number : array of int (row)
        Which list a label is on.
    code : array of int (row)
        Which label it is.
    block : array of int (row)
        The block it is in: small comes first, equal is tied.
    n_lists : int
        How many lists there are.

    Examples
    --------
    >>> lists_of(np.array([0, 0, 0]), np.array([7, 5, 6]), np.array([1, 2, 2]), 1)
    Lists(start=array([0, 3]), code=array([5, 6, 7]), ahead=array([1, 1, 0]), size=array([2, 2, 1]))
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
def _jaccard(start: Ints, code: Ints, starts: Ints, codes: Ints, left: Ints, right: Ints) -> Floats:
    out = np.empty(len(left))
    for pair in range(len(left)):
        one, two = start[left[pair]], starts[right[pair]]
        end, ends = start[left[pair] + 1], starts[right[pair] + 1]
        union, common = end - one + ends - two, 0
        while one < end and two < ends:
            common += code[one] == codes[two]
            forth, back = code[one] <= codes[two], code[one] >= codes[two]
            one, two = one + forth, two + back
        out[pair] = 1.0 - common / (union - common)
    return out


def jaccard(lists: Lists, others: Lists, left: Ints, right: Ints) -> Floats:
    r"""Return :math:`1 - |A \cap B| / |A \cup B|` for pairs of lists, none of them empty.

    Examples
    --------
    >>> lists = lists_of(np.array([0, 0, 1]), np.array([3, 4, 3]), np.zeros(3, int), 2)
    >>> jaccard(lists, lists, np.array([0, 0]), np.array([0, 1]))
    array([0. , 0.5])
    """
    return _jaccard(lists.start, lists.code, others.start, others.code, left, right)


@inner
def _among_first(depth: int, ahead: int, size: int) -> float:
    """Return the probability that a label of this block is among the first few."""
    return min(1.0, max(0.0, (depth - ahead) / size))


@kernel
def _lengths(start: Ints, ahead: Ints, size: Ints, n_labels: int, depth: int) -> Floats:
    """Return the root of each list's overlap with itself."""
    out = np.empty(len(start) - 1)
    for n in range(len(out)):
        listed, total = start[n + 1] - start[n], 0.0
        rest = n_labels - listed
        for d in range(1, depth + 1):
            here = 0.0
            for entry in range(start[n], start[n + 1]):
                here += _among_first(d, ahead[entry], size[entry]) ** 2
            if rest > 0:
                here += rest * _among_first(d, listed, rest) ** 2
            total += here / d
        out[n] = math.sqrt(total / depth)
    return out


@kernel
def _rank_distance(
    start: Ints, code: Ints, ahead: Ints, size: Ints, length: Floats,
    starts: Ints, codes: Ints, aheads: Ints, sizes: Ints, lengths: Floats,
    left: Ints, right: Ints, n_labels: int, depth: int,
) -> Floats:  # fmt: skip
    # Half the squared distance of two vectors of length 1, which is 1 minus their product but
    # keeps all digits where they are close: equal rankings are exactly 0 apart.
    out = np.empty(len(left))
    for pair in range(len(left)):
        one, two = start[left[pair]], starts[right[pair]]
        end, ends = start[left[pair] + 1], starts[right[pair] + 1]
        n, m, union, total = end - one, ends - two, 0, 0.0
        scale, scales = 1.0 / length[left[pair]], 1.0 / lengths[right[pair]]
        while True:  # over the labels that either lists, and then over those neither does
            first = one < end and (two >= ends or code[one] <= codes[two])
            second = two < ends and (one >= end or codes[two] <= code[one])
            weight = 1 if first or second else n_labels - union
            a, b = (ahead[one], size[one]) if first else (n, max(1, n_labels - n))
            c, e = (aheads[two], sizes[two]) if second else (m, max(1, n_labels - m))
            if weight > 0:
                for d in range(min(a, c) + 1, depth + 1):
                    gap = _among_first(d, a, b) * scale - _among_first(d, c, e) * scales
                    total += weight * gap * gap / d
            if not (first or second):
                break
            one, two, union = one + first, two + second, union + 1
        apart = total / (2.0 * depth)
        out[pair] = apart if apart > 1e-24 else 0.0  # less than that is rounding
    return out


def rank_distance(
    lists: Lists, others: Lists, left: Ints, right: Ints, n_labels: int, depth: int
) -> Floats:
    r"""Return 1 minus the mean average overlap of pairs of partial rankings.

    :math:`1 - \mathrm{UAO}(b, b') / \sqrt{\mathrm{UAO}(b, b) \mathrm{UAO}(b', b')}` (Stutz et al.
    2023, B.5), in time linear in the listed labels times the depth. Labels not listed form the
    last block.

    Parameters
    ----------
    lists, others : Lists
        Rankings.
    left, right : array of int (pair)
        Which of ``lists``, and of ``others``.
    n_labels : int
        Size of the label space.
    depth : int
        How far down the rankings are compared.

    Examples
    --------
    >>> lists = lists_of(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), np.array([1, 2, 1, 2]), 2)
    >>> rank_distance(lists, lists, np.array([0, 0]), np.array([0, 1]), 5, 2)
    array([0. , 0.5])
    """
    one, two = (
        (*each, _lengths(each.start, each.ahead, each.size, n_labels, depth))
        for each in (lists, others)
    )
    return _rank_distance(*one, *two, left, right, n_labels, depth)
