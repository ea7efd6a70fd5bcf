"""Rows sorted by item and annotator, and sums over pairs of annotators.

Each of n labels that an annotator gave an item has the weight 1/n. A pair of annotators then has
the same weight however often either of them repeated a label, and sums over pairs can be computed
from sums over rows (Lovchinsky et al. 2020, Eq. 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.sorting import sort_with
from dissensus.kernels.types import Floats, Ints


class Grouped(NamedTuple):
    """Rows sorted by item and annotator. Their *places* are those in the sorted order."""

    start: Ints
    """(item + 1): places ``start[i]`` to ``start[i + 1]`` belong to item i."""
    order: Ints
    """(place): index of the row in the data."""
    own: Ints
    """(place): the place after the last row of the same item and annotator."""
    share: Floats
    """(place): one over the number of labels that the row's annotator gave the item."""
    n_annotators: Ints
    """(item): number of annotators of the item."""


@inner
def _by_item(item: Ints, annotator: Ints, n_items: int) -> tuple[Ints, Ints, Ints]:
    """Sort rows by item, by a stable counting sort.

    Returns where each item begins (item + 1), the index of each row, and its annotator.
    """
    start = np.zeros(n_items + 1, dtype=np.int64)
    for row in range(len(item)):
        start[item[row] + 1] += 1
    for i in range(n_items):
        start[i + 1] += start[i]
    place = start[:-1].copy()
    order, sorted_annotator = (
        np.empty(len(item), dtype=np.int64),
        np.empty(len(item), dtype=np.int64),
    )
    for row in range(len(item)):
        to = place[item[row]]
        order[to], sorted_annotator[to] = row, annotator[row]
        place[item[row]] = to + 1
    return start, order, sorted_annotator


@kernel
def _grouped(item: Ints, annotator: Ints, n_items: int) -> tuple[Ints, Ints, Ints, Floats, Ints]:
    start, order, sorted_annotator = _by_item(item, annotator, n_items)
    own = np.empty(len(item), dtype=np.int64)
    share = np.empty(len(item))
    n_annotators = np.zeros(n_items, dtype=np.int64)
    for i in range(n_items):
        first, last = start[i], start[i + 1]
        sort_with(sorted_annotator, order, first, last)
        while first < last:
            end = first + 1
            while end < last and sorted_annotator[end] == sorted_annotator[first]:
                end += 1
            for row in range(first, end):
                own[row] = end
                share[row] = 1.0 / (end - first)
            n_annotators[i] += 1
            first = end
    return start, order, own, share, n_annotators


def grouped(
    item: npt.NDArray[np.integer], annotator: npt.NDArray[np.integer], n_items: int
) -> Grouped:
    """Sort rows by item and annotator, in time linear in the rows. Items may have no row."""
    item, annotator = item.astype(np.int64, copy=False), annotator.astype(np.int64, copy=False)
    return Grouped(*_grouped(item, annotator, n_items))


class Moments(NamedTuple):
    """Sums over the annotators of an item, of means of each annotator's labels.

    One of the item's numbers, the centre, is subtracted first. Otherwise differences between
    annotators could be small differences of large sums, and could be lost to rounding.
    """

    centre: Floats
    """(item): the number that is subtracted; 0 without labels."""
    total: Floats
    """(item): sum of the annotators' means."""
    squares: Floats
    """(item): sum of the annotators' mean squares."""
    squared_means: Floats
    """(item): sum of the squares of the annotators' means; equals ``squares`` if no annotator gave
    the item several labels."""


@inner
def _nearest_to_mean(numbers: Floats) -> float:
    """Return the number nearest to the mean; if all are equal, it is exactly their value."""
    mean = 0.0
    for value in numbers:
        mean += (value - numbers[0]) / len(numbers)
    nearest = numbers[0]
    for value in numbers:
        if abs(value - numbers[0] - mean) < abs(nearest - numbers[0] - mean):
            nearest = value
    return nearest


@kernel
def _moments(start: Ints, own: Ints, numbers: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    n_items = len(start) - 1
    total, squares, squared_means = np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)
    centre = np.zeros(n_items)
    for i in range(n_items):
        place = start[i]
        if place < start[i + 1]:
            centre[i] = _nearest_to_mean(numbers[place : start[i + 1]])
        while place < start[i + 1]:
            mean, square, run = 0.0, 0.0, own[place] - place
            for row in range(place, own[place]):
                value = numbers[row] - centre[i]
                mean += value
                square += value * value
            mean /= run
            total[i] += mean
            squares[i] += square / run
            squared_means[i] += mean * mean
            place = own[place]
    return centre, total, squares, squared_means


def moments(rows: Grouped, values: Floats) -> Moments:
    """Return the moments of ``values`` (row, in the order of the data), in linear time."""
    return Moments(*_moments(rows.start, rows.own, values[rows.order]))


