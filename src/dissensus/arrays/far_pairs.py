"""Absolute differences of numbers given to one item, past what is tolerated, over all pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.stable_sort import sorted_with_order
from dissensus.arrays.types import Floats, Ints


@inner
def reach(values: Floats, weights: Floats, tolerance: float) -> Floats:
    """Return, for each of some sorted numbers, what it exceeds the smaller ones by, weighted.

    Examples
    --------
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
def _excess(values: Floats, weights: Floats, tolerance: float) -> float:
    """Sum products of weights times what a difference exceeds, over ordered pairs, sorted."""
    exceeds, total = reach(values, weights, tolerance), 0.0
    for k in range(len(values)):
        total += weights[k] * exceeds[k]
    return 2.0 * total


@kernel
def _far_pairs(
    start: Ints, own: Ints, share: Floats, given: Floats, tolerance: float
) -> tuple[Floats, Floats]:
    n_items = len(start) - 1
    within, alone = np.zeros(n_items), np.zeros(n_items)
    for i in range(n_items):
        first, last = start[i], start[i + 1]
        if last == first:
            continue
        values, order = sorted_with_order(given[first:last])
        shares = np.empty(last - first)
        for k in range(last - first):
            shares[k] = share[first + order[k]]
        within[i] = _excess(values, shares, tolerance)
        place = first
        while place < last:
            if own[place] > place + 1:
                values, _ = sorted_with_order(given[place : own[place]])
                alone[i] += _excess(values, share[place : own[place]], tolerance)
            place = own[place]
    return within - alone, alone


def far_pairs(
    rows: Grouped, values: npt.NDArray[np.float64], tolerance: float
) -> tuple[Floats, Floats]:
    r"""Sum :math:`\max(0, |y - y'| - \lambda)` by item.

    Sorting makes it n log n in the numbers of an item, where there are n squared pairs.

    Parameters
    ----------
    rows : Grouped
        From `dissensus.arrays.grouped`.
    values : array (row)
        Numbers, as the rows stand in the data.
    tolerance : float
        0 for plain absolute differences.

    Returns
    -------
    within, own : array (item)
        Over ordered pairs of different annotators; and of each annotator's labels with themselves.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> rows = grouped(np.zeros(3, int), np.arange(3), 1)
    >>> far_pairs(rows, np.array([1.0, 2.0, 5.0]), tolerance=1.0)[0]
    array([10.])
    """
    return _far_pairs(rows.start, rows.own, rows.share, values[rows.order], tolerance)
