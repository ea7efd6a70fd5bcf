"""The weighted mean of items' scores."""

from __future__ import annotations

import numpy as np

from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.types import Floats


@rowwise("void(float64[:], float64[:], float64[:])", "(i),(i)->()")
def weighted_mean(score: Floats, weight: Floats, out: Floats) -> None:
    """Average scores over items.

    From the first score on, so that equal scores average to just that score: rounding would make
    a constant vary by 1e-16, and pass the end of the scale.

    Examples
    --------
    >>> weighted_mean(np.array([0.1, 0.1]), np.array([[1.0, 2.0], [3.0, 1.0]])).tolist()
    [0.1, 0.1]
    """
    total, beyond = 0.0, 0.0
    for i in range(len(score)):
        total += weight[i]
        beyond += weight[i] * (score[i] - score[0])
    out[0] = score[0] + beyond / total if total > 0.0 else np.nan
