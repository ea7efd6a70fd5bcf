"""LatentAnswers against enumeration of all truths and labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pymc as pm
import pytest
from scipy import special

import dissensus as dx
from dissensus.families.rasch.distributions import LatentAnswers

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
ITEM = np.array([0, 0, 1])
LOGIT = np.array([0.4, 1.5, -0.7])
SHARE = np.log([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
LEVEL = np.log([[0.7, 0.3], [0.1, 0.9]])


def by_hand(label, level, log_truth, log_level):
    """Return the probability of labels and levels, by the sum over truths."""
    total = 1.0
    for i in range(2):
        of_item = 0.0
        for z in range(3):
            one = np.exp(log_truth[i, z])
            for n in np.flatnonzero(i == ITEM):
                right = special.expit(LOGIT[n])
                chance = right if label[n] == z else (1 - right) / 2
                one *= chance * np.exp(log_level[int(label[n] == z), level[n]])
            of_item += one
        total *= of_item
    return total


@pytest.mark.long
@pytest.mark.unit(1)
@pytest.mark.parametrize("known", [False, True])
def test_density_is_that_of_the_definition_and_sums_to_one(known):
    share = SHARE.copy()
    if known:
        share[1] = [-np.inf, 0.0, -np.inf]
    y = LatentAnswers.dist(share, LOGIT, LEVEL, ITEM)
    value = pm.draw(y, random_seed=1)
    assert value.shape == (3,)
    total = 0.0
    for label in product(range(3), repeat=3):
        for level in product(range(2), repeat=3):
            code = np.array(label) * 2 + np.array(level)
            total += by_hand(label, level, share, LEVEL)
            if sum(label) % 3 == 0 and sum(level) == 1:  # some of them: each is compiled
                found = float(np.exp(pm.logp(y, code).eval()))
                assert found == pytest.approx(by_hand(label, level, share, LEVEL), rel=1e-12)
    assert total == pytest.approx(1.0)


@pytest.mark.long
def test_draws_come_as_often_as_the_density_says():
    y = LatentAnswers.dist(SHARE, LOGIT, LEVEL, ITEM)
    draws = pm.draw(y, 20_000, random_seed=2)
    cells, counts = np.unique(draws, axis=0, return_counts=True)
    expected = 20_000 * np.array([by_hand(one // 2, one % 2, SHARE, LEVEL) for one in cells])
    often = expected > 50
    away = (counts - expected)[often] / np.sqrt(expected[often])
    assert np.abs(away).max() < 4.5
    assert often.sum() > 50


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_truth": np.zeros(3)}, "log_truth: expected 2 dimensions; found 1"),
        ({"logit": np.zeros((3, 1))}, "logit: expected 1 dimensions; found 2"),
        ({"log_level": np.zeros(2)}, "log_level: expected 2 dimensions; found 1"),
        ({"item": np.zeros((3, 1))}, "item: expected 1 dimension; found 2"),
    ],
)
def test_refuses_shapes_that_do_not_fit(change, message):
    given = {"log_truth": SHARE, "logit": LOGIT, "log_level": LEVEL, "item": ITEM}
    with pytest.raises(dx.ArgumentError) as found:
        LatentAnswers.dist(**given | change)
    assert message in str(found.value)
