"""Items with the same labels taken together, and agreement in many replicates of them.

Labels of items, those with the same labels from the same voices taken together.
A *voice* is whoever labels in a way of its own: an annotator, a system, or all annotators at once
where a model tells them apart by nothing. Items with the same labels from the same voices share
one posterior of the truth, so that a sweep costs as much as there are such patterns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Floats, Ints

# How annotators and systems agree in many versions of the same labels: sums for checks.


class Rows(NamedTuple):
    """Who labelled what, sorted by item; the same in all versions."""

    start: Ints
    """(item + 1): rows ``start[i]`` to ``start[i + 1]`` are of item i."""
    annotator: Ints
    """(row)"""
    n_annotators: int
    n_labels: int


class Sums(NamedTuple):
    """Sums over items, of each version by itself."""

    pairs: Floats
    """(version, label, label): disagreeing pairs, the lower label first. The pairs of an item
    count 1 / (n - 1), so that each label counts once."""
    agreed: Floats
    """(version, annotator): the share of the other labels of an item that were the same."""
    excess: Floats
    """(version, annotator, label): labels beyond the share that the label has in their items."""
    items: Floats
    """(version, 2): agreement of items with three labels or more, and its square."""
    unanimous: Floats
    """(version, system, 2): answers where annotators are of one mind; those that are theirs."""
    split: Floats
    """(version, system, 2): answers where they are not; the share of labels that are the same."""
    same: Floats
    """(version, system, system): share of pairs of an item's labels that agree with each other,
    and not with the answer, where two systems give the same one."""


def rows(item: Ints, annotator: Ints, n_items: int, n_annotators: int, n_labels: int) -> Rows:
    """Lay out labels that are sorted by item.

    Examples
    --------
    >>> rows(np.array([0, 0, 2]), np.array([0, 1, 0]), 3, 2, 2).start.tolist()
    [0, 2, 2, 3]
    """
    start = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=n_items))])
    return Rows(start.astype(np.int64), annotator.astype(np.int64), n_annotators, n_labels)


@inner
def _of_annotators(
    where: Rows, label: Ints, count: Ints, i: int, v: int,
    pairs: Floats, agreed: Floats, excess: Floats, items: Floats,
) -> None:  # fmt: skip
    """Add an item's labels (row) of one version; ``count`` holds how many there are of each."""
    n = where.start[i + 1] - where.start[i]
    together = 0.0
    for a in range(where.n_labels):
        if count[a] == 0:
            continue
        together += count[a] * (count[a] - 1)
        for b in range(a + 1, where.n_labels):
            pairs[v, a, b] += count[a] * count[b] / (n - 1)
    if n > 2:
        share = together / (n * (n - 1))
        items[v, 0] += share
        items[v, 1] += share * share
    for row in range(where.start[i], where.start[i + 1]):
        who = where.annotator[row]
        agreed[v, who] += (count[label[row]] - 1) / (n - 1)
        excess[v, who, label[row]] += 1.0
        for other in range(where.start[i], where.start[i + 1]):
            excess[v, who, label[other]] -= 1.0 / n


@inner
def _of_systems(
    answer: Ints, count: Ints, n: int, v: int, unanimous: Floats, split: Floats, same: Floats
) -> None:
    """Add the answers (system) for an item of one version."""
    pairs = float(n * (n - 1))
    most, together = 0, 0.0
    for k in range(len(count)):
        most = max(most, count[k])
        together += count[k] * (count[k] - 1)
    for s in range(len(answer)):
        said = answer[s]
        if said < 0:
            continue
        if most == n and n > 1:
            unanimous[v, s, 0] += 1.0
            unanimous[v, s, 1] += count[said] > 0
        elif n > 1:
            split[v, s, 0] += 1.0
            split[v, s, 1] += count[said] / n
        if n > 1:
            against = (together - count[said] * (count[said] - 1)) / pairs
            for t in range(s + 1, len(answer)):
                if answer[t] == said:
                    same[v, s, t] += against


@kernel
def _sums(where: Rows, labels: Ints, answers: Ints) -> Sums:
    n_versions, _, n_systems = answers.shape
    n_labels, n_annotators = where.n_labels, where.n_annotators
    pairs = np.zeros((n_versions, n_labels, n_labels))
    agreed = np.zeros((n_versions, n_annotators))
    excess = np.zeros((n_versions, n_annotators, n_labels))
    items = np.zeros((n_versions, 2))
    unanimous = np.zeros((n_versions, n_systems, 2))
    split = np.zeros((n_versions, n_systems, 2))
    same = np.zeros((n_versions, n_systems, n_systems))
    count = np.zeros(n_labels, dtype=np.int64)
    for v in range(n_versions):
        for i in range(len(where.start) - 1):
            first, last = where.start[i], where.start[i + 1]
            for row in range(first, last):
                count[labels[v, row]] += 1
            if last - first > 1:
                _of_annotators(
                    where, labels[v], count, i, v, pairs, agreed, excess, items
                )  # fmt: skip
            _of_systems(answers[v, i], count, last - first, v, unanimous, split, same)
            for row in range(first, last):
                count[labels[v, row]] = 0
    return Sums(pairs, agreed, excess, items, unanimous, split, same)


def sums(where: Rows, labels: npt.NDArray[np.integer], answers: npt.NDArray[np.integer]) -> Sums:
    """Sum up how annotators and systems agree, in each version of their labels.

    Parameters
    ----------
    where : Rows
        From `rows`.
    labels : array of int (version, row)
        Codes of annotators' labels, sorted by item.
    answers : array of int (version, item, system)
        Codes of systems' labels, -1 for none.

    Examples
    --------
    >>> where = rows(np.array([0, 0, 0]), np.arange(3), 1, 3, 2)
    >>> found = sums(where, np.array([[0, 1, 1]]), np.array([[[0, 0]]]))
    >>> found.pairs[0, 0, 1].item(), found.agreed[0].tolist(), found.same[0, 0, 1].round(3).item()
    (1.0, [0.0, 0.5, 0.5], 0.333)
    """
    return _sums(where, labels, answers)


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
