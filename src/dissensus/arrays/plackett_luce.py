r"""The exact log-likelihood of a partial ranking under Plackett-Luce, and its gradient.

.. math:: p(b \mid \lambda) = \prod_{l < L} P(b_l \text{ before all later blocks})

The last block, :math:`b_L`, is what is left: the labels that are not listed, or, if all are, the
last block listed. It has nothing to be before, and adds nothing. `dissensus.arrays.tied_block`
has the probability of one block.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.log_sums import log_plus, log_total
from dissensus.arrays.tied_block import log_before_rest
from dissensus.arrays.types import Floats, Ints


@kernel
def log_likelihood(log_strength: Floats, codes: Ints, ends: Ints) -> float:
    r"""Return :math:`\log p(b \mid \lambda)`.

    Parameters
    ----------
    log_strength : array (label)
        :math:`\log \lambda_k`, finite; of any scale.
    codes : array (listed)
        The listed labels, best block first, each once. None: the annotator says nothing, and
        the result is 0.
    ends : array (block)
        Where in `codes` each block ends.

    Examples
    --------
    >>> log_strength = np.log([2.0, 1.0, 1.0])
    >>> logp = log_likelihood(log_strength, np.array([0, 1]), np.array([2]))
    >>> round(math.exp(logp), 12)  # 2/4 1/2 + 1/4 2/3
    0.416666666667
    """
    return _walk(log_strength, codes, ends, np.empty(0))


@inner
def log_likelihood_and_gradient(
    log_strength: Floats, codes: Ints, ends: Ints
) -> tuple[float, Floats]:
    r"""Return :math:`\log p(b \mid \lambda)` and its derivatives by :math:`\log \lambda_k`.

    Parameters
    ----------
    log_strength, codes, ends
        As for `log_likelihood`.

    Returns
    -------
    log_likelihood : float
    gradient : array (label)
        Its sum is 0: the scale of the strengths does not matter.

    Examples
    --------
    >>> log_strength = np.log([2.0, 1.0, 1.0])
    >>> logp, gradient = log_likelihood_and_gradient(log_strength, np.array([0]), np.array([1]))
    >>> gradient.round(12)
    array([ 0.5 , -0.25, -0.25])
    """
    gradient = np.zeros(len(log_strength))
    return _walk(log_strength, codes, ends, gradient), gradient


@inner
def _walk(log_strength: Floats, codes: Ints, ends: Ints, gradient: Floats) -> float:
    r"""Add up the blocks, first to last, and write the gradient if it has a length.

    Label k loses :math:`\lambda_k / Z_l` times the summed shares of every block l before its own.
    Of the sum over those l, `lost` times :math:`e^{-\mathrm{scale}}` is what does not depend on k.
    """
    later, last = _later(log_strength, codes, ends)
    wanted = len(gradient) > 0
    summed, lost, scale = 0.0, 0.0, log_strength.max()
    for block in range(len(ends)):
        members = codes[_start(ends, block) : ends[block]]
        share = np.zeros(len(members) if wanted else 0)
        log_rest = later[block]
        if log_rest > -np.inf:
            summed += log_before_rest(log_strength[members] - log_rest, share)
        if wanted:
            for place, label in enumerate(members):
                gradient[label] = share[place] - lost * math.exp(log_strength[label] - scale)
            if log_rest > -np.inf:
                lost = lost * math.exp(log_rest - scale) + share.sum()
                scale = log_rest
    if wanted:
        for label in last:
            gradient[label] = -lost * math.exp(log_strength[label] - scale)
    return summed


@inner
def _later(log_strength: Floats, codes: Ints, ends: Ints) -> tuple[Floats, Ints]:
    """Return the log strength of all that comes after each block, and the labels not listed.

    From the last block to the first it grows by positive terms only: as a total less what
    has come before, small strengths would be lost beside large ones.
    """
    unlisted = np.ones(len(log_strength), dtype=np.bool_)
    unlisted[codes] = False
    last = np.flatnonzero(unlisted)
    later = np.empty(len(ends))
    log_rest = log_total(log_strength[last])
    for block in range(len(ends) - 1, -1, -1):
        later[block] = log_rest
        members = codes[_start(ends, block) : ends[block]]
        log_rest = log_plus(log_rest, log_total(log_strength[members]))
    return later, last


@inner
def _start(ends: Ints, block: int) -> int:
    return ends[block - 1] if block > 0 else 0


@kernel
def of_ranks(log_strength: Floats, rank: Ints) -> tuple[float, Floats]:
    r"""Do so for a ranking given by the block of each label, 0 for a label that is not listed.

    Parameters
    ----------
    log_strength : array (label)
        :math:`\log \lambda_k`; minus infinity for a label that is not there to be ranked.
    rank : array (label)
        The number of the label's block, from 1; 0 for unlisted.

    Returns
    -------
    log_likelihood : float
        Minus infinity if a label is listed that is not there, or a rank is negative.
    gradient : array (label)

    Examples
    --------
    >>> logp, gradient = of_ranks(np.log([2.0, 1.0, 1.0]), np.array([1, 0, 0]))
    >>> round(math.exp(logp), 12), gradient.round(12)
    (0.5, array([ 0.5 , -0.25, -0.25]))
    """
    gradient = np.zeros(len(log_strength))
    there = np.flatnonzero(log_strength > -np.inf)
    if np.any(rank > 0) and np.all(rank[there] == 0):
        return -np.inf, gradient
    for label in range(len(rank)):
        if rank[label] < 0 or (rank[label] > 0 and log_strength[label] == -np.inf):
            return -np.inf, gradient
    order = np.argsort(rank[there])
    n_unlisted = int((rank[there] == 0).sum())
    listed = order[n_unlisted:]
    blocks = rank[there][listed]
    is_end = np.ones(len(listed), dtype=np.bool_)
    is_end[:-1] = blocks[1:] > blocks[:-1]
    value, part = log_likelihood_and_gradient(
        log_strength[there], listed, np.flatnonzero(is_end) + 1
    )
    gradient[there] = part
    return value, gradient
