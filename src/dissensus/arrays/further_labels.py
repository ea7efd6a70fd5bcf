r"""What further labels are expected to tell of an item's truth.

Of an item i, with probabilities :math:`T_{mz}` of each label z being true in draw m, and those
:math:`R_{mzy}` of a further label y if z is, n further labels with counts :math:`c_y` leave the
most probable label right with probability

.. math:: \sum_c \max_z \frac{1}{M} \sum_m T_{mz} \binom{n}{c} \prod_y R_{mzy}^{c_y}

The mean over draws stands inside the maximum: whoever decides does not know which draw is right.
Labels that a count could not tell apart are taken together, which leaves few counts to go through.
"""

from __future__ import annotations

from math import comb
from typing import Final

import numpy as np
from scipy.special import gammaln

from dissensus.arrays.types import Floats, Ints

CELLS: Final = 4_000_000
"""Numbers held at a time."""


def n_counts(n_labels: int, further: int) -> int:
    """Return how many counts so many further labels can have.

    Examples
    --------
    >>> n_counts(3, 2)
    6
    """
    return comb(n_labels + further - 1, further)


def counts_of(n_labels: int, further: int) -> Ints:
    """Return all counts of further labels (count, label).

    Examples
    --------
    >>> counts_of(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    found = np.zeros((1, 0), dtype=np.int64)
    for _ in range(n_labels - 1):
        left = further - found.sum(axis=1)
        row = np.repeat(np.arange(len(found)), left + 1)
        last = np.arange(len(row)) - np.repeat(np.cumsum(left + 1) - left - 1, left + 1)
        found = np.concatenate([found[row], last[:, None]], axis=1)
    return np.concatenate([found, further - found.sum(axis=1, keepdims=True)], axis=1)


def orders(counts: Ints) -> Floats:
    """Return in how many orders labels of these counts can come (count).

    Examples
    --------
    >>> orders(np.array([[0, 2], [1, 1]]))
    array([1., 2.])
    """
    total = counts.sum(axis=1)
    return np.rint(np.exp(gammaln(total + 1.0) - gammaln(counts + 1.0).sum(axis=1)))


def right_after(truth: Floats, response: Floats, further: int) -> Floats:
    """Return how probably the leading label is right after further labels.

    Parameters
    ----------
    truth : array (draw, item, label)
        How probable each label is to be true in each draw.
    response : array (draw, label, response)
        What a further annotator says, by what is true, of any item.
    further : int
        How many there are.

    Returns
    -------
    array (item)

    Examples
    --------
    >>> response = np.array([[[0.8, 0.2], [0.2, 0.8]]])
    >>> right_after(np.array([[[0.5, 0.5], [0.9, 0.1]]]), response, 1)
    array([0.8, 0.9])
    """
    n_draws, n_items, n_labels = truth.shape
    every = counts_of(n_labels, further)
    by_label = np.ascontiguousarray(truth.transpose(2, 1, 0))  # (label, item, draw)
    out = np.zeros(n_items)
    step = max(1, CELLS // (n_labels * max(n_draws, n_items)))
    for first in range(0, len(every), step):
        counts = every[first : first + step]
        said = np.ones((n_labels, n_draws, len(counts)))
        for y in range(n_labels):
            said *= response[:, :, y].T[:, :, None] ** counts[:, y]
        both = by_label @ said  # (label, item, count)
        out += both.max(axis=0) @ orders(counts)
    return out / n_draws


def right_after_alike(truth: Floats, accuracy: Floats, further: int) -> Floats:
    """Do the same where accuracies are of items, and errors fall on all other labels alike.

    Parameters
    ----------
    truth : array (draw, item, label)
        As in `right_after`.
    accuracy : array (draw, item)
        How often a further annotator is right.
    further : int
        How many there are.

    Returns
    -------
    array (item)

    Examples
    --------
    >>> truth = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    >>> right_after_alike(truth, np.array([[0.8, 0.5]]), 1)
    array([0.8, 0.5])
    """
    n_draws, n_items, n_labels = truth.shape
    wrong = (1.0 - accuracy) / max(n_labels - 1, 1)
    # Only how many of the further labels name the truth makes a difference to a draw.
    named = np.empty((n_items, n_labels, further + 1))
    for k in range(further + 1):
        odds = accuracy**k * wrong ** (further - k)
        named[:, :, k] = np.einsum("miz,mi->iz", truth, odds)
    every, out = counts_of(n_labels, further), np.zeros(n_items)
    step = max(1, CELLS // (n_labels * n_items))
    for first in range(0, len(every), step):
        counts = every[first : first + step]
        both = named[:, np.arange(n_labels), counts]  # (item, count, label)
        out += both.max(axis=2) @ orders(counts)
    return out / n_draws
