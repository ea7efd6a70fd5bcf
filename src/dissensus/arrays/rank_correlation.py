"""Kendall's tau-b and Spearman's footrule between a list and an order, both with ties."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import guvectorize, njit

from dissensus.arrays.remainder import expand

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@njit(cache=True)  # type: ignore[misc]
def _tied_pairs(values: Floats) -> float:
    """Count the pairs of equal values."""
    ordered = np.sort(values)
    pairs, run = 0.0, 0
    for i in range(1, len(ordered)):
        run = run + 1 if ordered[i] == ordered[i - 1] else 0
        pairs += run
    return pairs


@njit(cache=True)  # type: ignore[misc]
def _tau_b(theta: Floats, place: Floats) -> float:
    """Return tau-b of falling theta and rising place, O(labels) per label not in the last block."""
    n = len(theta)
    last = np.max(place)
    score = 0.0
    for i in range(n):
        if place[i] == last:
            continue
        for j in range(n):
            if place[j] == last or j > i:
                score += np.sign(theta[i] - theta[j]) * np.sign(place[j] - place[i])
    pairs = n * (n - 1) / 2
    scale = (pairs - _tied_pairs(theta)) * (pairs - _tied_pairs(place))
    return score / np.sqrt(scale) if scale > 0 else np.nan


@njit(cache=True)  # type: ignore[misc]
def _footrule(theta: Floats, place: Floats) -> float:
    """Return the summed distance of mid-ranks, as a share of its largest value floor(n^2/2)."""
    n = len(theta)
    order = np.argsort(-theta)
    total, i = 0.0, 0
    while i < n:
        j = i
        while j + 1 < n and theta[order[j + 1]] == theta[order[i]]:
            j += 1
        middle = (i + j) / 2 + 1
        for p in range(i, j + 1):
            total += abs(middle - place[order[p]])
        i = j + 1
    return total / (n * n // 2) if n > 1 else np.nan


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()", nopython=True, cache=True)  # type: ignore[misc]
def kendall_dense(theta: Floats, place: Floats, out: Floats) -> None:
    """Return tau-b of plausibilities and predicted mid-ranks."""
    out[0] = _tau_b(theta, place)


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()", nopython=True, cache=True)  # type: ignore[misc]
def footrule_dense(theta: Floats, place: Floats, out: Floats) -> None:
    """Return the normalised footrule of plausibilities and predicted mid-ranks."""
    out[0] = _footrule(theta, place)


@guvectorize(
    ["void(float64[:], int64[:], int64[:], float64, uint32, float64[:], float64[:])"],
    "(c),(c),(c),(),(),(n)->()",
    nopython=True,
    cache=True,
)  # type: ignore[misc]
def kendall_candidates(
    theta: Floats, codes: Codes, sizes: Codes, a: float, key: int, place: Floats, out: Floats
) -> None:
    """Do the same for the candidate form."""
    dense = np.empty(len(place))
    expand(theta, codes, sizes, a, key, dense)
    out[0] = _tau_b(dense, place)


@guvectorize(
    ["void(float64[:], int64[:], int64[:], float64, uint32, float64[:], float64[:])"],
    "(c),(c),(c),(),(),(n)->()",
    nopython=True,
    cache=True,
)  # type: ignore[misc]
def footrule_candidates(
    theta: Floats, codes: Codes, sizes: Codes, a: float, key: int, place: Floats, out: Floats
) -> None:
    """Do the same for the candidate form."""
    dense = np.empty(len(place))
    expand(theta, codes, sizes, a, key, dense)
    out[0] = _footrule(dense, place)
