"""What an evaluation finds of a simulated truth, where it must, and where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx

GROUPS, SIZE, ANNOTATORS = 100, 40, 4


@pytest.fixture(scope="module")
def matched():
    """100 studies of 40 items in one, simulated from the model's own prior, and its posterior."""
    study = dx.simulate.study(
        GROUPS * SIZE, ANNOTATORS, 3, 1,
        kind="nominal", quality=[0.95], prior_count=1.0, missing=0.0, random_seed=1,
    )  # fmt: skip
    fit = dx.models.dirichlet.fit(
        study.annotations, reliability=1, prior_count=1, draws=300, chains=1, random_seed=2
    )
    return study, fit["posterior"]["plausibility"]


def systems(study):
    """Two systems that know no more of an item than its annotations tell."""
    ann = study.annotations
    counts = np.zeros((ann.sizes["item"], 3))
    np.add.at(counts, (ann["item_code"], ann["label_code"]), 1)
    rng = np.random.default_rng(3)
    vote = (counts + 0.1 * rng.random(counts.shape)).argmax(axis=1)  # ties at random
    guess = rng.integers(3, size=len(vote))
    names = ann["label"].to_numpy()
    table = {
        "item": np.tile(ann["item"].to_numpy(), 2),
        "system": np.repeat(["majority", "guess"], len(vote)),
        "label": names[np.concatenate([vote, guess])],
    }
    return dx.predictions(table)


def by_group(values):
    """(..., item, system) to means over each group's items: (..., group, system)."""
    shape = (*values.shape[:-2], GROUPS, SIZE, values.shape[-1])
    return values.reshape(shape).mean(axis=-2)


def test_accuracy_on_these_items_is_calibrated(matched):
    study, theta = matched
    pred = systems(study)
    draws = dx.top_k_accuracy(theta, pred, per_item=True)
    drawn = by_group(draws.transpose("chain", "draw", "item", "system").values[0])
    true = dx.top_k_accuracy(study.truth["plausibility"], pred, per_item=True)
    truth = by_group(true.transpose("item", "system").values)
    rank = (drawn < truth).mean(axis=0) + (drawn == truth).mean(axis=0) / 2
    # Uniform ranks have mean 1/2 and standard deviation .289; accuracy comes in steps of 1/40.
    np.testing.assert_allclose(rank.mean(axis=0), 0.5, atol=4 * 0.289 / np.sqrt(GROUPS))
    np.testing.assert_allclose(rank.std(axis=0), 0.289, atol=0.07)
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    covered = ((low <= truth) & (truth <= high)).mean(axis=0)
    assert (covered >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / GROUPS)).all()


@pytest.mark.long
def test_intervals_for_new_items_cover_the_population(matched):
    """They cover more than they claim: each draw of the truth is bootstrapped as if observed."""
    study, theta = matched
    pred = systems(study)
    everyone = dx.top_k_accuracy(study.truth["plausibility"], pred)
    population = {"majority": float(everyone.sel(system="majority")), "guess": 1 / 3}
    covered = []
    for group in range(0, GROUPS, 2):
        part = {"item": slice(group * SIZE, (group + 1) * SIZE)}
        drawn = dx.top_k_accuracy(
            theta.isel(part), pred.isel(part), weights="bayesian-bootstrap", random_seed=group
        )
        low, high = drawn.quantile([0.05, 0.95], ("chain", "draw"))
        covered.append(
            [bool(low.sel(system=s) <= p <= high.sel(system=s)) for s, p in population.items()]
        )
    assert (np.mean(covered, axis=0) >= 0.9).all()


def test_a_system_that_sees_more_than_four_annotators_is_underrated(matched):
    """Documented in `study`: where annotations leave doubt, a right answer gets partial credit."""
    study, theta = matched
    value = float(dx.top_k_accuracy(theta, study.predictions).mean())
    true = float(study.truth["top_1_accuracy"].sel(scope="these items")[0])
    assert true == pytest.approx(0.95, abs=0.02)
    assert value < true - 0.15


def test_many_annotators_leave_the_truth():
    study = dx.simulate.study(200, 400, 4, 3, kind="nominal", prior_count=0.3, random_seed=6)
    fit = dx.models.dirichlet.fit(study.annotations, draws=200, chains=1, random_seed=7)
    theta = fit["posterior"]["plausibility"]
    error = abs(theta.mean(("chain", "draw")) - study.truth["plausibility"])
    assert float(error.max()) < 0.13  # 4.5 standard deviations of a share of 400 x .8
    accuracy = dx.top_k_accuracy(theta, study.predictions).mean(("chain", "draw"))
    true = study.truth["top_1_accuracy"].sel(scope="these items")
    np.testing.assert_allclose(accuracy, true, atol=0.035)
