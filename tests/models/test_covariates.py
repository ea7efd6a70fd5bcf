"""Covariates of items and annotators in crossed effects."""

from __future__ import annotations

from functools import partial

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc_runs import run
from refusals import check_refused
from scipy import special, stats

import dissensus as dx
from dissensus.families.crossed.covariates import aliased
from dissensus.models import cross_replication, crossed_effects, rasch

QUIET = {"progressbar": False, "random_seed": 4}
FORMULA = "~ words + group * age"
TRUE = {"words": 0.5, "group[b]": 0.8, "age": -0.4, "group[b]:age": 0.6}


def tables(n_items, n_annotators, rng):
    """Return covariates of items and annotators."""
    items = pd.DataFrame({
        "item": [f"i{k}" for k in range(n_items)], "words": rng.normal(5.0, 1.0, n_items),
        "group": rng.choice(["a", "b"], n_items),
    })  # fmt: skip
    annotators = pd.DataFrame({
        "annotator": [f"r{k}" for k in range(n_annotators)],
        "age": rng.normal(0.0, 1.0, n_annotators),
    })  # fmt: skip
    return items, annotators


def study(family, n_items=30, n_annotators=12, each=4, seed=1):
    """Return labels with these coefficients, and the tables of covariates."""
    rng = np.random.default_rng(seed)
    items, annotators = tables(n_items, n_annotators, rng)
    item = np.repeat(np.arange(n_items), each)
    who = np.concatenate([rng.permutation(n_annotators)[:each] for _ in range(n_items)])
    b, age = (items["group"].to_numpy() == "b")[item], annotators["age"].to_numpy()[who]
    eta = 0.5 * (items["words"].to_numpy()[item] - 5.0) + 0.8 * b - 0.4 * age + 0.6 * b * age
    eta += 0.9 * rng.normal(size=n_items)[item] + 0.9 * rng.normal(size=n_annotators)[who]
    if family == "bernoulli":
        label = (eta + rng.logistic(size=len(item)) > 0.4).astype(int)
    else:
        label = eta + rng.normal(size=len(item))
    if family == "ordinal":
        label = np.digitize(label, [-0.6, 0.4, 1.4])
    ann = dx.annotations(
        {"item": items["item"].to_numpy()[item], "label": label,
         "annotator": annotators["annotator"].to_numpy()[who]},
        kind="continuous" if family == "gaussian" else "ordinal",
    )  # fmt: skip
    return ann, {"items": items, "annotators": annotators}


FAMILIES = pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])


@pytest.mark.unit(0, long=1)
@FAMILIES
def test_true_coefficients_lie_within_their_intervals(family):
    ann, known = study(family, 400, 60, 6)
    fit = crossed_effects.fit(ann, family=family, formula=FORMULA, **known, draws=500, **QUIET)
    draws = fit.posterior["coefficient"]
    assert draws["term"].values.tolist() == list(TRUE)
    z = (draws.mean(("chain", "draw")) - list(TRUE.values())) / draws.std(("chain", "draw"))
    assert (abs(z) < 3).all()
    assert (draws.std(("chain", "draw")) < 0.25).all()


def in_two_pools(ann):
    """Return the same labels, of annotators in two pools."""
    who = ann["annotator"].values[ann["annotator_code"]]
    return ann.assign(pool_code=("annotation", [int(name[1:]) % 2 for name in who])).assign_coords(
        pool=["even", "odd"]
    )


@pytest.mark.slow
@FAMILIES
def test_true_coefficients_of_two_pools_lie_within_their_intervals(family):
    ann, known = study(family, 300, 60, 6)
    fit = cross_replication.fit(
        in_two_pools(ann), family=family, formula=FORMULA, **known, draws=500, **QUIET
    )
    draws = fit.posterior["coefficient"]
    z = (draws.mean(("chain", "draw")) - list(TRUE.values())) / draws.std(("chain", "draw"))
    assert (abs(z) < 3).all()
    assert (draws.std(("chain", "draw")) < 0.3).all()
    single = crossed_effects.fit(ann, family=family, formula=FORMULA, **known, draws=500, **QUIET)
    both = single.posterior["coefficient"]
    gap = draws.mean(("chain", "draw")) - both.mean(("chain", "draw"))
    assert (abs(gap) < both.std(("chain", "draw"))).all()  # no pool differs


