"""Sorting inside kernels against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.sorting import sort_with, sorted_with_order


@pytest.mark.parametrize("n", [0, 1, 2, 23, 24, 25, 48, 49, 97, 1000])
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint64])
def test_as_numpy_sorts_stably(n, dtype):
    values = np.random.default_rng(n).integers(0, 30, n).astype(dtype)
    before = values.copy()
    ordered, order = sorted_with_order(values)
    want = np.argsort(values, kind="stable")
    assert ordered.tolist() == values[want].tolist()
    assert order.tolist() == want.tolist()
    assert (values == before).all()


def test_some_places_only():
    key, order = np.array([9, 3, 1, 2, 0]), np.arange(5)
    sort_with(key, order, 1, 4)
    assert key.tolist() == [9, 1, 2, 3, 0]
    assert order.tolist() == [0, 2, 3, 1, 4]
