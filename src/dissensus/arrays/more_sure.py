"""Whether right labels are given with more confidence than wrong ones."""

from __future__ import annotations

import numpy as np

from dissensus.arrays.types import Floats, Ints


def more_sure(right: Floats, wrong: Floats, start: Ints) -> tuple[Floats, Floats, Floats]:
    """Count pairs of a right and a wrong label by whose confidence is higher, ties in halves.

    Parameters
    ----------
    right, wrong : array (draw, cell)
        How many labels there are, weighted. The cells of a group, such as an annotator, stand
        together, in ascending order of confidence.
    start : array of int (group)
        The first cell of each group.

    Returns
    -------
    pairs : array (draw, group)
        Pairs in which the right label has the higher confidence, plus half of those that tie.
    all_right, all_wrong : array (draw, group)
        Whose product is the number of all pairs.

    Examples
    --------
    >>> pairs, n, m = more_sure(np.array([[0.0, 1, 2]]), np.array([[2.0, 1, 0]]), np.array([0]))
    >>> pairs / (n * m)
    array([[0.94444444]])
    """
    before = np.cumsum(wrong, axis=-1) - wrong
    size = np.diff(start, append=wrong.shape[-1])
    below = before - np.repeat(before[..., start], size, axis=-1)
    pairs = np.add.reduceat(right * (below + wrong / 2.0), start, axis=-1)
    all_right, all_wrong = (np.add.reduceat(one, start, axis=-1) for one in (right, wrong))
    return pairs, all_right, all_wrong
