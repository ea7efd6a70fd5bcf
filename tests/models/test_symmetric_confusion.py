"""Symmetric confusion against integration over the prior, and published figures."""

from __future__ import annotations

import crossed_reference
import numpy as np
import pytest
import truth_pymc
import truth_reference
from seeds import in_two_sizes
from truth_cases import SYMMETRIC, TWO, TWO_SYSTEMS, symmetric

import dissensus as dx
from dissensus.models import symmetric_confusion

by_case = pytest.mark.parametrize("name", SYMMETRIC)
LONG = (
    "no systems, repeated labels", "difficulty, related systems", "unequal",
    "unequal, of two labels", "evidence of annotators, related systems",
)  # fmt: skip


ORDINARY, FULL = (4000, {}, {"enough": 400}), (8000, {}, {"enough": 400})
REDUCED = (2000, {"log2": 14, "outer": 500}, {"enough": 100, "points": 200})
"""Draws of a chain, how the prior is integrated over, and what is asked of both."""


@pytest.mark.unit(0, long=4)
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *((name, ORDINARY) for name in SYMMETRIC if name not in LONG),
        *in_two_sizes({name: name for name in LONG}, REDUCED, FULL),
    ],
)
def test_posterior_is_what_integration_over_the_prior_gives(name, size):
    draws, extent, asked = size
    case = SYMMETRIC[name]
    reference = truth_reference.integrate(case, **extent)
    fit = case.fit(draws=draws, tune=300)
    assert set(fit["posterior"].data_vars) == set(reference.points) | set(reference.inner)
    crossed_reference.compare(fit, reference, **asked)


@pytest.mark.long
@by_case
def test_pymc_form_has_the_likelihood_of_sums_over_states(name):
    truth_pymc.likelihood_agrees(SYMMETRIC[name])


@pytest.mark.long
@pytest.mark.unit(4)
@by_case
def test_pymc_form_has_the_priors_of_the_card(name):
    truth_pymc.prior_agrees(SYMMETRIC[name])


@pytest.mark.unit(4)
@pytest.mark.parametrize(
    "name", [one for one in SYMMETRIC if one not in ("unequal", "unequal around graded, one each")]
)
def test_what_is_said_of_items_follows_from_the_other_parameters(name):
    """Errors of everybody's own are not kept; with these there is nothing to compute it from."""
    case = SYMMETRIC[name]
    fit = case.fit(draws=20, tune=50, chains=2, log_likelihood=True)
    points = truth_reference.points_of(case, fit["posterior"])
    want = truth_reference.log_likelihood(case, points)
    each = fit["log_likelihood"]["labels"].to_numpy().reshape(want.shape)
    np.testing.assert_allclose(each, want, rtol=1e-6)
    kept, _ = truth_reference.kept(case, points)
    for one in {"truth", "item_difficulty"} & set(kept):
        draws = fit["posterior"][one].to_numpy().reshape(kept[one].shape)
        np.testing.assert_allclose(draws, kept[one], rtol=1e-5, atol=1e-9)
    mean = fit["posterior"]["truth"].mean(("chain", "draw"))
    np.testing.assert_allclose(fit["constant_data"]["truth_mean"], mean)
    whole = truth_reference.log_likelihood(case, points, systems=not case.cut).sum(axis=1)
    found = fit["sample_stats"]["log_likelihood"].to_numpy().ravel()
    np.testing.assert_allclose(found, whole, rtol=1e-6)


def test_truth_by_hand():
    """Two labels, one accuracy: P(z = 1) = w p^a q^b / (w p^a q^b + (1 - w) q^a p^b)."""
    case = symmetric(TWO)
    post = case.fit(draws=5, chains=1, tune=20)["posterior"].isel(chain=0, draw=3)
    p, w = float(post["annotator_accuracy"]), float(post["prevalence"][1])
    first = w * (1 - p) ** 3 / (w * (1 - p) ** 3 + (1 - w) * p**3)
    third = w * p**2 * (1 - p) / (w * p**2 * (1 - p) + (1 - w) * p * (1 - p) ** 2)
    np.testing.assert_allclose(post["truth"][[0, 2], 1], [first, third])


@pytest.mark.long
def test_a_system_that_is_no_evidence_does_not_move_what_is_learned_from_annotators():
    """Whatever it says, annotators, prevalence and truth have the same posterior."""
    lone = symmetric(TWO)
    judged = symmetric(TWO, TWO_SYSTEMS, evidence="annotators")
    one, two = (case.fit(draws=4000, tune=300) for case in (lone, judged))
    for name in ("annotator_accuracy", "prevalence", "truth"):
        gap = one["posterior"][name].mean(("chain", "draw"))
        gap = gap - two["posterior"][name].mean(("chain", "draw"))
        assert abs(gap).max() < 0.015, name
    moved = symmetric(TWO, TWO_SYSTEMS).fit(draws=4000, tune=300)["posterior"]["truth"]
    gap = one["posterior"]["truth"].mean(("chain", "draw")) - moved.mean(("chain", "draw"))
    assert abs(gap).max() > 0.05


def test_lehners_example():
    """Table 2: ten cases; its algebra says .5 for raters and .731 for the system.

    Ten cases say little: the intervals hold both, and are wide.
    """
    data = dx.datasets.load("lehner_table2")
    fit = symmetric_confusion.fit(
        data.annotations, predictions=data.predictions, random_seed=1, progressbar=False
    )
    for name, printed in (("annotator_accuracy", 0.5), ("system_accuracy", 0.731)):
        low, high = fit["posterior"][name].quantile([0.05, 0.95]).to_numpy().ravel()
        assert low < printed < high
        assert high - low > 0.2
    algebra = dx.lehner(data.annotations, predictions=data.predictions)
    assert float(algebra["annotator_accuracy"]) == pytest.approx(0.5)


@pytest.mark.long
def test_many_items_give_back_what_they_were_drawn_from():
    study = dx.simulate.confusion_study(
        4000, 3, 4, ipc=0.7, system_accuracy=[0.9, 0.5], prevalence=[0.4, 0.3, 0.2, 0.1],
        random_seed=1,
    )  # fmt: skip
    post = symmetric_confusion.fit(
        study.annotations, predictions=study.predictions, random_seed=1, progressbar=False,
        keep_items=False,
    )["posterior"]  # fmt: skip
    assert "truth" not in post
    assert post["annotator_accuracy"].mean().item() == pytest.approx(0.7, abs=0.015)
    mean = post.mean(("chain", "draw"))
    np.testing.assert_allclose(mean["system_accuracy"], [0.9, 0.5], atol=0.025)
    np.testing.assert_allclose(mean["system_correct"], study.truth["system_correct"], atol=0.02)
    np.testing.assert_allclose(mean["prevalence"], study.truth["prevalence"], atol=0.025)
