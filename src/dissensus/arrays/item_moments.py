"""Means and squares of the numbers given to each item, counting every annotator once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.grouped import Floats, Grouped, Ints


class Moments(NamedTuple):
    """Sums over the annotators of an item; an annotator's own labels are averaged first."""

    total: Floats
    """(item): sum of the annotators' means."""
    squares: Floats
    """(item): sum of the annotators' mean squares."""
    squared_means: Floats
    """(item): sum of the squares of the annotators' means. `squares`, if nobody repeats."""


@njit(cache=True)
def _moments(start: Ints, own: Ints, given: Floats, centre: float) -> tuple[Floats, Floats, Floats]:
    n_items = len(start) - 1
    total, squares, squared_means = np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)
    for i in range(n_items):
        place = start[i]
        while place < start[i + 1]:
            mean, square, run = 0.0, 0.0, own[place] - place
            for one in range(place, own[place]):
                value = given[one] - centre
                mean += value
                square += value * value
            mean /= run
            total[i] += mean
            squares[i] += square / run
            squared_means[i] += mean * mean
            place = own[place]
    return total, squares, squared_means


def moments(rows: Grouped, values: Floats, centre: float) -> Moments:
    """Sum numbers by item, in time linear in the rows.

    Parameters
    ----------
    rows : Grouped
        From `dissensus.arrays.grouped`.
    values : array (row)
        Numbers, as the rows stand in the data.
    centre : float
        Taken off every number first: differences of numbers far from 0 would lose digits else.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> rows = grouped(np.zeros(2, int), np.arange(2), 1)
    >>> moments(rows, np.array([11.0, 13.0]), centre=10.0)
    Moments(total=array([4.]), squares=array([10.]), squared_means=array([10.]))
    """
    return Moments(*_moments(rows.start, rows.own, values[rows.order], centre))


def centre_of(values: npt.NDArray[np.float64]) -> float:
    """Return the given number that is nearest to the mean.

    One of the numbers, and not the mean itself, so that numbers that are all equal are exactly 0
    around it.
    """
    if len(values) == 0:
        return 0.0
    return float(values[np.argmin(np.abs(values - values.mean()))])


def squared_pairs(found: Moments, voices: Ints) -> Floats:
    r"""Sum squared differences over ordered pairs of different annotators, by item.

    :math:`\psi = (\bar y - \bar y')^2 + s^2 + s'^2` (Lovchinsky et al. 2020, appendix B), summed.

    Examples
    --------
    >>> squared_pairs(Moments(np.array([4.0]), np.array([10.0]), np.array([10.0])), np.array([2]))
    array([8.])
    """
    between = found.total**2 - found.squared_means
    return 2.0 * ((voices - 1.0) * found.squares - between)
