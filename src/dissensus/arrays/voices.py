"""Voices: what one annotator said of one item, and how far it is from what the others said.

Rows are in the order of `dissensus.arrays.grouped`; so are voices. The distance of two voices is
the mean over pairs of their labels (Lovchinsky et al. 2020, Eq. 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.arrays.compiled import kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.types import Floats, Ints


class Voices(NamedTuple):
    """Where the voices of each item, and the rows of each voice, start."""

    first: Ints
    """(item + 1): voices ``first[i]`` to ``first[i + 1]`` spoke of item i."""
    start: Ints
    """(voice + 1): rows ``start[v]`` to ``start[v + 1]`` of the order belong to voice v."""
    item: Ints
    """(voice): the item it spoke of."""


def voices_of(rows: Grouped) -> Voices:
    """List the distinct pairs of an item and an annotator.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> voices = voices_of(grouped(np.array([1, 0, 1, 1]), np.array([0, 0, 2, 0]), 2))
    >>> voices.item.tolist(), voices.start.tolist()
    ([0, 1, 1], [0, 1, 3, 4])
    """
    ends = np.flatnonzero(rows.own == np.arange(1, len(rows.own) + 1)) + 1
    return Voices(
        first=np.concatenate([[0], np.cumsum(rows.voices)]),
        start=np.concatenate([[0], ends]),
        item=np.repeat(np.arange(len(rows.voices)), rows.voices),
    )


@kernel
def _names_apart(first: Ints, start: Ints, said: Ints, n_labels: int) -> Floats:
    amount, count = np.zeros(n_labels), np.zeros(n_labels, dtype=np.int64)
    out = np.full(len(start) - 1, np.nan)
    for i in range(len(first) - 1):
        others = first[i + 1] - first[i] - 1
        for turn in range(2):  # first add up who said what, then compare
            for v in range(first[i], first[i + 1]):
                # Labels are counted before they are divided: three thirds are exactly 1.
                low, high, same = start[v], start[v + 1], 0.0
                for row in range(low, high):
                    count[said[row]] += 1
                for row in range(low, high):
                    label = said[row]
                    share = count[label] / (high - low)
                    count[label] = 0
                    if turn == 0:
                        amount[label] += share
                    else:
                        same += share * (amount[label] - share)
                if turn == 1 and others > 0:
                    out[v] = 1.0 - same / others
        for row in range(start[first[i]], start[first[i + 1]]):
            amount[said[row]] = 0.0
    return out


def names_apart(voices: Voices, said: Ints, n_labels: int) -> Floats:
    """Return how often each voice and another of the item differ: (voice), NaN if it is alone.

    Parameters
    ----------
    voices : Voices
        From `voices_of`.
    said : array of int (row)
        Label codes, in the order of the voices' rows.
    n_labels : int
        How many labels there are.

    Examples
    --------
    >>> voices = Voices(np.array([0, 3]), np.arange(4), np.zeros(3, int))
    >>> names_apart(voices, np.array([0, 0, 1]), 2)
    array([0.5, 0.5, 1. ])
    """
    return _names_apart(voices.first, voices.start, said, n_labels)


@kernel
def name_towards(start: Ints, said: Ints, target: Ints) -> Floats:
    """Return how often each voice differs from a label (voice); NaN where the label is -1.

    Examples
    --------
    >>> name_towards(np.array([0, 2, 3]), np.array([1, 0, 0]), np.array([0, 5]))
    array([0.5, 1. ])
    """
    out = np.full(len(target), np.nan)
    for v in range(len(target)):
        if target[v] >= 0:
            other = 0
            for row in range(start[v], start[v + 1]):
                other += said[row] != target[v]
            out[v] = other / (start[v + 1] - start[v])
    return out
