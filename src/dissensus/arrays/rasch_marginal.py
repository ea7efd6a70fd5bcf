"""The log-likelihood of an item's labels with its difficulty summed out, as for leaving it out.

A difficulty that was fitted to the labels of its item foresees them too well. Sums over a regular
grid of an integrand that fades away in both directions miss its integral by about
exp(-2 pi^2 s^2 / h^2), for steps of h and a peak of standard deviation s: with steps of s by 3e-9.
No peak is narrower than the prior's with a quarter of a unit of information from each label.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.rasch_data import Said, Truth
from dissensus.arrays.rasch_unknown import Room, all_wrong, log_labels
from dissensus.kernels.compiled import kernel
from dissensus.kernels.types import Codes, Floats

_REACH = 7.0
"""How far the grid goes to each side at least, in standard deviations of the prior."""
_FADED = 37.0
"""It goes on beyond, until what is left is exp(-37) of the peak or less."""


def log_marginals(
    sd: float, data: Crossed, said: Said, now: Truth, room: Room, out: Floats
) -> None:
    """Write it for each cell (cell)."""
    _log_marginals(
        sd, data.cell_start, said.truth, said.label, said.level, room.odds, room.gain,
        said.guessed, now.log_prevalence, now.log_level, room.weight, out,
    )  # fmt: skip


@kernel
def _log_marginals(
    sd: float, cell_start: Codes, truth: Codes, label: Codes, level: Codes, odds: Floats,
    gain: Floats, guessed: float, log_prevalence: Floats, log_level: Floats, weight: Floats,
    out: Floats,
) -> None:  # fmt: skip
    for c in range(len(out)):
        start, stop = cell_start[c], cell_start[c + 1]
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
                    effect, start, stop, truth[c], label, odds, gain, guessed, log_prevalence,
                    weight,
                )  # fmt: skip
                if x > high:
                    total = total * math.exp(high - x) + 1.0
                    high = x
                else:
                    total += math.exp(x - high)
                k += 1
        out[c] = high + math.log(total * step / (sd * math.sqrt(2.0 * math.pi)))
        out[c] += all_wrong(start, stop, guessed, len(weight), level, log_level)
