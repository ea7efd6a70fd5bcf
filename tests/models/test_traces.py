"""What `pymc.sample` draws of the library's models goes into metrics as it is."""

from __future__ import annotations

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc_runs import run
from rasch_cases import simulated
from scipy import stats

import dissensus as dx
from dissensus.checks._traces import as_fit
from dissensus.data.plausibility import with_candidates
from dissensus.families.base import FitOptions
from dissensus.families.latent_truth.fit import TruthFit
from dissensus.families.latent_truth.parameters import named
from dissensus.sampling import fitting
from dissensus.sampling.interpreter import uncompiled
from dissensus.statistics._accuracies import accuracy_of_abilities

pytestmark = pytest.mark.long


def drawn(model):
    return run(model, draws=30, tune=10)


@pytest.mark.unit(0, long=2)
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
    if family == "ordinal":
        apart = fit["posterior"]["cutpoint"] - trace["posterior"]["cutpoint"]
        assert apart.sizes["boundary"] == fit["posterior"].sizes["boundary"]
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


def test_what_a_trace_does_not_hold_is_not_made_up():
    """Labels other than the truth was computed from; more than two labels, and no cutpoints."""
    ann = dx.simulate.confusion_study(8, 3, 3, random_seed=1).annotations
    model = dx.models.symmetric_confusion.build(ann)
    codes = model["label_code"].eval()
    trace = drawn(model)
    other = trace["observed_data"].to_dataset()
    other["labels"] = other["labels"].copy(data=np.where(codes >= 0, (codes + 1) % 3, codes))
    trace["observed_data"] = xr.DataTree(other)
    with pytest.raises(dx.ArgumentError, match=r"found other labels, as after pymc\.observe"):
        dx.items_to_review(trace)
    three = dx.from_matrix([[0, 1, 2], [1, 2, 0], [0, 0, 1], [2, 0, 1]], kind="ordinal")
    trace = drawn(dx.models.crossed_effects.build(three, family="ordinal"))
    trace["posterior"] = xr.DataTree(trace["posterior"].to_dataset().rename(cutpoint="cuts"))
    with pytest.raises(
        dx.ArgumentError, match="draws of 'cutpoint', since there are more than two"
    ):
        dx.icc(trace)


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


@pytest.mark.unit(1, long=1)
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
    who, labels = [[0, 0, 0], [0, -1, -1]], [[0, 0, 1], [1, -1, -1]]
    with model:
        pm.set_data(
            {"respondent_code": who, "label_code": labels}, coords={"item": ["new", "other"]}
        )
        result = pm.sample_posterior_predictive(trace, var_names=["truth"], progressbar=False)
    post = trace["posterior"].to_dataset()
    right, share = post["annotator_accuracy"], post["prevalence"].transpose("label", ...)
    a, b = share[0] * right**2 * (1 - right), share[1] * (1 - right) ** 2 * right
    c, d = share[0] * (1 - right), share[1] * right
    truth = result["posterior_predictive"]["truth"]
    np.testing.assert_allclose(truth.sel(item="new")[..., 0], a / (a + b))
    np.testing.assert_allclose(truth.sel(item="other")[..., 1], d / (c + d))
    with model, pytest.raises(Exception, match="must be codes below the numbers of respondents"):
        pm.set_data({"respondent_code": [[0, 1, 2], [2, -1, -1]]})
        pm.sample_posterior_predictive(trace, var_names=["truth"], progressbar=False)


def joint(ann, trace, known=None, guessing=True):
    """Return the probability of each truth together with the labels of an item (..., item, label).

    By the definition, label by label.
    """
    post = trace["posterior"].to_dataset().stack(draws=("chain", "draw"))
    level = np.unique(ann["confidence"], return_inverse=True)[1]
    n = ann.sizes["label"]
    out = np.empty((post.sizes["draws"], ann.sizes["item"], n))
    for s, i, z in np.ndindex(*out.shape):
        at = post.isel(draws=s)
        chance = float(at["prevalence"][z]) * (known is None or known.get(i, z) == z)
        for row in np.flatnonzero(ann["item_code"].to_numpy() == i):
            j, right = int(ann["annotator_code"][row]), int(ann["label_code"][row]) == z
            logit = float(at["ability"][j] - at["difficulty"][i])
            if "coefficient" in at:
                logit += float(at["coefficient"][0]) * (int(j == 1) - AGED)
            odds = np.exp(logit) + (1 / (n - 1) if guessing else 0)
            chance *= odds / (1 + odds) if right else 1 / (1 + odds) / (n - 1)
            if "confidence_if_right" in at:
                name = "confidence_if_right" if right else "confidence_if_wrong"
                chance *= float(at[name][level[row]])
        out[s, i, z] = chance
    return out


