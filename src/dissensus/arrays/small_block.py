"""The probability that a tied block comes before the rest, where it is needed millions of times."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.compiled import inner
from dissensus.arrays.tied_block import log_before_rest
from dissensus.arrays.types import Floats

MOST = 6
"""Members of a block whose probability is taken in plain numbers, at most."""

_MODERATE = 100.0
"""Products of six numbers between e^-100 and e^100 neither over- nor underflow."""

RATIO, _PLAIN, _TOTAL, _CHANCE = range(4)
"""The rows of a table to work in."""


@inner
def table_for(n: int) -> Floats:
    """Make room for blocks of up to n members."""
    return np.zeros((4, max(n, 1 << MOST)))


@inner
def log_block(table: Floats, n: int) -> float:
    """Return the log probability, in plain numbers if the block is small and they allow.

    The recursion is that of `dissensus.arrays.tied_block`, which is slower and always right.

    Parameters
    ----------
    table : array
        From `table_for`; its row `RATIO` holds log strengths relative to the rest.
    n : int
        Members.

    Examples
    --------
    >>> round(math.exp(log_block(table_for(2), 2)), 12)  # 2/3 * 1/2
    0.333333333333
    """
    plain = n <= MOST
    for k in range(n):
        plain = plain and abs(table[RATIO, k]) < _MODERATE
        if plain:
            table[_PLAIN, k] = math.exp(table[RATIO, k])
    if not plain:
        return log_before_rest(table[RATIO, :n], table[RATIO, :0])
    table[_TOTAL, 0] = table[_CHANCE, 0] = 1.0
    for left in range(1, 1 << n):
        summed, total = 0.0, 1.0
        for k in range(n):
            if left >> k & 1:
                summed += table[_PLAIN, k] * table[_CHANCE, left ^ 1 << k]
                total = table[_TOTAL, left ^ 1 << k] + table[_PLAIN, k]
        table[_TOTAL, left], table[_CHANCE, left] = total, summed / total
    return math.log(table[_CHANCE, (1 << n) - 1])
