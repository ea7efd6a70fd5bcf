"""Exponentials and logarithms for many numbers at once, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.vectors import exp, log, unchecked


@unchecked
def exponentials(x, out):
    for t in range(len(x)):
        out[t] = exp(x[t])


@unchecked
def logarithms(x, out):
    for t in range(len(x)):
        out[t] = log(x[t])


def applied(to, x):
    out = np.empty(len(x))
    to(x, out)
    return out


@pytest.mark.parametrize("reach", [1e-8, 1.0, 30.0, 700.0])
def test_they_are_numpys(reach):
    x = np.random.default_rng(1).uniform(-reach, reach, 20_003)
    np.testing.assert_allclose(applied(exponentials, x), np.exp(x), rtol=3e-16)
    there = np.exp(x)
    np.testing.assert_allclose(applied(logarithms, there), np.log(there), rtol=5e-16)


def test_what_lies_beyond_is_the_nearest_and_nothing_stays_nothing():
    x = np.array([-np.inf, -1e300, np.inf, np.nan, 0.0, -0.0])
    expected = [np.exp(-708.0)] * 2 + [np.exp(709.0), np.nan, 1.0, 1.0]
    np.testing.assert_allclose(applied(exponentials, x), expected, rtol=3e-16)
    assert applied(logarithms, np.array([1.0]))[0] == 0.0