AGED = 8 / 30
"""The share of the labels that annotator 1 gave."""


@pytest.mark.unit(3, long=2)
@pytest.mark.parametrize(
    "settings",
    [{}, {"truth": {0: 1, 4: 2}, "confidence": True}, {"guessing": False, "formula": "~ aged"}],
    ids=["plain", "known truths and confidence", "covariates, no guessing"],
)
def test_likelihoods_and_truths_of_rasch_are_those_of_the_definition(settings):
    ann = simulated(10, 4, 3, seed=4)[0]
    of_one, of_two = ann["annotator_code"] == 0, (ann["annotator_code"] == 1)
    left_out = (of_one & (ann["item_code"] % 2 == 0)) | (of_two & (ann["item_code"] > 7))
    left_out |= (ann["annotator_code"] == 2) & (ann["item_code"] < 3)
    ann = ann.isel(annotation=~left_out.to_numpy())
    ann = ann.isel(annotation=np.random.default_rng(1).permutation(ann.sizes["annotation"]))
    people = {"annotator": range(4), "aged": [0.0, 1.0, 0.0, 0.0]}
    more = {"annotators": people} if "formula" in settings else {}
    model = dx.models.rasch.build(ann, **settings, **more)
    trace = run(model, draws=3, tune=2, chains=1)
    expected = joint(ann, trace, settings.get("truth"), settings.get("guessing", True))
    with model:
        likely = pm.compute_log_likelihood(trace, extend_inferencedata=False, progressbar=False)
    assert likely["labels"].dims == ("chain", "draw", "item")
    np.testing.assert_allclose(np.exp(likely["labels"][0]), expected.sum(axis=-1))
    truth = expected / expected.sum(axis=-1, keepdims=True)
    assert trace["posterior"]["truth"].dims == ("chain", "draw", "item", "label")
    np.testing.assert_allclose(trace["posterior"]["truth"][0], truth, atol=1e-12)


NEW = {
    "respondent_code": [[0, 1, 1, -1], [2, -1, -1, -1]],
    "label_code": [[0, 0, 1, -1], [1, -1, -1, -1]],
}
DRAWN = ["difficulty", "truth"]


@pytest.mark.slow
def test_truth_of_new_items_of_unknown_difficulty():
    """Weighted by the likelihood of an item it is that of a grid of difficulties."""
    ann = simulated(20, 4, 2, seed=4)[0]
    model = dx.models.rasch.build(ann)
    trace = run(model, draws=20, tune=100)
    single = trace["posterior"].to_dataset().isel(chain=[0], draw=[-1])
    repeated = single.isel(draw=np.zeros(1500, int)).assign_coords(draw=np.arange(1500))
    trace = xr.DataTree.from_dict({"posterior": repeated})
    with model:
        step = pm.sampling.mcmc.assign_step_methods(model)[1]
        (made,) = (each(moved) for each, moved in step.items())
        pm.set_data(NEW, coords={"item": ["new", "other"]})
        result = pm.sample_posterior_predictive(
            trace, sample_vars=DRAWN, random_seed=1, progressbar=False
        )["posterior_predictive"].to_dataset()
        with pytest.raises(dx.ArgumentError, match=r"Make a new step after pymc\.set_data"):
            made.step(model.initial_point())
        drawn = repeated.drop_dims("item").assign(difficulty=result["difficulty"])
        likely = pm.compute_log_likelihood(
            xr.DataTree.from_dict({"posterior": drawn}), extend_inferencedata=False,
            progressbar=False,
        )["labels"]  # fmt: skip
    at = single.squeeze()
    difficulty = np.linspace(-8, 8, 4001) * float(at["difficulty_spread"])
    prior = stats.norm.pdf(difficulty, 0, float(at["difficulty_spread"]))
    who, labels = (np.array(NEW[name]) for name in NEW)
    for i, item in enumerate(("new", "other")):
        given = result.sel(item=item).squeeze()
        both = []
        for z in range(2):
            chance, at_draws = float(at["prevalence"][z]), float(at["prevalence"][z])
            for j, y in zip(who[i], labels[i], strict=True):
                if j >= 0:
                    odds = np.exp(float(at["ability"][j]) - difficulty) + 1
                    chance = chance * np.where(y == z, odds, 1) / (1 + odds)
                    odds = np.exp(float(at["ability"][j]) - given["difficulty"].to_numpy()) + 1
                    at_draws = at_draws * np.where(y == z, odds, 1) / (1 + odds)
            both.append((at_draws, (chance * prior).sum()))
        np.testing.assert_allclose(given["truth"][:, 0], both[0][0] / (both[0][0] + both[1][0]))
        weight = np.exp(likely.sel(item=item))
        share = float((result["truth"].sel(item=item, label=0) * weight).sum() / weight.sum())
        assert share == pytest.approx(both[0][1] / (both[0][1] + both[1][1]), abs=0.015)


