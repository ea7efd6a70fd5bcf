"""The labels with the largest plausibility, in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import guvectorize, njit

from dissensus.arrays.remainder import next_share, unnamed_labels

NOBODY = -1
"""Stands where fewer labels than asked for have a positive plausibility."""

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@njit(cache=True)  # type: ignore[misc]
def _insert(values: Floats, labels: Codes, value: float, label: int) -> None:
    """Insert into a list kept in falling order; an equal value stays behind the earlier one."""
    place = len(values) - 1
    while place > 0 and values[place - 1] < value:
        values[place] = values[place - 1]
        labels[place] = labels[place - 1]
        place -= 1
    values[place] = value
    labels[place] = label


@guvectorize(["void(float64[:], int64[:], int64[:])"], "(n),(k)->(k)", nopython=True, cache=True)  # type: ignore[misc]
def top_dense(theta: Floats, like: Codes, top: Codes) -> None:
    """Return the k labels of largest theta, the largest first; ties go to the earlier label.

    Labels whose theta is exactly 0 are never among them: past the last positive one stands
    `NOBODY`. The second argument only says how many are wanted.
    """
    values = np.zeros(len(like))
    top[:] = NOBODY
    for label in range(len(theta)):
        if theta[label] > values[-1]:
            _insert(values, top, theta[label], label)


@guvectorize(
    ["void(float64[:], int64[:], int64[:], float64, uint32, int64, int64[:], int64[:])"],
    "(c),(c),(c),(),(),(),(k)->(k)",
    nopython=True,
    cache=True,
)  # type: ignore[misc]
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
    values = np.zeros(len(like))
    top[:] = NOBODY
    for c in range(len(theta)):
        if sizes[c] == 1 and theta[c] > values[-1]:
            _insert(values, top, theta[c], codes[c])
    for c in range(len(theta)):
        if sizes[c] > 1 and theta[c] > values[-1]:
            labels = unnamed_labels(codes, sizes[c], n_labels)
            np.random.seed(key)  # noqa: NPY002
            rest = theta[c]
            for step in range(sizes[c]):
                share = next_share(rest, step, labels, a)
                if share > values[-1]:
                    _insert(values, top, share, labels[step])
                rest -= share
                if rest <= values[-1]:
                    break
