"""Means and squares of the numbers given to each item, counting every annotator once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.types import Floats, Ints


class Moments(NamedTuple):
    """Sums over the annotators of an item; an annotator's own labels are averaged first.

    They are of differences from one of the item's own numbers: around any other, what annotators
    are apart would be a small difference of large sums.
    """

    centre: Floats
    """(item): the number; 0, if nobody gave any."""
    total: Floats
    """(item): sum of the annotators' means."""
    squares: Floats
    """(item): sum of the annotators' mean squares."""
    squared_means: Floats
    """(item): sum of the squares of the annotators' means. `squares`, if nobody repeats."""


@inner
def _nearest_to_mean(given: Floats) -> float:
    """Return the number nearest to the mean, which is exactly the number if all are equal."""
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
    """Sum numbers by item, in time linear in the rows.

    Parameters
    ----------
    rows : Grouped
        From `dissensus.arrays.grouped`.
    values : array (row)
        Numbers, as the rows stand in the data.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> rows = grouped(np.zeros(2, int), np.arange(2), 1)
    >>> found = moments(rows, np.array([11.0, 13.0]))
    >>> found.centre, found.total, found.squares
    (array([11.]), array([2.]), array([4.]))
    """
    return Moments(*_moments(rows.start, rows.own, values[rows.order]))


def around(found: Moments, voices: Ints, centre: float) -> tuple[Floats, Floats]:
    """Return the sums of means and of mean squares (item) around one centre for all items.

    Examples
    --------
    >>> found = Moments(np.array([11.0]), np.array([2.0]), np.array([4.0]), np.array([4.0]))
    >>> around(found, np.array([2]), 10.0)
    (array([4.]), array([10.]))
    """
    step = np.where(voices > 0, found.centre - centre, 0.0)
    total = found.total + voices * step
    return total, found.squares + step * (found.total + total)


def centre_of(values: npt.NDArray[np.float64]) -> float:
    """Return the median of the given numbers; of two in the middle the lower one.

    One of the numbers, so that numbers that are all equal are exactly 0 around it; and not the one
    nearest to the mean, since weights may leave out the wild number that took the mean away.
    """
    if len(values) == 0:
        return 0.0
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])


def squared_pairs(found: Moments, voices: Ints) -> Floats:
    r"""Sum squared differences over ordered pairs of different annotators, by item.

    :math:`\psi = (\bar y - \bar y')^2 + s^2 + s'^2` (Lovchinsky et al. 2020, appendix B), summed.

    Examples
    --------
    >>> found = Moments(np.array([11.0]), np.array([2.0]), np.array([4.0]), np.array([4.0]))
    >>> squared_pairs(found, np.array([2]))
    array([8.])
    """
    between = found.total**2 - found.squared_means
    return 2.0 * ((voices - 1.0) * found.squares - between)