@pytest.mark.slow
@pytest.mark.compiled
# One to three transitions of 1,600 diverge, where a standard deviation of effects is small.
@pytest.mark.filterwarnings("ignore:.*transitions diverged")
@FAMILIES
def test_nuts_finds_the_same_posterior(family):
    ann, known = study(family, 60, 12, 6)
    settings = {"family": family, "formula": FORMULA, **known, **QUIET}
    ours = crossed_effects.fit(ann, draws=1500, **settings)
    other = crossed_effects.fit(ann, draws=1500, chains=2, sampler="nuts", **settings)
    for name in ("coefficient", "mu", "sigma_item", "sigma_annotator"):
        a, b = (fit.posterior[name] for fit in (ours, other))
        for method in ("mean", "sd"):
            first, second = (
                getattr(x, method.replace("sd", "std"))(("chain", "draw")) for x in (a, b)
            )
            error = np.hypot(*(az.mcse(x, method=method) for x in (a, b)))
            assert (abs(first - second) < 4 * error).all(), (name, method)


@pytest.mark.unit(0, long=1)
@FAMILIES
def test_pymc_takes_the_gibbs_step_for_the_same_model(family):
    ann, known = study(family)
    with crossed_effects.build(ann, family=family, formula=FORMULA, **known):
        trace = pm.sample(400, tune=200, chains=2, cores=1, random_seed=3, progressbar=False)
    assert "step_size" not in trace.sample_stats  # of NUTS
    fit = crossed_effects.fit(ann, family=family, formula=FORMULA, **known, **QUIET)
    a, b = fit.posterior["coefficient"], trace.posterior["coefficient"]
    sd = a.std(("chain", "draw"))
    assert (abs(a.mean(("chain", "draw")) - b.mean(("chain", "draw"))) < 0.25 * sd).all()
    assert dx.contrast(trace, {"words": 2.0}).mean() == pytest.approx(2 * float(b[..., 0].mean()))


@pytest.mark.long
def test_effects_may_be_set_to_a_regression():
    rng = np.random.default_rng(3)
    z, own = rng.normal(size=40), rng.normal(0.0, 0.5, 5)
    item, who = np.divmod(np.arange(200), 5)
    score = 1.5 * z[item] + own[who] + rng.normal(size=200)
    model = crossed_effects.build(
        dx.annotations({"item": item, "annotator": who, "label": score}, kind="continuous")
    )
    with model:
        gamma = pm.Normal("gamma", 0.0, 2.0)
    altered = pm.do(model, {"item_effect": gamma * z})
    with pytest.warns(dx.DissensusWarning, match="none called item_effect"):
        draws = run(altered, draws=300, tune=300, mode="NUMBA").posterior["gamma"]
    assert abs(float(draws.mean()) - 1.5) < 3 * float(draws.std()) < 0.3


@pytest.mark.long
def test_coefficients_that_are_set_to_0_are_none():
    ann, known = study("gaussian")
    model = pm.do(
        crossed_effects.build(ann, formula=FORMULA, **known), {"coefficient": np.zeros(len(TRUE))}
    )
    trace, fit = run(model, draws=1000), crossed_effects.fit(ann, draws=1000, **QUIET)
    for name in ("mu", "sigma_item", "sigma_annotator", "sigma"):
        a, b = trace.posterior[name], fit.posterior[name]
        error = np.hypot(*(az.mcse(x, method="mean") for x in (a, b)))
        assert abs(a.mean() - b.mean()) < 4 * error, name


def quick(ann, known, formula=FORMULA, **more):
    return crossed_effects.fit(
        ann, formula=formula, draws=20, tune=10, chains=2, **{**QUIET, **known, **more}
    )


@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
def test_an_average_that_moves_changes_nothing():
    ann, known = study("gaussian")
    moved = known | {"items": known["items"].assign(words=lambda x: x["words"] + 100.0)}
    first, second = quick(ann, known), quick(ann, moved)
    np.testing.assert_allclose(first.posterior["coefficient"], second.posterior["coefficient"])
    mean = second.constant_data["covariate_mean"] - first.constant_data["covariate_mean"]
    np.testing.assert_allclose(mean, [100.0, 0.0, 0.0, 0.0], atol=1e-9)


@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
def test_the_order_of_rows_and_rows_of_others_do_not_matter():
    ann, known = study("gaussian")
    more = pd.DataFrame({"item": ["other"], "words": [np.nan], "group": ["z"]})
    shuffled = pd.concat([more, known["items"].sample(frac=1.0, random_state=1)])
    first, second = quick(ann, known), quick(ann, known | {"items": shuffled})
    np.testing.assert_array_equal(first.posterior["coefficient"], second.posterior["coefficient"])


