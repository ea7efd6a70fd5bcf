"""What an item's labels amount to at the labels that systems gave it, and which of them lead."""

from __future__ import annotations

from typing import Final

import numpy as np

from dissensus.arrays.compiled import kernel
from dissensus.arrays.label_shares import LabelShares
from dissensus.arrays.types import Floats, Ints

TOLERANCE: Final = 1e-9
"""Amounts that differ by less than this share are tied: 1/2 + 1/3 - 1/3 is not 1/2 to the bit."""


@kernel
def _amounts_at(start: Ints, label: Ints, amount: Floats, said: Ints, n_labels: int) -> Floats:
    here = np.zeros(n_labels)
    out = np.zeros(said.shape)
    for i in range(len(start) - 1):
        for entry in range(start[i], start[i + 1]):
            here[label[entry]] = amount[entry]
        for s in range(said.shape[1]):
            if 0 <= said[i, s] < n_labels:
                out[i, s] = here[said[i, s]]
        for entry in range(start[i], start[i + 1]):
            here[label[entry]] = 0.0
    return out


def amounts_at(shares: LabelShares, amount: Floats, said: Ints, n_labels: int) -> Floats:
    """Look up the amount of each system's label (item, system).

    Parameters
    ----------
    shares : LabelShares
        Where each item's labels stand.
    amount : array (entry)
        Their amounts, or anything else there is one of for each.
    said : array of int (item, system)
        Label codes; other codes than 0 to ``n_labels - 1`` have the amount 0.
    n_labels : int
        How many labels there are.

    Examples
    --------
    >>> start, label = np.array([0, 2, 3]), np.array([0, 2, 1])
    >>> shares = LabelShares(start, label, np.array([2.0, 1.0, 3.0]), None, None)
    >>> amounts_at(shares, shares.amount, np.array([[0, 2], [-1, 1]]), 3)
    array([[2., 1.],
           [0., 3.]])
    """
    return np.asarray(_amounts_at(shares.start, shares.label, amount, said, n_labels))


@kernel
def _leaders(start: Ints, amount: Floats) -> Floats:
    out = np.zeros(len(amount))
    for i in range(len(start) - 1):
        bound, n = 0.0, 0
        for entry in range(start[i], start[i + 1]):
            bound = max(bound, amount[entry] * (1.0 - TOLERANCE))
        for entry in range(start[i], start[i + 1]):
            n += amount[entry] >= bound
        for entry in range(start[i], start[i + 1]):
            out[entry] = (amount[entry] >= bound) / n
    return out


def leaders(shares: LabelShares) -> Floats:
    """Return 1 for the label that most annotators of an item gave, 1/n for each of n tied ones.

    Examples
    --------
    >>> start, label = np.array([0, 2, 4]), np.array([0, 2, 0, 1])
    >>> leaders(LabelShares(start, label, np.array([2.0, 1.0, 3.0, 3.0]), None, None))
    array([1. , 0. , 0.5, 0.5])
    """
    return np.asarray(_leaders(shares.start, shares.amount))
