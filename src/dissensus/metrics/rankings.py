"""How alike two partial rankings are, without any model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from dissensus.arrays.partial_rankings import average_overlap, depth_membership
from dissensus.errors import ArgumentError
from dissensus.metrics._lists import positive_int

Blocks = Sequence[Sequence[int]]


def mean_average_overlap(ranking: Blocks, other: Blocks, depth: int, n_labels: int) -> float:
    r"""Average overlap of two partial rankings, over all orders of their ties, normalised.

    .. math:: \frac{\mathrm{UAO@}L(b, b')}{\sqrt{\mathrm{UAO@}L(b, b)\;\mathrm{UAO@}L(b', b')}},
        \qquad \mathrm{UAO@}L(b, b') = \mathrm{tr}\,(T P_b)^\top D\,(T P_{b'})

    with P the expected permutation matrix, T lower-triangular ones and
    D = diag(1/L, 1/(2L), ..., 1/L^2, 0, ...).

    Parameters
    ----------
    ranking, other : sequence of blocks of label codes
        Best block first; labels tied within a block. Unlisted labels form the last block.
    depth : int
        L.
    n_labels : int
        Size of the label space; codes are 0, ..., n_labels - 1.

    Returns
    -------
    float
        In [0, 1]; 1 for a ranking with itself, also one with ties.

    Raises
    ------
    ArgumentError
        If a code is outside the label space or stands twice, a block is empty, or depth is
        larger than the label space.

    Notes
    -----
    Source: Stutz et al. (2023), Appendix B.5.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.mean_average_overlap([[0], [1, 2]], [[0], [1, 2]], depth=3, n_labels=5)
    1.0
    >>> round(dx.mean_average_overlap([[0], [1]], [[1], [0]], depth=2, n_labels=5), 3)
    0.5
    """
    depth = positive_int("depth", depth)
    n_labels = positive_int("n_labels", n_labels)
    if depth > n_labels:
        raise ArgumentError("depth", expected=f"at most n_labels={n_labels}", found=str(depth))
    one, two = (
        depth_membership(_checked(name, blocks, n_labels), n_labels, depth)
        for name, blocks in (("ranking", ranking), ("other", other))
    )
    scale = average_overlap(one, one) * average_overlap(two, two)
    return float(min(1.0, average_overlap(one, two) / np.sqrt(scale)))


def _checked(name: str, blocks: Any, n_labels: int) -> Blocks:
    if not _is_list(blocks) or not all(_is_list(block) for block in blocks):
        raise ArgumentError(
            name, expected="a list of blocks, each a list of label codes", found=repr(blocks)
        )
    listed = [label for block in blocks for label in block]
    if any(len(block) == 0 for block in blocks):
        raise ArgumentError(name, expected="blocks of one or more labels", found="an empty block")
    bad = [label for label in listed if label not in range(n_labels)]
    if bad:
        raise ArgumentError(
            name, expected=f"label codes from 0 to {n_labels - 1}", found=repr(bad[0])
        )
    if len(set(listed)) != len(listed):
        raise ArgumentError(name, expected="each label once", found=str(list(blocks)))
    return [[int(label) for label in block] for block in blocks]


def _is_list(values: Any) -> bool:
    return isinstance(values, Collection | np.ndarray) and not isinstance(values, str)
