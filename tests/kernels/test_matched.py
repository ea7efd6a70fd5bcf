"""Pairing draws of two kinds of uncertainty, rank by rank."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.grouped import matched


@pytest.mark.parametrize(("draws", "sets"), [(40, 40), (40, 100), (100, 40), (1, 7), (7, 1)])
def test_ranks_go_together_and_no_draw_is_used_twice_before_all_are(draws, sets):
    rng = np.random.default_rng(draws)
    one, other = rng.normal(size=draws), rng.normal(size=sets)
    found = matched(one, other, rng)
    assert (np.diff(one[found[np.argsort(other)]]) >= 0).all()
    times = np.bincount(found, minlength=draws)
    assert times.max() - times.min() <= 1


def test_equal_ones_are_paired_at_random():
    rng = np.random.default_rng(1)
    found = [matched(np.arange(2.0), np.zeros(2), rng)[0] for _ in range(400)]
    assert 150 < sum(found) < 250