@pytest.mark.unit(3, long=1)
@pytest.mark.filterwarnings("ignore:The following trace variables were implicitly frozen")
@pytest.mark.parametrize(
    ("change", "how", "words"),
    [
        ({}, {"var_names": ["truth"]}, 'sample_vars=\\["difficulty", "truth"\\]'),
        ({"truth_code": None}, {"sample_vars": DRAWN}, "truth_code and covariates must have the"),
        ({"covariates": None}, {"sample_vars": DRAWN}, "truth_code and covariates must have the"),
        ({"respondent_code": [[0, 1, 1, -1], [4, -1, -1, -1]]}, {"sample_vars": DRAWN},
         "respondents must be codes below the number of annotators"),
        ({"label_code": [[0, 2, 1, -1], [1, -1, -1, -1]]}, {"sample_vars": DRAWN},
         "labels must be codes below"),
        ({"label_code": [[0, 0, -1, -1], [1, -1, -1, -1]]}, {"sample_vars": DRAWN},
         "a label and its respondent, or -1 for both"),
    ],
)  # fmt: skip
def test_new_items_that_do_not_fit_are_refused(change, how, words):
    ann, truth, *_ = simulated(20, 4, 2, seed=4)
    people = {"annotator": range(4), "aged": [0.0, 1.0, 0.0, 0.0]}
    model = dx.models.rasch.build(
        ann, truth={0: int(truth[0])}, formula="~ aged", annotators=people
    )
    trace = drawn(model)
    data = {**NEW, "truth_code": [-1, -1], "covariates": np.zeros((2, 4, 1)), **change}
    with model, pytest.raises(AssertionError, match=words):
        pm.set_data(
            {name: values for name, values in data.items() if values is not None},
            coords={"item": ["new", "other"]},
        )
        pm.sample_posterior_predictive(trace, progressbar=False, **how)


@pytest.mark.filterwarnings("ignore:annotator_discrimination is undefined")
def test_statistics_that_take_a_trace_of_rasch():
    ann = simulated(20, 4, 2, seed=4)[0]
    people = {"annotator": range(4), "aged": [0.0, 1.0, 0.0, 0.0]}
    trace = drawn(dx.models.rasch.build(ann, formula="~ aged", annotators=people))
    np.testing.assert_array_equal(
        dx.contrast(trace, {"aged": 2.0}), 2 * trace["posterior"]["coefficient"][..., 0]
    )
    np.testing.assert_array_equal(
        dx.confidence_difficulty(ann, trace, random_seed=1)["difficulty"],
        trace["posterior"]["difficulty"],
    )
    assert dx.confidence_check(ann, trace, random_seed=1).sizes["draw"] == 30
    for ask in (lambda: dx.weighted_reliability(ann, accuracy=trace),
                lambda: dx.items_to_review(trace)):  # fmt: skip
        with pytest.raises(dx.ArgumentError, match="covariates of all annotators on all items"):
            ask()


REVIEWED = [
    ("rasch", {}), ("rasch", {"truth": {1: "A", 2: "B"}}), ("rasch", {"guessing": False}),
    ("symmetric_confusion", {}), ("symmetric_confusion", {"accuracy": "annotator"}),
    ("symmetric_confusion", {"systems": "related"}), ("dawid_skene", {}),
    ("dawid_skene", {"pooling": "none"}), ("dawid_skene", {"pooling": "complete"}),
    ("dawid_skene", {"truth": {1: "A"}}), ("symmetric_confusion", {"truth": {1: "A"}}),
    ("dawid_skene", {"systems": "related", "pooling": "none"}),
]  # fmt: skip
UNEQUAL = {"errors": "unequal"}
GRADED = {"errors": "graded"}


