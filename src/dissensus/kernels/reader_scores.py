"""Latent numbers of graded scores, given effects of readers and cases (`reader_effects`).

The likelihood of a reading is the probability that all latent numbers of a grade are below all
those of the next grade. The sampler also draws the largest latent number of each grade except the
highest grade.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.reader_effects import RATIO_SCALE, given_total, total
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import interval
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import normal_between


@inner
def _log_chance(
    start: int, stop: int, low: float, high: float, centre: Floats, positive: Ints, ratio: Floats
) -> float:
    """Return the log density that a grade's numbers are above ``low``, and the largest is ``high``.

    If ``high`` is infinite, the result is the log probability that all numbers are above ``low``.
    """
    out, rate = 0.0, 0.0
    for n in range(start, stop):
        sd = ratio[positive[n]]
        log_p, _, at_high = interval((low - centre[n]) / sd, (high - centre[n]) / sd)
        out += log_p
        rate += at_high / sd
    return out + math.log(rate) if high < math.inf else out


@inner
def _cut_density(
    x: float, low: float, high: float, start: int, middle: int, stop: int, centre: Floats,
    positive: Ints, ratio: Floats,
) -> float:  # fmt: skip
    """Return the log density of a grade's largest number, given those of both adjacent grades."""
    if not low < x < high:
        return -math.inf
    out = 0.0
    for side in range(2):  # a loop with one call, because two calls would be compiled twice
        first, last = (start, middle) if side == 0 else (middle, stop)
        below, above = (low, x) if side == 0 else (x, high)
        out += _log_chance(first, last, below, above, centre, positive, ratio)
    return out


_slice_cut = slicer(_cut_density)


@kernel
def move_cuts(
    state: State, cut: Floats, start: Ints, n_grades: Ints, centre: Floats, positive: Ints,
    ratio: Floats,
) -> None:  # fmt: skip
    """Draw the largest latent number of each grade, with other latent numbers integrated out."""
    for j in range(len(n_grades)):
        last = n_grades[j] - 1
        for k in range(last):
            low = -math.inf if k == 0 else cut[j, k - 1]
            high = math.inf if k == last - 1 else cut[j, k + 1]
            n = start[j, k + 2] - start[j, k]
            cut[j, k] = _slice_cut(
                state, cut[j, k], 4.0 / math.sqrt(n), low, high, start[j, k], start[j, k + 1],
                start[j, k + 2], centre, positive, ratio,
            )  # fmt: skip


@inner
def _ends(cut: Floats, j: int, k: int, last: int) -> tuple[float, float]:
    """Return the lower and upper bound of the latent numbers of grade k."""
    return -math.inf if k == 0 else cut[j, k - 1], math.inf if k == last else cut[j, k]


@inner
def _ratio_density(
    x: float, cut: Floats, start: Ints, n_grades: Ints, reading: Ints, positive: Ints,
    separation: Floats, unscaled: Floats, sd: Floats, sums: Floats, ratio: Floats, centre: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of ``ratio``; write the ratio and the centres."""
    ratio[1] = math.exp(x)
    out = -0.5 * (x / RATIO_SCALE) ** 2 + given_total(total(sd, ratio), sums)
    for n in range(len(centre)):
        if positive[n]:
            centre[n] = separation[reading[n]] + ratio[1] * unscaled[n]
    for j in range(len(n_grades)):
        last = n_grades[j] - 1
        for k in range(last + 1):
            low, high = _ends(cut, j, k, last)
            out += _log_chance(start[j, k], start[j, k + 1], low, high, centre, positive, ratio)
    return out


_slice_ratio = slicer(_ratio_density)


@kernel
def move_latent(
    state: State, cut: Floats, start: Ints, n_grades: Ints, reading: Ints, positive: Ints,
    separation: Floats, sd: Floats, ratio: Floats, centre: Floats, sums: Floats, latent: Floats,
) -> None:  # fmt: skip
    """Draw the ratio given the effects of cases that it multiplies, then all latent numbers."""
    unscaled = np.empty(len(centre))
    for n in range(len(centre)):
        d = positive[n]
        unscaled[n] = (centre[n] - d * separation[reading[n]]) / ratio[d]
    _slice_ratio(
        state, math.log(ratio[1]), 0.3, cut, start, n_grades, reading, positive, separation,
        unscaled, sd, sums, ratio, centre,
    )  # fmt: skip
    for j in range(len(n_grades)):
        last = n_grades[j] - 1
        for k in range(last + 1):
            low, high = _ends(cut, j, k, last)
            largest, rate = -1, 0.0
            for n in range(start[j, k], start[j, k + 1]):
                spread = ratio[positive[n]]
                ends = (low - centre[n]) / spread, (high - centre[n]) / spread
                latent[n] = centre[n] + spread * normal_between(state, *ends)
                if k < last:  # choose the largest, by densities at ``high``
                    own = interval(*ends)[2] / spread
                    rate += own
                    if uniform(state) * rate <= own:
                        largest = n
            if k < last:
                latent[largest] = high
