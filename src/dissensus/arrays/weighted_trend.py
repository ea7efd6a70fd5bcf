"""How one number of items goes with another: a line, and a correlation of ranks, with weights."""

from __future__ import annotations

import numpy as np

from dissensus.arrays.compiled import kernel
from dissensus.arrays.stable_sort import sorted_with_order
from dissensus.arrays.types import Floats


@kernel
def midranks(values: Floats, weights: Floats) -> Floats:
    """Return the weight of what is below each value, plus half of what equals it (row, item).

    With equal weights, the usual rank, ties in the middle, up to scale and place. One row of values
    stands for all rows of weights.

    Examples
    --------
    >>> midranks(np.array([[5.0, 1.0, 5.0]]), np.array([[0.5, 0.25, 0.25]]))
    array([[0.625, 0.125, 0.625]])
    """
    out = np.empty(weights.shape)
    ordered, order = sorted_with_order(values[0])
    for row in range(weights.shape[0]):
        if 0 < row < values.shape[0]:
            ordered, order = sorted_with_order(values[row])
        below, first = 0.0, 0
        while first < len(order):
            last, tied = first, 0.0
            while last < len(order) and ordered[last] == ordered[first]:
                tied += weights[row, order[last]]
                last += 1
            for k in range(first, last):
                out[row, order[k]] = below + tied / 2.0
            below += tied
            first = last
    return out


@kernel
def line(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return slope, intercept and correlation of the least squares line, row by row.

    Parameters
    ----------
    x, y : array (row, item)
        One row stands for all rows of weights.
    weights : array (row, item)
        Of each row summing to 1.

    Returns
    -------
    slope, intercept, correlation : array (row)
        NaN where x does not vary; the correlation also where y does not.

    Examples
    --------
    >>> x, y = np.array([[0.0, 1.0, 2.0]]), np.array([[1.0, 3.0, 5.0]])
    >>> slope, intercept, r = line(x, y, np.full((1, 3), 1 / 3))
    >>> slope.round(6), intercept.round(6), r.round(6)
    (array([2.]), array([1.]), array([1.]))
    """
    rows, items = weights.shape
    out = np.empty((3, rows))
    out[:] = np.nan
    for row in range(rows):
        x_row, y_row = x[row % len(x)], y[row % len(y)]
        # A first guess at the means keeps what is squared small, and exact where nothing varies.
        left, right = x_row[0], y_row[0]
        total = 0.0
        mean_x, mean_y, xx, yy, xy = 0.0, 0.0, 0.0, 0.0, 0.0
        for item in range(items):
            a, b = x_row[item] - left, y_row[item] - right
            step = weights[row, item]
            total += step
            if total > 0.0:
                far_x, far_y, part = a - mean_x, b - mean_y, step / total
                mean_x += part * far_x
                mean_y += part * far_y
                xx += step * far_x * (a - mean_x)
                yy += step * far_y * (b - mean_y)
                xy += step * far_x * (b - mean_y)
        if xx > 0.0:
            out[0, row] = xy / xx
            out[1, row] = mean_y + right - out[0, row] * (mean_x + left)
            if yy > 0.0:  # beyond 1 by rounding only
                out[2, row] = min(max(xy / np.sqrt(xx * yy), -1.0), 1.0)
    return out[0], out[1], out[2]