def traced_and_fitted(name, settings, **options):
    """Return a model, a trace of it, and a fit with the trace's draws."""
    study = dx.simulate.confusion_study(15, 4, 3, system_accuracy=[0.9, 0.7], random_seed=1)
    ann, model = study.annotations, getattr(dx.models, name)
    if settings == GRADED:
        ann = ann.assign_attrs(kind="ordinal")
    if name != "rasch":
        settings = {"predictions": study.predictions, **settings}
    built = model.build(ann, **settings)
    trace = drawn(built)
    fit = model.fit(
        ann, **settings, draws=30, tune=10, chains=2, random_seed=1,
        progressbar=False, **options,
    )  # fmt: skip
    post = trace["posterior"].to_dataset()
    if settings.get("pooling") == "complete":
        post["confusion"] = post["population_confusion"].expand_dims(annotator=4)
    if name == "rasch":
        odds = np.exp(post["ability"] - post["difficulty"])
        odds = odds + (0.0 if settings.get("guessing") is False else 0.5)
        post["accuracy"] = odds / (1 + odds)
    fit["posterior"] = xr.DataTree(post)
    return built, trace, fit


@pytest.mark.filterwarnings("ignore:The chains of")
@pytest.mark.filterwarnings("ignore:No truth is known, and nobody guesses")
@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize(("name", "settings"), REVIEWED)
def test_items_to_review_are_those_of_a_fit_with_the_same_draws(name, settings):
    _, trace, fit = traced_and_fitted(name, settings)
    xr.testing.assert_allclose(
        dx.items_to_review(trace, further=2), dx.items_to_review(fit, further=2)
    )


@pytest.mark.unit(3, long=1)
@pytest.mark.filterwarnings("ignore:No truth is known, and nobody guesses")
@pytest.mark.parametrize(("name", "settings"), REVIEWED[:3])
def test_accuracies_of_rasch_are_those_that_fit_computes(name, settings):
    study = dx.simulate.confusion_study(15, 4, 3, random_seed=1)
    model, _, _ = traced_and_fitted(name, settings)
    fit = dx.models.rasch.fit(
        study.annotations, **settings, draws=9, tune=9, chains=2, random_seed=1, progressbar=False
    )
    with model:  # the data of the model, the draws of the fit
        data = run(model, draws=2, tune=2, chains=1)["constant_data"].to_dataset()
    xr.testing.assert_allclose(
        accuracy_of_abilities(fit["posterior"].to_dataset(), data, "fit"),
        fit["posterior"]["accuracy"],
    )


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize(("name", "settings"), [
    *REVIEWED[3:], ("symmetric_confusion", GRADED), ("symmetric_confusion", UNEQUAL),
])  # fmt: skip
def test_assumptions_are_checked_with_the_predictive_draws_of_a_trace(name, settings):
    model, trace, fit = traced_and_fitted(name, settings, posterior_predictive=True)
    with pytest.raises(dx.ArgumentError, match=r"pymc\.sample_posterior_predictive"):
        dx.check_assumptions(trace)
    with model:
        pm.sample_posterior_predictive(
            trace, extend_inferencedata=True, random_seed=1, progressbar=False
        )
    actual, expected = dx.check_assumptions(trace), dx.check_assumptions(fit)
    same = ["item_agreement", "system_unanimity"]  # the others are relative to replicates
    missing = actual["observed"].isnull()
    missing = missing.sel(check=["label_use", "annotator_agreement"])
    assert missing.all() or not missing.any()
    is_one = name == "symmetric_confusion" and settings.get("accuracy") is None
    is_one = is_one and settings != UNEQUAL
    assert bool(missing.all()) == (is_one or settings.get("pooling") == "complete")
    if missing.all():
        assert "does not say who" in str(actual["sentence"].sel(check="repeats").item())
    np.testing.assert_allclose(
        actual["observed"].sel(check=same), expected["observed"].sel(check=same)
    )
    np.testing.assert_allclose(actual["in_place"], expected["in_place"])
    labels = {key: value for key, value in actual.attrs.items() if key.startswith("hyper_")}
    assert labels.items() <= fit.attrs.items()
    laid = as_fit(trace)["posterior_predictive"]
    first = trace["posterior_predictive"]["labels"].transpose("item", "place", ...)
    np.testing.assert_array_equal(laid["label_code"][..., 3], first[0, 3])
    np.testing.assert_array_equal(laid["label_code"][..., 4 * 7 + 1], first[7, 1])
    np.testing.assert_array_equal(laid["system_label_code"][..., 7, 1], first[7, 5])


def with_an_extra(trace):
    out = trace.copy()
    post = trace["posterior"].to_dataset()
    out["posterior"] = xr.DataTree(post.assign(discrimination=post["prevalence"][..., 0]))
    return out