def test_items_are_named_as_in_the_caller_s_table():
    words, times = np.arange(4.0), pd.date_range("2020-05-01", periods=4, freq="6h")
    rows = {"item": times.repeat(2), "annotator": list("ab") * 4, "label": np.arange(8) ** 2}
    items = pd.DataFrame({"item": times, "words": words}).iloc[::-1]
    ann = dx.annotations(rows, kind="continuous")
    model = crossed_effects.build(ann, formula="~ words", items=items)
    np.testing.assert_allclose(model["covariates"].get_value()[:, 0], (words - 1.5).repeat(2))


def test_numbers_in_lists_are_numbers_and_truth_values_are_categories():
    ann, known = study("gaussian")
    lists = {name: table.to_dict("list") for name, table in known.items()}
    lists["items"]["flag"] = [k % 3 == 0 for k in range(len(lists["items"]["item"]))]
    model = crossed_effects.build(ann, formula=f"{FORMULA} + flag", **lists)
    assert list(model.coords["term"]) == ["words", "group[b]", "age", "group[b]:age", "flag[True]"]


@pytest.mark.unit(1)
@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
@FAMILIES
def test_the_likelihood_knows_the_covariates(family):
    ann, known = study(family)
    fit = quick(ann, known, family=family, log_likelihood=True)
    post = fit.posterior.isel(chain=0, draw=3)
    name = "score" if family == "gaussian" else "label_code"
    rows, value = fit.constant_data, fit.observed_data[name].to_numpy()
    eta = float(post["mu"]) + rows["covariates"].to_numpy() @ post["coefficient"].to_numpy()
    eta = eta + post["item_effect"].to_numpy()[rows["item_code"]]
    eta = eta + post["annotator_effect"].to_numpy()[rows["annotator_code"]]
    if family == "gaussian":
        expected = stats.norm.logpdf(value, eta, float(post["sigma"]))
    elif family == "bernoulli":
        expected = np.log(special.expit(np.where(value == 1, eta, -eta)))
    else:
        edges = np.concatenate([[-np.inf], post["cutpoint"].to_numpy(), [np.inf]])
        expected = np.log(
            stats.norm.cdf(edges[value + 1] - eta) - stats.norm.cdf(edges[value] - eta)
        )
    np.testing.assert_allclose(fit.log_likelihood[name].isel(chain=0, draw=3), expected)


@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
def test_pools_are_covariates_of_their_own():
    ann, known = study("gaussian")
    table = {"item": ann["item"].values[ann["item_code"]], "label": ann["value"].values,
             "annotator": ann["annotator"].values[ann["annotator_code"]]}  # fmt: skip
    table["pool"] = np.where([int(name[1:]) % 2 for name in table["annotator"]], "odd", "even")
    pooled = dx.annotations(table, pool="pool", kind="continuous")
    fit = cross_replication.fit(
        pooled, formula="~ age:pool", annotators=known["annotators"], draws=20, tune=10, chains=2,
        **QUIET,
    )  # fmt: skip
    assert fit.posterior["coefficient"]["term"].values.tolist() == [
        "age:pool[even]",
        "age:pool[odd]",
    ]


WITH_CONSTANTS = {
    "poly(age, 2)": ["poly(age, 2)[0]", "poly(age, 2)[1]"],
    "bs(words, df=4)": [f"bs(words, df=4)[{k}]" for k in range(4)],
    "I(age / 3)": ["I(age / 3)"],
    "C(group, Sum)": ["C(group, Sum)[a]"],
    "T(group, 'b')": ["T(group, 'b')[a]"],
    "C(group, Treatment('b'))": ["C(group, Treatment('b'))[a]"],
}


@pytest.mark.parametrize("term", WITH_CONSTANTS)
def test_calls_with_numbers_and_texts_are_terms(term):
    ann, known = study("gaussian")
    model = crossed_effects.build(ann, formula=f"~ {term}", **known)
    assert list(model.coords["term"]) == WITH_CONSTANTS[term]


def test_a_column_may_have_the_name_of_an_encoding():
    ann, known = study("gaussian")
    items = known["items"].rename(columns={"words": "Treatment"})
    model = crossed_effects.build(ann, formula="~ Treatment", items=items)
    assert list(model.coords["term"]) == ["Treatment"]


def test_a_category_is_compared_with_the_first_of_its_order():
    ann, known = study("gaussian")
    table = known["items"]
    group = pd.Categorical(table["group"], ["b", "a"])  # without an order of its own
    model = crossed_effects.build(ann, formula="~ group", items=table.assign(group=group))
    assert list(model.coords["term"]) == ["group[a]"]


