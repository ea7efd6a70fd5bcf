"""Splitting the remainder's mass over its labels, exactly and lazily.

The labels nobody named are exchangeable: their shares are a symmetric Dirichlet(a, ..., a)
draw, independent of everything else. A size-biased pick gives the shares one by one, the
large ones early: with U labels, the i-th takes the fraction Beta(1 + a, a (U - i)) of what is
left, and goes to a label drawn uniformly from those left. One may stop as soon as what is left
cannot matter, without having drawn the hundreds of tiny shares. Since the stream of random
numbers starts from the row's own key, every function that looks at a draw sees the same
shares, however far it looks.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dissensus.arrays.compiled import inner
from dissensus.arrays.gamma import log_gamma_variate
from dissensus.arrays.stream import State, started, uniform

SMALL = 0.25
"""Up to this concentration most of such proposals are accepted."""
ANONYMOUS = -10
"""The remainder's labels without a name in the label space have this code and those below."""


@inner
def unnamed_label(codes: npt.NDArray[np.int64], place: int, n_labels: int) -> int:
    """Return one of the labels that `unnamed_labels` lists, without the others."""
    label, more = -1, place
    while more != label:  # as many places further as labels up to there are used
        label, more = more, place
        for c in range(len(codes)):
            more += 0 <= codes[c] <= label
    return label if label < n_labels else ANONYMOUS - place


@inner
def unnamed_labels(codes: npt.NDArray[np.int64], size: int, n_labels: int) -> npt.NDArray[np.int64]:
    """List the codes of the remainder's labels; those without a name are `ANONYMOUS` or below."""
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
    """Draw the fraction that a share takes, what is left, and its logarithm; a below `SMALL`.

    It is Beta(1 + a, b): from Beta(1, b), which takes one logarithm, accepted with probability t^a.
    """
    while True:
        log_kept, u = math.log(uniform(state)) / (a * left), uniform(state)
        kept = math.exp(log_kept)
        taken = 1.0 - kept if kept < 0.999 else -math.expm1(log_kept)
        # -log t <= (1 - t) / sqrt(t) and t^a >= 1 + a log t: mostly that settles it.
        if u < 1.0 - a * kept / math.sqrt(taken) or u < taken**a:
            return taken, kept, log_kept


@inner
def next_share(
    state: State, rest: float, step: int, labels: npt.NDArray[np.int64], a: float
) -> tuple[float, float]:
    """Take the next share off ``rest``, and move its label to ``labels[step]``.

    Returns the share and what is left then. Not for an even split (a = infinity).
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
    # Both parts by themselves: rest - share would be 0 or noise where the share is nearly all.
    ratio = math.exp(-abs(odds))
    larger, smaller = rest / (1.0 + ratio), rest * ratio / (1.0 + ratio)
    return (smaller, larger) if odds > 0 else (larger, smaller)


@inner
def expand(
    theta: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    a: float,
    key: int,
    out: npt.NDArray[np.float64],
) -> None:
    """Write one row in candidate form out as a dense row over all labels."""
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
