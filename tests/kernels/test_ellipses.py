"""Numbers of strata, held against integration over a grid of their standard deviation."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.kernels.ellipses import (
    Strata,
    around_likelihood,
    draw_strata,
    sliced,
)


def by_grid(data, noise):
    """Posterior means and variances of log sd, the mean, and each stratum's number.

    Data y_g ~ Normal(w_g, noise), w_g ~ Normal(mu, sd), mu ~ Normal(0, 1), log sd ~ Normal(0,
    1): given sd, all is normal.
    """
    grid, g = np.linspace(-6, 4, 801), len(data)
    logs, means, squares = [], [], []
    for x in grid:
        prior = np.full((g + 1, g + 1), 1.0)  # of mu, then of each w
        prior[1:, 1:] += np.exp(2 * x) * np.eye(g)
        seen = prior[1:, 1:] + noise**2 * np.eye(g)
        gain = np.linalg.solve(seen, prior[1:]).T
        mean = gain @ data
        variance = np.diag(prior - gain @ prior[1:])
        value = -0.5 * data @ np.linalg.solve(seen, data) - 0.5 * np.linalg.slogdet(seen)[1]
        logs.append(value - 0.5 * (x - 0.0) ** 2)
        means.append(np.r_[x, mean])
        squares.append(np.r_[0.0, variance] + means[-1] ** 2)
    mass = np.exp(np.array(logs) - max(logs))
    mass /= mass.sum()
    first = mass @ np.array(means)
    return first, np.sqrt(mass @ np.array(squares) - first**2)


@pytest.mark.unit(0, long="all")
@pytest.mark.parametrize(
    ("data", "noise"),
    [([0.3, 0.2, 0.25, 0.4], 0.5), ([3.0, -2.0, 0.5, 1.0], 0.1), ([2.0, -2.0], 1.0)],
    ids=["alike", "apart", "two"],
)
def test_strata_are_drawn_as_integration_says(data, noise):
    data = np.array(data)

    def log_likelihood(x):
        return -0.5 * ((data - x) / noise) ** 2

    where = Strata(np.zeros(1), np.ones(1), np.zeros(1, dtype=np.int64), len(data))
    around = around_likelihood(log_likelihood, where)
    drawn = draw_strata(log_likelihood, where, around, 6000, 200, 11)
    mean, sd = by_grid(data, noise)
    result = drawn[:, [1, 0, *range(2, 2 + len(data))]]
    np.testing.assert_allclose(result.mean(axis=0), mean, atol=0.08 * sd.max())
    np.testing.assert_allclose(result.std(axis=0), sd, rtol=0.08)


def test_the_log_density_stands_behind_each_draw_and_shared_numbers_are_told_first():
    """A likelihood of one shared number and two weights of each of two strata."""

    def log_likelihood(x):
        assert x.shape == (5,)
        away = x - np.array([9.0, 1.0, 2.0, 3.0, 4.0])
        shared = np.array([0.5, 0.5]) * away[0] ** 2  # a part of each stratum
        return -0.5 * (shared + np.sum(away[1:].reshape(2, 2) ** 2, axis=1))

    where = Strata(np.zeros(3), np.array([5.0, 2.0, 2.0]), np.array([0, 1]), 2)
    drawn = draw_strata(log_likelihood, where, around_likelihood(log_likelihood, where), 300, 50, 3)
    np.testing.assert_allclose(drawn.mean(axis=0)[0], 9 * 25 / 26, atol=0.2)
    shared, mean, log_sd, own = drawn[:, :1], drawn[:, 1:3], drawn[:, 3:5], drawn[:, 5:9]
    apart = (own.reshape(-1, 2, 2) - mean[:, None]) / np.exp(log_sd)[:, None]
    wanted = (
        -0.5 * (shared[:, 0] / 5) ** 2 - 0.5 * np.sum((mean / 2) ** 2, axis=1)
        - 0.5 * np.sum(apart**2, axis=(1, 2)) - 2 * log_sd.sum(axis=1)
        - 0.5 * np.sum((log_sd - 0.0) ** 2, axis=1)
        + [log_likelihood(np.r_[a, b]).sum() for a, b in zip(shared, own, strict=True)]
    )  # fmt: skip
    np.testing.assert_allclose(drawn[:, -1], wanted)


def test_slices_step_out_to_where_the_density_is():
    rng, x, kept = np.random.default_rng(1), 9.0, []
    for _ in range(4000):
        x = sliced(rng, x, lambda x: -0.5 * (x / 3) ** 2)
        kept.append(x)
    assert np.mean(kept) == pytest.approx(0.0, abs=0.3)
    assert np.std(kept) == pytest.approx(3.0, rel=0.06)
