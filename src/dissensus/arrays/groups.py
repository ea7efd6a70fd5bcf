"""Masses of groups of labels in the candidate form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import guvectorize

from dissensus.arrays.remainder import next_share, unnamed_labels

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

_NEGLIGIBLE = 1e-12


@guvectorize(
    ["void(float64[:], int64[:], int64[:], float64, uint32, int64[:], float64[:], float64[:])"],
    "(c),(c),(c),(),(),(n),(g)->(g)",
    nopython=True,
    cache=True,
)  # type: ignore[misc]
def grouped_candidates(
    theta: Floats,
    codes: Codes,
    sizes: Codes,
    a: float,
    key: int,
    group: Codes,
    like: Floats,
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
            np.random.seed(key)  # noqa: NPY002
            rest = theta[c]
            for step in range(sizes[c]):
                share = next_share(rest, step, labels, a)
                # What is left past rounding is given away whole, and the draw ends.
                if rest - share < _NEGLIGIBLE * theta[c]:
                    share = rest
                out[group[labels[step]]] += share
                rest -= share
                if rest <= 0.0:
                    break
