"""Pairs of statements of different annotators about one item, for distances without a shortcut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from dissensus.arrays.compiled import kernel
from dissensus.arrays.grouped import Grouped
from dissensus.arrays.types import Floats, Ints
from dissensus.arrays.voices import Voices

_PAIRS = 1_000_000
"""Pairs held at a time, or those of one item if they are more."""

Delta = Callable[[Ints, Ints], Floats]
"""From places of statements (pair), (pair) to their distances."""


@kernel
def _pairs(start: Ints, own: Ints, low: int, high: int) -> tuple[Ints, Ints]:
    """List the pairs of different voices of the items from low to high."""
    n = 0
    for i in range(low, high):
        for one in range(start[i], start[i + 1]):
            n += start[i + 1] - own[one]
    left, right = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n = 0
    for i in range(low, high):
        for one in range(start[i], start[i + 1]):
            for two in range(own[one], start[i + 1]):
                left[n], right[n] = one, two
                n += 1
    return left, right


def pair_blocks(rows: Grouped) -> Iterator[tuple[Ints, Ints]]:
    """Yield the pairs of rows of different voices of an item, a limited number at a time.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> [(left.tolist(), right.tolist()) for left, right in pair_blocks(
    ...     grouped(np.zeros(3, int), np.array([0, 0, 1]), 1))]
    [([0, 1], [2, 2])]
    """
    size = np.diff(rows.start)
    before = np.cumsum(size * (size - 1) // 2)
    edges = np.flatnonzero(np.diff(before // _PAIRS, prepend=-1, append=-2))
    for low, high in pairwise(edges):
        yield _pairs(rows.start, rows.own, int(low), int(high))


def pairs_apart(rows: Grouped, voices: Voices, delta: Delta) -> Floats:
    """Return the mean distance of each voice to the others of its item.

    Parameters
    ----------
    rows : Grouped
        Statements: what distances are between, such as labels, sets or rankings.
    voices : Voices
        Of these.
    delta : callable
        From the places, in the order of the statements, of two statements to their distance;
        called with arrays of pairs.

    Returns
    -------
    array (voice)
        NaN if it is alone.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> from dissensus.arrays.voices import voices_of
    >>> rows = grouped(np.zeros(3, int), np.arange(3), 1)
    >>> said = np.array([1.0, 2.0, 5.0])
    >>> pairs_apart(rows, voices_of(rows), lambda one, two: abs(said[one] - said[two]))
    array([2.5, 2. , 3.5])
    """
    n = len(voices.item)
    voice = np.repeat(np.arange(n), np.diff(voices.start))
    total = np.zeros(n)
    for left, right in pair_blocks(rows):
        amount = rows.share[left] * rows.share[right] * delta(left, right)
        total += np.bincount(voice[left], amount, n) + np.bincount(voice[right], amount, n)
    others = np.diff(voices.first)[voices.item] - 1.0
    return np.where(others < 1, np.nan, total / np.maximum(others, 1.0))


def pairs_towards(rows: Grouped, voices: Voices, delta: Delta, asked: Ints) -> Floats:
    """Return the mean distance of some voices to what a system said of their items.

    Parameters
    ----------
    rows, voices : Grouped, Voices
        As in `pairs_apart`.
    delta : callable
        From the places of statements, and the items, to distances.
    asked : array of int (some)
        Which voices.

    Returns
    -------
    array (voice)
        NaN for those not asked.

    Examples
    --------
    >>> from dissensus.arrays.grouped import grouped
    >>> from dissensus.arrays.voices import voices_of
    >>> rows = grouped(np.zeros(2, int), np.arange(2), 1)
    >>> said = np.array([1.0, 2.0])
    >>> pairs_towards(rows, voices_of(rows), lambda one, item: said[one] - item, np.array([1]))
    array([nan,  2.])
    """
    n = len(voices.item)
    wanted = np.zeros(n, dtype=bool)
    wanted[asked] = True
    voice = np.repeat(np.arange(n), np.diff(voices.start))
    place = np.flatnonzero(wanted[voice])
    amount = rows.share[place] * delta(place, voices.item[voice[place]])
    return np.where(wanted, np.bincount(voice[place], amount, n), np.nan)
