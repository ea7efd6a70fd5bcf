"""Kendall's tau-b and Spearman's footrule between a list and an order, both with ties."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.compiled import inner
from dissensus.arrays.remainder import expand
from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.stable_sort import falling_with_order, sort_with
from dissensus.arrays.types import Codes, Floats


@inner
def _by_theta(theta: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Return minus theta in rising order, and the places along with it."""
    falling, order = falling_with_order(theta)
    walked = np.empty(len(order))
    for k in range(len(order)):
        walked[k] = place[order[k]]
    return falling, walked


@inner
def _tied_pairs(ordered: Floats, first: int, last: int) -> float:
    """Count the pairs of equal neighbours, at any distance, in a sorted part of an array."""
    pairs, run = 0.0, 0
    for i in range(first + 1, last):
        run = run + 1 if ordered[i] == ordered[i - 1] else 0
        pairs += run
    return pairs


@inner
def _sort_counting(values: Floats) -> float:
    """Sort in place by merging, and return how many pairs stood in the wrong order."""
    n, width, swaps = len(values), 1, 0.0
    other = np.empty(n)
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and values[i] <= values[j]):
                    other[k] = values[i]
                    i += 1
                else:
                    other[k] = values[j]
                    j += 1
                    swaps += middle - i
        for k in range(n):
            values[k] = other[k]
        width *= 2
    return swaps


@inner
def _tau_b(theta: Floats, place: Floats) -> float:
    """Return tau-b of falling theta and rising place, by Knight's (1966) O(n log n) method."""
    n = len(theta)
    falling, walked = _by_theta(theta, place)
    tied_theta, tied_both, i = 0.0, 0.0, 0
    for j in range(1, n + 1):  # within ties of theta, no pair may count as a wrong one
        if j == n or falling[j] != falling[i]:
            if j - i > 1:
                tied_theta += (j - i) * (j - i - 1) / 2
                sort_with(walked, falling, i, j)
                tied_both += _tied_pairs(walked, i, j)
            i = j
    wrong = _sort_counting(walked)
    tied_place = _tied_pairs(walked, 0, n)
    pairs = n * (n - 1) / 2
    score = pairs - tied_theta - tied_place + tied_both - 2 * wrong
    scale = math.sqrt(pairs - tied_theta) * math.sqrt(pairs - tied_place)
    return max(-1.0, min(1.0, score / scale)) if scale > 0 else np.nan


@inner
def _footrule(theta: Floats, place: Floats) -> float:
    """Return the summed distance of mid-ranks, as a share of its largest value floor(n^2/2)."""
    n = len(theta)
    falling, walked = _by_theta(theta, place)
    total, i = 0.0, 0
    while i < n:
        j = i
        while j + 1 < n and falling[j + 1] == falling[i]:
            j += 1
        middle = (i + j) / 2 + 1
        for k in range(i, j + 1):
            total += abs(middle - walked[k])
        i = j + 1
    return total / (n * n // 2) if n > 1 else np.nan


@rowwise("void(float64[:], float64[:], float64[:])", "(n),(n)->()")
def kendall_dense(theta: Floats, place: Floats, out: Floats) -> None:
    """Return tau-b of plausibilities and predicted mid-ranks."""
    out[0] = _tau_b(theta, place)


@rowwise("void(float64[:], float64[:], float64[:])", "(n),(n)->()")
def footrule_dense(theta: Floats, place: Floats, out: Floats) -> None:
    """Return the normalised footrule of plausibilities and predicted mid-ranks."""
    out[0] = _footrule(theta, place)


@rowwise(
    "void(float64[:], int64[:], int64[:], float64, uint64, float64[:], float64[:])",
    "(c),(c),(c),(),(),(n)->()",
)
def kendall_candidates(
    theta: Floats, codes: Codes, sizes: Codes, a: float, key: int, place: Floats, out: Floats
) -> None:
    """Do the same for the candidate form."""
    dense = np.empty(len(place))
    expand(theta, codes, sizes, a, key, dense)
    out[0] = _tau_b(dense, place)


@rowwise(
    "void(float64[:], int64[:], int64[:], float64, uint64, float64[:], float64[:])",
    "(c),(c),(c),(),(),(n)->()",
)
def footrule_candidates(
    theta: Floats, codes: Codes, sizes: Codes, a: float, key: int, place: Floats, out: Floats
) -> None:
    """Do the same for the candidate form."""
    dense = np.empty(len(place))
    expand(theta, codes, sizes, a, key, dense)
    out[0] = _footrule(dense, place)
