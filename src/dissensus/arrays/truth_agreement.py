"""How annotators and systems agree in many versions of the same labels: sums for checks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner, kernel
from dissensus.arrays.types import Floats, Ints


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
