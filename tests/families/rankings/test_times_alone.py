"""Sweeps by arrival times in plain numbers, against importance sampling."""

from __future__ import annotations

import numpy as np
import pytest
from families.rankings.ranking_reference import CASES, agree, by_importance, columns, compare
from nested_rankings import nested
from numba import njit

from dissensus.families.rankings.kernels.layout import ranked_item, ranked_items
from dissensus.families.rankings.kernels.plain_times import SHARE, is_plain, plain_room, plain_sweep
from dissensus.families.rankings.kernels.times import sample_by_times
from dissensus.kernels.random import started
from dissensus.kernels.slices import tangents


def read(rankings, shape, power, named):
    sharpness = np.ones(len(rankings.closed))
    return ranked_items(rankings, shape, sharpness, power, np.array([named]))


def draw(rankings, shape, named, power, n=20_000):
    """Return shares, or None where plain numbers will not do."""
    items = read(nested((rankings, len(shape))), np.asarray(shape, float), power, named)
    if not is_plain(items).all():
        return None
    out, state = np.zeros((n, 1, named + 1)), np.ones(1, dtype=np.uint64)
    prior, cells = np.asarray(shape, float)[None], np.array([0, len(shape)])
    sample_by_times(items, np.array([0]), state, np.array([named]), 200, prior, cells, out)
    return out[:, 0]


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_agrees_with_importance_sampling(case, power):
    theta = draw(*case, power)
    if theta is None:
        least = min(case[1])
        assert least < 0.1  # the reason there can be
        return
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    compare(columns(theta, case[2]), *by_importance(*case, power, np.ones(len(case[0]))))


def test_some_cases_are_plain():
    assert sum(draw(*case, 1.0, n=1) is not None for case in CASES.values()) >= 5


IN_ORDER = ([[[0], [1], [2]], [[2], [0]]], [0.6] * 6, 3)
LARGER_TIES = ([[[0, 1, 2], [3]], [[3, 1, 0, 2]], [[2], [0, 3]]], [0.6] * 6, 4)


@pytest.mark.parametrize(
    ("case", "power"), [(IN_ORDER, 0.5), (IN_ORDER, 1.5), (LARGER_TIES, 1.0), (LARGER_TIES, 2.0)]
)
def test_without_ties_the_power_need_not_be_whole(case, power):
    compare(draw(*case, power), *by_importance(*case, power))


@pytest.mark.parametrize(
    ("shape", "power", "sharpness"),
    [
        ([1.0, 1.0, 0.05], 1.0, 1.0),  # nobody lists the last
        ([1.0, 1.0, 1.0], 0.05, 1.0),
        ([1.0, 1.0, 1.0], 1.0, 2.0),
        ([0.01, 0.01, 0.01], 1.0, 1.0),
    ],
)
def test_what_could_underflow_is_not_plain(shape, power, sharpness):
    rankings = nested(([[[0], [1]]], 3))
    items = ranked_items(rankings, np.array(shape), np.array([sharpness]), power, np.array([3]))
    assert not is_plain(items).any()


@njit
def refused(items, share):
    item, state = ranked_item(items, 0), started(1)
    plain = plain_room(item.shapes)
    plain[SHARE] = share
    done = plain_sweep(state, item.numbers, item.listed, item.spans, plain, tangents())
    return done, state[0] == started(1)[0], (plain[SHARE] == share).all()


@pytest.mark.long
def test_shares_too_small_are_left_as_they_are():
    items = read(nested(([[[0], [1]]], 3)), np.ones(3), 1.0, 3)
    assert refused(items, np.array([0.5, 0.5, 1e-61])) == (False, True, True)
    assert refused(items, np.array([0.5, 0.5 - 1e-59, 1e-59]))[0]


@pytest.mark.long
def test_shares_too_small_are_drawn_in_logarithms():
    """At shape .1 one share in a million is below 1e-60: the next sweep cannot be a plain one."""
    theta = draw([[[0]]], [1.0, 0.1], 2, 1.0, n=3_000_000)[:, :2]
    assert theta.min() < 1e-60
    assert np.isfinite(theta).all()
    agree(theta[:100_000], [2.0 / 2.1, 0.1 / 2.1])
