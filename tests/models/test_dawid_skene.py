"""Confusion matrices of the anaesthetists, and of simulated crowds."""

from __future__ import annotations

import arviz as az
import numpy as np
import pytest

import dissensus as dx
from dissensus.models import dawid_skene
from dissensus.sampling.interpreter import uncompiled


@pytest.fixture(scope="module")
def anaesthetists():
    return dx.datasets.load("anaesthesia").annotations


@pytest.mark.long
@pytest.mark.parametrize("pooling", ["none", "hierarchical", "complete"])
def test_both_maxima_lie_within_the_posterior(anaesthetists, pooling):
    """Prevalences of EM from the votes, as published, and of the highest of 3,000 starts.

    Dawid & Skene (1979), Table 4: .40, .42, .11, .07; the likelihood's highest maximum is ours.
    """
    fit = dawid_skene.fit(anaesthetists, pooling=pooling, random_seed=1, progressbar=False)
    low, high = fit["posterior"]["prevalence"].quantile([0.05, 0.95], ["chain", "draw"])
    for result in ([0.40, 0.42, 0.11, 0.07], [0.400, 0.447, 0.087, 0.067]):
        assert (low.to_numpy() < result).all()
        assert (high.to_numpy() > result).all()


@pytest.mark.long
def test_posterior_of_the_anaesthetists_is_near_that_of_rater():
    """The README of the R package rater gives prevalences .3756, .4073, .1432, .0738.

    Its prior counts three items for each prevalence, as here, but eight labels for each row, .6 of
    them right, where ours counts four, .7 of them right: hence a tolerance of .02.
    """
    ann = dx.datasets.load("anaesthesia", transcription="rater").annotations
    fit = dawid_skene.fit(
        ann, pooling="none", prior_count=3.0, random_seed=1, progressbar=False, draws=2000
    )
    mean = fit["posterior"]["prevalence"].mean(("chain", "draw"))
    np.testing.assert_allclose(mean, [0.3756, 0.4073, 0.1432, 0.0738], atol=0.02)


def test_em_is_the_mode_that_chains_are_near(anaesthetists):
    """Under the posterior the truth of nearly all patients is what EM takes it for."""
    fit = dawid_skene.fit(anaesthetists, pooling="none", random_seed=1, progressbar=False)
    first, second = fit["constant_data"]["truth_mean"], dawid_skene.em(anaesthetists)["truth"]
    assert (first.argmax("label") == second.argmax("label")).mean() > 0.9


@pytest.mark.long
def test_intervals_hold_accuracies_of_people_who_are_good_at_all_labels_or_at_none():
    """Accuracies from poor to good, the same at each label but for chance, as in most crowds.

    With rows of a matrix drawn around the population's one by one their coverage was .45.
    """
    study = dx.simulate.confusion_study(
        1200, 100, 4, ipc=np.linspace(0.35, 0.85, 100).tolist(), labels_per_item=5, asymmetry=1.5,
        error_range=0.5, prevalence=[0.4, 0.3, 0.2, 0.1], random_seed=3,
    )  # fmt: skip
    fit = dawid_skene.fit(
        study.annotations, draws=500, tune=300, chains=2, random_seed=1, progressbar=False,
        keep_items=False,
    )  # fmt: skip
    result = fit["posterior"]["annotator_accuracy"]
    low, high = result.quantile([0.05, 0.95], ["chain", "draw"])
    truth = study.truth["annotator_accuracy"]
    assert 0.8 <= float(((low <= truth) & (truth <= high)).mean()) <= 0.97


@pytest.mark.long
def test_people_who_are_alike_have_no_spread():
    study = dx.simulate.confusion_study(
        2000, 60, 3, ipc=0.7, labels_per_item=5, asymmetry=1.5, random_seed=4
    )
    fit = dawid_skene.fit(
        study.annotations, draws=500, chains=2, random_seed=1, progressbar=False, keep_items=False
    )
    spread = fit["posterior"]["accuracy_spread"]
    assert float(spread.quantile(0.95)) < 0.25
    assert float(az.ess(spread.to_numpy())) > 100  # of 1,000 draws


@pytest.mark.long
def test_the_population_moves_though_annotators_hold_it():
    """Accuracies that lie far apart and are well known hold the population's, unless both move."""
    study = dx.simulate.confusion_study(
        1200, 40, 4, ipc=np.linspace(0.35, 0.95, 40).tolist(), labels_per_item=10, random_seed=2
    )
    fit = dawid_skene.fit(
        study.annotations, draws=500, chains=2, random_seed=1, progressbar=False, keep_items=False
    )
    for name in ("population_confusion", "accuracy_spread"):
        assert float(np.min(az.ess(fit["posterior"].to_dataset()[[name]])[name])) > 100


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.parametrize("difficulty", [False, True])
def test_accuracies_next_to_0_and_1_have_a_density(difficulty):
    """Where annotators differ much the prior has many: 1 - 1e-16 is not a number, its logit is."""
    case = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xyzx")})
    model = dawid_skene.build(case, difficulty=difficulty)
    with uncompiled():
        logp, gradient, start = model.compile_logp(), model.compile_dlogp(), model.initial_point()
    name = next(key for key in start if "right_or_wrong" in key)
    for far in (20.0, 37.0, 100.0, 300.0):
        for sign in (1.0, -1.0):
            point = start | {name: np.full_like(start[name], sign * far)}
            assert np.isfinite(logp(point))
            assert np.isfinite(gradient(point)).all()


@pytest.mark.long
@pytest.mark.parametrize("pooling", ["complete", "none", "hierarchical"])
def test_nuts_finds_starts_where_there_are_many_labels(pooling):
    """PyMC moves each coordinate of its start by up to one, until the density is above zero."""
    study = dx.simulate.confusion_study(20, 3, 8, random_seed=1)
    model = dx.models.dawid_skene.build(study.annotations, pooling=pooling)
    with uncompiled():
        density, point = model.compile_logp(), model.initial_point()
    rng = np.random.default_rng(1)
    near = [
        density({name: v + rng.uniform(-1, 1, np.shape(v)) for name, v in point.items()})
        for _ in range(20)
    ]
    assert np.isfinite(near).mean() > 0.5
