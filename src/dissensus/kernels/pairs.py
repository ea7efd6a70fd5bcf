"""How often systems win votes on pairs, given strengths."""

from __future__ import annotations

import math

from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.types import Floats


@rowwise(
    "void(float64[:, :], float64[:], float64, float64[:], float64[:], float64[:], float64[:])",
    "(i,k),(i),(),(n),(n),(n)->(k)",
)
def win_rate_rows(
    strength: Floats, tie: Floats, side: float, apart: Floats, tied: Floats, weight: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Write the mean share of votes that each system wins, ties as halves (system).

    ``strength`` (item, system), ``tie`` (item); ``apart`` and ``tied`` are what comes on top of a
    difference and of the tendency to ties, ``weight`` their probabilities; ``side`` is added and
    subtracted, as each system stands on the left in half of the votes.
    """
    n_items, n = strength.shape
    n_sides = 1 if side == 0.0 else 2
    for k in range(n):
        out[k] = 0.0
    for i in range(n_items):
        for q in range(len(apart)):
            odds = math.exp(tie[i] + tied[q])
            for k in range(n):
                for j in range(k):
                    lead = 0.0  # P(k wins) - P(j wins)
                    for place in range(n_sides):
                        eta = strength[i, k] - strength[i, j] + apart[q] + (1 - 2 * place) * side
                        small = math.exp(-0.5 * abs(eta))
                        share = (1.0 - small * small) / (1.0 + small * (small + odds))
                        lead += math.copysign(share, eta) / n_sides
                    out[k] += weight[q] * (0.5 + 0.5 * lead)
                    out[j] += weight[q] * (0.5 - 0.5 * lead)
    for k in range(n):
        out[k] /= n_items * (n - 1)
