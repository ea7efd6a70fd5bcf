"""Known labels that settle an accuracy by themselves, by simulated studies."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.studies.planning.unknown_truth import known_items


@pytest.mark.parametrize(("accuracy", "within"), [(0.9, 0.1), (0.7, 0.1), (0.8, 0.05)])
def test_so_many_are_near_enough_and_fewer_are_not_always(accuracy, within):
    rng = np.random.default_rng(1)
    n = known_items(accuracy, within, 0.9)

    def near(size):
        off = np.abs(rng.binomial(size, accuracy, 40_000) / size - accuracy)
        return (off <= within + 1e-9).mean()

    assert all(near(size) > 0.893 for size in range(n, n + 40, 3))
    assert near(n - 1) < 0.907


def test_what_is_certain_takes_one():
    assert known_items(1.0, 0.1, 0.9) == 1
