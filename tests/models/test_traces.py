"""What `pymc.sample` draws of the library's models goes into metrics as it is."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc_runs import run
from scipy import stats

import dissensus as dx
from dissensus.data.plausibility import with_candidates
from dissensus.families.base import FitOptions
from dissensus.families.latent_truth.fit import TruthFit
from dissensus.families.latent_truth.parameters import named

pytestmark = pytest.mark.long


def drawn(model):
    return run(model, draws=30, tune=10)


@pytest.mark.unit(0, long=6)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
@pytest.mark.parametrize("pools", [None, ("old", "new")], ids=["one pool", "two pools"])
@pytest.mark.parametrize("scale", ["latent", "observed"])
def test_components_are_those_of_a_fit_with_the_same_draws(family, pools, scale):
    options = {"pools": pools} if pools else {}
    ann = dx.simulate.replication_study(
        20, 6, 3, family=family, random_seed=2, **options
    ).annotations
    model = dx.models.cross_replication if pools else dx.models.crossed_effects
    trace = drawn(model.build(ann, family=family))
    fit = model.fit(ann, family=family, draws=30, tune=10, chains=2, random_seed=1,
                    progressbar=False)  # fmt: skip
    same = fit.copy(deep=True)
    same["posterior"] = xr.DataTree(trace["posterior"].to_dataset().assign_attrs(fit.attrs))
    for metric in (dx.icc, dx.annotator_icc, *((dx.xcc, dx.normalized_xcc) if pools else ())):
        more = {} if metric is dx.annotator_icc else {"scale": scale}
        xr.testing.assert_allclose(metric(trace, **more), metric(same, **more))


def test_two_ordered_labels_are_told_from_two_without_an_order():
    """Their latent residuals have other variances: 1, and pi^2 / 3."""
    ann = dx.from_matrix([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 1]], kind="ordinal")
    for family, residual in (("ordinal", 1.0), ("bernoulli", np.pi**2 / 3)):
        trace = drawn(dx.models.crossed_effects.build(ann, family=family))
        post = trace["posterior"]
        item, who = post["sigma_item"] ** 2, post["sigma_annotator"] ** 2
        np.testing.assert_allclose(dx.icc(trace), item / (item + who + residual))


@pytest.mark.parametrize("name", ["plackett_luce", "inverse_rank"])
def test_candidates_have_the_names_that_the_model_carries(name):
    study = dx.simulate.study(n_items=6, kind="ranking", n_labels=4, random_seed=1)
    ann = study.annotations
    trace = drawn(getattr(dx.models, name).build(ann))
    plain = dx.plausibility.plausibility_of(trace)
    named = with_candidates(trace, ann)
    for coord in ("candidate_label", "candidate_size"):
        np.testing.assert_array_equal(plain[coord], named[coord])
    np.testing.assert_array_equal(
        dx.top_k_accuracy(trace, study.predictions), dx.top_k_accuracy(named, study.predictions)
    )


TRUTHS = [
    ("dawid_skene", {"pooling": "hierarchical", "difficulty": True}),
    ("dawid_skene", {"pooling": "complete", "difficulty": True}),
    ("dawid_skene", {"pooling": "none", "systems": "related"}),
    ("symmetric_confusion", {"accuracy": "annotator"}),
    ("symmetric_confusion", {"errors": "unequal", "difficulty": True}),
]


@pytest.mark.parametrize(("name", "settings"), TRUTHS)
def test_accuracies_truths_and_likelihoods_are_the_kernels_of_the_same_parameters(name, settings):
    study = dx.simulate.confusion_study(30, 4, 3, system_accuracy=[0.9, 0.7], random_seed=1)
    model = getattr(dx.models, name)
    settings = {
        "pooling": "hierarchical", "accuracy": "common", "errors": "equal", "difficulty": False,
        "systems": "independent", "evidence": "all", "prior_count": 1.0, "truth": None,
        "error_correlation": 0.0, "sampler": "gibbs", "on_missing": "raise", **settings,
    }  # fmt: skip
    for other in {"dawid_skene": ("accuracy", "errors")}.get(name, ("pooling",)):
        del settings[other]
    process = model._process(study.annotations, study.predictions, **settings)
    pymc_model = model._model(process)
    trace = run(pymc_model, draws=3, tune=2, chains=1)
    posterior = trace["posterior"].to_dataset()
    fit = TruthFit(process, FitOptions(draws=3, chains=1, log_likelihood=True))
    replayed = fit.replayed(posterior, np.random.default_rng(1))
    by_kernel = named(process, replayed)
    names = {"annotator_accuracy", "system_accuracy"} & set(posterior)
    assert len(names) == (1 if settings["systems"] == "related" else 2)
    for each in names:
        assert posterior[each].dims == by_kernel[each].dims
        np.testing.assert_allclose(posterior[each], by_kernel[each])
    np.testing.assert_allclose(posterior["truth"], replayed.truth[:, :, fit.pattern], atol=1e-12)
    with pymc_model:
        likely = pm.compute_log_likelihood(trace, extend_inferencedata=False, progressbar=False)
    assert likely["labels"].dims == ("chain", "draw", "item")
    np.testing.assert_allclose(likely["labels"], fit.log_likelihood(replayed)["labels"])


def test_truth_of_new_items_by_set_data():
    """Bayes' rule by hand, for three labels of one item and one of another."""
    ann = dx.simulate.confusion_study(20, 3, 2, random_seed=1).annotations
    model = dx.models.symmetric_confusion.build(ann)
    trace = drawn(model)
    who, said = [[0, 0, 0], [0, -1, -1]], [[0, 0, 1], [1, -1, -1]]
    with model:
        pm.set_data({"respondent_code": who, "label_code": said}, coords={"item": ["new", "other"]})
        found = pm.sample_posterior_predictive(trace, var_names=["truth"], progressbar=False)
    post = trace["posterior"].to_dataset()
    right, share = post["annotator_accuracy"], post["prevalence"].transpose("label", ...)
    a, b = share[0] * right**2 * (1 - right), share[1] * (1 - right) ** 2 * right
    c, d = share[0] * (1 - right), share[1] * right
    truth = found["posterior_predictive"]["truth"]
    np.testing.assert_allclose(truth.sel(item="new")[..., 0], a / (a + b))
    np.testing.assert_allclose(truth.sel(item="other")[..., 1], d / (c + d))
    with model, pytest.raises(Exception, match="must be codes below the numbers of respondents"):
        pm.set_data({"respondent_code": [[0, 1, 2], [2, -1, -1]]})
        pm.sample_posterior_predictive(trace, var_names=["truth"], progressbar=False)


