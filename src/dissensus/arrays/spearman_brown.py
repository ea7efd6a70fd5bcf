"""The reliability of a mean of several labels, from that of one, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dissensus.arrays.types import Floats

_ROUNDING = 1e-12
"""A target missed by no more than this part of it is missed by rounding only; so is a bound."""


def stepped_up(reliability: npt.ArrayLike, labels: npt.ArrayLike) -> Floats:
    """Return the reliability of the mean of so many labels.

    NaN where there is none: no more than 1 - 1/r labels can all be correlated by r < 0.

    Examples
    --------
    >>> stepped_up([0.25, 1.0, -0.5], 3)
    array([0.5, 1. , nan])
    """
    one, k = (np.asarray(values, dtype=np.float64) for values in (reliability, labels))
    below = (k - 1) * one + 1
    found = k * one / np.where(below > 0, below, np.nan)
    beyond = np.abs(found) - 1
    rounded = (beyond > 0) & (beyond <= _ROUNDING)  # -.2 of three labels is to be -1, and no less
    return np.asarray(np.where(rounded, np.sign(found), found))


def labels_needed(reliability: npt.ArrayLike, target: float) -> Floats:
    """Return the least whole number of labels whose mean has the target reliability.

    Infinity where one label has none, or less.

    Examples
    --------
    >>> labels_needed([0.2, 0.9, 0.0], 0.5)
    array([ 4.,  1., inf])
    """
    one = np.asarray(reliability, dtype=np.float64)
    some = one > 0
    with np.errstate(over="ignore"):  # a reliability of 1e-320 needs more than there are numbers
        exact = target * (1 - one) / (np.where(some, one, 1.0) * (1 - target))
    count = np.maximum(np.ceil(exact), 1.0)
    # What the quotient's rounding may have moved by one is decided by the formula itself.
    fewer = np.maximum(count - 1, 1.0)
    count = np.where(_reached(one, fewer, target), fewer, count)
    count = np.where(_reached(one, count, target), count, count + 1)
    return np.asarray(np.where(np.isnan(one), np.nan, np.where(some, count, np.inf)))


def _reached(reliability: Floats, labels: Floats, target: float) -> npt.NDArray[np.bool_]:
    with np.errstate(invalid="ignore", over="ignore"):  # infinitely many
        found = stepped_up(reliability, labels)
    return np.asarray(found >= target * (1 - _ROUNDING))
