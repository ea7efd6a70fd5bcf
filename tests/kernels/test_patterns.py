from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.kernels.candidates import distinct, find_patterns, merged

few = settings(max_examples=50, deadline=None)
SEEDS = st.integers(0, 2**31)


def items(seed):
    rng = np.random.default_rng(seed)
    shape = (rng.integers(1, 30), rng.integers(1, 5))
    return [rng.integers(0, 3, shape).astype(float), rng.choice([0.0, 0.5, 1.0], shape)]


def counted(patterns):
    """Patterns as collections of cells, and how often each occurs."""
    return {
        tuple(map(tuple, patterns.cells[row].tolist())): times
        for row, times in zip(patterns.rows, patterns.times.tolist(), strict=True)
    }


@given(seed=SEEDS)
@few
def test_counts_items_that_are_alike_but_for_the_names_of_labels(seed):
    columns = items(seed)
    expected = Counter(tuple(sorted(map(tuple, one))) for one in np.stack(columns, 2).tolist())
    assert counted(find_patterns(columns)) == expected


@given(seed=SEEDS)
@few
def test_parts_come_to_the_same_as_the_whole(seed):
    columns = items(seed)
    whole, n = find_patterns(columns), len(columns[0])
    cut = np.random.default_rng(seed).integers(0, n + 1)
    parts = [find_patterns([c[part] for c in columns]) for part in (slice(cut), slice(cut, n))]
    for found in (merged(parts), merged(parts[::-1]), merged([whole])):
        for one, other in zip(found, whole, strict=True):
            np.testing.assert_array_equal(one, other)


def test_probabilities_of_labels_that_are_alike_are_summed():
    found = find_patterns([np.array([[1.0, 0.0, 1.0], [2.0, 0.0, 1.0]])])
    cell, probability = distinct(found, np.array([[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]))
    assert found.cells.ravel().tolist() == [0, 1, 2]
    assert cell.tolist() == [[0, 1, 0], [0, 1, 2]]
    np.testing.assert_allclose(probability, [[0.2, 0.8, 0], [0.1, 0.2, 0.7]])
