"""Labels with their truth summed out: density by enumeration, draws by their frequencies."""

from __future__ import annotations

import itertools

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import stats

import dissensus as dx
from dissensus.families.latent_truth.distributions import LatentTruth

WEIGHT = np.array([0.5, 0.3, 0.2])
TABLE = np.array([
    [[0.7, 0.2, 0.5], [0.3, 0.8, 0.5]],
    [[0.6, 0.1, 0.9], [0.4, 0.9, 0.1]],
])  # fmt: skip
"""(respondent, response, state)"""
ITEM, RESPONDENT = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 0, 1, 0, 0, 1])


def by_hand(labels, weight=WEIGHT, item=ITEM, respondent=RESPONDENT):
    out = 0.0
    for one in range(max(item) + 1):
        rows = [TABLE[v, y] for i, v, y in zip(item, respondent, labels, strict=True) if i == one]
        out += np.log(weight @ np.prod(rows, axis=0))
    return out


def logp(labels, item=ITEM, respondent=RESPONDENT):
    y = LatentTruth.dist(np.log(WEIGHT), np.log(TABLE), item, respondent)
    return pm.logp(y, labels)


ALIKE = [1, 0, 1, 0, 0, 1, 1]
"""Items 0 and 1 have the same labels, and item 2 two of one respondent."""


@pytest.mark.parametrize("labels", [ALIKE, [0] * 7, [1, 1, 0, 1, 1, 1, 0]])
def test_density_is_a_sum_over_states(labels):
    """Given in advance labels are put together in patterns; given later they are not."""
    want = by_hand(labels)
    assert float(logp(np.array(labels)).eval()) == pytest.approx(want)
    later = pt.lvector()
    found = pytensor.function([later], logp(later), mode="FAST_COMPILE")(labels)
    assert float(found) == pytest.approx(want)


def test_probabilities_of_all_labels_add_up_to_1():
    later = pt.lvector()
    density = pytensor.function(
        [later], logp(later, [0, 0, 1, 1], [0, 1, 0, 0]), mode="FAST_COMPILE"
    )
    every = [density(list(one)) for one in itertools.product((0, 1), repeat=4)]
    assert np.exp(every).sum() == pytest.approx(1)


def test_gradient():
    weight, table = pt.dvector(), pt.dtensor3()
    y = LatentTruth.dist(weight, table, ITEM, RESPONDENT)
    density = pm.logp(y, np.array(ALIKE))
    slopes = pytensor.function(
        [weight, table], [density, *pt.grad(density, [weight, table])], mode="FAST_COMPILE"
    )
    at = np.log(WEIGHT), np.log(TABLE)
    _, by_weight, by_table = slopes(*at)
    assert np.isfinite(by_weight).all()
    assert by_weight.sum() == pytest.approx(3)  # as many as there are items
    np.testing.assert_allclose(by_table.sum(), 7)  # and labels
    step = np.array([1e-6, 0, 0])
    rise = (slopes(at[0] + step, at[1])[0] - slopes(at[0] - step, at[1])[0]) / 2e-6
    assert by_weight[0] == pytest.approx(rise, rel=1e-5)


@pytest.mark.long
def test_frequencies_of_draws():
    item, respondent = [0, 0, 1], [0, 1, 1]
    y = LatentTruth.dist(np.log(WEIGHT), np.log(TABLE), item, respondent)
    drawn = pm.draw(y, 5000, random_seed=1, mode="FAST_COMPILE")
    seen = np.bincount(drawn @ [4, 2, 1], minlength=8)
    every = itertools.product((0, 1), repeat=3)
    want = np.exp([by_hand(one, item=item, respondent=respondent) for one in every])
    assert stats.chisquare(seen, want * len(drawn)).pvalue > 1e-3


def test_in_a_model():
    with pm.Model() as model:
        share = pm.Dirichlet("share", a=np.ones(3))
        LatentTruth("y", pt.log(share), np.log(TABLE), ITEM, RESPONDENT)
    prior = pm.draw(model["y"], 50, random_seed=1, mode="FAST_COMPILE")
    assert prior.shape == (50, 7)
    assert set(prior.ravel().tolist()) == {0, 1}
    seen = pm.observe(model, {"y": np.array(ALIKE)})
    point = seen.initial_point()
    assert np.isfinite(seen.compile_logp(mode="FAST_COMPILE")(point))
    with seen:
        found = pm.sample_prior_predictive(
            20, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
        )
    assert found["prior_predictive"]["y"].shape[-1] == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((2, 2)), TABLE, RESPONDENT), "log_weight: expected 1 dimensions; found 2"),
        ((WEIGHT, np.zeros((2, 2)), RESPONDENT), "log_response: expected 3 dimensions; found 2"),
        ((WEIGHT, TABLE, RESPONDENT[1:]), "respondent: expected one for each of the .*labels"),
    ],
)
def test_shapes_that_do_not_fit(arguments, words):
    weight, table, respondent = arguments
    with pytest.raises(dx.ArgumentError, match=words):
        LatentTruth.dist(weight, table, ITEM, respondent)


def test_size_is_not_supported():
    with pytest.raises(NotImplementedError, match="size is not supported"):
        LatentTruth.dist(np.log(WEIGHT), np.log(TABLE), ITEM, RESPONDENT, size=3)
