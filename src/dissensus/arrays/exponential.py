"""Exponential variates: a Dirichlet(1, ..., 1) draw before it is divided by its sum."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.compiled import kernel
from dissensus.arrays.stream import uniform
from dissensus.arrays.types import Floats, Keys


def draw_exponential(keys: Keys, draws: int) -> Floats:
    """Draw variates (draw, column), each column from a stream of its own.

    A column's draws hang on where its stream starts, ``keys`` (column), and on no other column;
    the first of many are those of few.

    Examples
    --------
    >>> keys = np.array([3, 5], dtype=np.uint64)
    >>> both = draw_exponential(keys, 4)
    >>> bool((draw_exponential(keys[1:], 2) == both[:2, 1:]).all()), bool((both > 0).all())
    (True, True)
    """
    out = np.empty((draws, len(keys)))
    _fill(keys.copy(), out)
    return out


@kernel
def _fill(states: Keys, out: Floats) -> None:
    for draw in range(len(out)):
        for column in range(out.shape[1]):
            out[draw, column] = -math.log(uniform(states[column : column + 1]))
