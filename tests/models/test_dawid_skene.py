"""Confusion matrices against integration over the prior, and the anaesthetists."""

from __future__ import annotations

import arviz as az
import crossed_reference
import numpy as np
import pytest
import truth_pymc
import truth_reference
from seeds import in_two_sizes
from truth_cases import ROWS, THREE, rows

import dissensus as dx
from dissensus.models import dawid_skene
from dissensus.sampling.step import uncompiled

by_case = pytest.mark.parametrize("name", ROWS)
LONG = ("complete, related systems", "hierarchical, difficulty, related systems",
        "hierarchical, difficulty, three labels", "none, three labels",
        "evidence of annotators")  # fmt: skip


ORDINARY, FULL = (4000, {}, {"enough": 200}), (8000, {}, {"enough": 200})
REDUCED = (2000, {"log2": 15, "outer": 1000}, {"enough": 100, "points": 200})
"""Draws of a chain, how the prior is integrated over, and what is asked of both."""


@pytest.mark.unit(0, long=3)
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *((name, ORDINARY) for name in ROWS if name not in LONG),
        *in_two_sizes({name: name for name in LONG}, REDUCED, FULL),
    ],
)
def test_posterior_is_what_integration_over_the_prior_gives(name, size):
    draws, extent, asked = size
    case = ROWS[name]
    reference = truth_reference.integrate(case, **extent)
    fit = case.fit(draws=draws, tune=300)
    assert set(fit["posterior"].data_vars) == set(reference.points) | set(reference.inner)
    for values in (fit["posterior"], reference.points):
        for one in ("truth", "confusion", "population_confusion", "system_confusion"):
            if one in values:  # of 1e-290 floating point numbers know little
                values[one] = values[one].clip(min=1e-4)
    crossed_reference.compare(fit, reference, **asked)


@pytest.mark.long
@by_case
def test_pymc_form_has_the_likelihood_of_sums_over_states(name):
    truth_pymc.likelihood_agrees(ROWS[name])


@pytest.mark.long
@pytest.mark.unit(3)
@by_case
def test_pymc_form_has_the_priors_of_the_card(name):
    truth_pymc.prior_agrees(ROWS[name])


@pytest.mark.unit(3)
@by_case
def test_what_is_said_of_items_follows_from_the_other_parameters(name):
    case = ROWS[name]
    fit = case.fit(draws=20, tune=50, chains=2, log_likelihood=True)
    points = truth_reference.points_of(case, fit["posterior"])
    want = truth_reference.log_likelihood(case, points)
    each = fit["log_likelihood"]["labels"].to_numpy().reshape(want.shape)
    np.testing.assert_allclose(each, want, rtol=1e-5)
    kept, _ = truth_reference.kept(case, points)
    for one in kept:
        draws = fit["posterior"][one].to_numpy().reshape(kept[one].shape)
        np.testing.assert_allclose(draws, kept[one], rtol=1e-4, atol=1e-7, err_msg=one)


def test_rows_sum_to_1():
    post = ROWS["hierarchical"].fit(draws=50, chains=1)["posterior"]
    for name in ("confusion", "system_confusion", "population_confusion"):
        np.testing.assert_allclose(post[name].sum("response"), 1.0)


def test_one_matrix_for_all_has_every_annotators_name():
    post = rows(THREE, n_labels=3, pooling="complete").fit(draws=20, chains=1)["posterior"]
    assert post["confusion"].dims == ("chain", "draw", "annotator", "label", "response")
    for name in post["annotator"].to_numpy():
        same = post["confusion"].sel(annotator=name)
        np.testing.assert_array_equal(same, post["population_confusion"])


# -- The anaesthetists -------------------------------------------------------------------------


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
    for found in ([0.40, 0.42, 0.11, 0.07], [0.400, 0.447, 0.087, 0.067]):
        assert (low.to_numpy() < found).all()
        assert (high.to_numpy() > found).all()


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
    one, two = fit["constant_data"]["truth_mean"], dawid_skene.em(anaesthetists)["truth"]
    assert (one.argmax("label") == two.argmax("label")).mean() > 0.9


