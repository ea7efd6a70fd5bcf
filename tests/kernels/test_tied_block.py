"""One tied block before the rest: recursion, integral and exact rational sums agree."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from dissensus.kernels.plackett_luce import (
    LARGEST_RECURSION,
    by_integral,
    by_recursion,
    log_before_rest,
)


def both(kernel, log_ratio):
    share = np.full(len(log_ratio), np.nan)
    log_ratio = np.asarray(log_ratio, dtype=float)
    value = kernel(log_ratio, share)
    assert kernel(log_ratio, np.empty(0)) == value
    return value, share


def exact(groups):
    """P and each label's share in rational numbers, by inclusion and exclusion.

    `groups` are (ratio, how many labels of it). P = sum over subsets S of (-1)^|S| / (1 + r(S)):
    the terms cancel nearly all, which rational numbers do not mind.
    """
    total, slopes = Fraction(0), [Fraction(0)] * len(groups)
    for taken in itertools.product(*(range(size + 1) for _, size in groups)):
        sign = (-1) ** sum(taken)
        ways = math.prod(
            math.comb(size, some) for (_, size), some in zip(groups, taken, strict=True)
        )
        rest = 1 + sum(some * ratio for (ratio, _), some in zip(groups, taken, strict=True))
        total += Fraction(sign * ways) / rest
        for g, ((ratio, size), some) in enumerate(zip(groups, taken, strict=True)):
            slopes[g] -= Fraction(sign * ways * some, size) * ratio / rest**2
    return total, [slope / total for slope in slopes]


def log_of(fraction):
    """The logarithm of a fraction that may be below the smallest double."""
    shift = fraction.denominator.bit_length() - fraction.numerator.bit_length()
    return math.log(fraction * Fraction(2) ** shift) - shift * math.log(2)


@pytest.mark.parametrize("size", range(2, 11))
@pytest.mark.parametrize("spread", [0.1, 3.0, 23.0])
def test_recursion_is_the_integral(size, spread):
    rng = np.random.default_rng([size, int(spread)])
    for _ in range(10):
        log_ratio = rng.uniform(-spread, spread, size)
        one, one_share = both(by_recursion, log_ratio)
        other, other_share = both(by_integral, log_ratio)
        # A log of -200 is known to 3e-14 at best.
        assert other == pytest.approx(one, rel=1e-13, abs=1e-12)
        np.testing.assert_allclose(other_share, one_share, rtol=0, atol=1e-12)


@pytest.mark.parametrize("log_ratio", [-800.0, -40.0, -1.0, 0.0, 2.0, 40.0, 800.0])
def test_one_label_is_a_logistic(log_ratio):
    value, share = both(log_before_rest, [log_ratio])
    np.testing.assert_allclose(value, -np.logaddexp(0, -log_ratio), rtol=1e-15)
    np.testing.assert_allclose(share, np.exp(-np.logaddexp(0, log_ratio)), rtol=1e-13)
    value_2, share_2 = both(by_integral, [log_ratio])
    np.testing.assert_allclose(value_2, value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(share_2, share, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rest", [1e-5, 0.01, 1.0, 30.0, 1e5])
@pytest.mark.parametrize("size", [8, 30, 300])
def test_equal_strengths_have_a_closed_form(size, rest):
    # Labels of strength 1 against Z: the j-th last of them goes first with probability j/(j + Z).
    j = np.arange(1, size + 1)
    value, share = both(log_before_rest, np.full(size, -np.log(rest)))
    np.testing.assert_allclose(value, -np.log1p(rest / j).sum(), rtol=1e-13, atol=1e-12)
    # By log Z it falls by the sum of Z/(j + Z); the labels have the same between them.
    np.testing.assert_allclose(share, (rest / (j + rest)).sum() / size, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    "ratios",
    [
        (Fraction(1, 3), Fraction(1), Fraction(7, 2)),
        (Fraction(1, 10**5), Fraction(1), Fraction(10**5)),
        (Fraction(1, 10**10), Fraction(1, 10**5), Fraction(10**10)),
        (Fraction(10**3), Fraction(10**4), Fraction(10**10)),
        (Fraction(1, 10**10), Fraction(1, 10**9), Fraction(1, 10**8)),
    ],
)
@pytest.mark.parametrize("size", [3, 10])
def test_a_mixed_block_is_the_exact_rational_sum(ratios, size):
    probability, shares = exact([(ratio, size) for ratio in ratios])
    log_ratio = np.repeat([log_of(ratio) for ratio in ratios], size)
    value, share = both(log_before_rest, log_ratio)
    assert value == pytest.approx(log_of(probability), rel=1e-14, abs=1e-12)
    np.testing.assert_allclose(share, np.repeat([float(s) for s in shares], size), atol=1e-12)


def test_nine_unlike_labels_are_the_exact_rational_sum():
    rng = np.random.default_rng(5)
    for _ in range(3):
        ratios = [Fraction(float(r)).limit_denominator(99) for r in rng.uniform(0.02, 9, 9)]
        probability, shares = exact([(ratio, 1) for ratio in ratios])
        value, share = both(log_before_rest, [log_of(ratio) for ratio in ratios])
        assert value == pytest.approx(log_of(probability), rel=1e-14, abs=1e-12)
        np.testing.assert_allclose(share, [float(s) for s in shares], atol=1e-12)


def test_a_mixed_block_is_scipys_quadrature():
    log_ratio = np.random.default_rng(6).normal(0, 2, 30)

    def integrand(x):
        return np.exp(-x) * np.prod(-np.expm1(-np.exp(log_ratio) * x))

    expected, error = quad(integrand, 0, np.inf, epsabs=0, epsrel=1e-11, limit=500)
    assert error < 1e-10 * expected
    value, _ = both(log_before_rest, log_ratio)
    assert value == pytest.approx(np.log(expected), abs=1e-10)


@pytest.mark.parametrize("size", [LARGEST_RECURSION, LARGEST_RECURSION + 1])
@pytest.mark.parametrize("away", [-600.0, -300.0, 300.0, 600.0])
def test_far_strengths_stay_finite(size, away):
    log_ratio = np.linspace(-1, 1, size) + away
    value, share = both(log_before_rest, log_ratio)
    # Far below, x is nearly Gamma(n + 1): P = n! prod r. Far above, P is 1 and nothing moves it.
    expected = math.lgamma(size + 1) + log_ratio.sum() if away < 0 else 0.0
    assert value == pytest.approx(expected, rel=1e-14, abs=1e-12)
    assert value <= 0
    np.testing.assert_allclose(share, 1.0 if away < 0 else 0.0, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("size", [1, 4, 12])
def test_undefined_strengths_come_to_an_end(bad, size):
    log_ratio = np.zeros(size)
    log_ratio[0] = bad
    value = log_before_rest(log_ratio, np.empty(0))
    assert not value > 0


def test_an_empty_block_is_certain():
    assert log_before_rest(np.empty(0), np.empty(0)) == 0
