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
    """Rows in the order of their items and annotators."""

    start: Ints
    """(item + 1): rows ``start[i]`` to ``start[i + 1]`` of the order belong to item i."""
    order: Ints
    """(row): the row at each place."""
    own: Ints
    """(row): place in the order after the last row of the same item and annotator."""
    share: Floats
    """(row): one over the number of labels the annotator gave the item, in the order."""
    voices: Ints
    """(item): number of annotators of the item."""


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


@kernel
def _grouped(item: Ints, annotator: Ints, n_items: int) -> tuple[Ints, Ints, Ints, Floats, Ints]:
    start, order, who = _by_item(item, annotator, n_items)
    own = np.empty(len(item), dtype=np.int64)
    share = np.empty(len(item))
    voices = np.zeros(n_items, dtype=np.int64)
    for i in range(n_items):
        first, last = start[i], start[i + 1]
        sort_with(who, order, first, last)
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

    Items may have no row.
    """
    item, annotator = item.astype(np.int64, copy=False), annotator.astype(np.int64, copy=False)
    return Grouped(*_grouped(item, annotator, n_items))


class Moments(NamedTuple):
    """Sums over the annotators of an item; an annotator's own labels are averaged first.

    They are sums of differences from one of the item's own numbers. Around any other centre, the
    differences of annotators would be small differences of large sums.
    """

    centre: Floats
    """(item): the number that is subtracted; 0 without labels."""
    total: Floats
    """(item): sum of the annotators' means."""
    squares: Floats
    """(item): sum of the annotators' mean squares."""
    squared_means: Floats
    """(item): sum of the squares of the annotators' means; equals `squares` without repeats."""


@inner
def _nearest_to_mean(given: Floats) -> float:
    """Return the number nearest to the mean; equal numbers differ from it by exactly 0."""
    mean = 0.0
    for value in given:
        mean += (value - given[0]) / len(given)
    nearest = given[0]
    for value in given:
        if abs(value - given[0] - mean) < abs(nearest - given[0] - mean):
            nearest = value
    return nearest


@kernel
def _moments(start: Ints, own: Ints, given: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    n_items = len(start) - 1
    total, squares, squared_means = np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)
    centre = np.zeros(n_items)
    for i in range(n_items):
        place = start[i]
        if place < start[i + 1]:
            centre[i] = _nearest_to_mean(given[place : start[i + 1]])
        while place < start[i + 1]:
            mean, square, run = 0.0, 0.0, own[place] - place
            for one in range(place, own[place]):
                value = given[one] - centre[i]
                mean += value
                square += value * value
            mean /= run
            total[i] += mean
            squares[i] += square / run
            squared_means[i] += mean * mean
            place = own[place]
    return centre, total, squares, squared_means


def moments(rows: Grouped, values: Floats) -> Moments:
    """Sum numbers by item, in linear time; values (row) are in the order of the data."""
    return Moments(*_moments(rows.start, rows.own, values[rows.order]))


def around(found: Moments, voices: Ints, centre: float) -> tuple[Floats, Floats]:
    """Return the sums of means and of mean squares (item) around one centre for all items."""
    step = np.where(voices > 0, found.centre - centre, 0.0)
    total = found.total + voices * step
    return total, found.squares + step * (found.total + total)


def centre_of(values: Floats) -> float:
    """Return the median of the given numbers, the lower one of two in the middle.

    It is one of the numbers, so that equal numbers are exactly 0 around it. The number nearest to
    the mean would not do: weights may leave out an extreme number that shifted the mean.
    """
    if len(values) == 0:
        return 0.0
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])


def squared_pairs(found: Moments, voices: Ints) -> Floats:
    r"""Sum squared differences over ordered pairs of different annotators, by item.

    :math:`\psi = (\bar y - \bar y')^2 + s^2 + s'^2` (Lovchinsky et al. 2020, appendix B), summed.
    """
    between = found.total**2 - found.squared_means
    return 2.0 * ((voices - 1.0) * found.squares - between)


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
    """(entry): number of annotators who gave the label; one of n labels counts 1/n."""
    agreement: Floats
    r"""(item): :math:`\sum_{r \neq s} \sum_k q_{rk} q_{sk}`, agreeing ordered pairs."""
    own: Floats
    r"""(item): :math:`\sum_r \sum_k q_{rk}^2`: the number of annotators without repeats."""


@inner
def _own_squares(said: Ints, first: int, last: int, times: Ints) -> float:
    """Sum the squared shares of one annotator's labels of one item; ``times`` is zeros (label)."""
    total = 0
    for row in range(first, last):
        times[said[row]] += 1
    for row in range(first, last):
        total += times[said[row]] * times[said[row]]
        times[said[row]] = 0
    return total / (last - first) ** 2


@kernel
def _label_shares(
    start: Ints, own: Ints, share: Floats, said: Ints, n_labels: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    n_items = len(start) - 1
    where = np.empty(n_labels, dtype=np.int64)  # place of a label's entry in this item, if any
    for k in range(n_labels):
        where[k] = -1
    times = np.zeros(n_labels, dtype=np.int64)
    starts = np.zeros(n_items + 1, dtype=np.int64)
    label = np.empty(len(said), dtype=np.int64)
    amount = np.empty(len(said))
    agreement, alone = np.zeros(n_items), np.zeros(n_items)
    n = 0
    for i in range(n_items):
        begin, squares, total, place = n, 0.0, 0.0, start[i]
        while place < start[i + 1]:
            if own[place] == place + 1:
                squares += 1.0
            else:
                squares += _own_squares(said, place, own[place], times)
            for row in range(place, own[place]):
                code = said[row]
                # No branch, which a processor could not predict.
                new = where[code] < begin
                entry = n if new else where[code]
                where[code], label[entry] = entry, code
                amount[entry] = share[row] + (0.0 if new else amount[entry])
                n += new
            place = own[place]
        for entry in range(begin, n):
            total += amount[entry] ** 2
        agreement[i], alone[i] = total - squares, squares
        starts[i + 1] = n
    return starts, label[:n].copy(), amount[:n].copy(), agreement, alone


def label_shares(rows: Grouped, codes: npt.NDArray[np.integer], n_labels: int) -> LabelShares:
    """Count labels by item, in linear time; codes (row) are in the order of the data."""
    said = codes.astype(np.int64, copy=False)[rows.order]
    return LabelShares(*_label_shares(rows.start, rows.own, rows.share, said, n_labels))


def matched(draws: Floats, sets: Floats, rng: np.random.Generator) -> Ints:
    """Return for each set the draw of the same rank; no draw is used twice before all are used.

    Among all pairings, this one maximises the variance of the sum. Ties are paired at random.
    """
    of_draws, of_sets = _ascending(draws, rng), _ascending(sets, rng)
    out = np.empty(len(sets), dtype=np.int64)
    out[of_sets] = of_draws[(2 * np.arange(len(sets)) + 1) * len(draws) // (2 * len(sets))]
    return out


def _ascending(values: Floats, rng: np.random.Generator) -> Ints:
    """Return the places of values in ascending order, equal ones in random order."""
    mixed = rng.permutation(len(values))
    return np.asarray(mixed[np.argsort(values[mixed], kind="stable")])
