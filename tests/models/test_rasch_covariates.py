"""Covariates of ability and difficulty: against integration, NUTS, and formulas written out."""

from __future__ import annotations

import crossed_reference
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import rasch_reference
from gradients import disagreements
from pymc_runs import run
from scipy import integrate, special, stats

import dissensus as dx
from dissensus.models import rasch

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
short = pytest.mark.filterwarnings("ignore:The chains have not run long enough")
QUIET = {"progressbar": False, "random_seed": 4}
FORMULA = "~ scale(words) + group * age"
TRUE = {"scale(words)": 0.5, "group[b]": 0.8, "age": -0.4, "group[b]:age": 0.6}
LEVELS = [0.5, 0.75, 1.0]


def study(n_items=20, n_people=8, each=4, *, n_labels=3, guessing=False, seed=1):
    """Return labels with these coefficients, tables of covariates, and truths."""
    rng = np.random.default_rng(seed)
    words, age = rng.normal(5.0, 2.0, n_items), rng.normal(size=n_people)
    b = rng.random(n_items) < 0.5
    item = np.repeat(np.arange(n_items), each)
    who = np.concatenate([rng.permutation(n_people)[:each] for _ in range(n_items)])
    eta = 1.0 + 0.25 * (words - 5.0)[item] + (0.8 + 0.6 * age[who]) * b[item] - 0.4 * age[who]
    eta += rng.normal(0.0, 0.8, n_items)[item] + rng.normal(0.0, 0.8, n_people)[who]
    odds = np.exp(eta) + guessing / (n_labels - 1)
    right = rng.random(len(eta)) < odds / (1 + odds)
    truth = rng.integers(0, n_labels, n_items)
    other = (truth[item] + rng.integers(1, n_labels, len(item))) % n_labels
    names, people = np.array([f"i{k}" for k in range(n_items)]), np.arange(n_people)
    ann = dx.annotations(
        {"item": names[item], "annotator": who, "label": np.where(right, truth[item], other),
         "confidence": rng.choice(LEVELS, len(item))},
        confidence="confidence", kind="nominal", labels=range(n_labels),
    )  # fmt: skip
    known = {
        "formula": FORMULA,
        "items": pd.DataFrame({"item": names, "words": words, "group": np.where(b, "b", "a")}),
        "annotators": pd.DataFrame({"annotator": people, "age": age}),
    }
    return ann, known, dict(zip(names.tolist(), truth.tolist(), strict=True))


def some(truth, n):
    return dict(list(truth.items())[:n]) or None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No truth is known, and nobody guesses")  # warned of below
@pytest.mark.parametrize(
    ("n_labels", "truth", "guessing"),
    [(2, None, None), (2, None, False), (2, [0, 1, 0, 1], None), (3, [0, -1, -1, 2], False)],
)
def test_posterior_is_what_integration_over_the_prior_gives(n_labels, truth, guessing):
    words, age = (stats.zscore(x) for x in ([0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 5.0]))
    item, who = np.divmod(np.arange(12), 3)
    label = np.random.default_rng(3).integers(0, n_labels, 12)
    ann = dx.annotations({"item": item, "annotator": who, "label": label}, labels=range(n_labels))
    x = np.stack(np.broadcast_arrays(words, age[:, None], words * age[:, None]), axis=2)
    runs = [
        rasch_reference.posterior_means(
            item, who, label, n_labels=n_labels, truth=truth, guessing=guessing, covariates=x,
            log2_points=17, seed=k,
        )
        for k in range(4)
    ]  # fmt: skip
    fitted = rasch.fit(
        ann, truth=None if truth is None else {i: z for i, z in enumerate(truth) if z >= 0},
        guessing=guessing, formula="~ words * age", items={"item": range(4), "words": words},
        annotators={"annotator": range(3), "age": age}, draws=8000, chains=2, **QUIET,
    )  # fmt: skip
    rasch_reference.compare(fitted["posterior"], runs)


