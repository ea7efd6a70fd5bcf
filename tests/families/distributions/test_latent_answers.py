"""LatentAnswers against enumeration of all truths and labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import special

import dissensus as dx
from dissensus.families.rasch.distributions import LatentAnswers

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
WHO = np.array([[1, 0], [-1, 0]])
ITEM, PLACE = np.nonzero(WHO >= 0)
LOGIT = np.array([[0.4, 1.5], [99.0, -0.7]])
SHARE = np.log([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
LEVEL = np.log([[0.7, 0.3], [0.1, 0.9]])


def placed(code):
    out = np.full(WHO.shape, -1)
    out[ITEM, PLACE] = code
    return out


def by_hand(code, log_truth):
    """Return the probability of labels and levels of each item, by the sum over truths."""
    out = []
    for i, row in enumerate(code):
        total = 0.0
        for z in range(3):
            probability = np.exp(log_truth[i, z])
            for n in np.flatnonzero(WHO[i] >= 0):
                (label, level), right = divmod(row[n], 2), special.expit(LOGIT[i, n])
                probability *= right if label == z else (1 - right) / 2
                probability *= np.exp(LEVEL[int(label == z), level])
            total += probability
        out.append(total)
    return np.array(out)


@pytest.mark.long
@pytest.mark.unit(1, long=2)
@pytest.mark.parametrize("form", ["each", "known", "one row of all", "data"])
def test_density_is_that_of_the_definition_and_sums_to_one(form):
    share = SHARE.copy()
    if form == "known":
        share[1] = [-np.inf, 0.0, -np.inf]
    if form == "one row of all":
        share = share[:1]
    who = pytensor.shared(WHO) if form == "data" else WHO
    y = LatentAnswers.dist(share, LOGIT, LEVEL, who)
    value = pm.draw(y, random_seed=1)
    np.testing.assert_array_equal(value < 0, WHO < 0)
    share = np.broadcast_to(share, SHARE.shape)
    total = 0.0
    for code in product(range(6), repeat=3):
        chances = by_hand(placed(code), share)
        total += chances.prod()
        if sum(code) == 7 and code[0] < 3:  # some of them: each is compiled
            result = np.exp(pm.logp(y, placed(code)).eval())
            np.testing.assert_allclose(result, chances, rtol=1e-12)
    assert total == pytest.approx(1.0)


@pytest.mark.long
def test_draws_come_as_often_as_the_density_says():
    y = LatentAnswers.dist(SHARE, LOGIT, LEVEL, WHO)
    draws = pm.draw(y, 8_000, random_seed=2)
    cells, counts = np.unique(draws, axis=0, return_counts=True)
    expected = 8_000 * np.array([by_hand(cell, SHARE).prod() for cell in cells])
    often = expected > 25
    away = (counts - expected)[often] / np.sqrt(expected[often])
    assert np.abs(away).max() < 4.5
    assert often.sum() > 30


@pytest.mark.parametrize("name", ["log_truth", "logit", "log_level", "respondent"])
def test_refuses_shapes_that_do_not_fit(name):
    given = {"log_truth": SHARE, "logit": LOGIT, "log_level": LEVEL, "respondent": WHO}
    with pytest.raises(dx.ArgumentError, match=f"{name}: expected 2 dimensions; found 1"):
        LatentAnswers.dist(**given | {name: np.zeros(3, dtype=int)})


@pytest.mark.parametrize("data", [False, True])
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ([[0, 6], [-1, 0]], "labels must be codes below"),
        ([[0, -1], [-1, 0]], "a label and its respondent, or -1 for both"),
        ([[0, 0], [0, 0]], "a label and its respondent, or -1 for both"),
    ],
)
def test_labels_that_do_not_fit_are_refused(code, message, data):
    y = LatentAnswers.dist(SHARE, LOGIT, LEVEL, pytensor.shared(WHO) if data else WHO)
    with pytest.raises(AssertionError, match=message):
        pm.logp(y, np.array(code)).eval()


def test_log_odds_of_other_places_are_refused():
    y = LatentAnswers.dist(SHARE, LOGIT[:, :1], LEVEL, pytensor.shared(WHO))
    with pytest.raises(Exception, match="SpecifyShape"):
        pm.logp(y, placed([0, 0, 0])).eval()
