r"""Agreement that is not by chance, and the probability that annotators who agree are right.

Equation numbers are those of Cabitza et al. (2020), "The elephant in the machine". By Equation 6,
if two annotators with accuracies a and b agree, both are right with probability

.. math:: P = \frac{ab}{ab + (1 - a)(1 - b) / e}

where e is the number of ways to be wrong together. It is 1 in the paper, which is correct for two
labels, and n - 1 for n labels with evenly spread errors. If one annotator is always right and the
other annotator is never right, P is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Floats, Ints


@inner
def _genuine(confidence: float, chance: float) -> float:
    # With confidence 0 and chance 0 the ratio would be 0/0.
    if confidence == 0.0 or confidence == 1.0:
        return confidence
    return confidence / (confidence + (1.0 - confidence) * chance)


@kernel
def genuine(confidence: Floats, chance: Floats) -> Floats:
    r"""Return the probability that each label (row) was not guessed, Eq. 1.

    :math:`\hat c = c / (c + (1 - c)\, p)`, with c the confidence, and p > 0 the probability that a
    guess is this label.
    """
    out = np.empty(len(confidence))
    for row in range(len(out)):
        out[row] = _genuine(confidence[row], chance[row])
    return out


@kernel
def agreeing(start: Ints, own: Ints, row_code: Ints, amount: Floats, n_labels: int) -> Floats:
    r"""Sum products over agreeing pairs of annotators (item), in time linear in the rows.

    :math:`\sum_{r < s} \sum_k m_{rk} m_{sk}`, with :math:`m_{rk} \ge 0` the amount that annotator r
    puts on label k. Rows are in the order of `Grouped`; ``start`` and ``own`` are its fields.
    """
    n_items = len(start) - 1
    before = np.zeros(n_labels)
    out = np.zeros(n_items)
    for i in range(n_items):
        place = start[i]
        while place < start[i + 1]:
            # Products with earlier annotators are added, and nothing is subtracted: no digits are
            # lost, and no sum is below 0.
            for row in range(place, own[place]):
                out[i] += amount[row] * before[row_code[row]]
            for row in range(place, own[place]):
                before[row_code[row]] += amount[row]
            place = own[place]
        for row in range(start[i], start[i + 1]):
            before[row_code[row]] = 0.0
    return out


class Pairs(NamedTuple):
    """Pairs of rows of different annotators that agree, item by item."""

    start: Ints
    """(item + 1): pairs ``start[i]`` to ``start[i + 1]`` belong to item i."""
    left: Ints
    """(pair): row, in the order of `grouped`."""
    right: Ints
    amount: Floats
    """(pair): the pair's weight among all pairs of annotators of the item."""


@inner
def _right(accuracy: float, other_accuracy: float, errors: float) -> float:
    both = accuracy * other_accuracy
    neither = (1.0 - accuracy) * (1.0 - other_accuracy) / errors
    if both + neither > 0.0:
        return both / (both + neither)
    return np.nan  # one is always right and the other is never right, or ``errors`` is NaN


@kernel
def both_right(accuracy: Floats, other_accuracy: Floats, errors: float) -> Floats:
    """Return the probability that two annotators who agree are right, given both accuracies (n).

    ``errors`` is the number of ways to be wrong together: 1, or the number of labels minus 1. It is
    NaN if annotators cannot be wrong, and the result is then NaN.
    """
    out = np.empty(len(accuracy))
    for n in range(len(out)):
        out[n] = _right(accuracy[n], other_accuracy[n], errors)
    return out


@kernel
def right_by_item(
    start: Ints, left: Ints, right: Ints, amount: Floats, accuracy: Floats, cell: Ints,
    errors: float,
) -> Floats:  # fmt: skip
    """Sum the amounts of `Pairs` times the probability that the pair is right (draw, item).

    ``amount``: corrected for chance.
    ``accuracy`` (draw, cell): one cell for each annotator, or for each annotator and item.
    ``cell`` (row): the cell of each row.
    """
    out = np.zeros((len(accuracy), len(start) - 1))
    for draw in range(len(accuracy)):
        for i in range(len(start) - 1):
            for pair in range(start[i], start[i + 1]):
                if amount[pair] > 0.0:
                    first, second = (
                        accuracy[draw, cell[left[pair]]], accuracy[draw, cell[right[pair]]]
                    )  # fmt: skip
                    out[draw, i] += amount[pair] * _right(first, second, errors)
    return out


