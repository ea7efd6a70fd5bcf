"""Who shares items with whom, against counting by hand and the rank of variance components."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.sampling.design import anchored, islands, listed_islands, pairs

CODES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=14)


def grown(rows, who):
    """Whom one annotator is joined with, item by item."""
    group = {who}
    while True:
        items = {i for i, a in rows if a in group}
        more = {a for i, a in rows if i in items}
        if more <= group:
            return group
        group |= more


@settings(deadline=None, max_examples=30)
@given(CODES)
def test_groups_are_what_grows_from_each_annotator(rows):
    item, annotator = np.array(rows).T
    result = islands(item, annotator, 7)
    there = set(annotator.tolist())
    assert {k for k in range(7) if result[k] >= 0} == there
    for k in there:
        assert set(np.flatnonzero(result == result[k])) == grown(rows, k)
    sizes = np.bincount(result[result >= 0])
    assert (np.diff(sizes) <= 0).all()


@settings(deadline=None, max_examples=50)
@given(CODES)
def test_skills_are_told_that_products_of_two_tell(rows):
    """Logarithms of products are sums: a skill is told if it is a combination of these."""
    item, annotator = np.array(rows).T
    sums = [np.zeros(7)]
    for i in range(len(rows)):
        same = [j for j in range(i) if item[i] == item[j]]
        sums += [np.eye(7)[annotator[i]] + np.eye(7)[annotator[j]] for j in same]
    rank = np.linalg.matrix_rank(np.stack(sums))
    told = [np.linalg.matrix_rank(np.stack([*sums, np.eye(7)[k]])) == rank for k in range(7)]
    assert anchored(item, annotator, 7).tolist() == told


def test_a_known_skill_tells_those_that_hang_on_it():
    item, annotator = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 3, 4])
    assert not anchored(item, annotator, 5).any()
    assert anchored(item, annotator, 5, np.array([2])).tolist() == [True] * 3 + [False] * 2


@settings(deadline=None, max_examples=30)
@given(CODES)
def test_pairs_say_which_variances_of_numbers_can_be_told_apart(rows):
    """Three covariance matrices, as quadratic forms of labels whose mean is known.

    Each variance can be told if its matrix is not a combination of the others: linear algebra on
    all of them says how many can, and pairs must say the same.
    """
    item, annotator = np.array(rows).T
    same_item = (item[:, None] == item).astype(float)
    same_annotator = (annotator[:, None] == annotator).astype(float)
    each = np.stack([same_item, same_annotator, np.eye(len(item))]).reshape(3, -1)
    result = pairs(item, annotator)
    distinct = {(True, False), (False, True), (True, True)} & {
        (bool(same_item[i, j]), bool(same_annotator[i, j]))
        for i in range(len(item)) for j in range(i)
    }  # fmt: skip
    kinds = [(True, False), (False, True), (True, True)]
    assert distinct == {kind for kind, there in zip(kinds, result, strict=True) if there}
    assert (np.linalg.matrix_rank(each) == 3) == (sum(result) >= 2)


def test_no_labels_have_no_groups():
    none = np.empty(0, dtype=int)
    assert islands(none, none, 2).tolist() == [-1, -1]
    assert not any(pairs(none, none))


@pytest.mark.parametrize(("n", "end"), [(3, "'2'"), (5, "and 2 more groups")])
def test_a_few_groups_are_named(n, end):
    assert listed_islands(np.arange(n), np.array([str(k) for k in range(n)])).endswith(end)