def test_labels_of_new_items_by_set_data():
    """Their effects are drawn anew, those of annotators are the posterior's."""
    ann = dx.simulate.replication_study(20, 5, 3, random_seed=1).annotations
    model = dx.models.crossed_effects.build(ann)
    trace = run(model, draws=500, tune=100)
    who = [0, 1, 4]
    with model:
        model.set_dim("item", 2, coord_values=["p", "q"])
        pm.set_data({"item_code": [0, 0, 1], "annotator_code": who})
        found = pm.sample_posterior_predictive(
            trace, sample_vars=["item_effect", "score"], progressbar=False, random_seed=1
        )["posterior_predictive"]
    assert found["item"].values.tolist() == ["p", "q"]
    post = trace["posterior"].to_dataset()
    effect = found["item_effect"].to_numpy()
    people = post["annotator_effect"].to_numpy()[..., who] + post["mu"].to_numpy()[..., None]
    rest = found["score"].to_numpy() - effect[..., [0, 0, 1]] - people
    for values, sd in ((effect, post["sigma_item"]), (rest, post["sigma"])):
        scaled = values / sd.to_numpy()[..., None]
        assert stats.kstest(scaled[..., 0].ravel(), "norm").pvalue > 1e-3
        assert abs(np.corrcoef(scaled.reshape(-1, scaled.shape[-1]).T)[0, 1]) < 0.11


def test_pools_are_set_in_the_mean_and_in_the_residual():
    ann = dx.simulate.replication_study(10, 4, 2, pools=("a", "b"), random_seed=1).annotations
    model = dx.models.cross_replication.build(ann, residual="pool")
    given = {name: np.zeros(shape) for name, shape in (("item_effect", (10, 2)), ("mu", (2,)))}
    members = {"annotator_effect": np.zeros(len(model.coords["member"]))}
    model = pm.do(model, given | members | {"sigma": np.array([1.0, 100.0])})
    with model:
        for pool, sd in ((0, 1.0), (1, 100.0)):
            pm.set_data({"pool_code": np.full(ann.sizes["annotation"], pool)})
            drawn = pm.draw(model["score"], 100, random_seed=1, mode="FAST_COMPILE")
            assert drawn.std() == pytest.approx(sd, rel=0.1)
