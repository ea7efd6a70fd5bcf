"""The labels with the largest plausibility, in order."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.compiled import inner
from dissensus.arrays.remainder import expand, next_share, unnamed_label, unnamed_labels
from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.stable_sort import falling_with_order
from dissensus.arrays.stream import started
from dissensus.arrays.types import Codes, Floats

NOBODY = -1
"""Stands where fewer labels than asked for have a positive plausibility."""


# Up to here, inserting into a short sorted list beats sorting all labels.
_FEW = 16


@inner
def _ahead(value: float, label: int, other_value: float, other_label: int) -> bool:
    """Return whether a label comes before another: by plausibility, then by code.

    A negative code has no name, and comes last among equals.
    """
    if value != other_value:
        return value > other_value
    if label < 0 or other_label < 0:
        return value > 0.0 and label > other_label
    return label < other_label


@inner
def _insert(values: Floats, labels: Codes, value: float, label: int) -> None:
    """Insert into a list kept in order; what falls off its end is forgotten."""
    place = len(values) - 1
    while place > 0 and _ahead(value, label, values[place - 1], labels[place - 1]):
        values[place] = values[place - 1]
        labels[place] = labels[place - 1]
        place -= 1
    values[place] = value
    labels[place] = label


@inner
def _sorted_top(theta: Floats, top: Codes) -> None:
    """Fill ``top`` from a full sort."""
    falling, order = falling_with_order(theta)
    top[:] = NOBODY
    for place in range(min(len(top), len(theta))):
        if falling[place] < 0:
            top[place] = order[place]


@rowwise("void(float64[:], int64[:], int64[:])", "(n),(k)->(k)")
def top_dense(theta: Floats, like: Codes, top: Codes) -> None:
    """Return the k labels of largest theta, the largest first; ties go to the earlier label.

    Labels whose theta is exactly 0 are never among them: past the last positive one stands
    `NOBODY`. The second argument only says how many are wanted.
    """
    if len(like) > _FEW:
        _sorted_top(theta, top)
        return
    top[:] = NOBODY
    if len(like) == 1:  # without a list, at the speed of a bare argmax
        best = 0.0
        for label in range(len(theta)):
            if theta[label] > best:
                best = theta[label]
                top[0] = label
        return
    values = np.zeros(len(like))
    for label in range(len(theta)):
        if theta[label] > values[-1]:
            _insert(values, top, theta[label], label)


@inner
def _insert_even(values: Floats, top: Codes, share: float, labels: Codes) -> None:
    """Insert the remainder's labels, all of one share."""
    for label in labels:
        if not _ahead(share, label, values[-1], top[-1]):
            return
        _insert(values, top, share, label)


@inner
def _insert_drawn(
    values: Floats, top: Codes, rest: float, codes: Codes, size: int, n_labels: int, a: float,
    key: int,
) -> None:  # fmt: skip
    """Insert the remainder's labels, whose shares are drawn until what is left cannot matter."""
    state, places = started(key), np.arange(size)
    for step in range(size):
        share, rest = next_share(state, rest, step, places, a)
        if share >= values[-1]:
            label = unnamed_label(codes, places[step], n_labels)
            if _ahead(share, label, values[-1], top[-1]):
                _insert(values, top, share, label)
        if rest < values[-1] or rest <= 0.0:
            return


@rowwise(
    "void(float64[:], int64[:], int64[:], float64, uint64, int64, int64[:], int64[:])",
    "(c),(c),(c),(),(),(),(k)->(k)",
)
def top_candidates(
    theta: Floats,
    codes: Codes,
    sizes: Codes,
    a: float,
    key: int,
    n_labels: int,
    like: Codes,
    top: Codes,
) -> None:
    """Do the same for the candidate form, drawing the remainder's shares as far as they matter."""
    n_held = 0
    for c in range(len(sizes)):
        n_held += sizes[c]
    if len(like) > _FEW and n_held <= n_labels:
        dense = np.empty(n_labels)
        expand(theta, codes, sizes, a, key, dense)
        _sorted_top(dense, top)
        return
    values = np.zeros(len(like))
    top[:] = NOBODY
    for c in range(len(theta)):
        if sizes[c] == 1 and _ahead(theta[c], codes[c], values[-1], top[-1]):
            _insert(values, top, theta[c], codes[c])
    for c in range(len(theta)):
        if sizes[c] > 1 and theta[c] > 0 and theta[c] >= values[-1]:
            if math.isinf(a):
                labels = unnamed_labels(codes, sizes[c], n_labels)
                _insert_even(values, top, theta[c] / sizes[c], labels)
            else:
                _insert_drawn(values, top, theta[c], codes, sizes[c], n_labels, a, key)
