"""The step of maximum likelihood against Hunter's update, and against the exact gradient."""

from __future__ import annotations

import numpy as np
import pytest
from nested_rankings import nested, random_ranking

from dissensus.families.rankings.kernels.memory import in_logs, times_expected, times_ranked
from dissensus.kernels.plackett_luce import log_likelihood_and_gradient


def hunters_update(strength, rankings, closed):
    """The MM step for Plackett-Luce of Hunter (2004, section 5), literally, choice by choice.

    Its rankings are lists without ties; unlisted labels of an open one stand last, unordered.
    """
    wins, denominator = np.zeros(len(strength)), np.zeros(len(strength))
    for ranking in rankings:
        order = [block[0] for block in ranking]
        everyone = order if closed else [*order, *sorted(set(range(len(strength))) - set(order))]
        n_choices = min(len(order), len(everyone) - 1)
        for choice in range(n_choices):
            wins[order[choice]] += 1
            for cell in everyone[choice:]:
                denominator[cell] += 1 / sum(strength[label] for label in everyone[choice:])
    return wins / denominator


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_without_ties_a_step_is_hunters(seed, closed):
    rng = np.random.default_rng([51, seed])
    every = [[[cell] for cell in range(6)], [[cell] for cell in range(6)[::-1]]]  # no n is 0
    rankings = every + [random_ranking(rng, 6, tie=0.0) for _ in range(10)]
    data = nested((rankings, 6), closed=closed)
    u = rng.normal(0, 2, 6)
    expected = np.empty(6)
    times_expected(data, 0, u, expected)
    ours = np.exp(u) * times_ranked(data, 0) / expected
    np.testing.assert_allclose(ours, hunters_update(np.exp(u), rankings, closed), rtol=1e-13)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("way", [times_expected, in_logs])
def test_observed_less_expected_is_the_gradient(way, closed):
    """Both ways of adding up, with ties on both sides of where the block's integral begins."""
    rng = np.random.default_rng(52)
    rankings = [random_ranking(rng, 30, tie) for tie in (0, 0.3, 0.6, 0.95) for _ in range(5)]
    data = nested((rankings, 30), closed=closed)
    u = rng.normal(0, 3, 30)
    expected = np.zeros(30)
    value = way(data, 0, u, expected)
    sum_value, sum_gradient = 0.0, np.zeros(30)
    for ranking in rankings:
        codes = np.concatenate(ranking)
        ends = np.cumsum([len(block) for block in ranking])
        there = codes if closed else np.arange(30)
        mine = np.arange(len(codes)) if closed else codes
        actual, gradient = log_likelihood_and_gradient(u[there], mine, ends)
        sum_value += actual
        sum_gradient[there] += gradient
    assert value == pytest.approx(sum_value, rel=1e-12)
    np.testing.assert_allclose(times_ranked(data, 0) - expected, sum_gradient, atol=1e-11)


def test_strengths_too_far_apart_to_be_added_up():
    """Neighbours of a chain e^10 apart, over a range of e^990; each pair has a closed form."""
    pairs = [[[cell], [cell + 1]] for cell in range(99)]
    data = nested((pairs, 100), closed=True)
    expected = np.empty(100)
    value = times_expected(data, 0, -10.0 * np.arange(100), expected)
    assert value == pytest.approx(-99 * np.log1p(np.exp(-10)), rel=1e-10)
    wins, lost = 1 / (1 + np.exp(-10)), 1 / (1 + np.exp(10))
    np.testing.assert_allclose(expected[1:-1], wins + lost, rtol=1e-12)
    np.testing.assert_allclose(expected[[0, -1]], [wins, lost], rtol=1e-9)
