"""In which order the units of an item come: from the strongest to the weakest, about.

`group_view` cuts it in two. It depends on nothing but the rankings and the prior,
so that it stays the same throughout a chain.
"""

from __future__ import annotations

import numpy as np

from dissensus.arrays.ranked_item import (
    BEGIN,
    LAST,
    POSTERIOR,
    PRIOR,
    RANK,
    STOP,
    UNIT,
    RankedItem,
    RankedItems,
    ranked_item,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Codes, Floats

_ROUNDS = 10
"""Of an iteration that is only to tell strong from weak."""


_BY_INSERTION = 15
"""Numba's `argsort` sorts no more than these by insertion, which leaves equals in their order."""


def positions(items: RankedItems, which: Codes) -> Codes:
    """Return the position of each unit of some items, 0 for an item's strongest.

    What a unit got (how often it was listed, and its prior shape) over what it was to get, were all
    equally strong; again with the quotients as strengths, and so on. This is the MM algorithm of
    Hunter (2004) for Plackett-Luce, a tied block taken for as many choices from the same set. A
    sharpness changes how far strengths are apart, but not their order.
    """
    weakness = np.zeros(len(items.shapes))
    out = np.empty(len(weakness), dtype=np.int64)
    _weaken(items, which, weakness)
    if items.n_units.max() > _BY_INSERTION:
        _sort(items, which, weakness, out)
        return out
    place, owner = (
        np.arange(items.unit_start[-1]),
        np.repeat(np.arange(len(items.n_units)), items.n_units),
    )
    order = np.lexsort((weakness[: len(owner)], owner))
    out[order] = place - items.unit_start[owner]
    return out


@kernel
def _sort(items: RankedItems, which: Codes, weakness: Floats, out: Codes) -> None:
    for i in range(len(which)):
        low, high = items.unit_start[which[i]], items.unit_start[which[i] + 1]
        order = np.argsort(weakness[low:high])
        for k in range(high - low):
            out[low + order[k]] = k


@kernel
def _weaken(items: RankedItems, which: Codes, weakness: Floats) -> None:
    """Write minus the strengths of the units of some items."""
    for i in range(len(which)):
        low, high = items.unit_start[which[i]], items.unit_start[which[i] + 1]
        _write(ranked_item(items, which[i]), weakness[low:high])


@inner
def _write(item: RankedItem, weakness: Floats) -> None:
    numbers, listed, spans, _, shapes = item
    n = len(shapes)
    got, due, strength = np.empty(n), np.empty(n), np.empty(n)
    for unit in range(n):
        strength[unit] = got[unit] = shapes[unit, POSTERIOR]
    got[n - 1] += (max(numbers.n_tail, 1) - 1) * shapes[n - 1, PRIOR]
    strength[n - 1] = got[n - 1]
    for turn in range(_ROUNDS + 1):
        summed = 0.0
        for unit in range(n):
            summed += strength[unit]
        for unit in range(n):
            due[unit] = (numbers.total_shape + numbers.shared) / summed
            if turn == 0:
                strength[unit] /= summed
        if turn > 0:
            for ranking in range(len(spans)):
                _add_due(listed, spans, ranking, numbers.power, strength, due)
            for unit in range(n):
                strength[unit] = got[unit] / due[unit]
    for unit in range(n):
        weakness[unit] = -strength[unit]


@inner
def _add_due(
    listed: Codes, spans: Codes, ranking: int, power: float, strength: Floats, due: Floats
) -> None:
    """Add one ranking's choices: to each unit that was there, 1 over the strength of all that were.

    The sum over the choices that a unit was there for is added up from the first choice on.
    """
    begin, stop, last = spans[ranking, BEGIN], spans[ranking, STOP], spans[ranking, LAST]
    left, so_far, low = 0.0, 0.0, begin
    for place in range(begin, last):
        left += strength[listed[UNIT, place]]
    while low < stop:
        high = low + 1
        while high < stop and listed[RANK, high] == listed[RANK, low]:
            high += 1
        so_far += power * (high - low) / left
        for place in range(low, high):
            due[listed[UNIT, place]] += so_far
            left -= strength[listed[UNIT, place]]
        left = max(left, 1e-300)
        low = high
    for place in range(stop, last):
        due[listed[UNIT, place]] += so_far
