"""Log strengths given exposures, against quadrature on a grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.families.rankings.kernels.times import draw_log_strength, draw_tail
from dissensus.kernels.random import started
from dissensus.kernels.slices import tangents

CASES = [  # A, log exposures, sharpness
    (3.0, [], []),
    (0.5, [1.0], [1.0]),
    (2.0, [1.0], [0.5]),
    (40.0, [2.0], [3.0]),
    (0.3, [4.0], [2.0]),
    (1 / 419, [2.0], [0.5]),  # its left tail reaches thousands of units down
    (1 / 419, [-3.0], [2.0]),
    (1e-4, [600.0], [0.3]),
    (5.0, [700.0, -20.0, 3.0], [2.0, 0.5, 1.0]),
    (0.02, [1.0, 2.0], [0.01, 4.0]),
]


def cdf(a, log_exposure, sharpness, at):
    """Integrate exp f on a grid as fine as the distance from the sharp end on the right allows."""
    upper = min([3.0, *((6 - e) / g for e, g in zip(log_exposure, sharpness, strict=True))])
    u = upper - np.geomspace(60 / a + 60, 1e-4, 400_001)
    log = a * u - np.exp(u)
    for e, g in zip(log_exposure, sharpness, strict=True):
        log -= np.exp(np.minimum(e + g * u, 700))
    p = np.exp(log - log.max())
    mass = np.concatenate([[0], np.cumsum((p[1:] + p[:-1]) / 2 * np.diff(u))])
    return np.interp(at, u, mass / mass[-1])


@pytest.mark.parametrize(("a", "log_exposure", "sharpness"), CASES)
def test_one_has_its_density(a, log_exposure, sharpness):
    state, lines, n = started(3), tangents(), len(sharpness)
    terms = np.array([log_exposure, sharpness]).reshape(2, n)
    draws = np.array([draw_log_strength(state, a, terms, n, lines) for _ in range(4000)])
    p = stats.kstest(cdf(a, log_exposure, sharpness, draws), "uniform").pvalue
    assert p > 1e-3


@pytest.mark.parametrize(("a", "log_exposure", "sharpness"), CASES[2:])
def test_many_have_it_too(a, log_exposure, sharpness):
    state, lines, n = started(4), tangents(), len(sharpness)
    terms, out = np.array([log_exposure, sharpness]), np.empty((20, 200))
    for row in out:
        assert draw_tail(state, a, terms, n, lines, np.inf, row) == len(row)
    result = cdf(a, log_exposure, sharpness, out.ravel())
    assert stats.kstest(result, "uniform").pvalue > 1e-3
    largest = result.reshape(out.shape).max(axis=1) ** out.shape[1]
    assert stats.kstest(largest, "uniform").pvalue > 1e-3


def test_those_left_out_are_small_and_the_others_as_they_should_be():
    a, terms, lines = 1 / 419, np.array([[2.0], [0.5]]), tangents()
    some, every = np.empty((3000, 414)), np.empty((300, 414))
    top = np.empty(len(some))
    for i, row in enumerate(some):
        n = draw_tail(started(i), a, terms, 1, lines, 90.0, row)
        assert 0 < n < 414
        top[i] = row[:n].max()
        row[n:] = -np.inf
    for i, row in enumerate(every):
        draw_tail(started(10_000 + i), a, terms, 1, lines, np.inf, row)
    assert stats.kstest(cdf(a, [2.0], [0.5], top) ** 414, "uniform").pvalue > 1e-3
    halves = [np.exp(part / 2).sum(axis=1) for part in (some, every)]
    assert stats.ks_2samp(*halves).pvalue > 1e-3
    near = [(part > part.max(axis=1, keepdims=True) - 60).sum(axis=1) for part in (some, every)]
    assert stats.ks_2samp(*near).pvalue > 1e-3
