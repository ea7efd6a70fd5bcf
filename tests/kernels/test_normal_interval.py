"""Probabilities of intervals and their slopes, against SciPy and exact arithmetic."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from dissensus.kernels.special import interval

INF = math.inf


def by_quadrature(low, high):
    """Return log P by the density over its largest value, which has no tail to be lost in."""
    top = min(max(0.0, low), high)
    reach = min(high, top + 40 / max(1.0, abs(top))), max(low, top - 40 / max(1.0, abs(top)))
    area, _ = integrate.quad(
        lambda x: math.exp(-0.5 * (x - top) * (x + top)), reach[1], reach[0], epsabs=0,
        epsrel=1e-12, limit=200,
    )  # fmt: skip
    return math.log(area) + stats.norm.logpdf(top)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-1.0, 1.0), (0.0, 2.0), (-0.3, -0.1), (1.5, 1.5001), (2.0, 9.0), (-12.0, -9.0),
        (20.0, 20.5), (-24.9, -24.0), (24.99, 25.2), (-26.0, -25.01), (25.0, 25.01), (30.0, 31.0),
        (-60.0, -40.0), (100.0, 100.1), (-1000.0, -999.0), (-0.001, 0.002),
        (-7.0, 9.0), (-25.5, 3.0), (-3.0, 30.0),
    ],
)  # fmt: skip
def test_equals_quadrature(low, high):
    assert interval(low, high)[0] == pytest.approx(by_quadrature(low, high), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("x", [-5000.0, -200.0, -40.0, -25.5, -24.5, -10.0, -1.0, 0.0, 2.0, 8.0])
def test_half_lines_are_the_distribution_function(x):
    want = special.log_ndtr(x)
    for actual in (interval(-INF, x), interval(-x, INF)):
        assert actual[0] == pytest.approx(want, rel=1e-12, abs=1e-15)
    ratio = math.exp(stats.norm.logpdf(x) - want)
    digits = 1e-9 + 1e-15 * x * x  # of the logarithms whose difference the ratio is
    assert interval(-INF, x)[1:] == (0.0, pytest.approx(ratio, rel=digits))
    assert interval(-x, INF)[1:] == (pytest.approx(ratio, rel=digits), 0.0)


def test_everything_is_certain():
    assert interval(-INF, INF) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("middle", [0.0, 0.7, -6.0, 15.0, -24.99, 25.01, -30.0, 60.0])
@pytest.mark.parametrize("width", [1e-3, 1e-4, 1.1e-5, 0.9e-5, 1e-6, 1e-8, 1e-11])
def test_narrow_gaps(middle, width):
    """Of a series in the width about the middle of what floating point makes of the ends."""
    low, high = middle - width / 2, middle + width / 2
    w, m = high - low, (low + high) / 2
    log_p = math.log(w) + stats.norm.logpdf(m) + math.log1p(w**2 * (m**2 - 1) / 24)
    assert interval(low, high)[0] == pytest.approx(log_p, rel=1e-9, abs=1e-8)
    for at, end in zip(interval(low, high)[1:], (low, high), strict=True):
        assert at == pytest.approx(math.exp(stats.norm.logpdf(end) - log_p), rel=1e-7)


@pytest.mark.parametrize("x", [0.0, 3.0, -24.0, -30.0, 30.0, 1e8, INF, -INF])
def test_a_gap_without_width_has_no_probability(x):
    assert interval(x, x) == (-INF, 0.0, 0.0)


@pytest.mark.long
@given(st.floats(-60, 60), st.floats(1e-4, 20))
def test_slopes_are_those_of_the_logarithm(low, width):
    """By central differences, whose error is about a millionth of a slope."""
    high = low + width
    if high == low:
        return
    log_p, at_low, at_high = interval(low, high)
    step = 1e-5 * min(width, 1 / (1 + abs(low)), 1 / (1 + abs(high)))
    up = (interval(low, high + step)[0] - interval(low, high - step)[0]) / (2 * step)
    down = (interval(low + step, high)[0] - interval(low - step, high)[0]) / (2 * step)
    rounding = 1e-13 * (1 + abs(log_p)) / step
    assert at_high == pytest.approx(up, rel=1e-5, abs=rounding)
    assert -at_low == pytest.approx(down, rel=1e-5, abs=rounding)


@given(st.floats(-300, 300), st.floats(0, 50), st.floats(0, 50))
def test_what_holds_another_is_more_probable(low, width, more):
    inner = interval(low, low + width)[0]
    assert interval(low, low + width + more)[0] >= inner - 1e-9 * (1 + abs(inner))
    assert interval(low - more, low + width)[0] >= inner - 1e-9 * (1 + abs(inner))


@given(st.floats(-300, 300), st.floats(0, 50))
def test_it_is_the_same_in_the_mirror(low, width):
    high = low + width
    log_p, at_low, at_high = interval(low, high)
    assert interval(-high, -low) == (log_p, at_high, at_low)
