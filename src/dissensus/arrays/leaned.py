"""Draws of whether an answer is right, where it is more probable than they say by some odds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.stream import started, uniform

Floats = npt.NDArray[np.float64]


@rowwise("void(float64[:], float64, float64[:], uint64, float64[:])", "(d),(),(d),()->(d)")
def leaned(score: Floats, probability: float, odds: Floats, key: int, out: Floats) -> None:
    """Turn some scores of an item into 1 or 0: as few as make the odds of 1 so many times as large.

    Where all draws agree there is nothing to lean, whatever the odds.

    Parameters
    ----------
    score : array (draw)
        In [0, 1].
    probability : float
        Their mean, over all chains.
    odds : array (draw)
        > 0.
    key : int
        Of the item's random stream.
    out : array (draw)

    Examples
    --------
    >>> leaned(np.array([1.0, 0.0, 1.0, 1.0]), 0.75, np.full(4, 1e9), np.uint64(1)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    state = started(key)
    for d in range(len(score)):
        u = uniform(state)
        out[d] = score[d]
        if not 0.0 < probability < 1.0:
            continue
        wanted = probability * odds[d] / (1.0 - probability + probability * odds[d])
        if wanted > probability and u < (wanted - probability) / (1.0 - probability):
            out[d] = 1.0
        elif u > wanted / probability:
            out[d] = 0.0