def test_a_category_for_each_item_is_warned_of():
    ann, known = study("gaussian")
    items = known["items"].assign(own=lambda table: "of " + table["item"])
    with pytest.warns(dx.DesignWarning, match="Each item has its own value of 'own'.*effects of"):
        crossed_effects.build(ann, formula="~ own", items=items)
    codes = [str(k % 3) for k in range(len(items))]
    category = items.assign(code=pd.Categorical(codes))  # digits may name categories
    model = crossed_effects.build(ann, formula="~ code", items=category)
    assert list(model.coords["term"]) == ["code[1]", "code[2]"]


def test_terms_that_follow_from_others_are_named():
    x = np.array([[1.0, 0.0, 2.0], [2.0, 1.0, 4.0], [3.0, 0.0, 6.0], [4.0, 5.0, 8.0]])
    assert aliased(x, np.zeros(4, dtype=int)) == [2]
    assert aliased(np.ones((4, 1)), np.array([0, 0, 1, 1])) == [0]
    ann, known = study("gaussian")
    with pytest.warns(dx.DesignWarning, match="'twice' is a linear combination of the mean"):
        crossed_effects.build(
            ann, formula="~ words + twice",
            items=known["items"].assign(twice=lambda table: 2 * table["words"]),
        )  # fmt: skip


def test_a_prior_of_coefficients_is_used():
    ann, known = study("gaussian")
    model = crossed_effects.build(
        ann, formula=FORMULA, **known, priors={"coefficient": (1.0, 0.001)}
    )
    draws = pm.draw(model["coefficient"], 50, random_seed=1)
    np.testing.assert_allclose(draws, 1.0, atol=0.01)


_, KNOWN = study("gaussian", 3, 3, 2, seed=2)
TABLE = KNOWN["items"]
LABELS = {crossed_effects: study("gaussian", 3, 3, 2, seed=2)[0],
          rasch: study("bernoulli", 3, 3, 2, seed=2)[0]}  # fmt: skip


def with_items(table):
    return {"formula": "~ words", "items": table, "annotators": None}


def with_formula(formula, **more):
    return {"formula": formula, **KNOWN, **more}


REFUSED = [
    (with_formula("label ~ words"), "formula: expected a formula without a left side"),
    (with_formula("~ words +"), "formula: expected a formula such as"),
    (with_formula("~ 0 + words"), "an intercept: the model has one.*Remove 0 or -1 from"),
    (with_formula("~ words + (1 | group)"), "items and annotators already have effects"),
    (with_formula("~ 1"), "formula: expected at least one covariate"),
    (with_formula(3), "formula: expected text"),
    (with_formula("\ud800"), "Unexpected character: .ud800"),  # that can be printed
    (with_formula("~ Words"), "'Words' is in no table.*did you mean 'words'"),
    (with_formula("~ nothing + none"), "'none' is in no table.*; 'nothing' is in no table"),
    (with_formula("~ unknown(words)"), "formula: expected a formula that can be evaluated"),
    (with_formula("~ words", annotators=KNOWN["annotators"].assign(words=1)), "rename one of them"),
    (with_formula("~ np.log(words - words)"), "finite numbers; found infinite or undefined"),
    (with_formula(None), "items: expected no table without a formula"),
    (with_items(TABLE.iloc[:2]), "items: expected a row for each item.*none for 1 of 3: 'i2'"),
    (with_items(pd.concat([TABLE, TABLE.iloc[:1]])), "one row for each item.*several for 'i0'"),
    (with_items(TABLE.rename(columns={"item": "id"})), "items: expected a table with a column"),
    (with_items(TABLE.assign(words=[1.0, None, 2.0])), "'words' is missing for 1 item .'i1'."),
    (with_items(TABLE.assign(words=["x"] * 3)), "one value for all items with labels, 'x': leave"),
    (with_items(TABLE.assign(words=["1", "2.5", "30"])),
     r"text that looks like numbers \('1', '2.5', '30'\): convert it.*pd.to_numeric"),
    (with_items([1, 2]), "expected a dataframe"),
    (with_formula("~ words", priors={"coefficient": ("half_t", 1)}), r"priors\['coefficient'\]"),
]  # fmt: skip


@pytest.mark.parametrize("module", LABELS)
def test_what_makes_no_sense_is_refused_in_words(module):
    ann = LABELS[module]
    check_refused(ValueError, [
        (words, partial(module.build, ann, **settings), words) for settings, words in REFUSED
    ])  # fmt: skip
