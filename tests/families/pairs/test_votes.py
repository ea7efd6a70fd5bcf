"""Log probabilities of votes, many at a time, and their slopes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from dissensus.families.pairs.kernels.votes import NEVER, lines, log_votes, write_slopes


def by_hand(eta, tie, side):
    """Davidson's log probabilities, with SciPy."""
    logits = np.stack([eta / 2, tie, -eta / 2])
    chosen = np.select([side > 0, side == 0], logits[:2], logits[2])
    return chosen - logsumexp(logits, axis=0)


@pytest.fixture(params=[1.0, 30.0, 600.0])
def votes(request):
    """Votes with probabilities near 0 and 1, whose exponentials are no numbers in the last case."""
    rng = np.random.default_rng(1)
    n, reach = 2003, request.param
    eta, tie = rng.normal(0.0, reach, n), rng.normal(0.0, reach / 6.0, n)
    return eta, tie, rng.choice([-1.0, 0.0, 1.0], n), rng.choice([1.0, 1.0, 3.0], n)


def test_log_probabilities_are_davidsons(votes):
    eta, tie, side, weight = votes
    out = np.empty(len(eta))
    total = log_votes(len(eta), eta, tie, side, weight, out)
    expected = by_hand(eta, tie, side)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    assert total == pytest.approx(np.dot(weight, expected), rel=1e-12)


@pytest.mark.parametrize("n", range(6))
def test_a_sum_has_every_vote(n):
    """Also those that are left over of four at a time."""
    side, weight, out = np.ones(n), np.arange(1.0, n + 1), np.empty(n)
    total = log_votes(n, np.zeros(n), np.full(n, NEVER), side, weight, out)
    assert total == pytest.approx(weight.sum() * np.log(0.5))


def test_slopes_are_differences_of_log_probabilities(votes):
    eta, tie, side, weight = (values[:200] for values in votes)
    room = lines(200)
    write_slopes(
        200,
        eta,
        tie,
        side,
        weight,
        room.first,
        room.first_tie,
        room.second,
        room.second_tie,
        room.cross,
    )
    step = 1e-4

    def difference(of, *by):
        """Central differences, one after the other."""
        if not by:
            return of(0.0, 0.0)
        at = (step, 0.0) if by[0] == "eta" else (0.0, step)
        ahead = difference(lambda a, b: of(a + at[0], b + at[1]), *by[1:])
        behind = difference(lambda a, b: of(a - at[0], b - at[1]), *by[1:])
        return (ahead - behind) / (2 * step)

    def log_density(a, b):
        return weight * by_hand(eta + a, tie + b, side)

    near = np.abs(eta) < 100  # differences of larger numbers have no digits left
    for found, sign, by in (
        (room.first, 1, ["eta"]), (room.first_tie, 1, ["tie"]),
        (room.second, -1, ["eta", "eta"]), (room.second_tie, -1, ["tie", "tie"]),
        (room.cross, -1, ["eta", "tie"]),
    ):  # fmt: skip
        expected = sign * difference(log_density, *by)
        np.testing.assert_allclose(found[near], expected[near], atol=2e-5 if len(by) > 1 else 1e-7)


def test_a_tie_where_there_are_none_is_impossible():
    side = np.array([0.0, 1.0])
    log_votes(2, np.full(2, 0.3), np.full(2, NEVER), side, np.ones(2), out := np.empty(2))
    assert out[0] == -np.inf
    assert out[1] == pytest.approx(by_hand(np.array([0.3]), np.array([-np.inf]), side[1:])[0])


def test_beyond_all_numbers_only_ties_are_left():
    tie, side = np.array([650.0, 5000.0]), np.zeros(2)
    log_votes(2, np.full(2, 3.0), tie, side, np.ones(2), out := np.empty(2))
    np.testing.assert_allclose(out, 0.0, atol=1e-12)
