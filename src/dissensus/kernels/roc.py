"""Points of ROC curves under weights over cases, and the areas below them."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.types import Flags, Floats


def shares(weights: Floats, positive: Flags | Floats) -> tuple[Floats, Floats]:
    r"""Return weights (draw, case) whose totals over cases are means of positive and negative ones.

    ``positive`` (draw or 1, case) says which cases are positive, or with which probability p. For
    known kinds, these are the weights of one kind over their sum. For probabilities,

    .. math:: u_i = \frac{w_i}{W} \left(1 + (t - \bar p) \frac{p_i - \bar p}{V}\right)

    with t = 1 for positive and 0 for negative cases, and the weighted mean and variance of p. It is
    the value at p = t of the regression on p: unbiased if, given the kind of a case, what is
    measured does not depend on p. Some of these weights are negative.

    >>> u, v = shares(np.array([[1.0, 1.0, 2.0]]), np.array([[True, False, False]]))
    >>> u, v.round(2)
    (array([[1., 0., 0.]]), array([[0.  , 0.33, 0.67]]))
    >>> shares(np.array([[1.0, 1.0, 2.0]]), np.array([[1.0, 0.0, 0.0]]))[1].round(2)
    array([[0.  , 0.33, 0.67]])
    """
    if positive.dtype == bool:
        both = weights * positive, weights * np.logical_not(positive)
        one, zero = (each / each.sum(axis=1, keepdims=True) for each in both)
        return one, zero
    part = weights / weights.sum(axis=1, keepdims=True)
    mean = (part * positive).sum(axis=1, keepdims=True)
    apart = positive - mean
    slope = part * apart
    slope /= (slope * apart).sum(axis=1, keepdims=True)
    return part + (1.0 - mean) * slope, part - mean * slope


def rates(scores: Floats, positive: Floats, negative: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores from the highest to the lowest, and the rates at each.

    Parameters
    ----------
    scores : array (case,)
        In this order.
    positive, negative : array (draw, case)
        What `shares` returns.

    Returns
    -------
    distinct : array (level,)
    sensitivity, false_positive_rate : array (draw, 1 + level)
        The shares of positive and of negative cases with at least the score of a level; the first
        column is 0.

    Examples
    --------
    >>> one, zero = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.5, 0.5]])
    >>> found = rates(np.array([2.0, 2.0, 1.0]), one, zero)
    >>> found[0], found[1], found[2]
    (array([2., 1.]), array([[0., 1., 1.]]), array([[0. , 0.5, 1. ]]))
    """
    starts = np.flatnonzero(np.r_[True, scores[1:] != scores[:-1]])
    out = []
    for share in (positive, negative):
        total = np.zeros((len(share), 1 + len(starts)))
        by_level = share
        if len(starts) < len(scores):
            by_level = np.add.reduceat(share, starts, axis=1)
        np.cumsum(by_level, axis=1, out=total[:, 1:])
        total[:, -1] = 1.0  # without rounding
        out.append(total)
    return scores[starts], out[0], out[1]


def area(sensitivity: Floats, false_positive_rate: Floats, most: float = 1.0) -> Floats:
    """Return the mean sensitivity over false positive rates from 0 to ``most``, for each draw.

    The curve is linear between its points: equal scores of a positive and a negative case count
    half. For ``most=1`` this is the area under the curve.

    >>> x, y = np.array([[0.0, 0.5, 1.0]]), np.array([[0.0, 1.0, 1.0]])
    >>> area(y, x), area(y, x, 0.5)
    (array([0.75]), array([0.5]))
    """
    x, y = false_positive_rate, sensitivity
    width, rise = np.diff(x, axis=1), np.diff(y, axis=1)
    start = y[:, :-1]
    if most == 1.0:
        return np.einsum("dl,dl->d", width, start + 0.5 * rise)
    used = np.clip(most - x[:, :-1], 0.0, width)
    slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
    return np.einsum("dl,dl->d", used, start + 0.5 * slope * used) / most


def curve(sensitivity: Floats, false_positive_rate: Floats, steps: int) -> Floats:
    """Return the sensitivity (draw, 1 + steps) at false positive rates 0, 1 / steps, ..., 1.

    Where a curve goes straight up, the upper end counts.

    >>> x, y = np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.5, 1.0]])
    >>> curve(y, x, 2)
    array([[0.5 , 0.75, 1.  ]])
    """
    draws, points = false_positive_rate.shape
    # Counting how many points lie up to each place is much faster than a search. Rates are sums,
    # which may be a rounding error above a place.
    bin_of = np.ceil(false_positive_rate * steps - 1e-9).astype(np.int64)
    bin_of += (steps + 1) * np.arange(draws)[:, None]
    counts = np.bincount(bin_of.ravel(), minlength=draws * (steps + 1)).reshape(draws, -1)
    low = np.cumsum(counts, axis=1) - 1
    high = np.minimum(low + 1, points - 1)
    start = points * np.arange(draws)[:, None]
    x, y = false_positive_rate.ravel(), sensitivity.ravel()
    left, right = x[low + start], x[high + start]
    lower, upper = y[low + start], y[high + start]
    apart = np.linspace(0.0, 1.0, steps + 1) - left
    width = right - left
    part = np.divide(apart, width, out=np.zeros_like(width), where=width > 1e-9)
    return np.asarray(lower + part * (upper - lower))
