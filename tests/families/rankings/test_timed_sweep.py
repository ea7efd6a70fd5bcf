"""Sweeps by arrival times alone, against importance sampling."""

from __future__ import annotations

import numpy as np
import pytest
from families.rankings.ranking_reference import CASES, by_importance, columns, compare
from nested_rankings import nested
from numba import njit

from dissensus.families.rankings.kernels.layout import ranked_item, ranked_items
from dissensus.families.rankings.kernels.times import room_for_times, timed_sweep
from dissensus.kernels.random import started
from dissensus.kernels.slices import tangents


@njit
def go(items, out):
    """Go through sweeps, and write shares of units, the tail's summed up."""
    item, state = ranked_item(items, 0), started(1)
    n_units, n_tail = len(item.shapes), max(item.numbers.n_tail, 1)
    log_share, used = np.zeros(n_units - 1 + n_tail), n_units - 1 + n_tail
    work, terms, lines = room_for_times(item), np.empty((2, len(item.spans) + 1)), tangents()
    for i in range(len(out)):
        used = timed_sweep(state, item, log_share, used, 90.0, work, terms, lines)
        log_share[:used] -= np.log(np.exp(log_share[:used]).sum())
        out[i, : n_units - 1] = np.exp(log_share[: n_units - 1])
        out[i, n_units - 1] = np.exp(log_share[n_units - 1 : used]).sum()
    return n_units


def draw(rankings, shape, named, power, sharpness, n=20_000):
    out = np.zeros((n, len(shape)))
    where = nested((rankings, len(shape)))
    items = ranked_items(where, np.asarray(shape, float), sharpness, power, np.array([named]))
    n_units = go(items, out)
    return columns(out[200:, :n_units], named)


@pytest.mark.long
@pytest.mark.unit(7, long=8)
@pytest.mark.parametrize(
    ("power", "g"), [(1.0, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 2.0), (2.0, 1.5)]
)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_agrees_with_importance_sampling(case, power, g):
    sharpness = np.full(len(case[0]), g)
    compare(draw(*case, float(power), sharpness), *by_importance(*case, power, sharpness))


@pytest.mark.long
@pytest.mark.parametrize("power", [0.5, 1.5])
@pytest.mark.parametrize("g", [1.0, 2.0])
def test_without_ties_the_power_need_not_be_whole(power, g):
    case = ([[[0], [1], [2]], [[2], [0]]], [0.6] * 6, 3)
    sharpness = np.full(2, g)
    compare(draw(*case, power, sharpness), *by_importance(*case, power, sharpness))


@pytest.mark.long
def test_each_annotator_may_have_a_sharpness():
    case, sharpness = CASES["many that nobody lists"], np.array([0.5, 2.0, 1.0])
    compare(draw(*case, 1.0, sharpness), *by_importance(*case, 1.0, sharpness))
