r"""Choices from nested sets of labels, with the strengths summed out.

See `learned_prior`. Each annotator of an item chose first from all labels, and then from the labels
that remained after its earlier choices. These sets are nested if annotators agree.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Flags, Floats, Ints, Keys
from dissensus.kernels.variates import binomial

_LARGEST_LOG: Final = 690.0
"""Maximum logarithm of a count: larger counts would give the same results for any shape."""
_COUNTABLE: Final = 1e15
"""From this number of draws on, each label gets its expected number: the binomial sampler needs
whole numbers, and the relative spread is 1 in 30 million."""
_WORD: Final = 64


class Choices(NamedTuple):
    """The informative choices in rankings."""

    stop: Ints
    """(ranking): the row after its last informative row."""
    over_start: Ints
    """(ranking + 1): where each ranking's part of `over` starts."""
    over: Ints
    """Cells that a ranking could still have chosen after `stop`; one ranking after another."""
    first: Floats
    """(cell): how often it was the first choice from all cells; ties count in equal parts."""


class Counts(NamedTuple):
    """Choices from nested sets of cells, whose strengths can be summed out."""

    level: Ints
    """(cell): the smallest set that contains it; 0 is the set of all cells of its item."""
    n_levels: Ints
    """(item): number of sets that are smaller than all cells; -1 before they are computed."""
    parent: Ints
    """(row): the smallest set that contains the row's choice set."""
    exact: Flags
    """(row): whether that set is the choice set."""
    given: Floats
    """(cell): number of times it was drawn."""
    passed: Floats
    """(set): how often one of its cells was drawn from a larger set. The array has a place for the
    set of all cells of each item, and a place for each row."""
    drawn: Floats
    """(set): number of draws from it."""


def no_counts(rankings: Rankings) -> Counts:
    """Allocate counts, which are not yet computed."""
    n_items, n_cells, n_rows = len(rankings.n_cells), rankings.cell_start[-1], len(rankings.place)
    return Counts(
        np.zeros(n_cells, dtype=np.int64), np.full(n_items, -1), np.zeros(n_rows, dtype=np.int64),
        np.zeros(n_rows, dtype=np.bool_), np.zeros(n_cells), np.zeros(n_rows + n_items),
        np.zeros(n_rows + n_items),
    )  # fmt: skip


def informative_choices(rankings: Rankings) -> Choices:
    """Return the choices that are informative; a last block of all remaining labels is not.

    Examples
    --------
    x before y and z, once among these three cells and once among four:

    >>> both = [np.array(one) for one in ([0, 1, 2], [0, 3, 6], [0, 1, 2] * 2, [1, 2, 2] * 2)]
    >>> choices = informative_choices(Rankings(*both, np.array([0, 3, 7]), np.zeros(2, dtype=bool)))
    >>> choices.stop.tolist(), choices.over.tolist()
    ([1, 6], [1, 2, 6])
    """
    start, end, cell_start = (
        rankings.ranking_start[:-1],
        rankings.ranking_start[1:],
        rankings.cell_start,
    )
    n_rankings, n_cells, n_items = len(start), int(cell_start[-1]), len(cell_start) - 1
    item = np.repeat(np.arange(n_items), np.diff(rankings.item_start))
    ranking = np.repeat(np.arange(n_rankings), end - start)
    whole = (rankings.closed | (end - start == rankings.n_cells[item])) & (end > start)
    last = rankings.rank[np.maximum(end - 1, 0)] if len(ranking) else np.zeros(n_rankings)
    in_last = np.bincount(ranking, rankings.rank == last[ranking], n_rankings).astype(np.int64)
    stop = np.where(whole, end - in_last, end)
    cell, closed = cell_start[item[ranking]] + rankings.place, rankings.closed[ranking]
    tells = np.arange(len(ranking)) < stop[ranking]
    # An open ranking chooses from all cells of the item, a closed one from those that it lists.
    n_open = np.where(rankings.closed, 0, rankings.n_cells[item])
    chooser = np.repeat(np.arange(n_rankings), n_open)
    within = np.arange(len(chooser)) - np.repeat(np.cumsum(n_open) - n_open, n_open)
    every, named = chooser * n_cells + cell_start[item[chooser]] + within, ranking * n_cells + cell
    over = np.setdiff1d(np.concatenate([every, named[closed]]), named[tells])
    leads = tells & ~closed & (rankings.rank == 1)
    share = 1.0 / np.maximum(np.bincount(ranking[leads], minlength=n_rankings), 1)[ranking[leads]]
    return Choices(
        stop,
        over_start=np.searchsorted(over, np.arange(n_rankings + 1) * n_cells),
        over=over % n_cells,
        first=np.bincount(cell[leads], share, n_cells),
    )