@pytest.mark.slow
@short
@pytest.mark.filterwarnings("ignore:.*transitions diverged")
@pytest.mark.parametrize("n_known", [60, 0])
def test_nuts_finds_the_same_posterior(n_known):
    # Without known labels and with five labels an item, NUTS stays long among abilities that are
    # high, and among those that are low.
    ann, known, truth = study(60, 10, 5 if n_known else 9, guessing=not n_known)
    settings = {**known, "truth": some(truth, n_known), "keep_items": False, **QUIET}
    ours = rasch.fit(ann, draws=8000, **settings)
    other = rasch.fit(ann, draws=4000, tune=1500, chains=2, sampler="nuts", **settings)
    crossed_reference.compare_fits(ours, other, enough=100, errors=4.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_known", "more"), [(0, {}), (20, {}), (8, {"guessing": False, "confidence": True})]
)
def test_draws_of_the_step_go_with_the_gradient_that_nuts_follows(n_known, more):
    ann, known, truth = study()
    model = rasch.build(ann, truth=some(truth, n_known), **known, **more)
    assert disagreements(model) == {}


@pytest.mark.slow
def test_draws_under_another_prior_of_coefficients_do_not():
    ann, known, truth = study()
    given = {**known, "truth": truth}
    narrow = rasch.build(ann, priors={"coefficient": (0.0, 0.2)}, **given)
    assert disagreements(narrow, rasch.build(ann, **given))


@pytest.mark.slow
@pytest.mark.parametrize("n_known", [
    pytest.param(400, marks=pytest.mark.long), pytest.param(0, marks=pytest.mark.slow),
])  # fmt: skip
def test_true_coefficients_lie_within_their_intervals(n_known):
    ann, known, truth = study(400, 60, 6, guessing=not n_known)
    fit = rasch.fit(ann, truth=some(truth, n_known), draws=500, **known, **QUIET)
    draws = fit.posterior["coefficient"]
    assert draws["term"].values.tolist() == list(TRUE)
    z = (draws.mean(("chain", "draw")) - list(TRUE.values())) / draws.std(("chain", "draw"))
    assert (abs(z) < 3).all()
    assert (draws.std(("chain", "draw")) < 0.3).all()


def quick(ann, **settings):
    return rasch.fit(ann, **{"draws": 20, "tune": 10, "chains": 2, **QUIET, **settings})


def logits(post, known, ann):
    """Return the logit of each annotator (row) on each item by the tables alone."""
    items = known["items"].set_index("item").loc[ann["item"].values]
    age = known["annotators"].set_index("annotator").loc[ann["annotator"].values, "age"].to_numpy()
    words, b = items["words"].to_numpy(), (items["group"] == "b").to_numpy(dtype=float)
    at, who = ann["item_code"].to_numpy(), ann["annotator_code"].to_numpy()
    scaled = (words - words[at].mean()) / words[at].std()
    column = {
        "scale(words)": scaled[None], "group[b]": b[None] - b[at].mean(),
        "age": (age - age[who].mean())[:, None],
        "group[b]:age": b * age[:, None] - (b[at] * age[who]).mean(),
    }  # fmt: skip
    out = post["ability"].to_numpy()[:, None] - post["difficulty"].to_numpy()
    return out + sum(float(post["coefficient"].sel(term=term)) * x for term, x in column.items())


SETTINGS = pytest.mark.parametrize(
    ("n_known", "more"),
    [(0, {}), (20, {}), (20, {"guessing": True}), (7, {"guessing": False, "confidence": True})],
)


