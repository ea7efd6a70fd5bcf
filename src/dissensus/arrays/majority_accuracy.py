"""How often the label with most votes is the right one, and how many votes that takes.

Accuracies, equal or not, enter only through the number of right votes: see `winning_chances`.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.types import Flags, Floats, Ints
from dissensus.arrays.winning_chances import winning_chances

MOST: Final = 999
"""How many annotators are looked at with several labels: time grows with the square."""
_MOST_OF_TWO: Final = 2**50 + 1
_ROUNDING: Final = 1e-12
"""A target missed by no more than this part of it is missed by rounding only."""


def majority_alike(accuracy: npt.ArrayLike, annotators: int, n_labels: int) -> Floats:
    """Return how often the majority is right where all annotators are equally accurate.

    Examples
    --------
    >>> majority_alike([0.85, 0.5], 3, 2), majority_alike([0.6], 3, 3)
    (array([0.93925, 0.5    ]), array([0.696]))
    """
    p = np.asarray(accuracy, dtype=np.float64)
    if n_labels == 2:
        # The binomial tail. With an even number the last vote only makes ties, half of them won.
        half = (annotators + 1) // 2
        return np.asarray(betainc(half, half, p))
    win = winning_chances(annotators, n_labels)
    found = _binomial_mean(p.ravel(), win, _log_factorials(annotators))
    return np.asarray(np.where(np.isnan(p), np.nan, found.reshape(p.shape)))


def majority_unlike(accuracy: npt.ArrayLike, n_labels: int) -> Floats:
    """Return how often the majority is right, of annotators along the last axis.

    Examples
    --------
    >>> majority_unlike([[0.9, 0.8, 0.7], [0.6, 0.6, 0.6]], 2)
    array([0.902, 0.648])
    """
    p = np.asarray(accuracy, dtype=np.float64)
    rows = np.ascontiguousarray(p.reshape(-1, p.shape[-1]))
    found = _right_votes(rows) @ winning_chances(p.shape[-1], n_labels)
    return np.asarray(np.minimum(found, 1.0).reshape(p.shape[:-1]))


def annotators_for_target(accuracy: npt.ArrayLike, target: float, n_labels: int) -> Floats:
    """Return the least number of equally accurate annotators whose majority reaches a target.

    Infinity where no number does, or none that is looked at: up to 2^50 with two labels, `MOST`
    with several. More votes never do harm to annotators better than chance, as the winner is then
    the most probable label given the votes, so that the number can be bracketed.

    Examples
    --------
    >>> annotators_for_target([0.85, 0.96, 0.5], 0.95, 2), annotators_for_target([0.5], 0.95, 4)
    (array([ 5.,  1., inf]), array([23.]))
    """
    p = np.asarray(accuracy, dtype=np.float64)
    flat, goal = p.ravel(), target * (1 - _ROUNDING)
    found = np.where(flat >= goal, 1.0, np.where(np.isnan(flat), np.nan, np.inf))
    able = np.flatnonzero((flat < goal) & (flat * n_labels > 1))
    found[able] = _bracketed(flat[able], goal, n_labels)
    return np.asarray(found.reshape(p.shape))


def in_all(n: Floats, correlation: Floats) -> Floats:
    """Return how many annotators are worth n who err independently.

    N with errors of that correlation are worth N / (1 + (N - 1) r): never as many as 1 / r.

    Examples
    --------
    >>> in_all(np.array([1.0, 3.0, 3.0]), np.array([0.5, 0.2, 0.5]))
    array([ 1.,  6., inf])
    """
    left = 1.0 - n * correlation
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.ceil(n * (1.0 - correlation) / left - _ROUNDING)
    return np.where(n == 1.0, 1.0, np.where(left > 0.0, found, np.inf))


def _bracketed(p: Floats, goal: float, n_labels: int) -> Floats:
    """Double the number until the target is reached, then halve what is left in between."""
    step, most = (2, _MOST_OF_TWO) if n_labels == 2 else (1, MOST)  # two labels: odd numbers only
    last = (most - 1) // step
    low, high = np.zeros(len(p), dtype=np.int64), np.ones(len(p), dtype=np.int64)
    short = np.arange(len(p))
    while len(short):
        short = short[~_reached(p[short], 1 + step * high[short], goal, n_labels)]
        low[short] = high[short]
        short = short[low[short] < last]
        high[short] = np.minimum(2 * high[short], last)
    never = low == last
    while len(wide := np.flatnonzero(~never & (high - low > 1))):
        middle = (low[wide] + high[wide]) // 2
        good = _reached(p[wide], 1 + step * middle, goal, n_labels)
        high[wide[good]], low[wide[~good]] = middle[good], middle[~good]
    return np.where(never, np.inf, 1.0 + step * high)


def _reached(p: Floats, annotators: Ints, goal: float, n_labels: int) -> Flags:
    out = np.zeros(len(p), dtype=np.bool_)
    if n_labels == 2:
        half = (annotators + 1) // 2
        return np.asarray(betainc(half, half, p) >= goal)
    for number in np.unique(annotators):
        these = annotators == number
        out[these] = majority_alike(p[these], int(number), n_labels) >= goal
    return out


def _log_factorials(upto: int) -> Floats:
    return np.array([math.lgamma(k + 1.0) for k in range(upto + 1)])


@inner
def _binomial(x: int, n: int, p: float, log_factorial: Floats) -> float:
    if p <= 0.0 or p >= 1.0:
        return 1.0 if x == (n if p >= 1.0 else 0) else 0.0
    ways = log_factorial[n] - log_factorial[x] - log_factorial[n - x]
    return math.exp(ways + x * math.log(p) + (n - x) * math.log1p(-p))


@kernel
def _binomial_mean(p: Floats, value: Floats, log_factorial: Floats) -> Floats:
    """Return the mean of a function of the number of successes."""
    n = len(value) - 1
    out = np.zeros(len(p))
    for row in range(len(p)):
        for x in range(n + 1):
            if value[x] > 0.0:
                out[row] += value[x] * _binomial(x, n, p[row], log_factorial)
        out[row] = min(out[row], 1.0)  # else rounding may leave the scale
    return out


@kernel
def _right_votes(accuracy: Floats) -> Floats:
    """Return how probable each number of right votes is, row by row, adding vote after vote."""
    rows, n = accuracy.shape
    out = np.zeros((rows, n + 1))
    for row in range(rows):
        out[row, 0] = 1.0
        for j in range(n):
            p = accuracy[row, j]
            for x in range(j + 1, 0, -1):
                out[row, x] = out[row, x] * (1.0 - p) + out[row, x - 1] * p
            out[row, 0] *= 1.0 - p
    return out
