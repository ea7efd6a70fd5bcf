"""Sums over items under many sets of weights."""

from __future__ import annotations

import numpy as np

from dissensus.arrays.compiled import kernel
from dissensus.arrays.types import Floats


@kernel
def weighted_sums(weights: Floats, sums: Floats) -> Floats:
    """Multiply (set of weights, item) by (item, sum).

    A plain loop: linear algebra libraries are made for square matrices, and start threads of their
    own. With three sums, and called from two threads, NumPy's product takes six times as long.

    Examples
    --------
    >>> weighted_sums(np.array([[1.0, 2.0]]), np.array([[1.0, 10.0], [2.0, 20.0]]))
    array([[ 5., 50.]])
    """
    out = np.empty((weights.shape[0], sums.shape[1]))
    total = np.empty(sums.shape[1])
    for draw in range(weights.shape[0]):
        total[:] = 0.0
        for item in range(weights.shape[1]):
            weight = weights[draw, item]
            for column in range(sums.shape[1]):
                total[column] += weight * sums[item, column]
        for column in range(sums.shape[1]):
            out[draw, column] = total[column]
    return out
