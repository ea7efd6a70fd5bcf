"""Distances of annotators from each other and from systems, by item.

A *statement* is all labels that one annotator gave one item. Rows and statements are in the order
of `grouped`. The distance of two statements is the mean distance over pairs of their labels
(Lovchinsky et al. 2020, Eq. 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.distances import reach
from dissensus.kernels.grouped import Grouped
from dissensus.kernels.sorting import sorted_with_order
from dissensus.kernels.types import Floats, Ints


class Statements(NamedTuple):
    """Where the statements of each item, and the rows of each statement, start."""

    first: Ints
    """(item + 1): statements ``first[i]`` to ``first[i + 1]`` are of item i."""
    start: Ints
    """(statement + 1): rows ``start[v]`` to ``start[v + 1]`` of the order belong to statement v."""
    item: Ints
    """(statement): the item of each statement."""


def statements_of(rows: Grouped) -> Statements:
    """Return the statements: the distinct pairs of an item and an annotator."""
    ends = np.flatnonzero(rows.own == np.arange(1, len(rows.own) + 1)) + 1
    return Statements(
        first=np.concatenate([[0], np.cumsum(rows.n_annotators)]),
        start=np.concatenate([[0], ends]),
        item=np.repeat(np.arange(len(rows.n_annotators)), rows.n_annotators),
    )


@kernel
def names_apart(first: Ints, start: Ints, row_code: Ints, n_labels: int) -> Floats:
    """Return the rate at which each statement differs from its item's other statements (statement).

    NaN if the item has no other statement.

    >>> names_apart(np.array([0, 3]), np.arange(4), np.array([0, 0, 1]), 2)
    array([0.5, 0.5, 1. ])
    """
    amount, count = np.zeros(n_labels), np.zeros(n_labels, dtype=np.int64)
    out = np.full(len(start) - 1, np.nan)
    for i in range(len(first) - 1):
        others = first[i + 1] - first[i] - 1
        for turn in range(2):  # first sum over all statements, then compare each
            for v in range(first[i], first[i + 1]):
                # Labels are counted before they are divided: three thirds are exactly 1.
                low, high, same = start[v], start[v + 1], 0.0
                for row in range(low, high):
                    count[row_code[row]] += 1
                for row in range(low, high):
                    label = row_code[row]
                    share = count[label] / (high - low)
                    count[label] = 0
                    if turn == 0:
                        amount[label] += share
                    else:
                        same += share * (amount[label] - share)
                if turn == 1 and others > 0:
                    out[v] = 1.0 - same / others
        for row in range(start[first[i]], start[first[i + 1]]):
            amount[row_code[row]] = 0.0
    return out


@kernel
def name_towards(start: Ints, row_code: Ints, target: Ints) -> Floats:
    """Return the rate at which each statement differs from its target label (statement).

    NaN where the target is -1.

    >>> name_towards(np.array([0, 2, 3]), np.array([1, 0, 0]), np.array([0, 5]))
    array([0.5, 1. ])
    """
    out = np.full(len(target), np.nan)
    for v in range(len(target)):
        if target[v] >= 0:
            differing = 0
            for row in range(start[v], start[v + 1]):
                differing += row_code[row] != target[v]
            out[v] = differing / (start[v + 1] - start[v])
    return out


_DIGITS: Final = 1e-3
"""A difference of sums below this share of the total has lost digits, and is recomputed."""


@inner
def _centred(start: Ints, values: Floats, low: int, high: int) -> tuple[Floats, Floats]:
    """Return mean and mean square of each statement of an item, after a number is subtracted.

    The subtracted number is the median of the statements' first numbers, so that one extreme number
    does not reduce the precision of the others. It is one of the item's numbers, so that the result
    is exactly 0 if all numbers are equal.
    """
    firsts = np.empty(high - low)
    for v in range(low, high):
        firsts[v - low] = values[start[v]]
    ordered, _ = sorted_with_order(firsts)
    centre = ordered[(high - low - 1) // 2]
    mean, square = np.zeros(high - low), np.zeros(high - low)
    for v in range(low, high):
        for row in range(start[v], start[v + 1]):
            value = values[row] - centre
            mean[v - low] += value
            square[v - low] += value * value
        mean[v - low] /= start[v + 1] - start[v]
        square[v - low] /= start[v + 1] - start[v]
    return mean, square


@kernel
def squares_apart(first: Ints, start: Ints, values: Floats) -> tuple[Floats, Floats]:
    """Return two arrays of mean squared differences of numbers (statement).

    The first is between the statement and its item's other statements, NaN if there are none. The
    second is among the other statements, NaN if there are fewer than two.
    """
    apart, left = np.empty(len(start) - 1), np.empty(len(start) - 1)
    apart[:] = np.nan
    left[:] = np.nan
    for i in range(len(first) - 1):
        low, high = first[i], first[i + 1]
        others = high - low - 1
        if others < 1:
            continue
        mean, square = _centred(start, values, low, high)
        # Three sums over the statements after statement v. The loop below adds those before v.
        # Subtracting an extreme statement from a total would leave only rounding errors.
        after = np.zeros((high - low + 1, 3))
        for v in range(high - low - 1, -1, -1):
            after[v, 0] = after[v + 1, 0] + mean[v]
            after[v, 1] = after[v + 1, 1] + square[v]
            after[v, 2] = after[v + 1, 2] + mean[v] ** 2
        total, squares, squared = 0.0, 0.0, 0.0
        for v in range(high - low):
            t, s, q = total + after[v + 1, 0], squares + after[v + 1, 1], squared + after[v + 1, 2]
            apart[low + v] = max(0.0, square[v] + (s - 2.0 * mean[v] * t) / others)
            if others > 1:
                pairs = 2.0 * ((others - 1.0) * s - (t * t - q))
                left[low + v] = max(0.0, pairs / (others * (others - 1.0)))
            total, squares, squared = total + mean[v], squares + square[v], squared + mean[v] ** 2
    return apart, left


@kernel
def square_towards(start: Ints, values: Floats, target: Floats) -> Floats:
    """Return the mean squared difference of each statement from its target number (statement).

    >>> square_towards(np.array([0, 2]), np.array([1.0, 3.0]), np.array([2.0]))
    array([1.])
    """
    out = np.empty(len(target))
    for v in range(len(target)):
        total = 0.0
        for row in range(start[v], start[v + 1]):
            total += (values[row] - target[v]) ** 2
        out[v] = total / (start[v + 1] - start[v])
    return out


@kernel
def excess_towards(start: Ints, values: Floats, target: Floats, tolerance: float) -> Floats:
    """Return the mean excess, over the tolerance, of each statement's distance from its target.

    >>> excess_towards(np.array([0, 2]), np.array([1.0, 3.0]), np.array([0.0]), 1.5)
    array([0.75])
    """
    out = np.full(len(target), np.nan)
    for v in range(len(target)):
        if np.isnan(target[v]):
            continue
        total = 0.0
        for row in range(start[v], start[v + 1]):
            total += max(0.0, abs(values[row] - target[v]) - tolerance)
        out[v] = total / (start[v + 1] - start[v])
    return out


@inner
def _both_sides(values: Floats, weights: Floats, tolerance: float) -> Floats:
    """Return each number's sum of excesses over smaller numbers and below larger ones (`reach`)."""
    n = len(values)
    ordered, order = sorted_with_order(values)
    mirrored = np.empty(n)
    shares, mirrored_shares = np.empty(n), np.empty(n)
    for k in range(n):
        shares[k] = weights[order[k]]
        mirrored[n - 1 - k], mirrored_shares[n - 1 - k] = -ordered[k], shares[k]
    above = reach(ordered, shares, tolerance)
    below = reach(mirrored, mirrored_shares, tolerance)
    out = np.empty(n)
    for k in range(n):
        out[order[k]] = above[k] + below[n - 1 - k]
    return out


