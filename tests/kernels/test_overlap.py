"""Overlap and rank correlation of lists, against other computations.

- Kernels of lists with ties against enumeration of their orders.
- Depth membership against the running sum of the expected permutation matrix.
- Kernels of whole orders against SciPy; the wrappers' tests go through both forms.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

from dissensus.kernels.overlap import (
    average_overlap,
    block_bounds,
    depth_membership,
    footrule_dense,
    holds_first,
    kendall_dense,
    same_set,
    weighted_overlap,
)


@st.composite
def tied_lists(draw, n_labels=6):
    """A list of distinct codes (-4 is outside the space), block numbers, and padding."""
    codes = draw(st.permutations(range(n_labels)))[: draw(st.integers(1, n_labels))]
    if draw(st.booleans()):
        codes[draw(st.integers(0, len(codes) - 1))] = -4
    block = np.cumsum([1, *draw(st.lists(st.integers(0, 1), min_size=5, max_size=5))])
    padding = draw(st.integers(0, 2))
    code = np.array([*codes, *[-4] * padding])
    return code, np.array([*block[: len(codes)], *[0] * padding])


def orders(code, block):
    groups = [
        [int(c) for c, b in zip(code, block, strict=True) if b == number]
        for number in range(1, block.max() + 1)
    ]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [c for part in parts for c in part]


def tops(depth):
    return st.permutations(range(6)).map(lambda order: np.array(order[:depth]))


@given(lists=tied_lists())
@settings(max_examples=30, deadline=None)
def test_block_bounds(lists):
    _, block = lists
    start, end = block_bounds(block)
    for p, number in enumerate(block):
        members = np.flatnonzero(block == number)
        expected = (0, 0) if number == 0 else (members[0], members[-1] + 1)
        assert (start[p], end[p]) == expected


@given(lists=tied_lists(), top=tops(3), depth=st.integers(0, 8), nobody=st.booleans())
@settings(max_examples=50, deadline=None)
def test_holds_first_and_same_set(lists, top, depth, nobody):
    code, block = lists
    start, end = block_bounds(block)
    top = np.where(np.arange(3) == 2, -1, top) if nobody else top
    possible = list(orders(code, block))
    expected = np.mean([top[0] in order[:depth] for order in possible])
    np.testing.assert_allclose(holds_first(top, code, start, end, depth), expected)
    depth = min(depth, 3, int((block > 0).sum()))
    if depth == 0:
        assert same_set(top, code, start, end, depth) == 0
        return
    true = set(top[:depth].tolist())
    expected = np.mean([-1 not in true and set(order[:depth]) == true for order in possible])
    np.testing.assert_allclose(same_set(top, code, start, end, depth), expected)


@given(
    lists=tied_lists(),
    top=tops(5),
    weight=st.lists(st.floats(0, 0.2), min_size=5, max_size=5),
    nobody=st.integers(1, 5),
    long=st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_weighted_overlap(lists, top, weight, nobody, long):
    code, block = lists
    top = np.where(np.arange(5) >= nobody, -1, top)
    if long:  # padding enough for the way that long lists take
        code = np.concatenate([code, np.full(20, -4)])
        block = np.concatenate([block, np.zeros(20, dtype=np.int64)])
    start, end = block_bounds(block)
    common = [
        [len({*order[:d]} & {*top[:d].tolist()} - {-1}) for d in range(1, 6)]
        for order in orders(code, block)
    ]
    expected = min(1.0, float(np.mean(common, axis=0) @ np.array(weight)))
    tail = np.cumsum(weight[::-1])[::-1]
    np.testing.assert_allclose(weighted_overlap(top, code, start, end, tail), expected, atol=1e-12)


@pytest.mark.parametrize("blocks", [[], [[2]], [[1, 3]], [[0], [2, 3]], [[3, 1, 0], [2]], [[0, 1]]])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_is_the_share_of_orders(blocks, depth):
    rest = sorted(set(range(4)) - {label for block in blocks for label in block})
    parts = [*blocks, rest] if rest else blocks
    counts, n_orders = np.zeros((depth, 4)), 0
    for orders in itertools.product(*(itertools.permutations(part) for part in parts)):
        order = [label for part in orders for label in part]
        n_orders += 1
        for d in range(depth):
            counts[d, order[: d + 1]] += 1
    np.testing.assert_allclose(depth_membership(blocks, 4, depth), counts / n_orders)


def test_average_overlap_of_disjoint_lists_is_zero():
    first, second = depth_membership([[0, 1]], 4, 2), depth_membership([[2, 3]], 4, 2)
    assert average_overlap(first, second) == 0


small = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40)


@given(pairs=small)
@settings(max_examples=50, deadline=None)
def test_tau_b_with_many_ties(pairs):
    theta, place = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    if len(set(theta)) == 1 or len(set(place)) == 1:
        assert np.isnan(kendall_dense(theta, place))
        return
    expected = kendalltau(theta, -place).statistic
    assert kendall_dense(theta, place) == pytest.approx(expected, abs=1e-12)


@given(pairs=small)
@settings(max_examples=50, deadline=None)
def test_footrule_with_many_ties(pairs):
    theta, place = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    ranks = rankdata(place)
    n = len(theta)
    expected = np.abs(rankdata(-theta) - ranks).sum() / (n * n // 2)
    actual = footrule_dense(theta, ranks)
    assert actual == pytest.approx(expected, abs=1e-12)
    assert 0 <= actual <= 1


def test_one_label_has_no_order():
    assert np.isnan(kendall_dense(np.ones(1), np.ones(1)))
    assert np.isnan(footrule_dense(np.ones(1), np.ones(1)))
