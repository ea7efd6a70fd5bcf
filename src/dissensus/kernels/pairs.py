"""How often systems win votes on pairs, given strengths."""

from __future__ import annotations

import math

from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.types import Floats


@rowwise(
    "void(float64[:, :], float64, float64, float64[:], float64[:], float64[:])",
    "(i,k),(),(),(n),(n)->(k)",
)
def win_rate_rows(
    strength: Floats, odds: float, side: float, node: Floats, weight: Floats, out: Floats
) -> None:
    """Write the mean share of votes that each system wins, ties as halves (system).

    ``strength`` (item, system); ``node`` and ``weight`` are what comes on top of a difference,
    with its probabilities; ``side`` is added and subtracted, as each system stands on the left
    in half of the votes.
    """
    n_items, n = strength.shape
    for k in range(n):
        out[k] = 0.0
    for i in range(n_items):
        for k in range(n):
            for j in range(k):
                won = 0.0
                for q in range(len(node)):
                    ahead = strength[i, k] - strength[i, j] + node[q]
                    for place in range(2):
                        eta = ahead + side if place == 0 else ahead - side
                        small = math.exp(-0.5 * abs(eta))
                        apart = (1.0 - small * small) / (1.0 + small * (small + odds))
                        won += weight[q] * (0.25 + 0.25 * math.copysign(apart, eta))
                out[k] += won
                out[j] += 1.0 - won
    for k in range(n):
        out[k] /= n_items * (n - 1)
