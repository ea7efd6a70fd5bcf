"""Labels of items by pattern, and agreement in many replicates of labels.

A *respondent* is an annotator or a system. Annotators that a model does not distinguish are one
respondent together. Items with the same labels from the same respondents have the same *pattern*,
and the same posterior of the truth: the cost of a sweep grows with the number of patterns.

A *version* is one replicate of all labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Floats, Ints


class Rows(NamedTuple):
    """The annotator and item of each label, sorted by item; the same in all versions."""

    start: Ints
    """(item + 1): rows ``start[i]`` to ``start[i + 1]`` are of item i."""
    annotator: Ints
    """(row)"""
    n_annotators: int
    n_labels: int


class Sums(NamedTuple):
    """Sums over items, separately for each version."""

    pairs: Floats
    """(version, label, label): pairs of different labels of an item, the lower label first. Each
    pair of an item with n labels counts 1 / (n - 1), so that each label counts once."""
    agreed: Floats
    """(version, annotator): share of an item's other labels that are the same, summed over the
    annotator's labels."""
    excess: Floats
    """(version, annotator, label): count of the label minus its shares on the annotator's items."""
    items: Floats
    """(version, 2): agreement of items with three labels or more, and its square, both summed."""
    unanimous: Floats
    """(version, system, 2): number of the system's answers on items where all labels are the same;
    number of these answers that are this label."""
    split: Floats
    """(version, system, 2): number of the system's answers on other items; share of the item's
    labels that are the same, summed over these answers."""
    same: Floats
    """(version, system, system): share of pairs of labels that agree with each other and not with
    the answer, summed over items on which two systems give the same answer."""


def rows(item: Ints, annotator: Ints, n_items: int, n_annotators: int, n_labels: int) -> Rows:
    """Return the layout of labels that are sorted by item.

    >>> rows(np.array([0, 0, 2]), np.array([0, 1, 0]), 3, 2, 2).start.tolist()
    [0, 2, 2, 3]
    """
    start = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=n_items))])
    return Rows(start.astype(np.int64), annotator.astype(np.int64), n_annotators, n_labels)


@inner
def _add_annotators(
    layout: Rows, label: Ints, count: Ints, i: int, v: int,
    pairs: Floats, agreed: Floats, excess: Floats, items: Floats,
) -> None:  # fmt: skip
    """Add the labels of item i in version v to the sums; ``count`` (label) counts these labels."""
    n = layout.start[i + 1] - layout.start[i]
    together = 0.0
    for a in range(layout.n_labels):
        if count[a] == 0:
            continue
        together += count[a] * (count[a] - 1)
        for b in range(a + 1, layout.n_labels):
            pairs[v, a, b] += count[a] * count[b] / (n - 1)
    if n > 2:
        share = together / (n * (n - 1))
        items[v, 0] += share
        items[v, 1] += share * share
    for row in range(layout.start[i], layout.start[i + 1]):
        annotator = layout.annotator[row]
        agreed[v, annotator] += (count[label[row]] - 1) / (n - 1)
        excess[v, annotator, label[row]] += 1.0
        for other_row in range(layout.start[i], layout.start[i + 1]):
            excess[v, annotator, label[other_row]] -= 1.0 / n


@inner
def _add_systems(
    answer: Ints, count: Ints, n: int, v: int, unanimous: Floats, split: Floats, same: Floats
) -> None:
    """Add the systems' answers (system) on one item in version v to the sums."""
    pairs = float(n * (n - 1))
    most, together = 0, 0.0
    for k in range(len(count)):
        most = max(most, count[k])
        together += count[k] * (count[k] - 1)
    for s in range(len(answer)):
        label = answer[s]
        if label < 0 or n < 2:
            continue
        if most == n:
            unanimous[v, s, 0] += 1.0
            unanimous[v, s, 1] += count[label] > 0
        else:
            split[v, s, 0] += 1.0
            split[v, s, 1] += count[label] / n
        against = (together - count[label] * (count[label] - 1)) / pairs
        for t in range(s + 1, len(answer)):
            if answer[t] == label:
                same[v, s, t] += against


@kernel
def sums(layout: Rows, labels: npt.NDArray[np.integer], answers: npt.NDArray[np.integer]) -> Sums:
    """Return sums of agreement between annotators and systems, for each version of their labels.

    ``labels`` (version, row) are sorted by item. ``answers`` (version, item, system) are -1 where a
    system gives no answer.

    >>> layout = rows(np.array([0, 0, 0]), np.arange(3), 1, 3, 2)
    >>> total = sums(layout, np.array([[0, 1, 1]]), np.array([[[0, 0]]]))
    >>> total.pairs[0, 0, 1].item(), total.agreed[0].tolist(), total.same[0, 0, 1].round(3).item()
    (1.0, [0.0, 0.5, 0.5], 0.333)
    """
    n_versions, _, n_systems = answers.shape
    n_labels, n_annotators = layout.n_labels, layout.n_annotators
    pairs = np.zeros((n_versions, n_labels, n_labels))
    agreed = np.zeros((n_versions, n_annotators))
    excess = np.zeros((n_versions, n_annotators, n_labels))
    items = np.zeros((n_versions, 2))
    unanimous = np.zeros((n_versions, n_systems, 2))
    split = np.zeros((n_versions, n_systems, 2))
    same = np.zeros((n_versions, n_systems, n_systems))
    count = np.zeros(n_labels, dtype=np.int64)
    for v in range(n_versions):
        for i in range(len(layout.start) - 1):
            first, last = layout.start[i], layout.start[i + 1]
            for row in range(first, last):
                count[labels[v, row]] += 1
            if last - first > 1:
                _add_annotators(layout, labels[v], count, i, v, pairs, agreed, excess, items)
            _add_systems(answers[v, i], count, last - first, v, unanimous, split, same)
            for row in range(first, last):
                count[labels[v, row]] = 0
    return Sums(pairs, agreed, excess, items, unanimous, split, same)


