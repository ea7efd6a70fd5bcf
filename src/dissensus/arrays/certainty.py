"""How often the draws agree on one answer."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pandas as pd

from dissensus.arrays.compiled import inner
from dissensus.arrays.rowwise import rowwise
from dissensus.arrays.stable_sort import sort_with
from dissensus.arrays.types import Codes, Floats

_LARGEST: Final = 2**62


@rowwise("void(int64[:], int64, int64, int64[:])", "(k),(),()->()")
def in_one_number(top: Codes, least: int, span: int, out: Codes) -> None:
    """Write the members of a set as the digits of a number, the smallest first."""
    members = top.copy()
    sort_with(members, np.empty(len(top), dtype=np.int64), 0, len(top))
    out[0] = 0
    for member in members:
        out[0] = out[0] * span + (member - least)


def set_codes(top: Codes) -> Codes:
    """Give every distinct set along the last axis its own number.

    Examples
    --------
    >>> one, again, other = set_codes(np.array([[1, 2], [2, 1], [1, 3]])).tolist()
    >>> one == again, one == other
    (True, False)
    """
    least, depth = int(top.min(initial=0)), top.shape[-1]
    span = int(top.max(initial=0)) - least + 1
    if span**depth < _LARGEST:
        return in_one_number(top, least, span)
    members = np.sort(top, axis=-1)
    code = pd.factorize(members[..., 0].ravel())[0].astype(np.int64)
    for place in range(1, members.shape[-1]):
        column = members[..., place].ravel()
        span = int(column.max()) - int(column.min()) + 1
        code = pd.factorize(code * span + (column - column.min()))[0].astype(np.int64)
    return code.reshape(top.shape[:-1])


_ALL, _ONE, _TWO = range(3)
"""Which draws: all, the first half of each chain, or the second."""

_MOST, _FIRST, _ELSEWHERE = range(3)
"""How often the commonest code appears in them, where first, and how often in all others."""


@inner
def _modes(codes: Codes, half: int) -> Codes:
    """Return (`_ALL` ..., `_MOST` ...) of the commonest codes, the first to appear if several are.

    What number a code has depends on the other items of the array, so it cannot decide.
    """
    n_chains, n_draws = codes.shape
    n = n_chains * n_draws
    code, at = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        code[i], at[i] = codes[i // n_draws, i % n_draws], i
    sort_with(code, at, 0, n)
    count, first = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    best = np.zeros((3, 3), dtype=np.int64)
    for i in range(n):
        side = _ONE if at[i] % n_draws < half else _TWO
        for part in (_ALL, side):
            if count[part] == 0:
                first[part] = at[i]
            count[part] += 1
        if i + 1 < n and code[i + 1] == code[i]:
            continue
        for part in range(3):
            most = best[part, _MOST]
            if count[part] > most or (count[part] == most and first[part] < best[part, _FIRST]):
                best[part, _MOST], best[part, _FIRST] = count[part], first[part]
                best[part, _ELSEWHERE] = count[_ALL] - count[part]
        for part in range(3):
            count[part] = 0
    return best


@inner
def _error(codes: Codes, best: int) -> float:
    """Return the Monte Carlo error of a code's share, from batch means."""
    n_chains, n_draws = codes.shape
    size = max(1, int(math.sqrt(n_draws)))
    batches = n_draws // size
    n, summed, squares = n_chains * batches, 0.0, 0.0
    means = np.empty(n)
    for i in range(n):
        count, start = 0, i % batches * size
        for draw in range(start, start + size):
            count += codes[i // batches, draw] == best
        means[i] = count / size
        summed += means[i]
    for i in range(n):
        squares += (means[i] - summed / n) ** 2
    variance = squares / n
    return math.sqrt(variance * n / (n - 1) / n) if n > 1 else np.nan


@rowwise("void(int64[:, :], float64[:], float64[:], float64[:])", "(c,d)->(),(),()")
def modal_share(codes: Codes, share: Floats, mcse: Floats, bias: Floats) -> None:
    """Return the share of the commonest code over (chain, draw), its error, and its bias.

    The Monte Carlo error comes from batch means, so that it also holds for draws that follow
    from one another. The share of the *commonest* code is biased upwards, since chance helps
    to choose it: the bias is estimated by choosing on one half of each chain and counting on the
    other. (On every other draw, draws that follow from one another would stand on both sides.)
    """
    n_draws = codes.shape[1]
    best = _modes(codes, n_draws // 2)
    first = best[_ALL, _FIRST]
    share[0] = best[_ALL, _MOST] / codes.size
    mcse[0] = _error(codes, codes[first // n_draws, first % n_draws])
    bias[0] = np.nan
    if n_draws > 1:
        honest = best[_ONE, _ELSEWHERE] + best[_TWO, _ELSEWHERE]
        bias[0] = max(0.0, share[0] - honest / codes.size)
