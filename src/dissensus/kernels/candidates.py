"""Draws by candidate label: shares of leading sets, sums over groups of labels, distinct items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from dissensus.kernels.compiled import inner
from dissensus.kernels.random import started
from dissensus.kernels.remainder import next_share, unnamed_labels
from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.sorting import sort_with
from dissensus.kernels.types import Codes, Floats, Ints

_LARGEST: Final = 2**62


@rowwise("void(int64[:], int64, int64, int64[:])", "(k),(),()->()")
def in_one_number(top: Codes, least: int, span: int, out: Codes) -> None:
    """Write a number whose digits are the members of the set ``top``, the smallest member first."""
    out[0] = 0
    for place in range(len(top)):
        digit = top[place] - least
        for other in range(len(top)):  # one digit to the left for each larger member
            if top[other] > top[place] or (top[other] == top[place] and other > place):
                digit *= span
        out[0] += digit


def set_codes(top: Codes) -> Codes:
    """Return a code for each set along the last axis; equal sets have equal codes."""
    depth = top.shape[-1]
    if depth == 1:  # the code of a single label is its number
        return top[..., 0]
    least = int(top.min(initial=0))
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


_ALL, _FIRST_HALF, _SECOND_HALF = range(3)
"""Sets of draws: all draws, the first half of each chain, the second half of each chain."""

_MOST, _FIRST, _ELSEWHERE = range(3)
"""Properties of the commonest code of a set of draws: its count in the set, the place of its first
draw, and its count in all other draws."""


@inner
def _modes(codes: Codes, half: int) -> Codes:
    """Return the properties of the commonest code in all draws and in each half.

    Rows are `_ALL` to `_SECOND_HALF`, columns `_MOST` to `_ELSEWHERE`. Of tied codes, the one that
    appears first is taken, and not the smallest: the values of codes depend on the other items.
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
        side = _FIRST_HALF if at[i] % n_draws < half else _SECOND_HALF
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
    """Return the Monte Carlo error of the share of code ``best``, from batch means."""
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

    The Monte Carlo error comes from batch means, so that it also holds for autocorrelated draws.
    The share of the *commonest* code is biased upwards, since the code is chosen by the same draws.
    To estimate the bias, the code is chosen by one half of each chain, and counted in the other
    half. Even and odd draws are not used as halves, because successive draws are correlated.
    """
    n_draws = codes.shape[1]
    best = _modes(codes, n_draws // 2)
    first = best[_ALL, _FIRST]
    share[0] = best[_ALL, _MOST] / codes.size
    mcse[0] = _error(codes, codes[first // n_draws, first % n_draws])
    bias[0] = np.nan
    if n_draws > 1:
        held_out = best[_FIRST_HALF, _ELSEWHERE] + best[_SECOND_HALF, _ELSEWHERE]
        bias[0] = max(0.0, share[0] - held_out / codes.size)


_NEGLIGIBLE = 1e-12


@rowwise(
    "void(float64[:], int64[:], int64[:], float64, uint64, int64[:], float64[:], float64[:])",
    "(c),(c),(c),(),(),(n),(g)->(g)",
)
def grouped_candidates(
    theta: Floats,
    codes: Codes,
    sizes: Codes,
    a: float,
    key: int,
    group: Codes,
    like: Floats,  # noqa: ARG001 (only its length is read, by Numba)
    out: Floats,
) -> None:
    """Sum a row in candidate form over groups of labels; ``like`` has as many entries as groups."""
    out[:] = 0.0
    for c in range(len(theta)):
        if sizes[c] == 1 and codes[c] >= 0:
            out[group[codes[c]]] += theta[c]
    for c in range(len(theta)):
        if sizes[c] > 1 and theta[c] > 0:
            labels = unnamed_labels(codes, sizes[c], len(group))
            share, rest = theta[c] / sizes[c], theta[c]
            state = started(key)
            for step in range(sizes[c]):
                if not np.isinf(a):
                    share, rest = next_share(state, rest, step, labels, a)
                    # A negligible rest is added to this share, and the draw ends.
                    if rest < _NEGLIGIBLE * theta[c]:
                        share, rest = share + rest, 0.0
                out[group[labels[step]]] += share
                if rest <= 0.0:
                    break


class Patterns(NamedTuple):
    """Distinct items. A pattern is an unordered collection of cells, one cell for each label."""

    cells: Floats
    """(cell, column): properties that a label of an item can have; distinct rows, ascending."""
    rows: Ints
    """(pattern, label): indices of cells, ascending along each row; distinct rows."""
    times: Ints
    """(pattern): number of items with the pattern."""

    def subset(self, selected: slice) -> Patterns:
        """Return a slice of the patterns."""
        return self._replace(rows=self.rows[selected], times=self.times[selected])


def find_patterns(columns: Sequence[Floats]) -> Patterns:
    """Return the patterns of items.

    ``columns``: for each property, its values (item, label).
    """
    code = np.zeros(columns[0].shape, dtype=np.int64)
    cells = np.empty((1, 0))
    for column in columns:  # each cell is split by the values of the column
        values, place = np.unique(column, return_inverse=True)
        used, code = np.unique(code * len(values) + place.reshape(code.shape), return_inverse=True)
        code = code.reshape(column.shape)
        before, last = np.divmod(used, len(values))
        cells = np.column_stack([cells[before], values[last]])
    return _counted(cells, np.sort(code, axis=1), np.ones(len(code), dtype=np.int64))


def merged(parts: Iterable[Patterns]) -> Patterns:
    """Combine the patterns of several sets of items."""
    parts = list(parts)
    cells, place = np.unique(
        np.concatenate([patterns.cells for patterns in parts]), axis=0, return_inverse=True
    )
    starts = np.cumsum([0, *(len(patterns.cells) for patterns in parts)])
    place = place.ravel()
    rows = [
        place[patterns.rows + start] for patterns, start in zip(parts, starts[:-1], strict=True)
    ]
    # Cells keep their order, so that each row of indices stays ascending.
    return _counted(
        cells, np.concatenate(rows), np.concatenate([patterns.times for patterns in parts])
    )


def _counted(cells: Floats, rows: Ints, times: Ints) -> Patterns:
    rows, inverse = np.unique(rows, axis=0, return_inverse=True)
    total = np.zeros(len(rows), dtype=np.int64)
    np.add.at(total, inverse.ravel(), times)
    return Patterns(cells, rows, total)


def distinct(patterns: Patterns, probability: Floats) -> tuple[Ints, Floats]:
    """Return the distinct cells of each pattern, and the total probability of each cell's labels.

    ``probability`` (pattern, label): probability of an event for each label; exactly one of the
    events happens.
    Returns cells and probabilities (pattern, place), padded with cells of probability 0.
    """
    rows = patterns.rows
    place = np.cumsum(np.diff(rows, axis=1, prepend=rows[:, :1]) > 0, axis=1)
    pattern = np.arange(len(rows))[:, None]
    cell = np.zeros((len(rows), int(place.max()) + 1), dtype=np.int64)
    total = np.zeros(cell.shape)
    cell[pattern, place] = rows
    np.add.at(total, (pattern, place), probability)
    return cell, total
