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

import numpy as np
import numpy.typing as npt
from numba import njit

ANONYMOUS = -3
"""A label of the remainder that has no name in the label space."""


def row_keys(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.uint32]:
    """Give every row (draw, item) its own 32-bit key, by the finaliser of SplitMix64.

    Examples
    --------
    >>> keys = row_keys((2, 3), seed=1)
    >>> keys.shape, len(np.unique(keys))
    ((2, 3), 6)
    """
    with np.errstate(over="ignore"):
        z = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
        z = (z + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).astype(np.uint32).reshape(shape)


@njit(cache=True)  # type: ignore[misc]
def unnamed_labels(
    codes: npt.NDArray[np.int64], size: int, n_labels: int
) -> npt.NDArray[np.int64]:
    """List the codes of the remainder's labels; those without a name are `ANONYMOUS`."""
    used = np.zeros(n_labels, dtype=np.bool_)
    for c in range(len(codes)):
        if codes[c] >= 0:
            used[codes[c]] = True
    out = np.full(size, ANONYMOUS, dtype=np.int64)
    filled = 0
    for label in range(n_labels):
        if not used[label] and filled < size:
            out[filled] = label
            filled += 1
    return out


@njit(cache=True)  # type: ignore[misc]
def next_share(rest: float, step: int, labels: npt.NDArray[np.int64], a: float) -> float:
    """Take the next share off ``rest``, and move its label to ``labels[step]``."""
    size = len(labels)
    left = size - step - 1
    if np.isinf(a):
        return rest / (left + 1)
    fraction = 1.0 if left == 0 else np.random.beta(1.0 + a, a * left)  # noqa: NPY002
    pick = np.random.randint(step, size)  # noqa: NPY002
    labels[step], labels[pick] = labels[pick], labels[step]
    return rest * fraction


@njit(cache=True)  # type: ignore[misc]
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
            np.random.seed(key)  # noqa: NPY002
            rest = theta[c]
            for step in range(sizes[c]):
                share = next_share(rest, step, labels, a)
                if labels[step] >= 0:
                    out[labels[step]] = share
                rest -= share
