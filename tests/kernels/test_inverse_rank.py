"""Weights by inverse rank, Eq. 14 of Stutz et al. (2023)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.kernels.rankings import inverse_rank_weights

# One ranking: the sizes of its blocks.
blocks = st.lists(st.integers(1, 4), min_size=1, max_size=5)


def rows(rankings):
    """Spell rankings out as rows of rank and ranking number."""
    rank = [level for sizes in rankings for level, n in enumerate(sizes, 1) for _ in range(n)]
    ranking = [number for number, sizes in enumerate(rankings) for _ in range(sum(sizes))]
    return np.array(rank), np.array(ranking)


def test_by_hand():
    """The second annotator of Figure 5: one first, three tied second."""
    rank, ranking = np.array([1, 2, 2, 2]), np.zeros(4, dtype=int)
    split = inverse_rank_weights(rank, ranking, split_ties=True)
    whole = inverse_rank_weights(rank, ranking, split_ties=False)
    assert split.tolist() == pytest.approx([1, 1 / 6, 1 / 6, 1 / 6])
    assert whole.tolist() == [1, 0.5, 0.5, 0.5]


@given(st.lists(blocks, min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_a_ranking_of_l_blocks_weighs_the_harmonic_number(rankings, random):
    """Split ties share a block's 1/l, so the sum is 1 + 1/2 + ... + 1/L, in any order of rows."""
    rank, ranking = rows(rankings)
    order = list(range(len(rank)))
    random.shuffle(order)
    weight = inverse_rank_weights(rank[order], ranking[order], split_ties=True)
    total = np.bincount(ranking[order], weight)
    assert total == pytest.approx(
        [sum(1 / level for level in range(1, len(sizes) + 1)) for sizes in rankings]
    )
