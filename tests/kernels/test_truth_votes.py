"""Items by pattern of labels, against a dictionary of tuples."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.kernels.votes import votes

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 2)), max_size=40)


def plain(rows, n_items):
    """Return what each item was given: (respondent, label) -> times, as a sorted tuple."""
    return [
        tuple(sorted(Counter((v, y) for i, v, y in rows if i == row_item).items()))
        for row_item in range(n_items)
    ]


@settings(deadline=None, max_examples=50)
@given(ROWS, st.integers(7, 9))
def test_patterns_are_the_distinct_tuples(rows, n_items):
    item, respondent, label = (np.array([row[k] for row in rows], dtype=np.int64) for k in range(3))
    actual, pattern = votes(item, respondent, label, n_items)
    want = plain(rows, n_items)
    assert actual.start[0] == 0
    assert actual.start[-1] == len(actual.respondent) == len(actual.label) == len(actual.times)
    told = [
        tuple(
            ((int(actual.respondent[e]), int(actual.label[e])), int(actual.times[e]))
            for e in range(low, high)
        )
        for low, high in zip(actual.start, actual.start[1:], strict=False)
    ]
    assert len(set(told)) == len(told) == len(actual.n_items)
    assert [tuple(sorted(told[p])) for p in pattern] == want
    assert actual.n_items.tolist() == np.bincount(pattern, minlength=len(told)).tolist()


@settings(deadline=None, max_examples=50)
@given(ROWS.filter(bool), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, random):
    other = rows[:]
    random.shuffle(other)
    first, second = (
        votes(*(np.array(part, dtype=np.int64) for part in zip(*some, strict=True)), 7)
        for some in (rows, other)
    )
    for column, other_column in zip(first[0], second[0], strict=True):
        np.testing.assert_array_equal(column, other_column)
    np.testing.assert_array_equal(first[1], second[1])
