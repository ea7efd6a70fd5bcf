"""The likelihood of partial rankings against enumeration of all orders, and its gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from dissensus.kernels.plackett_luce import log_likelihood, log_likelihood_and_gradient


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


@pytest.mark.parametrize("seed", range(4))
def test_equals_enumeration(seed):
    rng = np.random.default_rng([31, seed])
    for _ in range(100):
        strengths, blocks = random_case(rng)
        log_strength = np.log(strengths)
        expected = enumerated(strengths, blocks)
        found = log_likelihood(log_strength, *flat(blocks))
        assert found == pytest.approx(expected, rel=0, abs=1e-10), (strengths, blocks)
        same, _ = log_likelihood_and_gradient(log_strength, *flat(blocks))
        assert same == found


@pytest.mark.parametrize(
    "sizes", [(1,), (2,), (1, 2), (2, 1), (3,), (2, 2), (1, 1, 1), (5,), (2, 3)]
)
def test_all_outcomes_of_a_tie_pattern_sum_to_one(sizes):
    strengths = 10 ** np.random.default_rng(32).uniform(-2, 2, 5)
    cuts = np.cumsum((0, *sizes))
    outcomes = {
        tuple(tuple(sorted(order[a:b])) for a, b in itertools.pairwise(cuts))
        for order in itertools.permutations(range(5))
    }
    total = sum(np.exp(log_likelihood(np.log(strengths), *flat(blocks))) for blocks in outcomes)
    assert total == pytest.approx(1, rel=1e-13)


@pytest.mark.parametrize(
    "blocks", [[], [[0, 1, 2, 3]], [[2, 0, 1, 3]]], ids=["empty", "all tied", "any order"]
)
def test_what_says_nothing_has_probability_one(blocks):
    value, gradient = log_likelihood_and_gradient(np.array([-9.0, 0, 3, 800]), *flat(blocks))
    assert value == 0
    np.testing.assert_array_equal(gradient, 0)


def test_a_last_block_may_be_written_out():
    log_strength = np.random.default_rng(33).normal(0, 3, 6)
    short, long = ([[4], [0, 2]], [[4], [0, 2], [1, 3, 5]])
    one, one_gradient = log_likelihood_and_gradient(log_strength, *flat(short))
    other, other_gradient = log_likelihood_and_gradient(log_strength, *flat(long))
    assert one == pytest.approx(other, rel=1e-14)
    np.testing.assert_allclose(one_gradient, other_gradient, atol=1e-15)


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


@pytest.mark.parametrize("seed", range(20))
def test_gradients_sum_to_zero(seed):
    rng = np.random.default_rng([36, seed])
    strengths, blocks = random_case(rng, largest=40)
    _, gradient = log_likelihood_and_gradient(np.log(strengths), *flat(blocks))
    assert gradient.sum() == pytest.approx(0, abs=1e-12)


def test_extreme_strengths_stay_finite():
    log_strength = np.linspace(-700, 700, 30)
    for blocks in ([[0, 29], [1, 28]], [list(range(12)), [29]], [[29], list(range(10, 29)), [0]]):
        value, gradient = log_likelihood_and_gradient(log_strength, *flat(blocks))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert gradient.sum() == pytest.approx(0, abs=1e-10)


def test_five_hundred_labels_tied_are_no_trouble():
    log_strength = np.append(np.zeros(500), np.log(3.0))
    j = np.arange(1, 501)
    found = log_likelihood(log_strength, np.arange(500), np.array([500]))
    assert found == pytest.approx(-np.log1p(3 / j).sum(), rel=1e-13)
