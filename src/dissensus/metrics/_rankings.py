"""The overlap of two partial rankings, and the Plackett-Luce likelihood of a partial ranking."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus import arguments
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.overlap import average_overlap, depth_membership
from dissensus.kernels.plackett_luce import log_likelihood

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
        L, at most ``n_labels``.
    n_labels : int
        Size of the label space; codes are 0, ..., n_labels - 1.

    Returns
    -------
    float
        In [0, 1]; 1 for a ranking with itself, even if it has ties.

    Notes
    -----
    With few labels, rankings overlap by chance. Long blocks of ties overlap with almost all
    rankings.

    Source: Stutz et al. (2023), Appendix B.5.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.mean_average_overlap([[0], [1, 2]], [[0], [1, 2]], depth=3, n_labels=5)
    1.0
    >>> round(dx.mean_average_overlap([[0], [1]], [[1], [0]], depth=2, n_labels=5), 3)
    0.5
    """
    depth = arguments.whole("depth", depth)
    n_labels = arguments.whole("n_labels", n_labels)
    if depth > n_labels:
        raise ArgumentError("depth", expected=f"at most n_labels={n_labels}", found=str(depth))
    first, second = (
        depth_membership(_checked(name, blocks, n_labels), n_labels, depth)
        for name, blocks in (("ranking", ranking), ("other", other))
    )
    scale = average_overlap(first, first) * average_overlap(second, second)
    return float(min(1.0, average_overlap(first, second) / np.sqrt(scale)))


def partial_ranking_logp(strengths: npt.ArrayLike, blocks: Blocks) -> float:
    r"""Exact log-likelihood of one partial ranking under Plackett-Luce.

    .. math:: \log p(b \mid \lambda) = \sum_{l < L} \log \int_0^\infty Z_l e^{-Z_l t}
        \prod_{k \in b_l} \bigl(1 - e^{-\lambda_k t}\bigr)\, dt

    with :math:`Z_l` the total strength of all blocks after the l-th. The probability is summed over
    all orders within the blocks.

    Parameters
    ----------
    strengths : array (label)
        The positive strengths of the labels; their scale does not matter.
    blocks : sequence of blocks of label codes
        Best block first; labels tied within a block. Unlisted labels form the last block. Without
        blocks the result is 0.

    Returns
    -------
    float
        The logarithm of a probability: 0 or less.

    Notes
    -----
    Do not compare rankings of different lengths: longer rankings are less probable.

    The likelihood is exact to about 1e-12 of the probability, for ties of any size.
    Source: Stutz et al. (2023), Appendix B.4.

    Examples
    --------
    The best label is first with probability 2/4; then one of two equal labels with 1/2:

    >>> import numpy as np
    >>> import dissensus as dx
    >>> round(float(np.exp(dx.partial_ranking_logp([2.0, 1.0, 1.0], [[0], [1]]))), 12)
    0.25

    Two labels are tied before the third, in either order: 2/4 1/2 + 1/4 2/3.

    >>> round(float(np.exp(dx.partial_ranking_logp([2.0, 1.0, 1.0], [[0, 1]]))), 12)
    0.416666666667
    """
    strength = _positive(strengths)
    checked = _checked("blocks", blocks, len(strength))
    codes = np.array([label for block in checked for label in block], dtype=np.int64)
    ends = np.cumsum([len(block) for block in checked], dtype=np.int64)
    return float(log_likelihood(np.log(strength), codes, ends))


def _positive(strengths: Any) -> npt.NDArray[np.float64]:
    """Return strengths as positive finite numbers, or raise."""
    expected = "positive finite numbers, one for each label"
    try:
        values = np.asarray(strengths)
    except (TypeError, ValueError) as error:  # a Dataset, or a ragged list
        raise ArgumentError("strengths", expected=expected, found=brief(strengths)) from error
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iuf":
        raise ArgumentError("strengths", expected=expected, found=brief(strengths))
    strength = values.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(strength) & (strength > 0)))
    if len(bad):
        raise ArgumentError(
            "strengths", where=f"label {bad[0]}", expected=expected, found=str(values[bad[0]])
        )
    return strength


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
