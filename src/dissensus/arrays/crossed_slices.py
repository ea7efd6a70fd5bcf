"""Logistic effects of items and annotators, one after another by slices."""

from __future__ import annotations

import math

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import QUARTER, EffectRoom
from dissensus.arrays.crossed_odds import LARGE, Odds, held, log_product
from dissensus.arrays.crossed_parameters import Parameters
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Codes, Floats, Indices

_WIDTH = 2.5
"""Of a slice, in standard deviations of the posterior's approximation."""


_EFFECT, _ALONG, _SUM, _START = range(4)
"""Rows of what is known of an item's cells."""


@inner
def _of_step(
    t: float, slope: float, curvature: float, n: int, cells: Floats, others: Floats
) -> float:
    """Return the log density of an item's step along a direction.

    All of one item is in two small arrays: each array that is handed to a function costs about as
    much as a label does, and this one is called more often than any other.
    """
    total = t * (slope - 0.5 * curvature * t)
    for k in range(n):
        if cells[_ALONG, k] != 0.0:
            x = held(cells[_EFFECT, k] + t * cells[_ALONG, k])
            factor, product = math.exp(x), 1.0
            total += cells[_SUM, k] * x
            for other in range(int(cells[_START, k]), int(cells[_START, k + 1])):
                product *= 1.0 + factor * others[other]
                if product > LARGE:
                    total -= math.log(product)
                    product = 1.0
            total -= math.log(product)
    return total


_slice_step = slicer(_of_step)


@inner
def _gather(
    i: int, item_start: Codes, cell_start: Codes, who: Indices, item: Floats, cell_sum: Floats,
    odds: Floats, cells: Floats, others: Floats,
) -> None:  # fmt: skip
    """Put together all that is needed of one item."""
    first, count = item_start[i], 0
    for c in range(first, item_start[i + 1]):
        k = c - first
        cells[_EFFECT, k], cells[_SUM, k], cells[_START, k] = item[c], cell_sum[c], count
        for n in range(cell_start[c], cell_start[c + 1]):
            others[count] = odds[who[n]]
            count += 1
        cells[_START, k + 1] = count


@inner
def _move_item(
    state: State, n: int, precision: Floats, directions: Floats, cells: Floats, others: Floats
) -> None:
    """Move one item's effects along one direction after another."""
    for k in range(n):
        slope, curvature = 0.0, 0.0
        for a in range(n):
            cells[_ALONG, a] = directions[k, a]
            for b in range(n):
                pull = directions[k, a] * precision[a, b]
                slope -= pull * cells[_EFFECT, b]
                curvature += pull * directions[k, b]
        t = _slice_step(state, 0.0, _WIDTH, slope, curvature, n, cells, others)
        for a in range(n):
            cells[_EFFECT, a] += t * cells[_ALONG, a]


def slice_items(
    state: State, data: Crossed, par: Parameters, known: Odds, room: EffectRoom
) -> None:
    """Move every item's effects, and sum their products by design."""
    _slice_items(
        state, data.designs.of_item, data.item_start, data.cell_start, data.annotator, par.item,
        known.cell, known.cell_sum, known.annotator, room.precision, room.direction, room.second,
        room.cells, room.others,
    )  # fmt: skip


@kernel
def _slice_items(
    state: State, of_item: Codes, item_start: Codes, cell_start: Codes, who: Indices,
    item: Floats, odds: Floats, cell_sum: Floats, odds_annotator: Floats, precision: Floats,
    direction: Floats, second: Floats, cells: Floats, others: Floats,
) -> None:  # fmt: skip
    second[:] = 0.0
    for i in range(len(of_item)):
        d, first = of_item[i], item_start[i]
        n = item_start[i + 1] - first
        if n == 0:
            continue
        _gather(i, item_start, cell_start, who, item, cell_sum, odds_annotator, cells, others)
        _move_item(state, n, precision[d], direction[d], cells, others)
        for a in range(n):
            item[first + a] = cells[_EFFECT, a]
            odds[first + a] = math.exp(held(cells[_EFFECT, a]))
            for b in range(n):
                second[d, a, b] += cells[_EFFECT, a] * cells[_EFFECT, b]


@inner
def _of_annotator(x: float, mean: float, sd: float, total: float, n: int, others: Floats) -> float:
    eta = held(mean + x)
    return total * eta - 0.5 * (x / sd) ** 2 - log_product(math.exp(eta), others, n)


_slice_annotator = slicer(_of_annotator)


def slice_annotators(
    state: State, data: Crossed, par: Parameters, known: Odds, others: Floats
) -> None:
    """Move every annotator's effect."""
    _slice_annotators(
        state, data.annotator_start, data.annotator_cell, data.annotator_pool, par.mu,
        par.sd_annotator, par.annotator, known.cell, known.annotator_sum, known.annotator, others,
    )  # fmt: skip


@kernel
def _slice_annotators(
    state: State, annotator_start: Codes, annotator_cell: Indices, annotator_pool: Codes,
    mu: Floats, sd_annotator: Floats, annotator: Floats, odds_cell: Floats,
    annotator_sum: Floats, odds: Floats, others: Floats,
) -> None:  # fmt: skip
    for j in range(len(annotator)):
        start, p = annotator_start[j], annotator_pool[j]
        n = annotator_start[j + 1] - start
        for k in range(n):
            others[k] = odds_cell[annotator_cell[start + k]]
        mean, sd = mu[p], sd_annotator[p]
        width = _WIDTH / math.sqrt(1.0 / (sd * sd) + QUARTER * n)
        x = _slice_annotator(state, annotator[j], width, mean, sd, annotator_sum[j], n, others)
        annotator[j] = x
        odds[j] = math.exp(held(mean + x))