SPOILED = {
    "annotators": (lambda trace: trace.isel(annotator=[0, 1, 2]), "of 3 annotators and 0 systems"),
    "the first annotator": (lambda trace: trace.isel(annotator=[1, 2, 3, 4]), "of 4 annotators"),
    "the last annotator": (lambda trace: trace.isel(annotator=[0, 1, 2, 3]), "of 4 annotators"),
    "one annotator": (lambda trace: trace.isel(annotator=0), "dimension 'annotator'"),
    "one label": (lambda trace: trace.isel(label=[0, 1], response=[0, 1]), "some were dropped"),
    "items": (lambda trace: trace.isel(item=[0, 1]), None),  # of draws and data alike
    "one chain": (lambda trace: trace.isel(chain=0), "dimension 'chain'"),
    "another variable": (with_an_extra, "these checks do not read: 'discrimination'"),
}


@pytest.mark.unit(3, long=2)
@pytest.mark.parametrize("part", SPOILED)
def test_a_part_of_a_trace_or_a_trace_of_another_model_is_refused(part):
    ann = dx.simulate.confusion_study(15, 5, 3, random_seed=1).annotations
    spoil, words = SPOILED[part]
    trace = spoil(drawn(dx.models.dawid_skene.build(ann, pooling="none")))
    if words is None:
        assert dx.items_to_review(trace).sizes["item"] == 2
    else:
        with pytest.raises(dx.ArgumentError, match=words):
            dx.items_to_review(trace)


def test_a_trace_without_one_of_its_systems_is_refused():
    study = dx.simulate.confusion_study(15, 4, 3, system_accuracy=[0.9, 0.7], random_seed=1)
    model = dx.models.symmetric_confusion.build(study.annotations, predictions=study.predictions)
    with pytest.raises(dx.ArgumentError, match="1 annotators and 1 systems, and labels of 3"):
        dx.items_to_review(drawn(model).isel(system=[1]))


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_unequal_errors_of_one_accuracy_name_who_gave_which_label(n_labels, known):
    """With two labels, no variable is by respondent: the data tell how many there are."""
    study = dx.simulate.confusion_study(
        15, 4, n_labels, system_accuracy=[0.9, 0.7], labels_per_item=3, random_seed=1
    )
    ann = study.annotations
    truth = {"truth": study.truth["truth_label"].isel(item=[0, 2])} if known else {}
    model = dx.models.symmetric_confusion.build(
        ann, predictions=study.predictions, **UNEQUAL, **truth
    )
    trace = extended(model, drawn(model))
    laid = as_fit(trace)
    assert laid.attrs["hyper_errors"] == "unequal"
    who = laid["constant_data"]["annotator_code"].to_numpy()
    order = np.lexsort((ann["annotator_code"], ann["item_code"]))
    assert who.tolist() == ann["annotator_code"].to_numpy()[order].tolist()
    names = laid["constant_data"]["annotator"].to_numpy().tolist()
    if n_labels == 3:
        assert names == ann["annotator"].to_numpy().astype(str).tolist()
        first, second = (dx.agreement_check(trace, *given)["observed"] for given in ([], [ann]))
        assert first.equals(second)
    else:
        assert names == ["number 1", "number 2", "number 3", "number 4"]


@pytest.mark.slow
def test_annotations_may_be_given_in_any_order():
    ann = dx.simulate.confusion_study(15, 5, 3, random_seed=1).annotations
    mixed = ann.isel(annotation=np.random.default_rng(1).permutation(ann.sizes["annotation"]))
    observed = dx.agreement_check(fit_of(ann), ann)["observed"]
    for built in (ann, mixed):
        model = dx.models.dawid_skene.build(built)
        trace = extended(model, drawn(model))
        for given in ([], [ann], [mixed]):
            xr.testing.assert_allclose(dx.agreement_check(trace, *given)["observed"], observed)
        first, *rest = (dx.label_check(trace, *given) for given in ([], [ann], [mixed]))
        for check in rest:
            xr.testing.assert_allclose(first["observed"], check["observed"])
    alike = dx.models.dawid_skene.build(mixed, pooling="complete")  # annotators are not told apart
    xr.testing.assert_allclose(
        dx.agreement_check(extended(alike, drawn(alike)), mixed)["observed"], observed
    )


def fit_of(annotations):
    return dx.models.dawid_skene.fit(
        annotations, draws=5, tune=5, chains=2, random_seed=1, progressbar=False,
        posterior_predictive=True,
    )  # fmt: skip


