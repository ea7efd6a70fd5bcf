"""Partial rankings against enumeration, and one block against exact sums.

- The likelihood of partial rankings against enumeration of all orders, and its gradient.
- Blocks in plain numbers, against the recursion in logarithms, which has its own tests.
- One tied block before the rest: recursion, integral and exact rational sums agree.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from dissensus.kernels.plackett_luce import (
    LARGEST_RECURSION,
    RATIO,
    by_integral,
    by_recursion,
    log_before_rest,
    log_block,
    log_likelihood,
    log_likelihood_and_gradient,
    table_for,
)


def flat(blocks):
    codes = np.array([label for block in blocks for label in block], dtype=np.int64)
    return codes, np.cumsum([len(block) for block in blocks], dtype=np.int64)


def enumerated(strengths, blocks):
    """Log of the summed probabilities of all full orders that agree with the blocks."""
    strengths = np.asarray(strengths)
    listed = [label for block in blocks for label in block]
    rest = [label for label in range(len(strengths)) if label not in listed]
    parts = [list(itertools.permutations(part)) for part in [*blocks, rest]]
    orders = np.array([sum(order, ()) for order in itertools.product(*parts)], dtype=int)
    chosen = strengths[orders]
    left = np.cumsum(chosen[:, ::-1], axis=1)[:, ::-1]
    return logsumexp((np.log(chosen) - np.log(left)).sum(axis=1))


def random_case(rng, largest=7):
    n_labels = int(rng.integers(1, largest + 1))
    order = rng.permutation(n_labels)[: rng.integers(0, n_labels + 1)]
    if rng.random() < 0.2:
        order = rng.permutation(n_labels)  # a complete last block
    blocks: list[list[int]] = []
    for label in order.tolist():
        if blocks and rng.random() < 0.5:
            blocks[-1].append(label)
        else:
            blocks.append([label])
    return 10 ** rng.uniform(-5, 5, n_labels), blocks


@pytest.mark.parametrize("seed", range(2))
def test_equals_enumeration(seed):
    rng = np.random.default_rng([31, seed])
    for _ in range(100):
        strengths, blocks = random_case(rng)
        log_strength = np.log(strengths)
        expected = enumerated(strengths, blocks)
        actual = log_likelihood(log_strength, *flat(blocks))
        assert actual == pytest.approx(expected, rel=0, abs=1e-10), (strengths, blocks)
        same, _ = log_likelihood_and_gradient(log_strength, *flat(blocks))
        assert same == actual


@pytest.mark.parametrize(
    "blocks", [[], [[0, 1, 2, 3]], [[2, 0, 1, 3]]], ids=["empty", "all tied", "any order"]
)
def test_what_says_nothing_has_probability_one(blocks):
    value, gradient = log_likelihood_and_gradient(np.array([-9.0, 0, 3, 800]), *flat(blocks))
    assert value == 0
    np.testing.assert_array_equal(gradient, 0)


def large_case(rng):
    """Blocks on both sides of the threshold, 20 labels unlisted."""
    order = rng.permutation(60).tolist()
    return rng.normal(0, 3, 60), [order[:1], order[1:13], order[13:16], order[16:40]]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [random_case, large_case])
def test_gradient_is_that_of_finite_differences(seed, make):
    rng = np.random.default_rng([34, seed])
    log_strength, blocks = make(rng)
    if make is random_case:
        log_strength = np.log(log_strength)
    _, gradient = log_likelihood_and_gradient(log_strength, *flat(blocks))
    step, differences = 1e-4, np.empty(len(log_strength))
    for label in range(len(log_strength)):
        ends = []
        # Five points: what is left out is of order step^4, rounding 1e-15 * |log p| / step.
        for times in (-2, -1, 1, 2):
            moved = log_strength.copy()
            moved[label] += times * step
            ends.append(log_likelihood(moved, *flat(blocks)))
        differences[label] = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
    np.testing.assert_allclose(gradient, differences, rtol=1e-8, atol=2e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shift", [-690.0, -30.0, 30.0, 690.0])
def test_the_scale_does_not_matter(seed, shift):
    rng = np.random.default_rng([35, seed])
    log_strength, blocks = large_case(rng)
    value, gradient = log_likelihood_and_gradient(log_strength, *flat(blocks))
    moved, moved_gradient = log_likelihood_and_gradient(log_strength + shift, *flat(blocks))
    assert moved == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(moved_gradient, gradient, atol=1e-10)
    assert gradient.sum() == pytest.approx(0, abs=1e-12)


def test_extreme_strengths_stay_finite():
    log_strength = np.linspace(-700, 700, 30)
    for blocks in ([[0, 29], [1, 28]], [list(range(12)), [29]], [[29], list(range(10, 29)), [0]]):
        value, gradient = log_likelihood_and_gradient(log_strength, *flat(blocks))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert gradient.sum() == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("spread", [1.0, 30.0, 400.0])
@pytest.mark.parametrize("n", [2, 3, 4, 6, 7, 10])
def test_equals_the_recursion_in_logarithms(n, spread):
    rng, table = np.random.default_rng(n), table_for(n)
    for _ in range(20):
        log_ratio = rng.normal(0, spread, n)
        table[RATIO, :n] = log_ratio
        want = log_before_rest(log_ratio, np.empty(0))
        assert log_block(table, n) == pytest.approx(want, rel=1e-11, abs=1e-12)


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
        actual, actual_share = both(by_recursion, log_ratio)
        expected, expected_share = both(by_integral, log_ratio)
        # A log of -200 is known to 3e-14 at best.
        assert actual == pytest.approx(expected, rel=1e-13, abs=1e-12)
        np.testing.assert_allclose(actual_share, expected_share, rtol=0, atol=1e-12)


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
