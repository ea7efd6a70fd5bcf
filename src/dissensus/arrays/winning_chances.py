"""How often the right label wins, given how many votes it has and how many it has not.

The right label has probability p in each vote, and each of the L - 1 wrong ones (1 - p)/(L - 1).
Which wrong label a wrong vote falls on does not depend on who is wrong. So the chance that x right
votes of n win, ties broken at random, knows nothing of p: it is the same whoever voted.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from dissensus.arrays.compiled import kernel
from dissensus.arrays.types import Floats

Complex = npt.NDArray[np.complex128]

_NOTHING: Final = 1e-17
"""Chances of less change no other."""


@lru_cache(maxsize=1024)
def winning_chances(votes: int, n_labels: int) -> Floats:
    """Return the chance that the right label wins with 0, 1, ... of the votes.

    Examples
    --------
    >>> winning_chances(4, 2)
    array([0. , 0. , 0.5, 1. , 1. ])
    >>> winning_chances(3, 4)
    array([0.        , 0.22222222, 1.        , 1.        ])
    """
    wrong, x = n_labels - 1, np.arange(votes + 1)
    rest = votes - x
    out = np.where(x > rest, 1.0, 0.0)
    # With fewer votes some wrong label has more, wherever the others fall.
    open_ = x[(x > 0) & (x <= rest) & (x * n_labels >= votes)]
    left = votes - open_
    reach = betainc(open_, left - open_ + 1, 1 / wrong)  # the chance of one wrong label
    more = np.where(left > open_, betainc(open_ + 1, np.maximum(left - open_, 1), 1 / wrong), 0.0)
    out[open_[wrong * reach < _NOTHING]] = 1.0  # hardly ever does any come so far
    # Numbers of votes that add up to a constant are negatively associated (Joag-Dev and Proschan
    # 1983), so that the chance that all are low is at most the product of the chances.
    with np.errstate(divide="ignore"):
        never = wrong * np.log1p(-more) < math.log(_NOTHING)
    for k in open_[~never & (wrong * reach >= _NOTHING)].tolist():
        out[k] = _won(k, votes - k, wrong)
    out.setflags(write=False)  # it is shared by all who ask
    return out


def _won(x: int, rest: int, wrong: int) -> float:
    """Return the chance that x right votes win against the rest, spread over the wrong labels.

    It is E[1/(1 + T)] over the number T of labels that have x votes too, where none has more. As
    1/(1 + T) is the integral of u^T from 0 to 1, it is that of

        g(u) = rest! / wrong^rest [z^rest] (1 + z + z^2/2! + ... + u z^x/x!)^wrong,

    a polynomial in u. The coefficient is read off a circle by a Fourier sum, as P(S = rest) of a
    sum S of independent numbers whose mean is made to be ``rest``: no terms cancel, as they do
    where those for T = 0, 1, ... are added up.
    """
    scale = math.lgamma(rest + 1) - rest * math.log(wrong)
    logs = -np.array([math.lgamma(k + 1.0) for k in range(x + 1)])
    if rest == wrong * x:  # all wrong labels are level
        return math.exp(scale + wrong * logs[x]) / (1 + wrong)
    radius = _radius(logs, rest / wrong)
    tilted = logs + radius * np.arange(x + 1)
    height = tilted.max() + math.log(np.exp(tilted - tilted.max()).sum())
    mass = np.exp(tilted - height)
    # Beyond so many points lie sums that a Poisson variable of that mean never reaches.
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
    """Return the logarithm of z for which powers weighted by z^k/k! have that mean power."""
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
    """Raise to a whole power by squaring."""
    out = np.ones_like(base)
    while exponent:
        if exponent & 1:
            out = out * base
        base = base * base
        exponent >>= 1
    return out


@lru_cache(maxsize=1024)
def _nodes(degree: int) -> tuple[Floats, Floats]:
    """Return points and weights that integrate such a polynomial from 0 to 1 exactly."""
    point, weight = np.polynomial.legendre.leggauss(degree // 2 + 1)
    return (point + 1) / 2, weight / 2
