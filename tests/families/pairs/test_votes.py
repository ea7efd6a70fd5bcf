"""Log probabilities of votes, many at a time, and their slopes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from dissensus.families.pairs.kernels.votes import (
    CROSS,
    ETA,
    FIRST,
    FIRST_TIED,
    NEVER,
    OUT,
    SECOND,
    SECOND_TIED,
    TIED,
    empty_rows,
    log_votes,
    write_slopes,
)


def by_hand(eta, tie, side):
    """Davidson's log probabilities, with SciPy."""
    logits = np.stack([eta / 2, tie, -eta / 2])
    chosen = np.select([side > 0, side == 0], logits[:2], logits[2])
    return chosen - logsumexp(logits, axis=0)


@pytest.fixture(params=[1.0, 30.0, 600.0])
def votes(request):
    """Votes with probabilities near 0 and 1, whose exponentials are not finite in the last case."""
    rng = np.random.default_rng(1)
    n, reach = 2003, request.param
    eta, tie = rng.normal(0.0, reach, n), rng.normal(0.0, reach / 6.0, n)
    return eta, tie, rng.choice([-1.0, 0.0, 1.0], n), rng.choice([1.0, 1.0, 3.0], n)


def rows_of(eta, tie):
    """Room for votes, with what blocks write into it."""
    rows = empty_rows(len(eta))
    rows[ETA], rows[TIED] = eta, tie
    return rows


def test_log_probabilities_are_davidsons(votes):
    eta, tie, side, weight = votes
    rows, expected = rows_of(eta, tie), by_hand(eta, tie, side)
    total = log_votes(len(eta), rows, side, weight)
    np.testing.assert_allclose(rows[OUT], expected, rtol=1e-12, atol=1e-12)
    assert total == pytest.approx(np.dot(weight, expected), rel=1e-12)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 11, 16, 18])
def test_votes_after_the_first_n_count_for_nothing(votes, n):
    """Few votes one by one, others several at a time, with those after them."""
    eta, tie, side, weight = (values[:20] for values in votes)
    rows, expected = rows_of(eta, tie), by_hand(eta, tie, side)
    total = log_votes(n, rows, side, weight)
    assert total == pytest.approx(np.dot(weight[:n], expected[:n]), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(rows[OUT, :n], expected[:n], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [5, 200])
def test_slopes_are_differences_of_log_probabilities(votes, n):
    eta, tie, side, weight = (values[:n] for values in votes)
    rows = rows_of(eta, tie)
    write_slopes(n, rows, side, weight)
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
    for row, sign, by in (
        (FIRST, 1, ["eta"]), (FIRST_TIED, 1, ["tie"]), (SECOND, -1, ["eta", "eta"]),
        (SECOND_TIED, -1, ["tie", "tie"]), (CROSS, -1, ["eta", "tie"]),
    ):  # fmt: skip
        expected = sign * difference(log_density, *by)
        atol = 2e-5 if len(by) > 1 else 1e-7
        np.testing.assert_allclose(rows[row, near], expected[near], atol=atol)


@pytest.mark.parametrize("n", [2, 20])
def test_a_tie_where_there_are_none_is_impossible(n):
    side = np.resize([0.0, 1.0], n)
    rows = rows_of(np.full(n, 0.3), np.full(n, NEVER))
    log_votes(n, rows, side, np.ones(n))
    assert rows[OUT, 0] == -np.inf
    assert rows[OUT, 1] == pytest.approx(-np.log1p(np.exp(-0.3)))


@pytest.mark.parametrize("n", [4, 20])
def test_probabilities_far_beyond_numbers_keep_their_logarithms(n):
    eta = np.resize([2000.0, -2000.0, 1900.0, 3.0], n)
    tie, side = np.resize([1100.0, 1600.0, 400.0, 650.0], n), np.resize([1.0, 1.0, 0.0, 0.0], n)
    rows = rows_of(eta, tie)
    log_votes(n, rows, side, np.ones(n))
    np.testing.assert_allclose(rows[OUT], by_hand(eta, tie, side), rtol=1e-12, atol=1e-12)
