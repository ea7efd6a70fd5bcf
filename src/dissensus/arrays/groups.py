"""Masses of groups of labels in the candidate form."""

from __future__ import annotations

import numpy as np

from dissensus.arrays.remainder import next_share, unnamed_labels
from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.stream import started
from dissensus.arrays.types import Codes, Floats

_NEGLIGIBLE = 1e-12


@rowwise(
    "void(float64[:], int64[:], int64[:], float64, uint64, int64[:], float64[:], float64[:])",
    "(c),(c),(c),(),(),(n),(g)->(g)",
)
def grouped_candidates(
    theta: Floats,
    codes: Codes,
    sizes: Codes,
    a: float,
    key: int,
    group: Codes,
    like: Floats,  # noqa: ARG001 (only its length is read, by Numba)
    out: Floats,
) -> None:
    """Sum a row in candidate form over groups of labels; the last argument gives their number."""
    out[:] = 0.0
    for c in range(len(theta)):
        if sizes[c] == 1 and codes[c] >= 0:
            out[group[codes[c]]] += theta[c]
    for c in range(len(theta)):
        if sizes[c] > 1 and theta[c] > 0:
            labels = unnamed_labels(codes, sizes[c], len(group))
            share, rest = theta[c] / sizes[c], theta[c]
            state = started(key)
            for step in range(sizes[c]):
                if not np.isinf(a):
                    share, rest = next_share(state, rest, step, labels, a)
                    # What is left past rounding is given away whole, and the draw ends.
                    if rest < _NEGLIGIBLE * theta[c]:
                        share, rest = share + rest, 0.0
                out[group[labels[step]]] += share
                if rest <= 0.0:
                    break
