"""The Rasch model: against integration over its prior, NUTS, and studies whose answer is known."""

from __future__ import annotations

import warnings

import crossed_reference
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import rasch_reference
import xarray as xr
from gradients import disagreements
from rasch_cases import simulated as study
from scipy import integrate, special, stats

import dissensus as dx

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
slow = pytest.mark.slow
# Short runs, where spreads are not what is asked for.
short = pytest.mark.filterwarnings("ignore:The chains have not run long enough")
fit = dx.models.get("rasch").module.fit


TINY = {
    "truth unknown": (2, None, False, None),
    "truth unknown, no guessing": (2, None, False, False),
    "truth of all known": (2, [0, 1, 0, 1], False, None),
    "truth of all known, guessing": (3, [0, 1, 0, 1], False, True),
    "truth of some known, three labels": (3, [0, -1, -1, 2], False, None),
    "truth of some known, three labels, no guessing": (3, [0, -1, -1, 2], False, False),
    "confidence": (2, None, True, None),
    "confidence, truth of all known, guessing": (2, [0, 1, 1, 0], True, True),
    "confidence, truth of some known": (2, [0, 1, -1, -1], True, False),
}


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.parametrize("case", TINY)
def test_posterior_is_what_integration_over_the_prior_gives(case):
    n_labels, truth, confidence, guessing = TINY[case]
    ann, *_ = study(4, 3, n_labels, seed=5)
    codes = {dim: ann[f"{dim}_code"].to_numpy() for dim in ("item", "annotator", "label")}
    levels, level = np.unique(ann["confidence"].to_numpy(), return_inverse=True)
    options = {"level": level, "n_levels": len(levels)} if confidence else {}
    runs = [
        rasch_reference.posterior_means(
            **codes, n_labels=n_labels, truth=truth, guessing=guessing, **options, seed=k
        )
        for k in range(4)
    ]
    known = None if truth is None else {i: z for i, z in enumerate(truth) if z >= 0}
    fitted = fit(
        ann, truth=known, confidence=confidence, guessing=guessing, draws=8000, chains=2,
        random_seed=1, progressbar=False,
    )["posterior"]  # fmt: skip
    rasch_reference.compare(fitted, runs)


@slow
@short
@pytest.mark.filterwarnings("ignore:.* transitions diverged")
@pytest.mark.parametrize("confidence", [False, True])
@pytest.mark.parametrize("known", [0, 15, 40])
def test_both_samplers_find_one_posterior(known, confidence):
    ann, truth, *_ = study(40, 4, 3, seed=3)
    options = {
        "truth": dict(enumerate(truth[:known].tolist())), "confidence": confidence,
        "progressbar": False, "keep_items": False,
    }  # fmt: skip
    gibbs = fit(ann, draws=8000, random_seed=1, **options)
    if known:
        nuts = fit(ann, draws=4000, tune=1500, chains=2, sampler="nuts", random_seed=2, **options)
        assert "NUTS" in nuts.attrs["inference"]
    else:  # one trajectory of ten would diverge where the spread of abilities is small
        nuts = carefully(dx.models.rasch.build(ann, confidence=confidence))
        gibbs["posterior"] = xr.DataTree(gibbs["posterior"].to_dataset()[list(nuts["posterior"])])
    crossed_reference.compare_fits(gibbs, nuts, enough=80, errors=4.5)


