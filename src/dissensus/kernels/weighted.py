"""Sums, means and trends with many weights at once."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.compiled import kernel
from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.sorting import sorted_with_order
from dissensus.kernels.types import Floats, Ints


def more_sure(right: Floats, wrong: Floats, start: Ints) -> tuple[Floats, Floats, Floats]:
    """Count pairs (draw, group) of a right and a wrong label whose right label is more confident.

    ``right``, ``wrong`` (draw, cell): weighted numbers of labels. The cells of a group, such as an
    annotator, are adjacent, in ascending order of confidence.
    ``start`` (group): the first cell of each group.
    Returns the number of these pairs, where ties count 1/2, and the numbers of right and of wrong
    labels.
    """
    before = np.cumsum(wrong, axis=-1) - wrong
    size = np.diff(start, append=wrong.shape[-1])
    below = before - np.repeat(before[..., start], size, axis=-1)
    pairs = np.add.reduceat(right * (below + wrong / 2.0), start, axis=-1)
    all_right, all_wrong = (np.add.reduceat(counts, start, axis=-1) for counts in (right, wrong))
    return pairs, all_right, all_wrong


@kernel
def weighted_sums(weights: Floats, sums: Floats) -> Floats:
    """Return the matrix product of ``weights`` (set of weights, item) and ``sums`` (item, sum).

    Linear algebra libraries are made for square matrices, and start threads. With three sums, and
    if two threads call it, NumPy's product takes six times as long as this function.

    >>> weighted_sums(np.array([[1.0, 2.0]]), np.array([[1.0, 10.0], [2.0, 20.0]]))
    array([[ 5., 50.]])
    """
    out = np.empty((weights.shape[0], sums.shape[1]))
    total = np.empty(sums.shape[1])
    for draw in range(weights.shape[0]):
        total[:] = 0.0
        for item in range(weights.shape[1]):
            weight = weights[draw, item]
            for column in range(sums.shape[1]):
                total[column] += weight * sums[item, column]
        for column in range(sums.shape[1]):
            out[draw, column] = total[column]
    return out


@kernel
def midranks(values: Floats, weights: Floats) -> Floats:
    """Return the weight below each value, plus half of the weight at this value (row, item).

    With equal weights these are the usual mid-ranks, up to a shift and a factor. If there is one
    row of values, it is used for all rows of weights.
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

    If x or y has one row, it is used for all rows of weights. Each row of weights sums to 1. All
    results are NaN where x does not vary; the correlation is also NaN where y does not vary.
    """
    rows, items = weights.shape
    out = np.empty((3, rows))
    out[:] = np.nan
    for row in range(rows):
        x_row, y_row = x[row % len(x)], y[row % len(y)]
        # The first value is subtracted, so that squares are small, and exactly 0 without variation.
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


@rowwise("void(float64[:], float64[:], float64[:])", "(i),(i)->()")
def weighted_mean(score: Floats, weight: Floats, out: Floats) -> None:
    """Average scores over items.

    Differences from the first score are averaged, so that the mean of equal scores is exact.
    Otherwise rounding errors of 1e-16 would make a constant vary, and exceed the scale.

    >>> weighted_mean(np.array([0.1, 0.1]), np.array([[1.0, 2.0], [3.0, 1.0]])).tolist()
    [0.1, 0.1]
    """
    total, beyond = 0.0, 0.0
    for i in range(len(score)):
        total += weight[i]
        beyond += weight[i] * (score[i] - score[0])
    out[0] = score[0] + beyond / total if total > 0.0 else np.nan