@kernel
def right_by_annotators(
    totals: Floats, left: Ints, right: Ints, accuracy: Floats, weight_set: Ints, draw: Ints,
    errors: float,
) -> Floats:  # fmt: skip
    """Do as `right_by_item`, from totals over items for each pair of annotators (n).

    ``totals`` (set of weights, pair); ``left`` and ``right`` (pair): the annotators of each pair.
    ``accuracy`` (draw, annotator).
    ``weight_set``, ``draw`` (n): the set of weights and the draw of accuracies of each result.
    """
    out = np.zeros(len(weight_set))
    for n in range(len(weight_set)):
        for pair in range(len(left)):
            total = totals[weight_set[n], pair]
            if total > 0.0:
                first, second = accuracy[draw[n], left[pair]], accuracy[draw[n], right[pair]]
                out[n] += total * _right(first, second, errors)
    return out


@kernel
def _under_weights(
    start: Ints, left: Ints, right: Ints, amount: Floats, confidence: Floats, row_code: Ints,
    chance: Floats, weights: Floats, accuracy: Floats, cell: Ints, weight_set: Ints, draw: Ints,
    errors: float, column: Ints, n_columns: int,
) -> Floats:  # fmt: skip
    out = np.zeros((len(weight_set), n_columns))
    genuine_amount = np.empty(len(left))
    for n in range(len(weight_set)):
        weight, right_at = weights[weight_set[n]], accuracy[draw[n]]
        if n == 0 or weight_set[n] != weight_set[n - 1]:  # otherwise only the accuracies change
            p = chance[weight_set[n]]
            for pair in range(len(left)):
                row, other_row = left[pair], right[pair]
                genuine_amount[pair] = _genuine(confidence[row], p[row_code[row]])
                genuine_amount[pair] *= amount[pair] * _genuine(
                    confidence[other_row], p[row_code[other_row]]
                )
        for i in range(len(start) - 1):
            # Items of weight 0 are skipped: a chance of 0 or an accuracy of 1 could give NaN.
            for pair in range(start[i], start[i + 1] if weight[i] > 0.0 else start[i]):
                if genuine_amount[pair] > 0.0:
                    first, second = right_at[cell[left[pair]]], right_at[cell[right[pair]]]
                    out[n, column[pair]] += (
                        weight[i] * genuine_amount[pair] * _right(first, second, errors)
                    )
    return out


def right_under_weights(
    pairs: Pairs, confidence: Floats, row_code: Ints, chance: Floats, weights: Floats,
    accuracy: Floats, cell: Ints, weight_set: Ints, draw: Ints, errors: float, *,
    column: Ints | None = None, n_columns: int = 1,
) -> Floats:  # fmt: skip
    """Do as `right_by_item`, if the probabilities of guesses depend on the weights of items (n).

    ``pairs``: their amounts are not corrected for chance.
    ``confidence``, ``row_code`` (row): confidences and codes of labels, in the order of `Grouped`.
    ``chance`` (set of weights, label): probability that a guess is the label.
    ``weights`` (set of weights, item).
    ``column`` (pair): number of the pair of annotators; the result is then (n, column).

    >>> pairs = Pairs(np.array([0, 1, 2]), np.array([0, 2]), np.array([1, 3]), np.ones(2))
    >>> zero, sure = np.zeros(1, int), np.array([0.5, 1.0, 1.0, 1.0])
    >>> right_under_weights(pairs, sure, np.zeros(4, int), np.array([[0.5]]), np.ones((1, 2)),
    ...     np.array([[0.8]]), np.zeros(4, int), zero, zero, 1.0, column=np.arange(2), n_columns=2
    ... ).round(3)
    array([[0.627, 0.941]])
    """
    columns = np.zeros(len(pairs.left), dtype=np.int64) if column is None else column
    sums = _under_weights(
        *pairs, confidence, row_code, chance, weights, accuracy, cell, weight_set, draw, errors,
        columns, n_columns,
    )  # fmt: skip
    return np.asarray(sums[:, 0] if column is None else sums)