def carefully(model):
    """Sample by NUTS with short steps."""
    with model, dx.steps.without_gibbs(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a few transitions diverge still
        trace = pm.sample(
            4000, tune=3000, chains=4, cores=2, target_accept=0.995, random_seed=5,
            progressbar=False,
        )  # fmt: skip
    items = {name for name, draws in trace["posterior"].data_vars.items() if "item" in draws.dims}
    return xr.DataTree.from_dict({"posterior": trace["posterior"].to_dataset().drop_vars(items)})


def small(known, confidence, prior_count=1.0):
    """Build a small model."""
    ann, truth, *_ = study(15, 4, 3, seed=3)
    return dx.models.rasch.build(
        ann, truth=dict(enumerate(truth[:known].tolist())), confidence=confidence,
        prior_count=prior_count,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("known", "confidence"), [(0, True), (5, False), (15, True)])
def test_draws_go_with_the_gradient_that_nuts_follows(known, confidence):
    """What the test above asks, reduced."""
    assert disagreements(small(known, confidence)) == {}


@pytest.mark.slow
def test_draws_under_another_prior_do_not():
    assert disagreements(small(15, False, prior_count=5.0), small(15, False))


@pytest.mark.long
def test_abilities_and_difficulties_are_recovered_where_the_truth_is_known():
    ann, truth, ability, difficulty = study(400, 12, 2, seed=1)
    fitted = fit(
        ann, truth=dict(enumerate(truth.tolist())), draws=1000, random_seed=1, progressbar=False
    )["posterior"]  # fmt: skip
    for name, true in (("ability", ability), ("difficulty", difficulty)):
        low, high = fitted[name].quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
        assert ((low < true) & (true < high)).mean() > 0.8
    assert np.corrcoef(fitted["ability"].mean(("chain", "draw")), ability)[0, 1] > 0.95


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@short
@pytest.mark.parametrize("guessing", [True, False])
def test_without_the_truth_it_is_found_with_the_abilities(guessing):
    ann, truth, ability, _ = study(400, 12, 2, seed=1, guessing=guessing)
    fitted = fit(
        ann, draws=500, chains=2, guessing=guessing, random_seed=1, progressbar=False
    )["posterior"]  # fmt: skip
    right = fitted["truth"].mean(("chain", "draw")).argmax("label").to_numpy() == truth
    assert right.mean() > 0.85
    low, high = fitted["ability"].quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
    assert ((low < ability) & (ability < high)).mean() > 0.5  # of one mean: all miss together


@pytest.mark.slow
@short
def test_confidence_says_more_of_the_truth():
    ann, truth, *_ = study(400, 4, 2, seed=2)
    right = {}
    for confidence in (False, True):
        fitted = fit(
            ann, confidence=confidence, draws=500, chains=2, random_seed=1, progressbar=False,
            keep_items=False,
        )  # fmt: skip
        mean = fitted["constant_data"]["truth_mean"].to_numpy()
        right[confidence] = np.log(mean[np.arange(len(truth)), truth]).mean()
    assert right[True] > right[False] + 0.02
    posterior = fitted["posterior"]
    np.testing.assert_allclose(
        posterior["confidence_if_right"].mean(("chain", "draw")), [0.2, 0.3, 0.5], atol=0.05
    )
    np.testing.assert_allclose(
        posterior["confidence_if_wrong"].mean(("chain", "draw")), [0.5, 0.3, 0.2], atol=0.07
    )


@pytest.mark.long
@short
def test_warns_if_annotators_hesitate_together():
    """Confidence follows how difficult an item is; where the truth is known it changes nothing."""
    ann, truth, _, difficulty = study(300, 5, 2, seed=2)
    rng = np.random.default_rng(1)
    ease = rng.normal(-difficulty[ann["item_code"].to_numpy()], 1.0)
    sure = ann.assign(confidence=("annotation", 0.5 + 0.25 * np.digitize(ease, [-1.0, 1.0])))
    run = {"confidence": True, "draws": 200, "chains": 2, "random_seed": 1, "progressbar": False}
    with pytest.warns(dx.DissensusWarning, match="are confident or unsure together"):
        fit(sure, **run)
    fit(sure, truth=dict(enumerate(truth.tolist())), **run)
    fit(ann, **run)  # of its own, each


@pytest.mark.long
@short
@pytest.mark.parametrize("guessing", [True, False])
def test_log_likelihood_and_new_labels(guessing):
    ann, *_ = study(60, 5, 3, seed=4)
    fitted = fit(
        ann, draws=200, chains=2, random_seed=1, progressbar=False, log_likelihood=True,
        posterior_predictive=True, guessing=guessing,
    )  # fmt: skip
    posterior = fitted["posterior"].isel(chain=1, draw=7)
    codes = {dim: ann[f"{dim}_code"].to_numpy() for dim in ("item", "annotator", "label")}
    accuracy = posterior["accuracy"].to_numpy()[codes["annotator"], codes["item"]]
    table = np.log(posterior["prevalence"].to_numpy())[None].repeat(60, axis=0)
    for z in range(3):
        each = np.where(codes["label"] == z, accuracy, (1 - accuracy) / 2)
        np.add.at(table[:, z], codes["item"], np.log(each))
    expected = special.logsumexp(table, axis=1)
    np.testing.assert_allclose(
        fitted["sample_stats"]["log_likelihood"].isel(chain=1, draw=7), expected.sum(), rtol=1e-9
    )
    again = fitted["posterior_predictive"]["label_code"]
    assert again.dims == ("chain", "draw", "annotation")
    share = (again == ann["label_code"]).mean()
    assert 0.4 < share < 0.9


@pytest.mark.unit(0, long=2)
@short
@pytest.mark.parametrize("guessing", [True, False])
@pytest.mark.parametrize("known", [0, 30])
def test_log_likelihood_has_difficulties_summed_out(guessing, known):
    ann, truth, *_ = study(30, 40, 3, seed=4)
    fitted = fit(
        ann, draws=20, chains=1, random_seed=1, progressbar=False, log_likelihood=True,
        guessing=guessing, confidence=True, truth=dict(enumerate(truth[:known].tolist())),
    )  # fmt: skip
    posterior = fitted["posterior"].isel(chain=0, draw=7)
    given = fitted["log_likelihood"]["labels"].isel(chain=0, draw=7)
    guess = 1 / 2 if guessing else 0.0
    level = np.unique(ann["confidence"].to_numpy(), return_inverse=True)[1]
    if_right, if_wrong = posterior["confidence_if_right"], posterior["confidence_if_wrong"]
    for i in range(0, 30, 7):
        mine = np.flatnonzero(ann["item_code"].to_numpy() == i)
        ability = posterior["ability"].to_numpy()[ann["annotator_code"].to_numpy()[mine]]
        label = ann["label_code"].to_numpy()[mine]

        def density(b, i=i, mine=mine, ability=ability, label=label):
            odds = np.exp(ability - b) + guess
            right = odds / (1 + odds)
            of_truth = [
                share
                * np.where(
                    label == z, right * if_right.to_numpy()[level[mine]],
                    (1 - right) / 2 * if_wrong.to_numpy()[level[mine]],
                ).prod()
                for z, share in enumerate(posterior["prevalence"].to_numpy())
            ]  # fmt: skip
            likelihood = of_truth[truth[i]] if known else sum(of_truth)
            return likelihood * stats.norm.pdf(b, scale=float(posterior["difficulty_spread"]))

        scale = density(float(posterior["difficulty"][i]))
        whole, _ = integrate.quad(lambda b, scale=scale: density(b) / scale, -15, 15, limit=500)
        assert given[i] == pytest.approx(np.log(whole) + np.log(scale), abs=1e-6)


@pytest.mark.unit(0, long=1)
@short
@pytest.mark.parametrize("guessing", [True, False])
def test_an_item_that_all_are_wrong_about_is_summed_out_as_well(guessing):
    """Its labels make it more than seven standard deviations of the prior too difficult."""
    rng = np.random.default_rng(1)
    right = rng.random((900, 60)) < special.expit(2.5)
    right[0] = False
    fitted = fit(
        dx.from_matrix(right.astype(int).tolist()), truth=dict.fromkeys(range(900), 1), draws=2,
        tune=100, chains=1, random_seed=1, progressbar=False, log_likelihood=True,
        guessing=guessing, keep_items=False,
    )  # fmt: skip
    posterior = fitted["posterior"].isel(chain=0, draw=1)
    sd, share = float(posterior["difficulty_spread"]), float(posterior["prevalence"][1])
    b = np.linspace(-60 * sd, 60 * sd, 40_001)
    odds = np.exp(posterior["ability"].to_numpy() - b[:, None]) + guessing
    for i in range(3):
        density = np.where(right[i], np.log(odds), 0.0) - np.log1p(odds)
        density = density.sum(axis=1) + stats.norm.logpdf(b, scale=sd)
        if i == 0:
            assert b[density.argmax()] > 7 * sd
        expected = special.logsumexp(density) + np.log((b[1] - b[0]) * share)
        given = fitted["log_likelihood"]["labels"].isel(chain=0, draw=1)[i]
        assert given.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"truth": {"x": 0}},
            "expected labels of items of the annotations; found other items",
        ),
        ({"truth": {0: 9}}, "truth: expected labels that annotators could give"),
        ({"truth": "0"}, "truth: expected a mapping, Series or DataArray"),
        ({"truth": pd.Series([0, 1], index=[0, 0])}, "truth: expected one label for each item"),
        ({"confidence": 1}, "confidence: expected True or False"),
        ({"guessing": "yes"}, "guessing: expected True or False"),
        ({"keep_items": "no"}, "keep_items: expected True or False"),
        ({"log_likelihood": 1}, "log_likelihood: expected True or False"),
        ({"priors": {"sd": 1}}, "priors: "),
        ({"priors": {"mean_ability": 1}}, "priors['mean_ability']: expected (mean, standard"),
        ({"priors": {"ability_spread": ("half_normal", -1)}}, "priors['ability_spread']: "),
        ({"prior_count": 0}, "prior_count: expected a finite number > 0"),
        ({"sampler": "hmc"}, "sampler: "),
        ({"draws": 4_000_000}, "keep_items: expected False"),
    ],
)
def test_refuses_what_makes_no_sense(options, message):
    ann, *_ = study(30, 4, 2, seed=1)
    with pytest.raises(dx.ArgumentError) as result:
        fit(ann, **{"draws": 10, "tune": 0, "chains": 1, "progressbar": False, **options})
    assert message in str(result.value)