def test_data_of_other_items_and_matrices_of_typical_items_are_refused():
    ann = dx.simulate.confusion_study(15, 5, 3, random_seed=1).annotations
    model = dx.models.symmetric_confusion.build(ann)
    trace = drawn(model)
    with model:
        codes = [[0] * trace["constant_data"].sizes["place"]]
        pm.set_data({"label_code": codes, "respondent_code": codes}, coords={"item": ["new"]})
        pm.sample_posterior_predictive(
            trace, var_names=["labels"], extend_inferencedata=True, progressbar=False
        )
    for ask in (dx.items_to_review, dx.check_assumptions):
        with pytest.raises(dx.ArgumentError, match="data of other items"):
            ask(trace)
    hard = drawn(dx.models.dawid_skene.build(ann, pooling="complete", difficulty=True))
    for ask in (dx.items_to_review, dx.check_assumptions):
        with pytest.raises(dx.ArgumentError, match="difficulty=True"):
            ask(hard)
    with pytest.raises(dx.ArgumentError, match="confusion matrices"):
        dx.annotator_roc(hard, positive="A")


@pytest.mark.unit(3, long=1)
@pytest.mark.parametrize("errors", ["equal", "graded", "unequal"])
def test_rates_of_one_accuracy_are_known_if_errors_are_equally_frequent(errors):
    ann = dx.simulate.confusion_study(15, 4, 3, random_seed=1).annotations
    trace = drawn(dx.models.symmetric_confusion.build(
        ann.assign_attrs(kind="ordinal"), errors=errors
    ))  # fmt: skip
    if errors == "equal":
        actual = dx.annotator_roc(trace, positive="A")["false_positive_rate"]
        expected = (1 - trace["posterior"]["annotator_accuracy"]) / 2
        np.testing.assert_allclose(np.squeeze(actual), expected)
    else:
        with pytest.raises(dx.ArgumentError, match="equally frequent errors"):
            dx.annotator_roc(trace, positive="A")


def small(name):
    """Return annotations for a model, and settings."""
    if name == "plackett_luce":
        return dx.simulate.study(
            n_items=8, kind="ranking", n_labels=4, random_seed=1
        ).annotations, {}
    if name.startswith("cross"):
        pools = {"pools": ("old", "new")} if name == "cross_replication" else {}
        return dx.simulate.replication_study(20, 6, 3, random_seed=1, **pools).annotations, {}
    rng = np.random.default_rng(1)
    if name == "bradley_terry":
        left = rng.integers(4, size=60)
        return dx.pairs(
            {"left": left, "right": (left + rng.integers(1, 4, 60)) % 4,
             "winner": rng.choice(["left", "right", "tie"], 60),
             "item": rng.integers(6, size=60), "annotator": rng.integers(5, size=60)},
            item="item", annotator="annotator",
        ), {}  # fmt: skip
    if name == "normal_scores":
        return dx.from_matrix(rng.normal(size=(10, 4))), {}
    own = {"accuracy": "annotator"} if name == "symmetric_confusion" else {}
    return dx.simulate.confusion_study(20, 4, 3, random_seed=1).annotations, own


def extended(model, trace):
    with model:
        return pm.sample_posterior_predictive(
            trace, extend_inferencedata=True, random_seed=1, progressbar=False
        )


@pytest.mark.unit(3, long=1)
@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
@pytest.mark.parametrize("name", [
    "crossed_effects", "cross_replication", "symmetric_confusion", "dawid_skene", "rasch",
])  # fmt: skip
def test_agreement_and_rows_are_checked_with_a_trace(name):
    ann, settings = small(name)
    model = getattr(dx.models, name).build(ann, **settings)
    trace = extended(model, drawn(model))
    fit = getattr(dx.models, name).fit(
        ann, **settings, draws=300, posterior_predictive=True, random_seed=1, progressbar=False
    )
    actual, expected = dx.agreement_check(trace), dx.agreement_check(fit)
    assert actual["statistic"].values.tolist() == expected["statistic"].values.tolist()
    np.testing.assert_allclose(actual["observed"], expected["observed"])
    sd = expected["replicated"].std(("chain", "draw"))
    gap = (actual["replicated"] - expected["replicated"].mean(("chain", "draw"))).mean(
        ("chain", "draw")
    )
    assert (abs(gap) < 1.5 * sd).all()  # of 60 draws that depend on each other
    if not name.startswith("cross"):
        return
    first, second = dx.label_check(trace), dx.label_check(fit)
    np.testing.assert_allclose(
        np.sort(first["observed"], axis=0), np.sort(second["observed"], axis=0)
    )
    first, second = (
        np.sort(dx.residual_check(x)["observed"], axis=0).ravel() for x in (trace, fit)
    )
    assert np.corrcoef(first, second)[0, 1] > 0.97  # from the means of replicates


