"""Sums over the items of each two annotators, of what they agree on if they are right.

As `dissensus.arrays.right_together`, but annotators are kept apart: pairs of rows have a column,
which is that of their annotators.
"""

from __future__ import annotations

import numpy as np

from dissensus.arrays.compiled import kernel
from dissensus.arrays.genuine_agreement import _genuine
from dissensus.arrays.right_together import Pairs, _right
from dissensus.arrays.types import Floats, Ints


@kernel
def _by_pair(
    start: Ints, left: Ints, right: Ints, amount: Floats, confidence: Floats, said: Ints,
    chance: Floats, weights: Floats, accuracy: Floats, cell: Ints, which: Ints, draw: Ints,
    errors: float, column: Ints, n_columns: int,
) -> Floats:  # fmt: skip
    out = np.zeros((len(which), n_columns))
    for n in range(len(which)):
        weight, right_at, p = weights[which[n]], accuracy[draw[n]], chance[which[n]]
        for i in range(len(start) - 1):
            # Without weight its labels may have a chance of 0, and its accuracies contradict.
            for pair in range(start[i], start[i + 1] if weight[i] > 0.0 else start[i]):
                one, two = left[pair], right[pair]
                meant = amount[pair] * _genuine(confidence[one], p[said[one]])
                meant *= _genuine(confidence[two], p[said[two]])
                if meant > 0.0:
                    both = _right(right_at[cell[one]], right_at[cell[two]], errors)
                    out[n, column[pair]] += weight[i] * meant * both
    return out


def right_by_pair(
    pairs: Pairs, confidence: Floats, said: Ints, chance: Floats, weights: Floats,
    accuracy: Floats, cell: Ints, which: Ints, draw: Ints, errors: float, *, column: Ints,
    n_columns: int,
) -> Floats:  # fmt: skip
    """Add up what pairs count if they are right and no guess, for each two annotators.

    Parameters
    ----------
    pairs, confidence, said, chance, weights, accuracy, cell, which, draw, errors
        As in `dissensus.arrays.right_together.right_under_weights`.
    column : array of int (pair)
        Which two annotators a pair of rows is of.
    n_columns : int
        How many pairs of annotators there are.

    Returns
    -------
    array (n, column)

    Examples
    --------
    >>> two = Pairs(np.array([0, 1, 2]), np.array([0, 2]), np.array([1, 3]), np.ones(2))
    >>> zero, sure = np.zeros(1, int), np.array([0.5, 1.0, 1.0, 1.0])
    >>> right_by_pair(two, sure, np.zeros(4, int), np.array([[0.5]]), np.ones((1, 2)),
    ...     np.array([[0.8]]), np.zeros(4, int), zero, zero, 1.0, column=np.arange(2), n_columns=2
    ... ).round(3)
    array([[0.627, 0.941]])
    """
    return _by_pair(
        *pairs, confidence, said, chance, weights, accuracy, cell, which, draw, errors, column,
        n_columns,
    )  # fmt: skip
