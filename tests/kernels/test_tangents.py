"""Rejection from tangents, on densities with a known distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.kernels.random import started, uniform
from dissensus.kernels.slices import AREA, HEIGHT, SLOPE, TOUCH, draw, join, tangents


@pytest.mark.parametrize("touch", [(-1.2, 0.0, 1.2), (-3.0, 0.7, 0.8), (-0.1, 2.0, 4.0)])
def test_rejection_gives_the_normal_wherever_the_tangents_touch(touch):
    state, lines = started(1), tangents()
    at = np.array(touch)
    lines[TOUCH, :3], lines[HEIGHT, :3], lines[SLOPE, :3] = at, -(at**2) / 2, -at
    join(lines)
    assert lines[AREA, :3].sum() >= np.sqrt(2 * np.pi)
    kept = []
    while len(kept) < 4000:
        x, above = draw(state, lines)
        assert above >= -(x**2) / 2 - 1e-12
        if np.log(uniform(state)) <= -(x**2) / 2 - above:
            kept.append(x)
    assert stats.kstest(kept, stats.norm().cdf).pvalue > 1e-3


def test_two_tangents_may_be_one_line():
    """Of exp(-|x|) e: the middle touches where the right one does."""
    state, lines = started(2), tangents()
    lines[TOUCH, :3], lines[HEIGHT, :3], lines[SLOPE, :3] = [-2, 2, 2], [-1, -1, -1], [1, -1, -1]
    join(lines)
    draws = np.array([draw(state, lines)[0] for _ in range(4000)])
    assert stats.kstest(draws, stats.laplace().cdf).pvalue > 1e-3
