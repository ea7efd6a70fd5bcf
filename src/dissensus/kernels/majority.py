"""Accuracy of the label with most votes, and the number of votes needed for a target.

In each vote the right label has probability p, and each of the L - 1 wrong labels has probability
(1 - p)/(L - 1). A wrong vote is for each of the wrong labels with the same probability, whatever p
is. Therefore the probability that the right label wins with x of n votes, if ties are broken at
random, does not depend on p (`winning_chances`). Annotators' accuracies, equal or not, only
determine the number of right votes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import started, uniform
from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.types import Flags, Floats, Ints

Complex = npt.NDArray[np.complex128]

_NOTHING: Final = 1e-17
"""Smaller probabilities count as 0: in a sum, they are lost to rounding."""


@lru_cache(maxsize=1024)
def winning_chances(votes: int, n_labels: int) -> Floats:
    """Return the probability that the right label wins if it has 0, 1, ..., all of the votes."""
    wrong, x = n_labels - 1, np.arange(votes + 1)
    rest = votes - x
    out = np.where(x > rest, 1.0, 0.0)
    # With fewer right votes, some wrong label always has more.
    open_ = x[(x > 0) & (x <= rest) & (x * n_labels >= votes)]
    left = votes - open_
    # Probabilities that a given wrong label has x votes or more, and that it has more than x.
    reach = betainc(open_, left - open_ + 1, 1 / wrong)
    exceeds = np.where(
        left > open_, betainc(open_ + 1, np.maximum(left - open_, 1), 1 / wrong), 0.0
    )
    out[open_[wrong * reach < _NOTHING]] = 1.0  # no wrong label gets x votes
    # Numbers of votes that add up to a constant are negatively associated (Joag-Dev and Proschan
    # 1983). The probability that all are low is then at most the product of the probabilities.
    with np.errstate(divide="ignore"):
        never = wrong * np.log1p(-exceeds) < math.log(_NOTHING)
    for k in open_[~never & (wrong * reach >= _NOTHING)].tolist():
        out[k] = _won(k, votes - k, wrong)
    out.setflags(write=False)  # the array is cached and shared by all callers
    return out


def _won(x: int, rest: int, wrong: int) -> float:
    """Return the probability that x right votes win, if ``rest`` votes are for wrong labels.

    Let T be the number of wrong labels with x votes. The right label wins with probability
    1/(1 + T) if no wrong label has more than x votes, and 0 otherwise. As 1/(1 + T) is the integral
    of u^T from 0 to 1, the mean of this probability is the integral from 0 to 1 of

        g(u) = rest! / wrong^rest [z^rest] (1 + z + z^2/2! + ... + u z^x/x!)^wrong,

    a polynomial in u. The coefficient of z^rest is computed by a Fourier sum over a circle, as
    P(S = rest) for a sum S of independent numbers with mean ``rest``. No terms cancel, unlike in a
    sum over T = 0, 1, ....
    """
    scale = math.lgamma(rest + 1) - rest * math.log(wrong)
    logs = -np.array([math.lgamma(k + 1.0) for k in range(x + 1)])
    if rest == wrong * x:  # all wrong labels are tied
        return math.exp(scale + wrong * logs[x]) / (1 + wrong)
    radius = _radius(logs, rest / wrong)
    tilted = logs + radius * np.arange(x + 1)
    height = tilted.max() + math.log(np.exp(tilted - tilted.max()).sum())
    mass = np.exp(tilted - height)
    # Larger sums S have a negligible probability, even if S is a Poisson variable.
    points = rest + 12 * math.isqrt(rest) + 42
    turn = np.exp(-2j * np.pi * np.arange(points) / points)
    place = np.arange(points)
    below = np.fft.fft(mass[:-1], points)
    level = mass[-1] * turn[place * x % points]
    back = turn[place * rest % points].conj()
    node, weight = _nodes(min(wrong, rest // x))
    both = sum(w * np.sum(_power(below + u * level, wrong) * back).real
               for u, w in zip(node, weight, strict=True)) / points  # fmt: skip
    return float(np.clip(both * math.exp(scale + wrong * height - rest * radius), 0.0, 1.0))


@kernel
def _radius(logs: Floats, mean: float) -> float:
    """Return log z such that numbers k with probabilities proportional to z^k/k! have this mean."""
    low, high = -50.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        highest = -np.inf
        for k in range(len(logs)):
            highest = max(highest, logs[k] + k * middle)
        total, first = 0.0, 0.0
        for k in range(len(logs)):
            mass = math.exp(logs[k] + k * middle - highest)
            total += mass
            first += k * mass
        if first < mean * total:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _power(base: Complex, exponent: int) -> Complex:
    """Return ``base`` to the power of a whole number, by repeated squaring."""
    out = np.ones_like(base)
    while exponent:
        if exponent & 1:
            out = out * base
        base = base * base
        exponent >>= 1
    return out


@lru_cache(maxsize=1024)
def _nodes(degree: int) -> tuple[Floats, Floats]:
    """Return points and weights that integrate polynomials of this degree from 0 to 1 exactly."""
    point, weight = np.polynomial.legendre.leggauss(degree // 2 + 1)
    return (point + 1) / 2, weight / 2


MOST: Final = 999
"""Maximum number of annotators with three labels or more: time grows with the square."""
_MOST_OF_TWO: Final = 2**50 + 1
_ROUNDING: Final = 1e-12
"""Relative rounding error: a target that is missed by at most this counts as reached."""


def majority_alike(accuracy: npt.ArrayLike, annotators: int, n_labels: int) -> Floats:
    """Return the accuracy of the majority of ``annotators`` equally accurate annotators."""
    p = np.asarray(accuracy, dtype=np.float64)
    if n_labels == 2:
        # A binomial tail. The last of an even number of votes can only make ties; half are won.
        half = (annotators + 1) // 2
        return np.asarray(betainc(half, half, p))
    win = winning_chances(annotators, n_labels)
    of_majority = _binomial_mean(p.ravel(), win, _log_factorials(annotators))
    return np.asarray(np.where(np.isnan(p), np.nan, of_majority.reshape(p.shape)))


def majority_unlike(accuracy: npt.ArrayLike, n_labels: int) -> Floats:
    """Return the accuracy of the majority (...), given annotators' accuracies (..., annotator)."""
    p = np.asarray(accuracy, dtype=np.float64)
    rows = np.ascontiguousarray(p.reshape(-1, p.shape[-1]))
    of_majority = _right_votes(rows) @ winning_chances(p.shape[-1], n_labels)
    return np.asarray(np.minimum(of_majority, 1.0).reshape(p.shape[:-1]))


