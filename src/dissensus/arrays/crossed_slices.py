"""Logistic effects of items and annotators, one after another by slices."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_effect_room import QUARTER, EffectRoom
from dissensus.arrays.crossed_odds import LARGE, Odds, held, log_product
from dissensus.arrays.crossed_parameters import Parameters
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


_WIDTH = 2.5
"""Of a slice, in standard deviations of the posterior's approximation."""


_EFFECT, _ALONG, _SUM, _START = range(4)
"""Rows of what is known of an item's cells."""


@njit(cache=True)
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


@njit(cache=True)
def _gather(
    data: Crossed, par: Parameters, known: Odds, i: int, cells: Floats, others: Floats
) -> None:
    """Put together all that is needed of one item."""
    first, count = data.item_start[i], 0
    for c in range(first, data.item_start[i + 1]):
        k = c - first
        cells[_EFFECT, k], cells[_SUM, k], cells[_START, k] = par.item[c], known.cell_sum[c], count
        for n in range(data.cell_start[c], data.cell_start[c + 1]):
            others[count] = known.annotator[data.annotator[n]]
            count += 1
        cells[_START, k + 1] = count


@njit(cache=True)
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


@njit(cache=True)
def slice_items(
    state: State, data: Crossed, par: Parameters, known: Odds, room: EffectRoom
) -> None:
    """Move every item's effects, and sum their products by design."""
    room.second[:] = 0.0
    cells, others = room.cells, room.others
    for i in range(len(data.designs.of_item)):
        d, first = data.designs.of_item[i], data.item_start[i]
        n = data.item_start[i + 1] - first
        if n == 0:
            continue
        _gather(data, par, known, i, cells, others)
        _move_item(state, n, room.precision[d], room.direction[d], cells, others)
        for a in range(n):
            par.item[first + a] = cells[_EFFECT, a]
            known.cell[first + a] = math.exp(held(cells[_EFFECT, a]))
            for b in range(n):
                room.second[d, a, b] += cells[_EFFECT, a] * cells[_EFFECT, b]


@njit(cache=True)
def _of_annotator(x: float, mean: float, sd: float, total: float, n: int, others: Floats) -> float:
    eta = held(mean + x)
    return total * eta - 0.5 * (x / sd) ** 2 - log_product(math.exp(eta), others, n)


_slice_annotator = slicer(_of_annotator)


@njit(cache=True)
def slice_annotators(
    state: State, data: Crossed, par: Parameters, known: Odds, others: Floats
) -> None:
    """Move every annotator's effect."""
    for j in range(len(par.annotator)):
        start, p = data.annotator_start[j], data.annotator_pool[j]
        n = data.annotator_start[j + 1] - start
        for k in range(n):
            others[k] = known.cell[data.annotator_cell[start + k]]
        mean, sd, total = par.mu[p], par.sd_annotator[p], known.annotator_sum[j]
        width = _WIDTH / math.sqrt(1.0 / (sd * sd) + QUARTER * n)
        x = _slice_annotator(state, par.annotator[j], width, mean, sd, total, n, others)
        par.annotator[j] = x
        known.annotator[j] = math.exp(held(mean + x))
