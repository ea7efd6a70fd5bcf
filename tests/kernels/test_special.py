"""Special functions, against SciPy and quadrature.

- Joint normal probabilities against Owen's T function, closed forms, and 30-digit values.
- Sums by logarithms, far past the range of floating-point numbers.
- The mixture against the logistic distribution that it is to be.
- Rising factorials, against sums of logarithms.
- Small Cholesky factors, against NumPy.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, ndtr, owens_t

from dissensus.kernels.special import (
    backwards,
    excess,
    factorised,
    forwards,
    inverted,
    log_plus,
    log_rising,
    log_total,
    logistic_mixture,
)

bounds = st.floats(-6, 6)
correlations = st.one_of(
    st.floats(-1, 1),
    st.floats(-14, -1).map(lambda x: 1 - 10**x),
    st.floats(-14, -1).map(lambda x: 10**x - 1),
)
# How far two bounds are apart: nothing, or by orders of magnitude.
apart = st.one_of(st.just(0.0), st.floats(-12, 1).map(lambda x: 10**x))
some = settings(deadline=None, max_examples=50)


def by_owens_t(h, k, r):
    """Owen (1956), "Tables for computing bivariate normal probabilities", Eq. 2.1."""
    if h == 0 and k == 0:
        return math.asin(r) / (2 * math.pi)
    root = math.sqrt((1 - r) * (1 + r))
    total = 0.5 * (ndtr(h) + ndtr(k))
    for a, b in ((h, k), (k, h)):
        with np.errstate(divide="ignore"):
            slope = np.divide(b - r * a, a * root) if a else math.copysign(np.inf, b)
        total -= owens_t(a, slope)
    total -= 0.5 * (h * k < 0 or (h * k == 0 and h + k < 0))
    return float(total - ndtr(h) * ndtr(k))


@given(bounds, bounds, st.floats(-0.999, 0.999))
@some
def test_is_owens_formula(h, k, r):
    h, k = (0.0 if abs(x) < 1e-5 else x for x in (h, k))
    assert excess(h, k, r) == pytest.approx(by_owens_t(h, k, r), abs=1e-12)


@pytest.mark.parametrize(
    ("h", "k", "r", "expected"),
    [
        # By mpmath 1.4.1 with 30 digits: the integral over asin(r), split where h - k is felt.
        (0.5, 0.5001, 0.99999999, 0.2133107540360368),
        (0.0, 1e-3, 0.999999, 0.24972088356479877),
        (-1.0, -1.02, 0.9999, 0.12933247656876956),
        (2.5, 2.0, 0.95, 0.005833659092355331),
        (-8.0, -8.0, 0.3, 1.7506645870215227e-24),
        (-8.0, -8.0, 0.9999, 5.936066284283374e-16),
        (-8.0, -7.5, 0.95, 4.606475387485614e-16),
        (1.0, -1.5, -0.97, -0.055869152966099435),
    ],
)
def test_thirty_digit_values(h, k, r, expected):
    assert excess(h, k, r) == pytest.approx(expected, rel=1e-10)


@given(bounds, apart)
@some
def test_at_correlation_one_it_is_one_number(h, gap):
    k = h + gap
    assert excess(h, k, 1.0) == pytest.approx(ndtr(h) * ndtr(-k), rel=1e-9, abs=1e-25)
    both = max(0.0, ndtr(h) - ndtr(-k)) if h + k > 0 else 0.0
    assert excess(h, k, -1.0) == pytest.approx(both - ndtr(h) * ndtr(k), abs=1e-10)


@given(bounds, bounds, correlations)
@some
def test_symmetries(h, k, r):
    expected = excess(h, k, r)
    assert excess(k, h, r) == pytest.approx(expected, rel=1e-12)
    assert excess(-h, -k, r) == pytest.approx(expected, rel=1e-12)
    assert excess(h, -k, -r) == pytest.approx(-expected, rel=1e-12)


@given(bounds, apart, correlations, correlations)
@some
def test_grows_with_the_correlation(h, gap, r, s):
    low, high = sorted((r, s))
    assert excess(h, h + gap, low) <= excess(h, h + gap, high) + 1e-12


@pytest.mark.parametrize("bad", [(math.nan, 0, 0.5), (0, math.nan, 0.5), (0, 0, math.nan)])
def test_what_is_undefined_stays_so(bad):
    assert math.isnan(excess(*bad))
    assert excess(0.0, 0.0, 1.0 + 1e-15) == pytest.approx(0.25)  # by rounding only


@pytest.mark.parametrize("shift", [-3000.0, 0.0, 3000.0])
def test_sums_do_not_depend_on_the_scale(shift):
    logs = np.log([1.0, 2.5, 0.1, 1e-30])
    assert log_total(logs + shift) - shift == pytest.approx(np.log(3.6))
    assert log_plus(logs[0] + shift, logs[1] + shift) - shift == pytest.approx(np.log(3.5))


def test_nothing_is_minus_infinity():
    assert log_plus(-np.inf, -np.inf) == log_total(np.empty(0)) == -np.inf
    assert log_total(np.array([-np.inf, -np.inf])) == -np.inf
    assert log_plus(-np.inf, 2.0) == log_plus(2.0, -np.inf) == 2.0


def distribution(x):
    weights, variances = logistic_mixture()
    return ndtr(x[:, None] / np.sqrt(variances)) @ weights


def test_is_the_logistic_distribution():
    x = np.linspace(-45, 45, 2001)
    np.testing.assert_allclose(distribution(x), expit(x), rtol=0, atol=2e-15)
    near = x[abs(x) < 25]
    np.testing.assert_allclose(distribution(near), expit(near), rtol=2e-6)


def test_moments():
    weights, variances = logistic_mixture()
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    assert weights @ variances == pytest.approx(np.pi**2 / 3, rel=1e-13)
    # The fourth moment of the logistic distribution is 7 pi^4 / 15, 3 V^2 that of a normal one.
    assert 3 * weights @ variances**2 == pytest.approx(7 * np.pi**4 / 15, rel=1e-12)


def test_is_one_table_that_nobody_can_change():
    assert logistic_mixture() is logistic_mixture()
    with pytest.raises(ValueError, match="read-only"):
        logistic_mixture()[0][0] = 1


@given(st.floats(1e-300, 1e6), st.integers(0, 100))
def test_it_is_a_sum_of_logarithms(a, n):
    want = np.log(a + np.arange(n)).sum()
    assert log_rising(a, float(n)) == pytest.approx(want, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("a", [9.9e7, 1.01e8, 1e15])
def test_few_factors_are_exact_however_large(a):
    want = np.log(a + np.arange(32)).sum()
    assert log_rising(a, 32.0) == pytest.approx(want, rel=1e-14)


def positive(n, seed=1):
    a = np.random.default_rng(seed).normal(size=(n, n + 1))
    return a @ a.T


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_all_equal_numpy(n):
    a, v = positive(n), np.random.default_rng(2).normal(size=n)
    factor, inverse = a.copy(), np.empty((n, n))
    assert factorised(factor, n)
    root = np.linalg.cholesky(a)
    np.testing.assert_allclose(np.tril(factor), root, rtol=1e-10)
    down, up = v.copy(), v.copy()
    forwards(factor, n, down)
    backwards(factor, n, up)
    np.testing.assert_allclose(down, np.linalg.solve(root, v), rtol=1e-9)
    np.testing.assert_allclose(up, np.linalg.solve(root.T, v), rtol=1e-9)
    log_det = inverted(factor, n, inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=1e-8, atol=1e-10)
    assert log_det == pytest.approx(np.linalg.slogdet(a)[1], rel=1e-10)


def test_rows_beyond_the_leading_ones_are_left_alone():
    a, inverse = positive(4), np.full((4, 4), 7.0)
    factor = a.copy()
    assert factorised(factor, 2)
    np.testing.assert_allclose(np.tril(factor[:2, :2]), np.linalg.cholesky(a[:2, :2]))
    assert (factor[2:] == a[2:]).all()
    inverted(factor, 2, inverse)
    np.testing.assert_allclose(inverse[:2, :2], np.linalg.inv(a[:2, :2]), rtol=1e-9)
    assert (inverse[2:] == 7.0).all()


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.0]], [[-1.0]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]],
        # Of three correlations, each possible, that do not go together.
        [[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]],
        [[np.nan]],
    ],
)  # fmt: skip
def test_what_is_not_positive_definite_is_refused(matrix):
    a = np.array(matrix)
    assert not factorised(a, len(a))


def test_scales_far_apart_lose_nothing():
    scale = np.array([1e-120, 1.0, 1e120])
    a = positive(3) * scale * scale[:, None]
    factor = a.copy()
    assert factorised(factor, 3)
    root = np.linalg.cholesky(positive(3)) * scale[:, None]
    np.testing.assert_allclose(np.tril(factor), root, rtol=1e-10)