def test_refuses_annotations_it_cannot_use():
    ann, *_ = study(30, 4, 2, seed=1)
    plain = ann.drop_vars("confidence")
    with pytest.raises(dx.AnnotationError, match="expected confidences, with confidence=True"):
        fit(plain, confidence=True)
    many = ann.assign(confidence=("annotation", np.linspace(0, 1, ann.sizes["annotation"])))
    with pytest.raises(dx.AnnotationError, match="at most 10 levels of confidence; found 120"):
        fit(many, confidence=True)
    with pytest.raises(dx.AnnotationError, match="kind 'nominal' or 'ordinal'"):
        fit(dx.from_matrix([[1.5, 2.0], [2.5, 1.0]], kind="continuous"))
    with pytest.raises(dx.AnnotationError, match="two labels or more"):
        fit(dx.from_matrix([["a", "a"], ["a", "a"]]))


def readers(shared, name):
    """Read a study of radiologists of ``mrmc_readers``: label, truth and study (row)."""
    table = pd.read_csv(shared / "mrmc_readers" / f"{name}_ratings.csv")
    return table.assign(label=table["label"] >= 3, truth=table["gold"] == 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "group"), [("vandyke", 1), ("vandyke", 2), ("franken", 1), ("franken", 2)]
)
def test_readers_accuracies_are_recovered(shared, name, group):
    """Of readers of known truth: the share each has right lies in the interval of his accuracy."""
    table = readers(shared, name).query("group == @group")
    ann = dx.annotations(table[["item", "annotator", "label"]], kind="nominal")
    gold = table.groupby("item")["truth"].first()
    fitted = fit(ann, truth=gold, draws=500, random_seed=1, progressbar=False)["posterior"]
    share = (table["label"] == table["truth"]).groupby(table["annotator"]).mean()
    accuracy = fitted["accuracy"].mean("item")
    low, high = accuracy.quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
    given = share[accuracy["annotator"].to_numpy()].to_numpy()
    assert ((low < given) & (given < high)).all()
    ability = fitted["ability"].mean(("chain", "draw"))
    assert np.corrcoef(ability, special.logit(given))[0, 1] > 0.97


@pytest.mark.long
@short
def test_without_the_truth_guessing_keeps_accuracies_where_they_are(shared):
    table = readers(shared, "vandyke").query("group == 2")
    ann = dx.annotations(table[["item", "annotator", "label"]], kind="nominal")
    share = (table["label"] == table["truth"]).groupby(table["annotator"]).mean()
    fitted = fit(ann, draws=500, random_seed=1, progressbar=False)["posterior"]
    mean = fitted["accuracy"].mean(("chain", "draw", "item")).to_series()
    assert (mean - share[mean.index]).abs().mean() < 0.05
    assert fitted.attrs["r_hat_max"] < 1.1