@pytest.mark.unit(0, long=2)
@short
@SETTINGS
def test_accuracies_of_all_pairs_and_likelihoods_know_the_covariates(n_known, more):
    ann, known, truth = study()
    fit = quick(ann, truth=some(truth, n_known), log_likelihood=True, **known, **more)
    post = fit.posterior.isel(chain=1, draw=3)
    guess = 0.5 if fit.attrs["hyper_guessing"] else 0.0
    odds = np.exp(logits(post, known, ann)) + guess
    np.testing.assert_allclose(post["accuracy"], odds / (1 + odds), rtol=1e-9)
    given = fit.log_likelihood["labels"].isel(chain=1, draw=3)
    whole = 0.0
    level = np.searchsorted(LEVELS, ann["confidence"].to_numpy())
    for i, name in enumerate(ann["item"].values):
        mine = np.flatnonzero(ann["item_code"].to_numpy() == i)
        who, label = (ann[f"{dim}_code"].to_numpy()[mine] for dim in ("annotator", "label"))
        left = logits(post, known, ann)[who, i] + float(post["difficulty"][i])

        def of_truths(b, left=left, label=label, mine=mine):
            odds = np.exp(left - b) + guess
            right, wrong = odds / (1 + odds), 1 / (1 + odds) / 2
            if more.get("confidence"):
                right = right * post["confidence_if_right"].to_numpy()[level[mine]]
                wrong = wrong * post["confidence_if_wrong"].to_numpy()[level[mine]]
            each = [np.where(label == z, right, wrong).prod() for z in range(3)]
            return post["prevalence"].to_numpy() * each

        place = truth[name] if i < n_known else slice(None)
        sd = float(post["difficulty_spread"])
        summed, _ = integrate.quad(
            lambda u, f=of_truths, z=place, sd=sd: f(sd * u)[z].sum() * stats.norm.pdf(u), -12, 12,
            limit=400, epsabs=0.0,
        )  # fmt: skip
        assert float(given[i]) == pytest.approx(np.log(summed), abs=1e-6)
        whole += np.log(of_truths(float(post["difficulty"][i]))[place].sum())
    assert fit.sample_stats["log_likelihood"].isel(chain=1, draw=3) == pytest.approx(whole)


@pytest.mark.long
@short
@SETTINGS
def test_new_labels_are_as_often_right_as_accuracies_say(n_known, more):
    ann, known, truth = study()
    fit = quick(
        ann, truth=some(truth, n_known), posterior_predictive=True, draws=400, **known, **more
    )
    post, at = fit.posterior, ann["item_code"].to_numpy()
    right = post["accuracy"].to_numpy()[:, :, ann["annotator_code"].to_numpy(), at][..., None]
    true = post["truth"].to_numpy()[:, :, at]
    expected = true * right + (1 - true) * (1 - right) / 2
    actual = fit.posterior_predictive["label_code"].to_numpy()[..., None] == np.arange(3)
    # By label: labels of one item are not independent, draws are.
    error = (actual - expected).mean(axis=(0, 1)) / np.sqrt(
        (expected * (1 - expected)).mean((0, 1))
    )
    assert np.abs(error).max() * np.sqrt(actual.shape[0] * actual.shape[1]) < 4.5


@pytest.mark.slow
@short
def test_nuts_draws_are_completed_with_the_covariates():
    ann, known, truth = study()
    fit = quick(ann, truth=some(truth, 10), sampler="nuts", draws=5, chains=1, **known)
    post = fit.posterior.isel(chain=0, draw=2)
    odds = np.exp(logits(post, known, ann)) + 0.5
    np.testing.assert_allclose(post["accuracy"], odds / (1 + odds), rtol=1e-9)
    right = (odds / (1 + odds))[ann["annotator_code"].to_numpy(), ann["item_code"].to_numpy()]
    table = np.log(post["prevalence"].to_numpy())[None].repeat(20, axis=0)
    for z in range(3):
        each = np.where(ann["label_code"] == z, right, (1 - right) / 2)
        np.add.at(table[:, z], ann["item_code"].to_numpy(), np.log(each))
    true = list(truth.values())[:10]
    expected = table[np.arange(10), true].sum() + special.logsumexp(table[10:], axis=1).sum()
    assert float(fit.sample_stats["log_likelihood"][0, 2]) == pytest.approx(expected)


@pytest.mark.slow
def test_pymc_takes_the_gibbs_step_and_its_trace_has_contrasts():
    ann, known, truth = study()
    trace = run(rasch.build(ann, truth=truth, **known), draws=300, tune=100)
    assert "step_size" not in trace["sample_stats"]
    fit = rasch.fit(ann, truth=truth, **known, **QUIET)
    weights = {"age": 1.0, "group[b]:age": 1.0}
    a, b = (dx.contrast(tree, weights) for tree in (fit, trace))
    assert abs(a.mean() - b.mean()) < 0.3 * a.std()
    of_terms = trace["posterior"]["coefficient"].sel(term=list(weights)).sum("term")
    np.testing.assert_allclose(b, of_terms)


