"""Log probabilities of votes, added up with few logarithms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from dissensus.families.pairs.kernels.votes import log_vote, with_vote


def by_hand(eta, log_odds, side):
    """Davidson's probabilities, with SciPy."""
    logits = np.array([eta / 2, log_odds, -eta / 2])
    return logits[{1.0: 0, 0.0: 1, -1.0: 2}[side]] - logsumexp(logits)


@pytest.mark.parametrize("reach", [1.0, 30.0, 600.0])
def test_a_sum_of_votes_is_the_sum_of_their_logarithms(reach):
    """Also where their product is far too small or too large for a number."""
    rng = np.random.default_rng(1)
    n = 2000
    eta, log_odds = rng.normal(0.0, reach, n), rng.normal(0.0, reach / 6.0, n)
    side, weight = rng.choice([-1.0, 0.0, 1.0], n), rng.choice([1.0, 1.0, 3.0], n)
    total, above, below = 0.0, 1.0, 1.0
    for row in zip(eta, np.exp(log_odds), side, weight, strict=True):
        total, above, below = with_vote(total, above, below, *map(float, row))
    each = [by_hand(*row) for row in zip(eta, log_odds, side, strict=True)]
    assert total + np.log(above) - np.log(below) == pytest.approx(np.dot(weight, each), rel=1e-12)
    for k in range(5):
        found = log_vote(float(eta[k]), float(np.exp(log_odds[k])), float(side[k]))
        assert found == pytest.approx(each[k], rel=1e-9)


def test_a_tie_where_there_are_none_is_impossible():
    """A tendency to ties so low that its exponential is 0."""
    total, above, below = with_vote(0.0, 1.0, 1.0, 0.3, 0.0, 0.0, 1.0)
    assert total + np.log(above) - np.log(below) == -np.inf
