"""The log-likelihood of an item's labels with its difficulty summed out, as for leaving it out.

A difficulty that was fitted to the labels of its item foresees them too well. Sums over a regular
grid of an integrand that fades away in both directions miss its integral by about
exp(-2 pi^2 s^2 / h^2), for steps of h and a peak of standard deviation s: with steps of s by 3e-9.
No peak is narrower than the prior's with a quarter of a unit of information from each label.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.rasch_data import Said, Truth
from dissensus.arrays.rasch_unknown import Room, log_labels

Floats = npt.NDArray[np.float64]

_REACH = 7.0
"""How far the grid goes to each side at least, in standard deviations of the prior."""
_FADED = 37.0
"""It goes on beyond, until what is left is exp(-37) of the peak or less."""


@njit(cache=True)
def log_marginals(
    sd: float, data: Crossed, said: Said, now: Truth, room: Room, out: Floats
) -> None:
    """Write it for each cell, up to what `rasch_gibbs.all_wrong` adds (cell)."""
    for c in range(len(out)):
        start, stop = data.cell_start[c], data.cell_start[c + 1]
        step = min(1.0, 1.0 / math.sqrt(1.0 / (sd * sd) + 0.25 * (stop - start)))
        n = math.ceil(_REACH * sd / step)
        high, total = -np.inf, 0.0
        for side in (-1, 1):
            k, x = int(side < 0), np.inf
            # Among many items alike, one that all are wrong about lies far beyond its prior.
            while k <= n or x > high - _FADED:
                effect = side * k * step
                z = effect / sd
                x = -0.5 * z * z + log_labels(
                    effect, start, stop, said.truth[c], said.label, room.odds, room.gain,
                    said.guessed, now.log_prevalence, room.weight,
                )  # fmt: skip
                if x > high:
                    total = total * math.exp(high - x) + 1.0
                    high = x
                else:
                    total += math.exp(x - high)
                k += 1
        out[c] = high + math.log(total * step / (sd * math.sqrt(2.0 * math.pi)))
