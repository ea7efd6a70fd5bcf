"""What sweeps remember: against the EM algorithm's matrix, and against sweeps themselves."""

from __future__ import annotations

import numpy as np
import pytest
from nested_rankings import nested, random_ranking

from dissensus.families.rankings.kernels.layout import ranked_items
from dissensus.families.rankings.kernels.memory import memory, times_expected, times_ranked
from dissensus.families.rankings.kernels.times import sample_by_times


def em_rate(rankings, shape, power):
    """Return the largest eigenvalue of the EM algorithm's derivative where it stands still."""
    got = shape + power * times_ranked(rankings, 0)

    def step(u):
        expected = np.empty(len(u))
        times_expected(rankings, 0, u, expected)
        share = np.exp(u - np.logaddexp.reduce(u))
        out = u + np.log(got / (shape.sum() * share + power * expected))
        return out - np.logaddexp.reduce(out)

    u = np.log(got)
    for _ in range(5000):
        u = step(u)
    h = 1e-5 * np.eye(len(u))
    matrix = np.array([(step(u + move) - step(u - move)) / 2e-5 for move in h]).T
    return np.abs(np.linalg.eigvals(matrix)).max()


@pytest.mark.unit(9, long=9)
@pytest.mark.parametrize("tie", [0.0, 0.4])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_is_the_rate_of_the_em_algorithm(seed, power, closed, tie):
    rng = np.random.default_rng([61, seed])
    n = int(rng.integers(3, 9))
    rankings = nested(([random_ranking(rng, n, tie=tie) for _ in range(5)], n), closed=closed)
    shape = rng.gamma(2.0, 0.3, n) + 0.05
    want = em_rate(rankings, shape, power)
    assert want - 0.12 < memory(rankings, 0, shape, power) < want + 0.002


def swept(rankings, shape, power, n):
    named = np.array([len(shape)])
    items = ranked_items(rankings, shape, np.ones(len(rankings.closed)), power, named)
    out = np.empty((n, 1, len(shape)))
    state, cells = np.full(1, 5, dtype=np.uint64), np.array([0, len(shape)])
    sample_by_times(items, np.array([0]), state, named, 100, np.asarray(shape)[None], cells, out)
    return out[:, 0]


@pytest.mark.unit(0, long=2)
@pytest.mark.long
@pytest.mark.parametrize(
    "lists",
    [
        [[[0], [1]], [[1], [2]], [[2], [0], [3]]],
        [[[0], [1], [2]]] * 2,
        [[[0, 1], [2]], [[1], [0]]],
        [[[0, 1, 2]], [[3], [0]]],
        [[[0], [1], [2], [3]]] * 4,
    ],
)  # fmt: skip
def test_is_the_correlation_of_one_sweep_with_the_next(lists):
    """Of that direction in which it is largest: much is known, so that draws are near the mode."""
    rankings, shape, power = nested((lists, 4)), np.full(4, 1.0), 40.0
    u = np.log(swept(rankings, shape, power, 60_000))
    u = (u - u.mean(axis=1, keepdims=True))[:, :3]
    u -= u.mean(axis=0)
    at_once, later = u.T @ u, u[:-1].T @ u[1:]
    want = np.linalg.eigvals(np.linalg.solve(at_once, (later + later.T) / 2)).real.max()
    assert em_rate(rankings, shape, power) == pytest.approx(want, abs=0.03)


def test_first_choices_are_forgotten_at_once():
    """All choose from the same labels: strengths are a Dirichlet's, whatever the times were."""
    assert memory(nested(([[[0]], [[0]], [[1]]], 4)), 0, np.full(4, 0.7), 1.0) == 0.0


def test_of_no_rankings_nothing_is_remembered():
    assert memory(nested(([], 3)), 0, np.ones(3), 1.0) == 0.0
