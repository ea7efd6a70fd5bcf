"""Shares of the labels of an item that no annotator named, and the leading labels of a draw.

The unnamed labels are exchangeable: their shares are a symmetric Dirichlet(a, ..., a) draw,
independent of everything else. Size-biased sampling gives the shares one by one, large shares
early: with U labels, share i is the fraction Beta(1 + a, a (U - i)) of the rest, and is given to a
label drawn uniformly from the labels that have no share yet. The draw can stop as soon as the rest
is negligible. The stream of random numbers starts from the row's key, so that all functions draw
the same shares.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import inner
from dissensus.kernels.random import State, started, uniform
from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.sorting import falling_with_order
from dissensus.kernels.types import Codes, Floats, Ints
from dissensus.kernels.variates import log_gamma_variate

SMALL = 0.25
"""Below this concentration a, most proposals of `parted` are accepted."""
ANONYMOUS = -10
"""Labels of the remainder that have no name in the label space have this code or a lower code."""


@inner
def unnamed_label(codes: Ints, place: int, n_labels: int) -> int:
    """Return entry ``place`` of `unnamed_labels` without computing the others."""
    label, candidate = -1, place
    while candidate != label:  # skip labels that are in ``codes``
        label, candidate = candidate, place
        for c in range(len(codes)):
            candidate += 0 <= codes[c] <= label
    return label if label < n_labels else ANONYMOUS - place


@inner
def unnamed_labels(codes: Ints, size: int, n_labels: int) -> Ints:
    """List the codes of the remainder's labels: `ANONYMOUS` or below for labels without a name."""
    used = np.zeros(n_labels, dtype=np.bool_)
    for c in range(len(codes)):
        if codes[c] >= 0:
            used[codes[c]] = True
    out, filled = np.empty(size, dtype=np.int64), 0
    for place in range(size):
        out[place] = ANONYMOUS - place
    for label in range(n_labels):
        if not used[label] and filled < size:
            out[filled] = label
            filled += 1
    return out


@inner
def parted(state: State, a: float, left: int) -> tuple[float, float, float]:
    """Draw the fraction of the rest that a share takes, for a below `SMALL`.

    Returns the fraction, 1 minus the fraction, and the logarithm of the latter. The fraction t has
    the distribution Beta(1 + a, b), b = a * ``left``: it is drawn from Beta(1, b), and accepted
    with probability t^a.
    """
    while True:
        log_kept, u = math.log(uniform(state)) / (a * left), uniform(state)
        kept = math.exp(log_kept)
        taken = 1.0 - kept if kept < 0.999 else -math.expm1(log_kept)
        # -log t <= (1 - t) / sqrt(t) and t^a >= 1 + a log t: the first test usually suffices.
        if u < 1.0 - a * kept / math.sqrt(taken) or u < taken**a:
            return taken, kept, log_kept


@inner
def next_share(state: State, rest: float, step: int, labels: Ints, a: float) -> tuple[float, float]:
    """Take the next share off ``rest``, and move its label to ``labels[step]``.

    Returns the share and the new rest. ``a`` must be finite (infinity means an even split).
    """
    left = len(labels) - step - 1
    pick = step + int(uniform(state) * (left + 1))
    labels[step], labels[pick] = labels[pick], labels[step]
    if left == 0:
        return rest, 0.0
    if a < SMALL:
        taken, kept, _ = parted(state, a, left)
        return rest * taken, rest * kept
    odds = log_gamma_variate(state, a * left) - log_gamma_variate(state, 1.0 + a)
    # The new rest is not computed as rest - share, which would lose its digits if it is small.
    ratio = math.exp(-abs(odds))
    larger, smaller = rest / (1.0 + ratio), rest * ratio / (1.0 + ratio)
    return (smaller, larger) if odds > 0 else (larger, smaller)


@inner
def expand(theta: Floats, codes: Ints, sizes: Ints, a: float, key: int, out: Floats) -> None:
    """Write a row in candidate form as a dense row (label)."""
    out[:] = 0.0
    for c in range(len(theta)):
        if sizes[c] == 1 and codes[c] >= 0:
            out[codes[c]] = theta[c]
    for c in range(len(theta)):
        if sizes[c] > 1 and theta[c] > 0:
            labels = unnamed_labels(codes, sizes[c], len(out))
            share, rest = theta[c] / sizes[c], theta[c]
            state = started(key)
            for step in range(sizes[c]):
                if not math.isinf(a):
                    share, rest = next_share(state, rest, step, labels, a)
                if labels[step] >= 0:
                    out[labels[step]] = share


NOBODY = -1
"""Code at places for which no label is left, because too few have a positive plausibility."""


# Up to this many leading labels, inserting into a sorted list is faster than sorting all labels.
_FEW = 16


@inner
def _ahead(value: float, label: int, other_value: float, other_label: int) -> bool:
    """Return whether a label comes before another label: by plausibility, then by code.

    A label with a negative code has no name, and comes last among labels of equal plausibility.
    """
    if value != other_value:
        return value > other_value
    if label < 0 or other_label < 0:
        return value > 0.0 and label > other_label
    return label < other_label


@inner
def _insert(values: Floats, labels: Codes, value: float, label: int) -> None:
    """Insert a label into a sorted list of fixed length, whose last entry is dropped."""
    place = len(values) - 1
    while place > 0 and _ahead(value, label, values[place - 1], labels[place - 1]):
        values[place] = values[place - 1]
        labels[place] = labels[place - 1]
        place -= 1
    values[place] = value
    labels[place] = label


@inner
def _sorted_top(theta: Floats, top: Codes) -> None:
    """Write the leading labels of a dense row into ``top``, by sorting all labels."""
    falling, order = falling_with_order(theta)
    top[:] = NOBODY
    for place in range(min(len(top), len(theta))):
        if falling[place] < 0:
            top[place] = order[place]


@rowwise("void(float64[:], int64[:], int64[:])", "(n),(k)->(k)")
def top_dense(theta: Floats, like: Codes, top: Codes) -> None:
    """Return the k labels of largest theta, the largest first; of ties, the earlier label is first.

    Labels whose theta is exactly 0 are left out: `NOBODY` fills their places. Only the length of
    ``like`` is used: it is k.
    """
    if len(like) > _FEW:
        _sorted_top(theta, top)
        return
    top[:] = NOBODY
    if len(like) == 1:  # a plain argmax is faster
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
    """Insert the remainder's labels, which all have the same ``share``."""
    for label in labels:
        if not _ahead(share, label, values[-1], top[-1]):
            return
        _insert(values, top, share, label)


@inner
def _insert_drawn(
    values: Floats, top: Codes, rest: float, codes: Codes, size: int, n_labels: int, a: float,
    key: int,
) -> None:  # fmt: skip
    """Draw shares of the remainder's labels, and insert labels until the rest is too small."""
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
    """Do as `top_dense`, for a row in candidate form; only the needed shares are drawn."""
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