@inner
def _excess_between(start: Ints, share: Floats, values: Floats, tolerance: float) -> Floats:
    """Return the sum of excesses between each statement of an item and the others (statement)."""
    out = np.zeros(len(start) - 1)
    begin = start[0]
    exceeds = _both_sides(values[begin : start[-1]], share[begin : start[-1]], tolerance)
    for v in range(len(out)):
        low, high = start[v], start[v + 1]
        total = 0.0
        for row in range(low, high):
            total += share[row] * exceeds[row - begin]
        if high > low + 1:  # an annotator is not compared with their own labels
            own = _both_sides(values[low:high], share[low:high], tolerance)
            for row in range(low, high):
                total -= share[row] * own[row - low]
        out[v] = max(0.0, total)
    return out


@inner
def _excess_without(
    omitted: int, start: Ints, share: Floats, values: Floats, tolerance: float
) -> float:
    """Return the sum of excesses over ordered pairs of an item's statements except ``omitted``."""
    low, high, begin = start[omitted], start[omitted + 1], start[0]
    n = start[-1] - begin - (high - low)
    rest = np.empty(len(start) - 1, dtype=np.int64)
    shares, numbers = np.empty(n), np.empty(n)
    for v in range(len(rest)):
        rest[v] = start[v] - begin if v <= omitted else start[v + 1] - (high - low) - begin
    for k in range(n):
        row = begin + k if begin + k < low else begin + k + (high - low)
        shares[k], numbers[k] = share[row], values[row]
    total = 0.0
    for excess in _excess_between(rest, shares, numbers, tolerance):
        total += excess
    return total