def annotators_for_target(accuracy: npt.ArrayLike, target: float, n_labels: int) -> Floats:
    """Return the least number of equally accurate annotators whose majority reaches a target.

    Infinity where no number up to the maximum reaches it; the maximum is about 2^50 with two
    labels, and `MOST` with more. If annotators are better than chance, more votes never lower the
    accuracy of the majority, because the winner is the most probable label given the votes. The
    number can therefore be found by bisection.
    """
    p = np.asarray(accuracy, dtype=np.float64)
    flat, goal = p.ravel(), target * (1 - _ROUNDING)
    n_needed = np.where(flat >= goal, 1.0, np.where(np.isnan(flat), np.nan, np.inf))
    able = np.flatnonzero((flat < goal) & (flat * n_labels > 1))
    n_needed[able] = _bracketed(flat[able], goal, n_labels)
    return np.asarray(n_needed.reshape(p.shape))


def in_all(n: Floats, correlation: Floats) -> Floats:
    """Return how many annotators with correlated errors are worth ``n`` independent annotators.

    N annotators whose errors have the correlation r are worth N / (1 + (N - 1) r), a number below
    1 / r. The result is infinity where no N suffices.
    """
    left = 1.0 - n * correlation
    with np.errstate(divide="ignore", invalid="ignore"):
        n_needed = np.ceil(n * (1.0 - correlation) / left - _ROUNDING)
    return np.where(n == 1.0, 1.0, np.where(left > 0.0, n_needed, np.inf))


def _bracketed(p: Floats, goal: float, n_labels: int) -> Floats:
    """Return the least number of annotators: double it until the target is reached, then bisect."""
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
    """Return the mean of ``value`` (number of successes) at each probability of success ``p``."""
    n = len(value) - 1
    out = np.zeros(len(p))
    for row in range(len(p)):
        for x in range(n + 1):
            if value[x] > 0.0:
                out[row] += value[x] * _binomial(x, n, p[row], log_factorial)
        out[row] = min(out[row], 1.0)  # rounding may exceed 1
    return out


@kernel
def _right_votes(accuracy: Floats) -> Floats:
    """Return the probability of each number of right votes (row, number of right votes).

    Votes are added one at a time.
    """
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


@rowwise(
    "void(float64[:], float64, float64, float64, float64[:], uint64, float64[:])",
    "(d),(),(),(),(d),()->(d)",
)
def leaned(
    score: Floats, low: float, mean: float, high: float, insight: Floats, key: int, out: Floats
) -> None:
    """Set as few of an item's scores as possible, at random, to its highest or lowest score.

    The place of the mean, between 0 for the lowest and 1 for the highest score, is taken as the
    probability that the answer is right. ``insight`` (d) is added to the log odds of this
    probability. If all draws have the same score, nothing changes.

    ``low``, ``mean`` and ``high`` are the item's lowest, mean and highest score over all chains.

    >>> some = np.array([1.0, 0.0, 1.0, 1.0])
    >>> leaned(some, 0.0, 0.75, 1.0, np.full(4, 800.0), np.uint64(1)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    state = started(key)
    for d in range(len(score)):
        u = uniform(state)
        out[d] = score[d]
        if not low < mean < high:
            continue
        p = (mean - low) / (high - low)
        target = 1.0 / (1.0 + (1.0 / p - 1.0) * np.exp(-insight[d]))
        if target > p and u < (target - p) / (1.0 - p):
            out[d] = high
        elif u > target / p:
            out[d] = low