@kernel
def draw_counts(
    state: State, rankings: Rankings, choices: Choices, order: Ints, log_strength: Floats,
    counts: Counts,
) -> None:  # fmt: skip
    """Draw the orders of tied labels, then the labels that choices passed over; count all draws."""
    for item in range(len(rankings.cell_start) - 1):
        low, high = rankings.cell_start[item], rankings.cell_start[item + 1]
        begin, end = rankings.item_start[item], rankings.item_start[item + 1]
        changed = counts.n_levels[item] < 0
        for ranking in range(begin, end):
            changed |= _order_ties(state, ranking, low, rankings, choices, order, log_strength)
        if changed:
            counts.n_levels[item] = find_levels(item, rankings, choices, order, counts)
        first = rankings.ranking_start[begin] + item
        for level in range(counts.n_levels[item] + 1):
            counts.passed[first + level] = counts.drawn[first + level] = 0.0
        for cell in range(low, high):
            counts.given[cell] = 0.0
        for ranking in range(begin, end):
            for row in range(rankings.ranking_start[ranking], choices.stop[ranking]):
                _count(counts, first, counts.parent[row], low + order[row], 1.0)
                if not counts.exact[row]:
                    _pass_over(
                        state, ranking, row, item, rankings, choices, order, log_strength, counts
                    )


@inner
def _order_ties(
    state: State, ranking: int, low: int, rankings: Rankings, choices: Choices, order: Ints,
    log_strength: Floats,
) -> bool:  # fmt: skip
    """Exchange neighbours in tied blocks, with the conditional probability of the new order.

    If R is the sum of the strengths after both, the order of strengths a, b has a probability
    proportional to 1 / ((R + a + b) (R + b)). Returns whether any order changed.
    """
    begin, end, changed, tied = rankings.ranking_start[ranking], choices.stop[ranking], False, False
    for row in range(begin, end - 1):
        tied |= rankings.rank[row] == rankings.rank[row + 1]
    if not tied:
        return False
    left = np.empty(end - begin + 1)
    left[end - begin] = -np.inf
    for k in range(choices.over_start[ranking], choices.over_start[ranking + 1]):
        left[end - begin] = log_plus(left[end - begin], log_strength[choices.over[k]])
    for row in range(end - 1, begin - 1, -1):
        left[row - begin] = log_plus(left[row - begin + 1], log_strength[low + order[row]])
    for row in range(begin, end - 1):
        if rankings.rank[row] != rankings.rank[row + 1]:
            continue
        after = left[row - begin + 2]
        with_first = log_plus(after, log_strength[low + order[row]])
        with_second = log_plus(after, log_strength[low + order[row + 1]])
        if math.log(uniform(state)) + log_plus(with_first, with_second) < with_second:
            order[row], order[row + 1] = order[row + 1], order[row]
            left[row - begin + 1], changed = with_first, True
    return changed


@inner
def _count(counts: Counts, first: int, level: int, cell: int, times: float) -> None:
    """Count draws of a cell from a set: the cell was drawn `times` times."""
    counts.given[cell] += times
    counts.drawn[first + level] += times
    for k in range(level + 1, counts.level[cell] + 1):
        counts.passed[first + k] += times


