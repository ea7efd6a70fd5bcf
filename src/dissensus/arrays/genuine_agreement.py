"""Agreement that is not by chance: pairs of annotators who say the same and did not guess.

Equation numbers are those of Cabitza et al. (2020), "The elephant in the machine".
"""

from __future__ import annotations

import numpy as np

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.types import Floats, Ints


@inner
def _genuine(confidence: float, chance: float) -> float:
    # Nothing else is certain, however improbable the guess: with a chance of 0 it would be 0/0.
    if confidence == 0.0 or confidence == 1.0:
        return confidence
    return confidence / (confidence + (1.0 - confidence) * chance)


@kernel
def _each(confidence: Floats, chance: Floats) -> Floats:
    out = np.empty(len(confidence))
    for row in range(len(out)):
        out[row] = _genuine(confidence[row], chance[row])
    return out


def genuine(confidence: Floats, chance: Floats) -> Floats:
    r"""Return how probably each label was meant and not guessed, Eq. 1.

    :math:`\hat c = c / (c + (1 - c)\, p)`, with c the confidence, and p how often a guess would
    have been this label.

    Parameters
    ----------
    confidence, chance : array (row)
        From 0 to 1, chance above 0.

    Examples
    --------
    >>> genuine(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 0.5])).round(3)
    array([0.   , 0.667, 1.   ])
    """
    return _each(confidence, chance)


@kernel
def _agreeing(start: Ints, own: Ints, said: Ints, amount: Floats, n_labels: int) -> Floats:
    n_items = len(start) - 1
    before = np.zeros(n_labels)
    out = np.zeros(n_items)
    for i in range(n_items):
        place = start[i]
        while place < start[i + 1]:
            # An annotator meets those before him, and only then stands among them: no product is
            # ever taken back, so that nothing is lost to rounding and no sum is below 0.
            for row in range(place, own[place]):
                out[i] += amount[row] * before[said[row]]
            for row in range(place, own[place]):
                before[said[row]] += amount[row]
            place = own[place]
        for row in range(start[i], start[i + 1]):
            before[said[row]] = 0.0
    return out


def agreeing(rows: Grouped, said: Ints, amount: Floats, n_labels: int) -> Floats:
    r"""Sum products over the pairs of annotators of an item who agree, in time linear in the rows.

    :math:`\sum_{r < s} \sum_k m_{rk} m_{sk}`, with :math:`m_{rk}` the amount that annotator r puts
    on label k.

    Parameters
    ----------
    rows : Grouped
        From `dissensus.arrays.grouped`.
    said : array of int (row)
        Label codes, in the order of ``rows``.
    amount : array (row)
        What each row counts, in the same order; 0 or more.
    n_labels : int
        How many labels there are.

    Returns
    -------
    array (item)

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> rows = grouped(np.zeros(3, int), np.arange(3), 1)
    >>> agreeing(rows, np.array([0, 1, 1]), np.array([1.0, 0.5, 0.5]), 2)
    array([0.25])
    """
    return _agreeing(rows.start, rows.own, said, amount, n_labels)