class Votes(NamedTuple):
    """Labels by pattern of items. An *entry* is a label by a respondent in a pattern."""

    start: Ints
    """Where the entries of each pattern begin (pattern + 1)."""
    respondent: Ints
    label: Ints
    times: Ints
    """How often the respondent gave the label to each item (entry)."""
    n_items: Ints
    """Number of items with the pattern (pattern)."""
    known: Ints = np.empty(0, dtype=np.int64)
    """True label of the pattern's items, -1 if unknown (pattern); empty if all are unknown."""


def votes(
    item: Ints, respondent: Ints, label: Ints, n_items: int, known: Ints | None = None
) -> tuple[Votes, Ints]:
    """Lay out labels by pattern; return the votes, and the pattern of each item (item).

    Rows (``item``, ``respondent``, ``label``) are in any order; repeated rows count repeatedly.
    ``known`` (item) are true labels, -1 where unknown. Items with different known true labels have
    different patterns.
    """
    if known is not None and (known >= 0).any():
        return _with_known(item, respondent, label, known)
    item, respondent, label, times = _entries(item, respondent, label)
    bounds = np.searchsorted(item, np.arange(n_items + 1))
    length = np.diff(bounds)
    pattern_of = np.empty(n_items, dtype=np.int64)
    parts, count, sizes = [], [], []
    n_patterns = 0
    for size in np.unique(length):  # items with this number of labels
        items = np.flatnonzero(length == size)
        place = bounds[items][:, None] + np.arange(size)
        rows = np.concatenate([respondent[place], label[place], times[place]], axis=1)
        first, inverse, n = _distinct(rows)
        pattern_of[items] = n_patterns + inverse
        n_patterns += len(n)
        parts.append(place[first].ravel())
        count.append(n)
        sizes.append(np.full(len(n), size))
    entry = np.concatenate([*parts, np.empty(0, dtype=np.int64)])
    start = np.concatenate([[0], np.concatenate([*sizes, np.empty(0, dtype=np.int64)]).cumsum()])
    whole = np.concatenate([*count, np.empty(0, dtype=np.int64)])
    entries = respondent[entry], label[entry], times[entry]
    return Votes(start.astype(np.int64), *entries, whole), pattern_of


def _with_known(item: Ints, respondent: Ints, label: Ints, known: Ints) -> tuple[Votes, Ints]:
    """Do as `votes`: true labels are added as labels of one more respondent, and then removed."""
    sure = np.flatnonzero(known >= 0)
    oracle = int(respondent.max(initial=-1)) + 1
    patterns, pattern = votes(
        np.concatenate([item, sure]), np.concatenate([respondent, np.full(len(sure), oracle)]),
        np.concatenate([label, known[sure]]), len(known),
    )  # fmt: skip
    of_pattern = np.full(len(patterns.n_items), -1, dtype=np.int64)
    of_pattern[pattern] = known
    is_given = patterns.respondent < oracle
    start = np.concatenate([[0], is_given.cumsum()])[patterns.start]
    return patterns._replace(
        start=start.astype(np.int64), respondent=patterns.respondent[is_given],
        label=patterns.label[is_given], times=patterns.times[is_given], known=of_pattern,
    ), pattern  # fmt: skip


def _entries(item: Ints, respondent: Ints, label: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Sort rows by item, respondent and label, and count repeated rows; return distinct rows."""
    if len(item) == 0:
        return item, respondent, label, np.empty(0, dtype=np.int64)
    order = np.lexsort((label, respondent, item))
    item, respondent, label = item[order], respondent[order], label[order]
    fresh = np.ones(len(item), dtype=bool)
    fresh[1:] = (np.diff(item) != 0) | (np.diff(respondent) != 0) | (np.diff(label) != 0)
    place = np.flatnonzero(fresh)
    return item[place], respondent[place], label[place], np.diff(np.append(place, len(item)))


def _distinct(rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the first place of each distinct row, each row's index among these, and counts."""
    if rows.shape[1] == 0:
        return np.zeros(1, np.int64), np.zeros(len(rows), np.int64), np.array([len(rows)])
    order = np.lexsort(rows.T[::-1])
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = (np.diff(rows[order], axis=0) != 0).any(axis=1)
    which = fresh.cumsum() - 1
    inverse = np.empty(len(rows), dtype=np.int64)
    inverse[order] = which
    return order[fresh], inverse, np.bincount(which)