@kernel
def excess_apart(
    first: Ints, start: Ints, share: Floats, values: Floats, tolerance: float
) -> tuple[Floats, Floats]:
    r"""Do as `squares_apart`, for excesses :math:`\max(0, |y - y'| - \lambda)`.

    Numbers are sorted, so that an item with n numbers takes time n log n, not n squared.
    ``share`` (row) is one over the number of rows of the statement.
    """
    apart, left = np.empty(len(start) - 1), np.empty(len(start) - 1)
    apart[:] = np.nan
    left[:] = np.nan
    for i in range(len(first) - 1):
        others = first[i + 1] - first[i] - 1
        if others < 1:
            continue
        bounds = start[first[i] : first[i + 1] + 1]
        sums = _excess_between(bounds, share, values, tolerance)
        whole = 0.0
        for v in range(len(sums)):
            whole += sums[v]
        for v in range(len(sums)):
            apart[first[i] + v] = sums[v] / others
            if others < 2:
                continue
            rest = whole - 2.0 * sums[v]
            if rest < _DIGITS * whole:  # digits were lost to an extreme number
                rest = _excess_without(v, bounds, share, values, tolerance)
            left[first[i] + v] = rest / (others * (others - 1.0))
    return apart, left


_PAIRS = 1_000_000
"""Maximum number of pairs in memory at a time, unless a single item has more."""

Delta = Callable[[Ints, Ints], Floats]
"""Function of two arrays of labels' places (pair); returns the distances of the labels (pair)."""


@kernel
def _pairs(start: Ints, own: Ints, low: int, high: int) -> tuple[Ints, Ints]:
    """List the pairs of rows of different statements of items ``low`` to ``high`` - 1."""
    n = 0
    for i in range(low, high):
        for row in range(start[i], start[i + 1]):
            n += start[i + 1] - own[row]
    left, right = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n = 0
    for i in range(low, high):
        for row in range(start[i], start[i + 1]):
            for other_row in range(own[row], start[i + 1]):
                left[n], right[n] = row, other_row
                n += 1
    return left, right


def pair_blocks(rows: Grouped) -> Iterator[tuple[Ints, Ints]]:
    """Yield the pairs of rows of different statements of an item, a limited number at a time.

    >>> from dissensus.kernels.grouped import grouped
    >>> [(left.tolist(), right.tolist()) for left, right in pair_blocks(
    ...     grouped(np.zeros(3, int), np.array([0, 0, 1]), 1))]
    [([0, 1], [2, 2])]
    """
    size = np.diff(rows.start)
    before = np.cumsum(size * (size - 1) // 2)
    edges = np.flatnonzero(np.diff(before // _PAIRS, prepend=-1, append=-2))
    for low, high in pairwise(edges):
        yield _pairs(rows.start, rows.own, int(low), int(high))


def pairs_apart(rows: Grouped, statements: Statements, delta: Delta) -> Floats:
    """Return the mean distance of each statement to its item's other statements (statement).

    NaN if the item has no other statement. ``delta`` returns distances, given two arrays of places
    of rows (labels, sets or rankings).

    >>> from dissensus.kernels.grouped import grouped
    >>> from dissensus.kernels.statements import statements_of
    >>> rows = grouped(np.zeros(3, int), np.arange(3), 1)
    >>> y = np.array([1.0, 2.0, 5.0])
    >>> pairs_apart(rows, statements_of(rows), lambda left, right: abs(y[left] - y[right]))
    array([2.5, 2. , 3.5])
    """
    n = len(statements.item)
    of_row = np.repeat(np.arange(n), np.diff(statements.start))
    total = np.zeros(n)
    for left, right in pair_blocks(rows):
        amount = rows.share[left] * rows.share[right] * delta(left, right)
        total += np.bincount(of_row[left], amount, n) + np.bincount(of_row[right], amount, n)
    others = np.diff(statements.first)[statements.item] - 1.0
    return np.where(others < 1, np.nan, total / np.maximum(others, 1.0))


def pairs_towards(rows: Grouped, statements: Statements, delta: Delta, answered: Ints) -> Floats:
    """Return the mean distance of statements to a system's answers on their items (statement).

    ``delta`` returns distances, given an array of places of rows and an array of items. The result
    is NaN for statements that are not among ``answered``.

    >>> from dissensus.kernels.grouped import grouped
    >>> from dissensus.kernels.statements import statements_of
    >>> rows = grouped(np.zeros(2, int), np.arange(2), 1)
    >>> y = np.array([1.0, 2.0])
    >>> pairs_towards(rows, statements_of(rows), lambda row, item: y[row] - item, np.array([1]))
    array([nan,  2.])
    """
    n = len(statements.item)
    is_answered = np.zeros(n, dtype=bool)
    is_answered[answered] = True
    of_row = np.repeat(np.arange(n), np.diff(statements.start))
    place = np.flatnonzero(is_answered[of_row])
    amount = rows.share[place] * delta(place, statements.item[of_row[place]])
    return np.where(is_answered, np.bincount(of_row[place], amount, n), np.nan)
