"""Average overlap of two partial rankings, ties and unranked labels averaged out exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dissensus.arrays.types import Floats


def depth_membership(blocks: Sequence[Sequence[int]], n_labels: int, depth: int) -> Floats:
    r"""Return the probability of each label to be among the first d, for d = 1, ..., depth.

    This is :math:`T P_B` of Stutz et al. (2023, B.5): the running sum over positions of the
    expected permutation matrix. Unlisted labels form the last block.

    Examples
    --------
    >>> depth_membership([[0], [1, 2]], n_labels=4, depth=3)
    array([[1. , 0. , 0. , 0. ],
           [1. , 0.5, 0.5, 0. ],
           [1. , 1. , 1. , 0. ]])
    """
    listed = [label for block in blocks for label in block]
    start = np.full(n_labels, len(listed), dtype=np.float64)
    size = np.full(n_labels, max(1, n_labels - len(listed)), dtype=np.float64)
    passed = 0
    for block in blocks:
        start[list(block)], size[list(block)] = passed, len(block)
        passed += len(block)
    first = np.arange(1, depth + 1)[:, None]
    return np.clip((first - start) / size, 0, 1)


def average_overlap(one: Floats, other: Floats) -> float:
    r"""Return the expected average overlap :math:`\mathrm{tr}((T P)^\top D\, (T P'))`.

    Parameters
    ----------
    one, other : array (depth, label)
        From `depth_membership`.

    Examples
    --------
    >>> full = depth_membership([[0], [1], [2]], 3, 2)
    >>> average_overlap(full, full)
    1.0
    """
    depth = len(one)
    weight = 1 / (depth * np.arange(1, depth + 1))
    return float(weight @ (one * other).sum(axis=1))
