"""Moves of a group of strengths, against weighted draws from the prior."""

from __future__ import annotations

import numpy as np
import pytest
from families.rankings.ranking_reference import CASES, agree, compare, probability
from nested_rankings import nested

from dissensus.families.rankings.kernels.layout import ranked_item, ranked_items
from dissensus.families.rankings.kernels.moves import move_group, positions
from dissensus.families.rankings.kernels.sweep import sample
from dissensus.families.rankings.kernels.views import room_for_moves, take
from dissensus.kernels.random import started

LARGER = {
    "three tied": ([[[0, 1, 2]], [[1], [3, 0]]], [1.0, 0.7, 1.0, 0.7, 0.7, 2.1]),
    "two tied and sequences": ([[[0], [2, 3]], [[3, 1], [0]], [[0], [1], [2]]], [1.0] * 5),
    **{name: CASES[name][:2] for name in ("ties", "closed", "many that nobody lists")},
}


def moved(rankings, shape, sharpness, power, logs):
    """Move a group in each of many states (draw, cell), one cut after another."""
    named = np.array([len(shape)])
    items = ranked_items(nested((rankings, len(shape))), shape, sharpness, power, named)
    item, where = ranked_item(items, 0), positions(items, np.array([0]))
    room, state, out = room_for_moves(item), started(5), logs.copy()
    numbers, listed, spans, each, shapes = item
    n = len(shape)
    for turn, now in enumerate(out):
        take(numbers.common, each, now, n, n, room.log_rate, room.rate)
        move_group(state, numbers, listed, spans, each, shapes, now, n, where, turn, *room)
    return out


@pytest.mark.long
@pytest.mark.unit(0, long=5)
@pytest.mark.parametrize(
    ("power", "low", "high"), [(1.0, 1.0, 1.0), (0.5, 2.0, 2.0), (1.5, 0.5, 2.0), (2.0, 1.0, 1.0)]
)
@pytest.mark.parametrize("case", LARGER.values(), ids=LARGER)
def test_a_group_move_leaves_the_posterior_as_it_is(case, power, low, high):
    """Draws from the posterior, by weighted resampling, are so after one move too."""
    rankings, shape = case[0], np.array(case[1])
    sharpness = np.linspace(low, high, len(rankings))
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(shape, size=100_000)
    weight = np.ones(len(theta))
    for g, blocks in zip(sharpness, rankings, strict=True):
        weight *= probability(theta**g, blocks) ** power
    weight /= weight.sum()
    logs = np.log(theta[rng.choice(len(theta), size=8000, p=weight)])
    after = moved(rankings, shape, sharpness, power, logs)
    assert (np.ptp(after - logs, axis=1) > 1e-9).mean() > 0.99  # it is not that nothing moves
    after = np.exp(after - np.logaddexp.reduce(after, axis=1)[:, None])
    compare(after, theta, weight)


def test_units_are_ordered_by_what_the_rankings_say():
    """By who beats whom, not by how often they are listed."""
    rankings = [["closed", [3], [1]]] * 2 + [["closed", [1], [0], [2]]] * 5
    data = nested((rankings, 4))
    items = ranked_items(data, np.full(4, 0.1), np.ones(7), 1.0, np.array([4]))
    np.testing.assert_array_equal(positions(items, np.array([0])), [2, 1, 3, 0])


def test_weak_labels_move_together_relative_to_strong_ones():
    """Two pairs, each often compared within, and hardly with the other.

    Moving one label at a time gives 157 effective draws of 4000 of the weak, and 494 of the rest.
    """
    rankings = [[[0], [1], [2], [3]]] * 10 + [[[1], [0], [3], [2]]] * 10
    for theta in sample(
        nested((rankings, 5)), np.ones(5), np.array([7], dtype=np.uint64), named=np.array([4]),
        power=10.0, draws=4000,
    ).transpose(1, 0, 2):  # fmt: skip
        agree(theta, theta.mean(axis=0), least=700)
