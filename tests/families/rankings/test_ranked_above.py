"""Groups of labels against the transitive closure of "ranked above", pair by pair."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from nested_rankings import nested, random_ranking, ranked_above

from dissensus.families.rankings.kernels.mm import groups, within


def by_closure(rankings, n_cells, closed):
    """The groups of one item, and the top ones among them, as sets."""
    above = ranked_above(rankings, n_cells, closed)
    sets = {frozenset(np.flatnonzero(above[cell] & above[:, cell])) for cell in range(n_cells)}
    tops = {
        labels for labels in sets
        if not any(above[cell, next(iter(labels))] for cell in range(n_cells) if cell not in labels)
    }  # fmt: skip
    return sets, tops


@st.composite
def an_item(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_cells = draw(st.integers(1, 6))
    return [random_ranking(rng, n_cells) for _ in range(draw(st.integers(1, 5)))], n_cells


@given(st.lists(an_item(), min_size=1, max_size=4), st.booleans())
@settings(max_examples=30)
def test_groups_are_those_of_the_transitive_closure(items, closed):
    several = nested(*items, closed=closed)
    result = groups(several)
    start = 0
    for number, (rankings, n_cells) in enumerate(items):
        mine = result.of_cell[several.cell_start[number] : several.cell_start[number + 1]]
        sets, tops = by_closure(rankings, n_cells, closed)
        assert {frozenset(np.flatnonzero(mine == group)) for group in set(mine)} == sets
        assert {frozenset(np.flatnonzero(mine == g)) for g in set(mine) if result.top[g]} == tops
        assert sorted(set(mine)) == list(range(start, start + len(sets)))
        start += len(sets)


def test_an_empty_ranking_says_nothing():
    assert groups(nested(([[], [[0], [1]]], 3))).top.tolist() == [True, False, False]
    result = groups(nested(([[]], 2)))
    assert result.of_cell.tolist() == [0, 1]
    assert result.top.all()


def test_many_like_rankings_do_not_overflow():
    """An edge for each of 256 equal rankings: summed in bytes they would be none."""
    result = groups(nested(([[[0], [1]]] * 256, 2), closed=True))
    assert result.top.tolist() == [True, False]


def test_rankings_within_groups_keep_what_they_say():
    """One reader ranks 0 and 1 above 2, one the other way round for the first two."""
    rankings = nested(([[[0], [1], [2]], [[1, 3], [0]]], 4))
    apart, order = within(rankings, np.array([0, 0, 1, 1]))
    assert order.tolist() == [0, 1, 2, 3]
    assert apart.item_start.tolist() == [0, 2, 4]
    assert apart.ranking_start.tolist() == [0, 2, 4, 5, 6]
    assert apart.place.tolist() == [0, 1, 1, 0, 0, 1]
    assert apart.rank.tolist() == [1, 2, 1, 2, 3, 1]
    assert apart.cell_start.tolist() == [0, 2, 4]