@short
def test_the_unit_of_a_covariate_is_that_of_its_coefficient():
    ann, known, truth = study()
    known["formula"] = "~ words + age"
    tens = known | {"annotators": known["annotators"].assign(age=lambda x: 40 + 10 * x["age"])}
    first, second = (quick(ann, truth=truth, **table) for table in (known, tens))
    for name, times in (("words", 1), ("age", 10)):
        draws = [fit.posterior["coefficient"].sel(term=name) for fit in (first, second)]
        np.testing.assert_allclose(draws[0], times * draws[1], rtol=1e-6)
    shift = second.constant_data["covariate_mean"] - 10 * first.constant_data["covariate_mean"]
    assert float(shift.sel(term="age")) == pytest.approx(40.0)


def test_terms_that_follow_from_others_are_named():
    ann, known, _ = study()
    table = known["items"].assign(twice=lambda x: 2 * x["words"])
    with pytest.warns(dx.DesignWarning, match="'twice' is a linear combination of the mean"):
        rasch.build(ann, formula="~ words + twice", items=table)


def test_signs_that_nothing_tells_are_warned_of():
    """In 2 of 7 simulated studies of 150 labels such chains had an r-hat of up to 1.66."""
    ann, known, truth = study()
    with pytest.warns(dx.DesignWarning, match="other signs of coefficients.*Remove guessing=False"):
        rasch.build(ann, guessing=False, **known)
    rasch.build(ann, guessing=False, truth=some(truth, 3), **known)
    rasch.build(ann, **known)


@pytest.mark.long
def test_a_prior_of_coefficients_is_used_and_said():
    ann, known, truth = study()
    model = rasch.build(ann, **known, priors={"coefficient": (1.0, 0.001)})
    np.testing.assert_allclose(pm.draw(model["coefficient"], 50, random_seed=1), 1.0, atol=0.01)
    narrow = {"coefficient": (1.0, 0.5)}
    fit = rasch.fit(ann, truth=truth, **known, priors=narrow, draws=100, **QUIET)
    assert "coefficient normal(1, 0.5)" in fit.attrs["hyper_priors"]
    assert fit.attrs["hyper_formula"] == FORMULA
    default = rasch.build(ann, **known)["coefficient"].owner.inputs[3].eval()
    spread = default * rasch.build(ann, **known)["covariates"].get_value().std(axis=(0, 1))
    np.testing.assert_allclose(spread, 2.5)


def test_what_no_pair_of_item_and_annotator_says_is_refused():
    ann, known, _ = study()
    with pytest.raises(dx.ArgumentError, match="function of one item and one annotator; found"):
        rasch.build(ann, **known | {"formula": "~ {words - np.mean(words)}"})
    few = ann.isel(annotation=ann["annotator_code"].to_numpy() != 3)
    with pytest.raises(dx.ArgumentError, match=r"a label by each annotator.*none by 3"):
        rasch.build(few, **known)
    pooled = ann.assign(
        pool_code=("annotation", np.zeros(ann.sizes["annotation"], dtype=np.int64))
    ).assign_coords(pool=["a"])
    with pytest.raises(dx.ArgumentError, match="'pool' is in no table"):
        rasch.build(pooled, **known | {"formula": "~ pool"})


@short
@pytest.mark.parametrize("formula", ["~ poly(words, 2)", "~ bs(words, df=4) + C(size)", "~ flag"])
def test_terms_that_remember_their_data_are_the_same_for_all_pairs(formula):
    ann, known, truth = study()
    table = known["items"].assign(size=lambda x: x["words"].round() % 3, flag=lambda x: x.words > 5)
    fit = quick(ann, truth=truth, **known | {"formula": formula, "items": table})
    post = fit.posterior
    at, who = ann["item_code"].to_numpy(), ann["annotator_code"].to_numpy()
    logit = post["ability"].to_numpy()[..., who] - post["difficulty"].to_numpy()[..., at]
    logit += post["coefficient"].to_numpy() @ fit.constant_data["covariates"].to_numpy().T
    given = post["accuracy"].to_numpy()[:, :, who, at]
    np.testing.assert_allclose(given, special.expit(logit), rtol=1e-9)