def around(sums: Moments, n_annotators: Ints, centre: float) -> tuple[Floats, Floats]:
    """Return ``total`` and ``squares`` of `Moments` (item), with one centre for all items."""
    step = np.where(n_annotators > 0, sums.centre - centre, 0.0)
    total = sums.total + n_annotators * step
    return total, sums.squares + step * (sums.total + total)


def centre_of(values: Floats) -> float:
    """Return the median of numbers, the lower of the two middle numbers if their count is even.

    The median is one of the numbers, so that equal numbers minus the median are exactly 0. The
    number nearest to the mean is not used, because an extreme number can shift the mean, and can
    then get weight 0.
    """
    if len(values) == 0:
        return 0.0
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])


def squared_pairs(sums: Moments, n_annotators: Ints) -> Floats:
    r"""Sum squared differences over ordered pairs of different annotators, by item.

    :math:`\psi = (\bar y - \bar y')^2 + s^2 + s'^2` (Lovchinsky et al. 2020, appendix B), summed.
    """
    between = sums.total**2 - sums.squared_means
    return 2.0 * ((n_annotators - 1.0) * sums.squares - between)


class LabelShares(NamedTuple):
    r"""The distinct labels of each item, as a sparse matrix (item, label), and their squares.

    With :math:`q_{rk}` the share of label k in the labels of annotator r for an item,
    ``amount`` is :math:`n_k = \sum_r q_{rk}`.
    """

    start: Ints
    """(item + 1): entries ``start[i]`` to ``start[i + 1]`` belong to item i."""
    label: Ints
    """(entry): label code."""
    amount: Floats
    """(entry): number of annotators who gave the label; one of n labels of an annotator counts
    1/n."""
    agreement: Floats
    r"""(item): :math:`\sum_{r \neq s} \sum_k q_{rk} q_{sk}`, ordered pairs that agree."""
    own: Floats
    r"""(item): :math:`\sum_r \sum_k q_{rk}^2`, the number of annotators if no label is repeated."""


@inner
def _own_squares(row_code: Ints, first: int, last: int, times: Ints) -> float:
    """Sum the squared shares of one annotator's labels of one item; ``times`` (label) is 0."""
    total = 0
    for row in range(first, last):
        times[row_code[row]] += 1
    for row in range(first, last):
        total += times[row_code[row]] * times[row_code[row]]
        times[row_code[row]] = 0
    return total / (last - first) ** 2


@kernel
def _label_shares(
    start: Ints, own: Ints, share: Floats, row_code: Ints, n_labels: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    n_items = len(start) - 1
    entry_of = np.empty(n_labels, dtype=np.int64)  # latest entry of a label, in any item; -1: none
    for k in range(n_labels):
        entry_of[k] = -1
    times = np.zeros(n_labels, dtype=np.int64)
    starts = np.zeros(n_items + 1, dtype=np.int64)
    label = np.empty(len(row_code), dtype=np.int64)
    amount = np.empty(len(row_code))
    agreement, alone = np.zeros(n_items), np.zeros(n_items)
    n = 0
    for i in range(n_items):
        begin, squares, total, place = n, 0.0, 0.0, start[i]
        while place < start[i + 1]:
            if own[place] == place + 1:
                squares += 1.0
            else:
                squares += _own_squares(row_code, place, own[place], times)
            for row in range(place, own[place]):
                code = row_code[row]
                # There is no branch, because processors could not predict it.
                new = entry_of[code] < begin
                entry = n if new else entry_of[code]
                entry_of[code], label[entry] = entry, code
                amount[entry] = share[row] + (0.0 if new else amount[entry])
                n += new
            place = own[place]
        for entry in range(begin, n):
            total += amount[entry] ** 2
        agreement[i], alone[i] = total - squares, squares
        starts[i + 1] = n
    return starts, label[:n].copy(), amount[:n].copy(), agreement, alone


def label_shares(rows: Grouped, codes: npt.NDArray[np.integer], n_labels: int) -> LabelShares:
    """Count the labels of each item, in linear time. Codes (row) are in the order of the data."""
    row_code = codes.astype(np.int64, copy=False)[rows.order]
    return LabelShares(*_label_shares(rows.start, rows.own, rows.share, row_code, n_labels))


def matched(draws: Floats, sets: Floats, rng: np.random.Generator) -> Ints:
    """Return for each set of weights the draw of the same rank.

    Ranks are those of one number for each draw (``draws``) and one for each set (``sets``). No draw
    is used twice before all draws are used once. Of all pairings, this one maximises the variance
    of the sum of the two numbers. Ties are paired at random.
    """
    of_draws, of_sets = _ascending(draws, rng), _ascending(sets, rng)
    out = np.empty(len(sets), dtype=np.int64)
    out[of_sets] = of_draws[(2 * np.arange(len(sets)) + 1) * len(draws) // (2 * len(sets))]
    return out


def _ascending(values: Floats, rng: np.random.Generator) -> Ints:
    """Return the places of values in ascending order; equal values are in random order."""
    mixed = rng.permutation(len(values))
    return np.asarray(mixed[np.argsort(values[mixed], kind="stable")])
