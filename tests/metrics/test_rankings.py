"""Mean average overlap against enumeration of all compatible permutations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx


def compatible(blocks, n_labels):
    """All full rankings that a partial one allows; the unlisted labels form its last block."""
    listed = {label for block in blocks for label in block}
    rest = [label for label in range(n_labels) if label not in listed]
    parts = [*blocks, rest] if rest else list(blocks)
    for orders in itertools.product(*(itertools.permutations(part) for part in parts)):
        yield [label for order in orders for label in order]


def expected_overlap(first, second, depth, n_labels):
    total, count = 0.0, 0
    for a in compatible(first, n_labels):
        for b in compatible(second, n_labels):
            total += np.mean([len(set(a[:d]) & set(b[:d])) / d for d in range(1, depth + 1)])
            count += 1
    return total / count


@st.composite
def partial_rankings(draw, n_labels):
    order = draw(st.permutations(range(n_labels)))
    length = draw(st.integers(0, n_labels))
    blocks: list[list[int]] = []
    for label in order[:length]:
        if blocks and draw(st.booleans()):
            blocks[-1].append(label)
        else:
            blocks.append([label])
    return blocks


@given(data=st.data(), n_labels=st.integers(1, 4))
@settings(max_examples=12, deadline=None)
def test_equals_brute_force_at_every_depth(data, n_labels):
    first = data.draw(partial_rankings(n_labels))
    second = data.draw(partial_rankings(n_labels))
    for depth in range(1, n_labels + 1):
        args = (depth, n_labels)
        scale = expected_overlap(first, first, *args) * expected_overlap(second, second, *args)
        expected = expected_overlap(first, second, *args) / np.sqrt(scale)
        assert dx.mean_average_overlap(first, second, *args) == pytest.approx(expected)


@given(data=st.data(), n_labels=st.integers(1, 12))
@settings(max_examples=20, deadline=None)
def test_is_one_with_itself_and_does_not_mind_the_order_within_a_tie(data, n_labels):
    first = data.draw(partial_rankings(n_labels))
    second = data.draw(partial_rankings(n_labels))
    depth = data.draw(st.integers(1, n_labels))
    turned = [block[::-1] for block in first]
    assert dx.mean_average_overlap(first, turned, depth, n_labels) == pytest.approx(1)
    there = dx.mean_average_overlap(first, second, depth, n_labels)
    assert dx.mean_average_overlap(second, first, depth, n_labels) == pytest.approx(there)
    assert 0 <= there <= 1


def test_unlisted_labels_may_be_written_out():
    short = dx.mean_average_overlap([[0]], [[1], [0]], 3, 4)
    assert dx.mean_average_overlap([[0], [1, 2, 3]], [[1], [0], [2, 3]], 3, 4) == short


def all_orders(strengths, blocks):
    """The probability of a partial ranking: full rankings that it allows, added up."""
    total = 0.0
    for order in compatible(blocks, len(strengths)):
        chosen = np.array([strengths[label] for label in order])
        total += np.prod(chosen / np.cumsum(chosen[::-1])[::-1])
    return total


@given(data=st.data(), n_labels=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_likelihood_equals_brute_force(data, n_labels):
    blocks = data.draw(partial_rankings(n_labels))
    logs = data.draw(st.lists(st.floats(-5, 5), min_size=n_labels, max_size=n_labels))
    strengths = [10**log for log in logs]
    result = dx.partial_ranking_logp(strengths, blocks)
    assert isinstance(result, float)
    assert result == pytest.approx(np.log(all_orders(strengths, blocks)), rel=0, abs=1e-10)
    assert result <= 0


def test_likelihood_does_not_mind_the_container():
    expected = dx.partial_ranking_logp([1.0, 2.0, 3.0], [[2], [0]])
    assert expected == pytest.approx(np.log(3 / 6 * 1 / 3))
    assert dx.partial_ranking_logp(np.array([1, 2, 3]), (np.array([2]), (0,))) == expected
    assert dx.partial_ranking_logp(np.float32([1, 2, 3]), [{2}, {0}]) == expected
    assert dx.partial_ranking_logp([1e300, 2e300, 3e300], [[2], [0]]) == pytest.approx(expected)


def test_likelihood_of_nothing_and_of_a_complete_block():
    assert dx.partial_ranking_logp([1e-5, 1.0, 1e5], []) == 0
    assert dx.partial_ranking_logp([1e-5, 1.0, 1e5], [[1, 0, 2]]) == 0
    assert dx.partial_ranking_logp([2.0], [[0]]) == 0
