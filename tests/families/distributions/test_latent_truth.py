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
RESPONDENT = np.array([[0, 1, -1], [0, 1, -1], [0, 0, 1]])
"""(item, place)"""


def by_hand(labels, respondent=RESPONDENT):
    """Return the log-probability of each item's labels."""
    out = []
    for people, answers in zip(respondent, labels, strict=True):
        rows = [TABLE[v, y] for v, y in zip(people, answers, strict=True) if v >= 0]
        out.append(np.log(WEIGHT @ np.prod([np.ones(3), *rows], axis=0)))
    return np.array(out)


def logp(labels, respondent=RESPONDENT):
    return pm.logp(LatentTruth.dist(np.log(WEIGHT), np.log(TABLE), respondent), labels)


ALIKE = [[1, 0, -1], [1, 0, -1], [0, 1, 1]]
"""Items 0 and 1 have the same labels, and item 2 two of one respondent."""
OTHERS = [[0, 0, -1], [0, 0, -1], [0, 0, 0]], [[1, 1, -1], [0, 1, -1], [1, 1, 0]]


@pytest.mark.parametrize("labels", [ALIKE, *OTHERS])
def test_density_is_a_sum_over_states(labels):
    """Given in advance labels are put together in patterns; given later they are not."""
    want = by_hand(labels)
    np.testing.assert_allclose(logp(np.array(labels)).eval(), want)
    later = pt.lmatrix()
    actual = pytensor.function([later], logp(later), mode="FAST_COMPILE")(labels)
    np.testing.assert_allclose(actual, want)


@pytest.mark.parametrize("later", [False, True])
def test_an_item_without_labels_has_probability_1(later):
    who, labels = np.array([[-1, -1], [0, 1]]), np.array([[-1, -1], [1, 1]])
    given = pt.lmatrix()
    result = logp(given, who).eval({given: labels}) if later else logp(labels, who).eval()
    np.testing.assert_allclose(result, by_hand(labels, who))
    assert result[0] == pytest.approx(0)


def test_a_label_of_nobody_and_a_respondent_without_label_are_errors():
    later, who = pt.lmatrix(), np.array([[0, 1], [0, -1]])
    density = pytensor.function([later], logp(later, who), mode="FAST_COMPILE")
    density([[1, 0], [1, -1]])
    for labels in ([[1, -1], [1, -1]], [[1, 0], [1, 0]]):
        with pytest.raises(AssertionError, match="a label and its respondent, or -1 for both"):
            density(labels)
        with pytest.raises(dx.ArgumentError, match="a label and its respondent, or -1 for both"):
            logp(np.array(labels), who)


def test_probabilities_of_all_labels_add_up_to_1():
    later = pt.lmatrix()
    who = [[0, 1], [0, 0]]
    density = pytensor.function([later], logp(later, who).sum(), mode="FAST_COMPILE")
    every = [density(np.reshape(labels, (2, 2))) for labels in itertools.product((0, 1), repeat=4)]
    assert np.exp(every).sum() == pytest.approx(1)


@pytest.mark.parametrize("later", [False, True])
def test_gradient(later):
    weight, table, labels = pt.dvector(), pt.dtensor3(), pt.lmatrix()
    y = LatentTruth.dist(weight, table, RESPONDENT)
    density = pm.logp(y, labels if later else np.array(ALIKE)).sum()
    function = pytensor.function(
        [weight, table, labels], [density, *pt.grad(density, [weight, table])],
        mode="FAST_COMPILE", on_unused_input="ignore",
    )  # fmt: skip

    def slopes(*where):
        return function(*where, ALIKE)

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
    who = np.array([[0, 1], [1, -1]])
    y = LatentTruth.dist(np.log(WEIGHT), np.log(TABLE), who)
    drawn = pm.draw(y, 5000, random_seed=1, mode="FAST_COMPILE")
    assert (drawn[:, 1, 1] == -1).all()
    seen = np.bincount(drawn.reshape(-1, 4)[:, :3] @ [4, 2, 1], minlength=8)
    every = itertools.product((0, 1), repeat=3)
    want = np.exp([by_hand([labels[:2], (labels[2], -1)], who).sum() for labels in every])
    assert stats.chisquare(seen, want * len(drawn)).pvalue > 1e-3


def test_in_a_model():
    with pm.Model() as model:
        share = pm.Dirichlet("share", a=np.ones(3))
        LatentTruth("y", pt.log(share), np.log(TABLE), RESPONDENT)
    prior = pm.draw(model["y"], 50, random_seed=1, mode="FAST_COMPILE")
    assert prior.shape == (50, 3, 3)
    assert set(prior[:, RESPONDENT >= 0].ravel().tolist()) == {0, 1}
    assert set(prior[:, RESPONDENT < 0].ravel().tolist()) == {-1}
    seen = pm.observe(model, {"y": np.array(ALIKE)})
    point = seen.initial_point()
    assert np.isfinite(seen.compile_logp(mode="FAST_COMPILE")(point))
    with seen:
        result = pm.sample_prior_predictive(
            20, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
        )
    assert result["prior_predictive"]["y"].shape[-2:] == (3, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((2, 2)), TABLE, RESPONDENT), "log_weight: expected 1 dimensions; found 2"),
        ((WEIGHT, np.zeros((2, 2)), RESPONDENT), "log_response: expected 3 dimensions; found 2"),
        ((WEIGHT, TABLE, RESPONDENT[0]), "respondent: expected 2 dimensions; found 1"),
    ],
)
def test_shapes_that_do_not_fit(arguments, words):
    weight, table, respondent = arguments
    with pytest.raises(dx.ArgumentError, match=words):
        LatentTruth.dist(weight, table, respondent)


def test_size_is_that_of_items():
    with pytest.raises(NotImplementedError, match="size can only be the number of items"):
        LatentTruth.dist(np.log(WEIGHT), np.log(TABLE), RESPONDENT, size=(2, 3))