@pytest.mark.long
def test_many_items_give_back_what_they_were_drawn_from():
    study = dx.simulate.confusion_study(
        3000, 5, 3, ipc=[0.6, 0.7, 0.8, 0.7, 0.9], asymmetry=3.0, system_accuracy=[0.85],
        prevalence=[0.5, 0.3, 0.2], random_seed=1,
    )  # fmt: skip
    post = dawid_skene.fit(
        study.annotations, predictions=study.predictions, random_seed=1, progressbar=False,
        keep_items=False,
    )["posterior"].mean(("chain", "draw"))  # fmt: skip
    truth = study.truth
    want = truth["confusion"].isel(group=0)  # no item is harder: all are alike
    np.testing.assert_allclose(post["confusion"], want, atol=0.05)
    np.testing.assert_allclose(post["annotator_accuracy"], truth["annotator_accuracy"], atol=0.03)
    np.testing.assert_allclose(post["system_accuracy"], truth["system_accuracy"], atol=0.03)
    np.testing.assert_allclose(post["prevalence"], truth["prevalence"], atol=0.03)


@pytest.mark.long
def test_intervals_hold_accuracies_of_people_who_are_good_at_all_labels_or_at_none():
    """Accuracies from poor to good, the same at each label but for chance, as in most crowds.

    With rows of a matrix drawn around the population's one by one they held .45 of them.
    """
    study = dx.simulate.confusion_study(
        1200, 100, 4, ipc=np.linspace(0.35, 0.85, 100).tolist(), labels_per_item=5, asymmetry=1.5,
        error_range=0.5, prevalence=[0.4, 0.3, 0.2, 0.1], random_seed=3,
    )  # fmt: skip
    fit = dawid_skene.fit(
        study.annotations, draws=500, chains=4, random_seed=1, progressbar=False, keep_items=False
    )
    found = fit["posterior"]["annotator_accuracy"]
    low, high = found.quantile([0.05, 0.95], ["chain", "draw"])
    truth = study.truth["annotator_accuracy"]
    assert 0.8 <= float(((low <= truth) & (truth <= high)).mean()) <= 0.97


@pytest.mark.long
def test_people_who_are_alike_have_no_spread():
    study = dx.simulate.confusion_study(
        2000, 60, 3, ipc=0.7, labels_per_item=5, asymmetry=1.5, random_seed=4
    )
    fit = dawid_skene.fit(
        study.annotations, draws=500, chains=4, random_seed=1, progressbar=False, keep_items=False
    )
    spread = fit["posterior"]["accuracy_spread"]
    assert float(spread.quantile(0.95)) < 0.25
    assert float(az.ess(spread.to_numpy())) > 200


@pytest.mark.long
def test_the_population_moves_though_annotators_hold_it():
    """Accuracies that lie far apart and are well known hold the population's, unless both move."""
    study = dx.simulate.confusion_study(
        1200, 40, 4, ipc=np.linspace(0.35, 0.95, 40).tolist(), labels_per_item=10, random_seed=2
    )
    fit = dawid_skene.fit(
        study.annotations, draws=500, chains=4, random_seed=1, progressbar=False, keep_items=False
    )
    for name in ("population_confusion", "accuracy_spread"):
        assert float(np.min(az.ess(fit["posterior"].to_dataset()[[name]])[name])) > 200


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.parametrize("difficulty", [False, True])
def test_accuracies_next_to_0_and_1_have_a_density(difficulty):
    """Where annotators differ much the prior has many: 1 - 1e-16 is no number, its logit is."""
    case = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xyzx")})
    model = dawid_skene.build(case, difficulty=difficulty)
    with uncompiled():
        logp, gradient, start = model.compile_logp(), model.compile_dlogp(), model.initial_point()
    name = next(one for one in start if "right_or_wrong" in one)
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
