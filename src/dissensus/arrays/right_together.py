r"""How probably two annotators who agree are right, and sums of that over pairs.

Equation 6 of Cabitza et al. (2020): with accuracies a and b,

.. math:: P = \frac{ab}{ab + (1 - a)(1 - b) / e}

where e is the number of ways to be wrong together: 1 as printed, which is right for two labels,
n - 1 for n labels if errors fall on all others alike. Annotators of whom one is always right and
the other never cannot agree: 0/0 is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.genuine_agreement import _genuine
from dissensus.arrays.types import Floats, Ints


class Pairs(NamedTuple):
    """Pairs of rows of different annotators that agree, item by item."""

    start: Ints
    """(item + 1): pairs ``start[i]`` to ``start[i + 1]`` belong to item i."""
    left: Ints
    """(pair): row, in the order of `dissensus.arrays.grouped`."""
    right: Ints
    amount: Floats
    """(pair): what it counts, of all pairs of annotators of the item."""


@inner
def _right(one: float, two: float, errors: float) -> float:
    both = one * two
    neither = (1.0 - one) * (1.0 - two) / errors
    if both + neither > 0.0:
        return both / (both + neither)
    return np.nan  # one is always right and the other never, or there is no way to be wrong


@kernel
def _both_right(one: Floats, two: Floats, errors: float) -> Floats:
    out = np.empty(len(one))
    for n in range(len(out)):
        out[n] = _right(one[n], two[n], errors)
    return out


def both_right(one: Floats, two: Floats, errors: float) -> Floats:
    """Return how probably two who agree are right.

    Parameters
    ----------
    one, two : array (n)
        Accuracies.
    errors : float
        Ways to be wrong together: 1, or one less than there are labels; NaN if there is none.

    Examples
    --------
    >>> both_right(np.array([0.8, 0.5]), np.array([0.8, 0.5]), 1.0).round(3)
    array([0.941, 0.5  ])
    """
    return _both_right(one, two, errors)


@kernel
def _by_item(
    start: Ints, left: Ints, right: Ints, amount: Floats, accuracy: Floats, cell: Ints,
    errors: float,
) -> Floats:  # fmt: skip
    out = np.zeros((len(accuracy), len(start) - 1))
    for draw in range(len(accuracy)):
        for i in range(len(start) - 1):
            for pair in range(start[i], start[i + 1]):
                if amount[pair] > 0.0:
                    one, two = (
                        accuracy[draw, cell[left[pair]]], accuracy[draw, cell[right[pair]]]
                    )  # fmt: skip
                    out[draw, i] += amount[pair] * _right(one, two, errors)
    return out


def right_by_item(pairs: Pairs, accuracy: Floats, cell: Ints, errors: float) -> Floats:
    """Add up what pairs count if they are right: (draw, item).

    Parameters
    ----------
    pairs : Pairs
        With amounts in which chance has been taken off.
    accuracy : array (draw, cell)
        Of annotators, or of annotators on items.
    cell : array of int (row)
        Which of them is a row's.
    errors : float
        As in `both_right`.

    Examples
    --------
    >>> one = Pairs(np.array([0, 1]), np.array([0]), np.array([1]), np.array([0.5]))
    >>> right_by_item(one, np.array([[0.8, 0.8], [1.0, 0.8]]), np.arange(2), 1.0).round(3)
    array([[0.471],
           [0.5  ]])
    """
    return _by_item(*pairs, accuracy, cell, errors)


@kernel
def _by_annotators(
    totals: Floats, left: Ints, right: Ints, accuracy: Floats, which: Ints, draw: Ints,
    errors: float,
) -> Floats:  # fmt: skip
    out = np.zeros(len(which))
    for n in range(len(which)):
        for pair in range(len(left)):
            total = totals[which[n], pair]
            if total > 0.0:
                one, two = accuracy[draw[n], left[pair]], accuracy[draw[n], right[pair]]
                out[n] += total * _right(one, two, errors)
    return out


def right_by_annotators(
    totals: Floats, left: Ints, right: Ints, accuracy: Floats, which: Ints, draw: Ints,
    errors: float,
) -> Floats:  # fmt: skip
    """Add up what pairs count if they are right, from what each pair of annotators counts.

    Parameters
    ----------
    totals : array (set of weights, pair)
        What each pair of annotators counts over all items.
    left, right : array of int (pair)
        Who they are.
    accuracy : array (draw, annotator)
        How often they are right.
    which, draw : array of int (n)
        Sets of weights, and the draws of accuracies to take them with.
    errors : float
        As in `both_right`.

    Returns
    -------
    array (n)

    Examples
    --------
    >>> zero, accuracy = np.zeros(1, int), np.array([[0.8, 0.8]])
    >>> right_by_annotators(np.ones((1, 1)), zero, zero + 1, accuracy, zero, zero, 1.0).round(3)
    array([0.941])
    """
    return _by_annotators(totals, left, right, accuracy, which, draw, errors)


@kernel
def _under_weights(
    start: Ints, left: Ints, right: Ints, amount: Floats, confidence: Floats, said: Ints,
    chance: Floats, weights: Floats, accuracy: Floats, cell: Ints, which: Ints, draw: Ints,
    errors: float,
) -> Floats:  # fmt: skip
    out = np.zeros(len(which))
    meant = np.empty(len(left))
    for n in range(len(which)):
        weight, right_at = weights[which[n]], accuracy[draw[n]]
        if n == 0 or which[n] != which[n - 1]:  # else only the accuracies are others
            p = chance[which[n]]
            for pair in range(len(left)):
                one, two = left[pair], right[pair]
                meant[pair] = _genuine(confidence[one], p[said[one]])
                meant[pair] *= amount[pair] * _genuine(confidence[two], p[said[two]])
        for i in range(len(start) - 1):
            total = 0.0
            # Without weight its labels may have a chance of 0, and its accuracies contradict.
            for pair in range(start[i], start[i + 1] if weight[i] > 0.0 else start[i]):
                if meant[pair] > 0.0:
                    one, two = right_at[cell[left[pair]]], right_at[cell[right[pair]]]
                    total += meant[pair] * _right(one, two, errors)
            out[n] += weight[i] * total
    return out


def right_under_weights(
    pairs: Pairs, confidence: Floats, said: Ints, chance: Floats, weights: Floats,
    accuracy: Floats, cell: Ints, which: Ints, draw: Ints, errors: float,
) -> Floats:  # fmt: skip
    """Add up what pairs count if they are right and no guess, where chance goes with the weights.

    Parameters
    ----------
    pairs : Pairs
        With amounts in which chance has not been taken off.
    confidence : array (row)
        In the order of the rows, as all that follows.
    said : array of int (row)
        Label codes.
    chance : array (set of weights, label)
        How often a guess is each label.
    weights : array (set of weights, item)
        What items count.
    accuracy, cell, which, draw, errors
        As in `right_by_item` and `right_by_annotators`.

    Returns
    -------
    array (n)

    Examples
    --------
    >>> one = Pairs(np.array([0, 1]), np.array([0]), np.array([1]), np.array([1.0]))
    >>> zero, sure = np.zeros(1, int), np.array([0.5, 1.0])
    >>> right_under_weights(one, sure, np.zeros(2, int), np.array([[0.5]]), np.ones((1, 1)),
    ...     np.array([[0.8]]), np.zeros(2, int), zero, zero, 1.0).round(3)
    array([0.627])
    """
    return _under_weights(
        *pairs, confidence, said, chance, weights, accuracy, cell, which, draw, errors
    )
