"""Points of ROC curves under weights over cases, and the areas below them."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.types import Flags, Floats


def rates(scores: Floats, positive: Flags, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores from the highest to the lowest, and the rates at each.

    Parameters
    ----------
    scores : array (case,)
    positive : array (draw or 1, case)
        Whether a case is positive.
    weights : array (draw, case)

    Returns
    -------
    distinct : array (level,)
    sensitivity, false_positive_rate : array (draw, 1 + level)
        The weighted shares of positive and of negative cases with at least the score of a level;
        the first column is 0. They are NaN in a draw without positive, or without negative, cases.

    Examples
    --------
    >>> found = rates(np.array([1.0, 2.0, 2.0]), np.array([[False, False, True]]), np.ones((1, 3)))
    >>> found[0], found[1], found[2]
    (array([2., 1.]), array([[0., 1., 1.]]), array([[0. , 0.5, 1. ]]))
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    true, weights = positive[:, order], weights[:, order]
    out = []
    for share in (weights * true, weights * ~true):
        total = np.zeros((len(weights), 1 + len(starts)))
        np.cumsum(np.add.reduceat(share, starts, axis=1), axis=1, out=total[:, 1:])
        whole = total[:, -1:].copy()
        out.append(np.divide(total, whole, out=np.full_like(total, np.nan), where=whole > 0))
    return ordered[starts], out[0], out[1]


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


def sensitivity_at(sensitivity: Floats, false_positive_rate: Floats, wanted: Floats) -> Floats:
    """Return the sensitivity (draw, wanted) at false positive rates, which ascend from 0 to 1.

    Where a curve goes straight up, the upper end counts.

    >>> x, y = np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.5, 1.0]])
    >>> sensitivity_at(y, x, np.array([0.0, 0.5, 1.0]))
    array([[0.5 , 0.75, 1.  ]])
    """
    draws, points = false_positive_rate.shape
    offset = 2.0 * np.arange(draws)[:, None]  # so that one search covers all rows
    place = np.searchsorted((false_positive_rate + offset).ravel(), (wanted + offset).ravel(), "right")
    low = place.reshape(draws, -1) - 1
    high = np.minimum(low + 1, points * (1 + np.arange(draws)[:, None]) - 1)
    x, y = false_positive_rate.ravel(), sensitivity.ravel()
    width = x[high] - x[low]
    part = np.divide(wanted - x[low], width, out=np.zeros_like(width), where=width > 0)
    return np.asarray(y[low] + part * (y[high] - y[low]))