@inner
def _pass_over(
    state: State, ranking: int, row: int, item: int, rankings: Rankings, choices: Choices,
    order: Ints, log_strength: Floats, counts: Counts,
) -> None:  # fmt: skip
    """Draw cells from the row's set until one is in the choice set; count those drawn before it.

    Their number is geometric. Each is a cell outside the choice set, drawn in proportion to the
    strengths.
    """
    low, high = rankings.cell_start[item], rankings.cell_start[item + 1]
    first, level = rankings.ranking_start[rankings.item_start[item]] + item, counts.parent[row]
    rest = np.empty(high - low + 1)  # 1 if a cell cannot be chosen; then log sums over these
    for cell in range(low, high):
        rest[cell - low] = 1.0 if counts.level[cell] >= level else 0.0
    log_in = -np.inf
    for k in range(row, choices.stop[ranking]):
        rest[order[k]], log_in = 0.0, log_plus(log_in, log_strength[low + order[k]])
    for k in range(choices.over_start[ranking], choices.over_start[ranking + 1]):
        rest[choices.over[k] - low], log_in = 0.0, log_plus(log_in, log_strength[choices.over[k]])
    rest[high - low] = -np.inf
    for k in range(high - low - 1, -1, -1):
        out = rest[k] > 0.0
        rest[k] = log_plus(rest[k + 1], log_strength[low + k]) if out else rest[k + 1]
    log_all, hold = log_plus(log_in, rest[0]), -math.log(uniform(state))
    n = math.exp(min(math.log(hold) + log_all - log_in, _LARGEST_LOG))  # if few can be chosen
    if log_all - rest[0] > 1e-9:
        n = hold / (log_all - rest[0])
    whole = n < _COUNTABLE
    n_left = int(n) if whole else 1
    for k in range(high - low):
        if n_left > 0 and rest[k] > rest[k + 1]:
            share = math.exp(log_strength[low + k] - rest[k if whole else 0])
            if whole:
                n_drawn = (
                    binomial(state, n_left, min(share, 1.0)) if rest[k + 1] > -np.inf else n_left
                )
                n_left -= n_drawn
                _count(counts, first, level, low + k, float(n_drawn))
            else:
                _count(counts, first, level, low + k, n * share)


@inner
def find_levels(
    item: int, rankings: Rankings, choices: Choices, order: Ints, counts: Counts
) -> int:
    """Find nested sets from which most of an item's labels were chosen; return their number.

    Sets from which most choices were made are taken first; later sets that do not nest with them
    are left out.
    """
    low, high = rankings.cell_start[item], rankings.cell_start[item + 1]
    begin, end = rankings.item_start[item], rankings.item_start[item + 1]
    first = rankings.ranking_start[begin]
    n = rankings.ranking_start[end] - first
    n_words = (high - low) // _WORD + 1
    bits, size = np.zeros((n, n_words), dtype=np.uint64), np.zeros(n, dtype=np.int64)
    for ranking in range(begin, end):
        stop = choices.stop[ranking]
        for row in range(stop - 1, rankings.ranking_start[ranking] - 1, -1):
            k = row - first
            if row == stop - 1:
                for j in range(choices.over_start[ranking], choices.over_start[ranking + 1]):
                    _add(bits, k, choices.over[j] - low)
                size[k] = choices.over_start[ranking + 1] - choices.over_start[ranking] + 1
            else:
                for word in range(n_words):
                    bits[k, word] = bits[k + 1, word]
                size[k] = size[k + 1] + 1
            _add(bits, k, order[row])
    chain, n_chain = np.empty(n, dtype=np.int64), 0
    times = np.zeros(n, dtype=np.int64)
    for k in range(n):
        if 0 < size[k] < high - low:
            same = k
            for j in range(k):
                if times[j] > 0 and size[j] == size[k] and _within(bits, j, k):
                    same = j
            times[same] += 1
    while True:
        best = 0
        for k in range(n):
            if times[k] > times[best]:
                best = k
        if n == 0 or times[best] == 0:
            break
        times[best], nests = 0, True
        for j in range(n_chain):
            nests &= _within(bits, best, chain[j]) or _within(bits, chain[j], best)
        if nests:  # insert it: larger sets come first
            place = n_chain
            while place > 0 and size[chain[place - 1]] < size[best]:
                chain[place] = chain[place - 1]
                place -= 1
            chain[place] = best
            n_chain += 1
    for cell in range(low, high):
        counts.level[cell] = 0
        for j in range(n_chain):
            if _has(bits, chain[j], cell - low):
                counts.level[cell] += 1
    for k in range(n):
        level = 0
        while size[k] > 0 and level < n_chain and _within(bits, k, chain[level]):
            level += 1
        counts.parent[first + k] = level
        whole = high - low if level == 0 else size[chain[level - 1]]
        counts.exact[first + k] = size[k] == whole
    return n_chain


@inner
def _add(bits: Keys, row: int, place: int) -> None:
    bits[row, place // _WORD] |= np.uint64(1) << np.uint64(place % _WORD)


@inner
def _has(bits: Keys, row: int, place: int) -> bool:
    return (bits[row, place // _WORD] >> np.uint64(place % _WORD)) & np.uint64(1) > np.uint64(0)


@inner
def _within(bits: Keys, part: int, whole: int) -> bool:
    """Return whether a set is part of another."""
    for word in range(bits.shape[1]):  # noqa: SIM110 (kernels write loops out)
        if bits[part, word] & ~bits[whole, word]:
            return False
    return True
