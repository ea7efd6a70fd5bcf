"""Joint normal probabilities against Owen's T function, closed forms, and 30-digit values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, owens_t

from dissensus.kernels.special import excess

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
    for one, other in ((h, k), (k, h)):
        with np.errstate(divide="ignore"):
            slope = np.divide(other - r * one, one * root) if one else math.copysign(np.inf, other)
        total -= owens_t(one, slope)
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


@given(st.floats(-1, 1))
@some
def test_at_the_mean_it_is_an_arc_sine(r):
    assert excess(0.0, 0.0, r) == pytest.approx(math.asin(r) / (2 * math.pi), abs=1e-14)


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
    one = excess(h, k, r)
    assert excess(k, h, r) == pytest.approx(one, rel=1e-12)
    assert excess(-h, -k, r) == pytest.approx(one, rel=1e-12)
    assert excess(h, -k, -r) == pytest.approx(-one, rel=1e-12)


@given(bounds, apart, correlations, correlations)
@some
def test_grows_with_the_correlation(h, gap, r, s):
    low, high = sorted((r, s))
    assert excess(h, h + gap, low) <= excess(h, h + gap, high) + 1e-12


@pytest.mark.parametrize("bad", [(math.nan, 0, 0.5), (0, math.nan, 0.5), (0, 0, math.nan)])
def test_what_is_undefined_stays_so(bad):
    assert math.isnan(excess(*bad))
    assert excess(0.0, 0.0, 1.0 + 1e-15) == pytest.approx(0.25)  # by rounding only
