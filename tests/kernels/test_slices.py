"""Draws by slices and tangents, against known distributions.

- Rejection from tangents, on densities with a known distribution.
- Slice sampling, on densities whose distribution functions are known.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from scipy import stats

from dissensus.kernels.random import started, uniform
from dissensus.kernels.slices import AREA, HEIGHT, SLOPE, TOUCH, draw, join, slicer, tangents


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


N, THIN = 2000, 12


@njit
def _normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2


@njit
def _log_gamma(x, shape, rate):
    return shape * x - rate * math.exp(x)


@njit
def _beta(x, a, b):
    if x <= 0.0 or x >= 1.0:
        return -math.inf
    return (a - 1.0) * math.log(x) + (b - 1.0) * math.log(1.0 - x)


@njit
def _two_bumps(x, away, sd):
    low, high = -0.5 * ((x + away) / sd) ** 2, -0.5 * ((x - away) / sd) ** 2
    top = max(low, high)
    return top + math.log(0.3 * math.exp(low - top) + 0.7 * math.exp(high - top))


@njit
def _recorded(x, seen):
    seen[0] = x
    seen[1] += 1.0
    return -0.5 * x * x


DENSITIES = {"normal": _normal, "log gamma": _log_gamma, "beta": _beta, "two bumps": _two_bumps}
SLICERS = {name: slicer(density) for name, density in DENSITIES.items()}


def chain(name, start, width, *args):
    state, x, out = started(np.uint64(4)), start, np.empty(N)
    for k in range(N):
        for _ in range(THIN):
            x = SLICERS[name](state, x, width, *args)
        out[k] = x
    return out


def two_bumps(x):
    return 0.3 * stats.norm.cdf(x, -2, 0.7) + 0.7 * stats.norm.cdf(x, 2, 0.7)


@pytest.mark.long
@pytest.mark.unit(5)
@pytest.mark.parametrize(
    ("name", "start", "width", "args", "cdf"),
    [
        ("normal", 3.0, 2.5, (3.0, 1.0), stats.norm(3).cdf),
        ("normal", 0.0, 0.5, (0.0, 1.0), stats.norm.cdf),
        ("normal", 0.0, 40.0, (0.0, 1.0), stats.norm.cdf),
        ("log gamma", 0.0, 2.0, (0.7, 1.0), stats.loggamma(0.7).cdf),
        ("log gamma", 0.0, 2.0, (30.0, 30.0), stats.loggamma(30.0, loc=-math.log(30)).cdf),
        ("beta", 0.5, 0.4, (2.0, 5.0), stats.beta(2, 5).cdf),
        ("beta", 0.5, 0.4, (1.0, 1.0), stats.uniform.cdf),
        ("beta", 0.5, 0.4, (0.5, 0.5), stats.beta(0.5, 0.5).cdf),
        ("two bumps", 2.0, 3.0, (2.0, 0.7), two_bumps),
    ],
)
def test_draws_follow_the_density(name, start, width, args, cdf):
    draws = chain(name, start, width, *args)
    assert stats.kstest(draws, cdf).pvalue > 1e-3


@pytest.mark.parametrize("width", [0.3, 2.5, 30.0])
def test_one_step_leaves_the_density_as_it_is(width):
    """From draws of it, whatever the width: even if stepping out ends before the slice does."""
    state, rng = started(np.uint64(5)), np.random.default_rng(6)
    before = rng.normal(size=10_000)
    after = np.array([SLICERS["normal"](state, x, width, 0.0, 1.0) for x in before])
    assert stats.kstest(after, "norm").pvalue > 1e-3
    assert stats.kstest(after**2 - before**2, -(after**2 - before**2)).pvalue > 1e-3


def test_stepping_out_ends_somewhere():
    """A curve of ten thousand widths: sixty steps, and still a draw that leaves it as it is."""
    state, rng = started(np.uint64(7)), np.random.default_rng(8)
    before = rng.normal(size=5000)
    after = np.array([SLICERS["normal"](state, x, 1e-4, 0.0, 1.0) for x in before])
    assert np.abs(after - before).max() < 61e-4
    assert stats.kstest(after, "norm").pvalue > 1e-3


@pytest.mark.long
def test_the_last_point_looked_at_is_the_one_returned():
    """Kernels leave behind what they computed there."""
    state, draw, seen, x = started(np.uint64(9)), slicer(_recorded), np.zeros(2), 0.0
    for width in (0.1, 1.0, 10.0):
        for _ in range(200):
            x = draw(state, x, width, seen)
            assert seen[0] == x


def test_a_point_without_density_around_it_stays():
    """A density that is one point in floating point: the slice shrinks onto it, and ends."""
    state = started(np.uint64(10))
    assert SLICERS["normal"](state, 1.0, 1.0, 1.0, 1e-200) == pytest.approx(1.0, abs=1e-12)
