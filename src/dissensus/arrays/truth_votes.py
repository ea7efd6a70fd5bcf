"""Labels of items, those with the same labels from the same voices taken together.

A *voice* is whoever labels in a way of its own: an annotator, a system, or all annotators at once
where a model tells them apart by nothing. Items with the same labels from the same voices share
one posterior of the truth, so that a sweep costs as much as there are such patterns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.arrays.types import Ints


class Votes(NamedTuple):
    """Patterns of labels; entries of one pattern stand together."""

    start: Ints
    """Where the entries of each pattern begin (pattern + 1)."""
    voice: Ints
    label: Ints
    times: Ints
    """How often the voice gave the label (entry)."""
    n_items: Ints
    """How many items have the pattern (pattern)."""
    known: Ints = np.empty(0, dtype=np.int64)
    """The true label of the pattern's items, -1 where it is not known (pattern); empty if it is
    not known of any."""


def votes(
    item: Ints, voice: Ints, label: Ints, n_items: int, known: Ints | None = None
) -> tuple[Votes, Ints]:
    """Lay out labels by pattern.

    Parameters
    ----------
    item, voice, label : array of int (row)
        Codes; rows in any order, repeated ones count as often as they come.
    n_items : int
    known : array of int (item), optional
        True labels, -1 where they are not known: items that differ in it have different patterns.

    Returns
    -------
    Votes
    array of int (item)
        The pattern of each item.

    Examples
    --------
    >>> found, pattern = votes(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 0, 0]),
    ...                        np.array([1, 1, 1, 1, 0]), 4)
    >>> pattern
    array([2, 2, 1, 0])
    >>> found.n_items
    array([1, 1, 2])
    """
    if known is not None and (known >= 0).any():
        return _with_known(item, voice, label, known)
    item, voice, label, times = _entries(item, voice, label)
    bounds = np.searchsorted(item, np.arange(n_items + 1))
    length = np.diff(bounds)
    pattern_of = np.empty(n_items, dtype=np.int64)
    parts, count, sizes = [], [], []
    n_known = 0
    for size in np.unique(length):  # as many as there are numbers of labels an item can have
        items = np.flatnonzero(length == size)
        place = bounds[items][:, None] + np.arange(size)
        rows = np.concatenate([voice[place], label[place], times[place]], axis=1)
        first, inverse, n = _distinct(rows)
        pattern_of[items] = n_known + inverse
        n_known += len(n)
        parts.append(place[first].ravel())
        count.append(n)
        sizes.append(np.full(len(n), size))
    entry = np.concatenate([*parts, np.empty(0, dtype=np.int64)])
    start = np.concatenate([[0], np.concatenate([*sizes, np.empty(0, dtype=np.int64)]).cumsum()])
    whole = np.concatenate([*count, np.empty(0, dtype=np.int64)])
    found = Votes(start.astype(np.int64), voice[entry], label[entry], times[entry], whole)
    return found, pattern_of


def _with_known(item: Ints, voice: Ints, label: Ints, known: Ints) -> tuple[Votes, Ints]:
    """Lay out labels, the true one taken for that of one voice more until patterns are known."""
    sure = np.flatnonzero(known >= 0)
    oracle = int(voice.max(initial=-1)) + 1
    found, pattern = votes(
        np.concatenate([item, sure]), np.concatenate([voice, np.full(len(sure), oracle)]),
        np.concatenate([label, known[sure]]), len(known),
    )  # fmt: skip
    of_pattern = np.full(len(found.n_items), -1, dtype=np.int64)
    of_pattern[pattern] = known
    said = found.voice < oracle
    start = np.concatenate([[0], said.cumsum()])[found.start]
    voice, label, times = found.voice[said], found.label[said], found.times[said]
    whole = Votes(start.astype(np.int64), voice, label, times, found.n_items, of_pattern)
    return whole, pattern


def _entries(item: Ints, voice: Ints, label: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Sort rows by item, voice and label, and count those that come again."""
    if len(item) == 0:
        return item, voice, label, np.empty(0, dtype=np.int64)
    order = np.lexsort((label, voice, item))
    item, voice, label = item[order], voice[order], label[order]
    fresh = np.ones(len(item), dtype=bool)
    fresh[1:] = (np.diff(item) != 0) | (np.diff(voice) != 0) | (np.diff(label) != 0)
    place = np.flatnonzero(fresh)
    return item[place], voice[place], label[place], np.diff(np.append(place, len(item)))


def _distinct(rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the first of each distinct row, which one each row is, and how often it comes."""
    if rows.shape[1] == 0:
        return np.zeros(1, np.int64), np.zeros(len(rows), np.int64), np.array([len(rows)])
    order = np.lexsort(rows.T[::-1])
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = (np.diff(rows[order], axis=0) != 0).any(axis=1)
    which = fresh.cumsum() - 1
    inverse = np.empty(len(rows), dtype=np.int64)
    inverse[order] = which
    return order[fresh], inverse, np.bincount(which)