def test_a_pilot_may_be_a_trace_of_two_pools():
    ann, _ = small("cross_replication")
    trace = drawn(dx.models.cross_replication.build(ann))
    plan = dx.plan(trace, annotators=(2,), items=(20,), studies=2, random_seed=1, progressbar=False)
    assert np.isfinite(plan["half_width"]).all()


@pytest.mark.parametrize("name", ["plackett_luce", "inverse_rank"])
def test_replicates_of_rankings_are_those_of_a_fit(name):
    ann, _ = small("plackett_luce")
    model = getattr(dx.models, name).build(ann)
    with pytest.raises(dx.ArgumentError, match=r"A trace of a model of rankings has ranks"):
        dx.agreement_check(extended(model, drawn(model)))


def test_labels_of_new_items_by_set_data():
    """Their effects are drawn anew, those of annotators are the posterior's."""
    ann = dx.simulate.replication_study(20, 5, 3, random_seed=1).annotations
    model = dx.models.crossed_effects.build(ann)
    trace = run(model, draws=500, tune=100)
    who = [0, 1, 4]
    with model:
        model.set_dim("item", 2, coord_values=["p", "q"])
        pm.set_data({"item_code": [0, 0, 1], "annotator_code": who})
        result = pm.sample_posterior_predictive(
            trace, sample_vars=["item_effect", "score"], progressbar=False, random_seed=1
        )["posterior_predictive"]
    assert result["item"].values.tolist() == ["p", "q"]
    post = trace["posterior"].to_dataset()
    effect = result["item_effect"].to_numpy()
    people = post["annotator_effect"].to_numpy()[..., who] + post["mu"].to_numpy()[..., None]
    rest = result["score"].to_numpy() - effect[..., [0, 0, 1]] - people
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


