"""Draws of an answer's score, where it is more probable than they say that it is right."""

from __future__ import annotations

import numpy as np

from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.stream import started, uniform
from dissensus.arrays.types import Floats


@rowwise(
    "void(float64[:], float64, float64, float64, float64[:], uint64, float64[:])",
    "(d),(),(),(),(d),()->(d)",
)
def leaned(
    score: Floats, low: float, mean: float, high: float, insight: Floats, key: int, out: Floats
) -> None:
    """Turn some scores of an item into its highest or lowest, as few as may be.

    The place of the mean between the two is the probability that the answer is right; its log odds
    become larger by ``insight``. Where all draws agree nothing changes.

    Parameters
    ----------
    score : array (draw)
    low, mean, high : float
        Of the scores, over all chains.
    insight : array (draw)
    key : int
        Of the item's random stream.
    out : array (draw)

    Examples
    --------
    >>> some = np.array([1.0, 0.0, 1.0, 1.0])
    >>> leaned(some, 0.0, 0.75, 1.0, np.full(4, 800.0), np.uint64(1)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    state = started(key)
    for d in range(len(score)):
        u = uniform(state)
        out[d] = score[d]
        if not low < mean < high:
            continue
        p = (mean - low) / (high - low)
        wanted = 1.0 / (1.0 + (1.0 / p - 1.0) * np.exp(-insight[d]))
        if wanted > p and u < (wanted - p) / (1.0 - p):
            out[d] = high
        elif u > wanted / p:
            out[d] = low