TOP = {
    "crossed_effects": ("mu", "sigma_item", "sigma_annotator", "sigma"),
    "rasch": ("mean_ability", "ability_spread", "difficulty_spread"),
    "normal_scores": ("prior_mean", "prior_count", "prior_shape", "prior_variance"),
    "dirichlet": ("concentration",),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", list(TOP))
def test_priors_of_a_fit_can_be_scaled_by_arviz(name):
    rng, top, module = np.random.default_rng(1), list(TOP[name]), getattr(dx.models, name)
    ann = dx.from_matrix(rng.normal(size=(40, 1)) + rng.normal(0, 0.5, size=(40, 6)))
    if name in {"rasch", "dirichlet"}:
        ann = dx.simulate.confusion_study(40, 5, 3, random_seed=1).annotations
    fit = module.fit(
        ann, draws=250, chains=2, random_seed=1, progressbar=False, log_likelihood=True
    )
    actual = fit["log_prior"].to_dataset()
    by_pymc = pm.stats.compute_log_prior(
        fit, var_names=top, model=module.build(ann), progressbar=False, extend_inferencedata=False
    )  # fmt: skip
    for parameter in top:
        np.testing.assert_allclose(actual[parameter], by_pymc[parameter], rtol=1e-12)
    if name == "rasch":  # its card's priors
        drawn = fit["posterior"]["difficulty_spread"].to_numpy()
        expected = stats.halfnorm.logpdf(drawn, scale=1.5)
        np.testing.assert_allclose(fit["log_prior"]["difficulty_spread"], expected, atol=1e-9)
    table = az.psense_summary(fit, var_names=top)
    assert list(table.index) == top
    assert (table[["prior", "likelihood"]] > 0).all(axis=None)


SHORT = {"draws": 100, "tune": 50, "chains": 2, "random_seed": 1, "progressbar": False,
         "log_likelihood": True}  # fmt: skip


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_priors_of_parameters_with_another_name_in_the_posterior():
    pools = {"pools": ("old", "new"), "overlap": 0.6}
    ann = dx.simulate.replication_study(
        25, 6, 4, family="ordinal", random_seed=1, **pools
    ).annotations
    fit = dx.models.cross_replication.fit(ann, family="ordinal", correlation_prior=4.0, **SHORT)
    result, drawn = fit["log_prior"], fit["posterior"]
    r = drawn["correlation"].sel(pool="old", pool_="new").to_numpy()
    apart = result["correlation_cholesky"].to_numpy() - 3.0 * np.log(1.0 - r**2)  # eta - 1
    np.testing.assert_allclose(apart, apart[0, 0], rtol=1e-9)
    gap = np.diff(drawn["cutpoint"].to_numpy(), axis=-1)
    np.testing.assert_allclose(result["gap"], stats.expon.logpdf(gap), rtol=1e-8)  # the card's
    assert "left_out" not in result.attrs
    assert az.psense_summary(fit, var_names=["mu"])["prior"].notna().all()


@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")
def test_priors_that_a_fit_cannot_state_are_named():
    ann = dx.simulate.confusion_study(40, 4, 3, random_seed=1).annotations
    pooled = dx.models.dawid_skene.fit(ann, **SHORT)
    assert pooled["log_prior"].attrs["left_out"] == ["annotator_offset"]  # not kept
    thin = dx.models.dirichlet.fit(ann, prior_count=1e-3, **SHORT)
    assert (thin["posterior"]["plausibility"] == 0).any()  # the density is infinite
    assert thin["log_prior"].attrs["left_out"] == ["plausibility"]
    # Accuracies for the true labels, where the model has those for others:
    correlated = dx.models.symmetric_confusion.fit(ann, error_correlation="learned", **SHORT)
    assert "log_likelihood" in correlated
    assert "log_prior" not in correlated


TOP_OF = {
    name: set(names.split()) for name, names in {
        "crossed_effects": "mu sigma_item sigma_annotator sigma",
        "cross_replication": "mu sigma_item sigma_annotator sigma correlation_cholesky",
        "symmetric_confusion": "prevalence annotator_offset accuracy_spread mean_accuracy",
        "dawid_skene": "prevalence population_confusion confusion_concentration accuracy_spread "
        "annotator_offset",
        "rasch": "mean_ability ability_spread difficulty_spread prevalence",
        "plackett_luce": "concentration label_weight",
        "bradley_terry": "strength_spread tie item_spread item_tie_spread sharpness_spread "
        "annotator_tie_spread annotator_taste_spread",
        "dirichlet": "concentration label_weight",
        "normal_scores": "prior_mean prior_count prior_shape prior_variance",
    }.items()
}  # fmt: skip
"""Parameters whose prior depends on no other, by the cards."""


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", TOP_OF)
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.filterwarnings("ignore:Variables .* look discrete")
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of moment matching
def test_arviz_takes_a_trace_and_what_pymc_adds_to_it(name):
    ann, settings = small(name)
    model = getattr(dx.models, name).build(ann, **settings)
    by_nuts = name in {"bradley_terry", "dirichlet", "normal_scores"}  # interpreted, which is slow
    trace = run(model, draws=60, tune=20) if by_nuts else run(model, draws=100, tune=50)
    with model, uncompiled():
        pm.compute_log_likelihood(trace, progressbar=False)
        pm.stats.compute_log_prior(trace, progressbar=False)
        pm.sample_posterior_predictive(
            trace, progressbar=False, extend_inferencedata=True, random_seed=1
        )
    assert set(trace["log_prior"].data_vars) == {rv.name for rv in model.free_RVs}
    ours = xr.DataTree.from_dict({"posterior": trace["posterior"].to_dataset()})
    fitting.attach_log_prior(ours, lambda: model)
    for parameter, density in ours["log_prior"].data_vars.items():
        assert density.dims == trace["log_prior"][parameter].dims
        np.testing.assert_allclose(density, trace["log_prior"][parameter], rtol=1e-10)
    assert set(ours["log_prior"].data_vars) == TOP_OF[name]
    post = trace["posterior"]
    plain = [rv.name for rv in model.free_RVs if "label" not in post[rv.name].dims]
    assert np.isfinite(az.summary(trace, var_names=plain, kind="stats")["mean"]).all()
    top = [each for each in plain if post[each].ndim == 2]  # chain and draw
    if by_nuts:
        metric = {
            "bradley_terry": dx.win_rate,
            "dirichlet": dx.annotation_certainty,
            "normal_scores": lambda tree: dx.event_plausibility(tree, threshold=0.2),
        }[name]
        result = metric(trace)
        result = result if isinstance(result, xr.DataArray) else result.to_array()
        assert np.isfinite(result).all()
    elif top:
        assert list(az.psense_summary(trace, var_names=top).index) == top
    loo = az.loo(trace, pointwise=True)
    az.plot_ppc_dist(trace)
    if name == "crossed_effects":  # the others take up to 20 seconds
        assert float(loo.pareto_k.max()) > 0.7
        with uncompiled():
            moved = az.loo_moment_match(trace, loo, model=model)
        assert float(moved.pareto_k.max()) < float(loo.pareto_k.max())
