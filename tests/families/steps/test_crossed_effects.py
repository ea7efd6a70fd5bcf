"""The Gibbs step for crossed effects in PyMC: chosen by itself, exact, honest of its limits."""

from __future__ import annotations

import arviz as az
import numba
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.step_methods import STEP_METHODS
from pymc_runs import by_nuts, run

import dissensus as dx
from dissensus.families.crossed.process import process
from dissensus.families.crossed.step import CrossedEffectsGibbs
from dissensus.models import cross_replication, crossed_effects

POOLS = ("old", "new")


def study(family, pools=None, **options):
    options = {"n_items": 25, "n_annotators": 6, "labels_per_item": 3, "random_seed": 2} | options
    if pools:
        options |= {"pools": pools, "overlap": 0.6}
    return dx.simulate.replication_study(family=family, **options).annotations


def built(family, pools=None, **options):
    module = cross_replication if pools else crossed_effects
    return module.build(study(family, pools), family=family, **options)


def same(one, other, names, least=150):
    """Compare means and spreads of two runs, in Monte Carlo errors of both."""
    for name in names:
        a, b = one[name], other[name]
        if name == "correlation":  # one number, and ones
            a, b = a[..., 0, 1], b[..., 0, 1]
        assert float(az.ess(a).min()) > least
        assert float(az.ess(b).min()) > least
        for method in ("mean", "sd"):
            move = {"mean": "mean", "sd": "std"}[method]
            gap = np.abs(getattr(a, move)(("chain", "draw")) - getattr(b, move)(("chain", "draw")))
            error = np.hypot(az.mcse(a, method=method), az.mcse(b, method=method))
            assert (gap.to_numpy() <= 4 * np.asarray(error)).all(), (name, method)


@pytest.mark.unit(0, long=4)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
@pytest.mark.parametrize("pools", [None, POOLS], ids=["one pool", "two pools"])
def test_pymc_chooses_it_for_everything(family, pools):
    model = built(family, pools)
    assert STEP_METHODS.count(CrossedEffectsGibbs) == 1
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert list(chosen) == [CrossedEffectsGibbs]
    assert {v.name for v in chosen[CrossedEffectsGibbs]} == {v.name for v in model.value_vars}


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize(
    ("family", "pools"), [("gaussian", POOLS), ("ordinal", None), ("bernoulli", POOLS)]
)
def test_agrees_with_the_sampler_of_fit(family, pools):
    """Which is compared with NUTS in tests/models."""
    module = cross_replication if pools else crossed_effects
    found = run(built(family, pools))["posterior"]
    fit = module.fit(
        study(family, pools), family=family, draws=1500, random_seed=3, progressbar=False
    )["posterior"]
    names = ["mu", "sigma_item", "sigma_annotator", "item_effect"]
    names += {"gaussian": ["sigma"], "ordinal": ["cutpoint"]}.get(family, [])
    same(found, fit, [*names, *(["correlation"] if pools else [])])


def test_a_term_in_the_mean_goes_to_nuts():
    """With a covariate, which the step reads off the graph, against NUTS for everything."""
    # Annotators enough to be told apart: NUTS may be caught where their spread is next to 0.
    ann = study(
        "gaussian", n_items=40, n_annotators=10, labels_per_item=4, sigma_annotator=1.0
    )  # fmt: skip
    x = np.random.default_rng(1).normal(size=ann.sizes["annotation"])
    item, who = ann["item_code"].to_numpy(), ann["annotator_code"].to_numpy()
    with pm.Model() as model:
        slope = pm.Normal("slope", 0, 1)
        mu = pm.Normal("mu", 0, 2)
        sds = [pm.HalfNormal(f"sigma{name}", 1.5) for name in ("_item", "_annotator", "")]
        items = pm.Normal("item_effect", 0, sds[0], shape=ann.sizes["item"])
        people = pm.Normal("annotator_effect", 0, sds[1], shape=ann.sizes["annotator"])
        eta = mu + items[item] + people[who] + slope * x
        pm.Normal("score", eta, sds[2], observed=ann["value"].to_numpy() + 0.8 * x)
    both = run(model, mode="NUMBA")["posterior"]
    nuts = by_nuts(model, tune=1000, target_accept=0.9)["posterior"]
    same(both, nuts, ["slope", "mu", "sigma_item", "sigma_annotator", "sigma"])
    assert 0.4 < float(both["slope"].mean()) < 1.2


def test_reads_the_data_from_the_model():
    model = built("gaussian")
    values = model.rvs_to_values[model["score"]].eval()
    moved = run(pm.observe(model, {"score": 3 * values + 5}), draws=500)["posterior"]
    before = run(model, draws=500)["posterior"]
    assert float(moved["sigma"].mean() / before["sigma"].mean()) == pytest.approx(3, rel=0.1)


def test_chains_leave_nothing_behind():
    """Slices and paths are learned by each chain for itself, whatever was sampled before."""
    model = built("bernoulli")
    with model:
        step = CrossedEffectsGibbs()
    start = step.sampling_state
    options = {"draws": 20, "tune": 60, "chains": 2}
    one = run(model, step=step, **options)["posterior"]
    step.sampling_state = start
    other = run(model, step=step, **options)["posterior"]
    assert one["sigma_item"].equals(other["sigma_item"])


def test_leaves_its_point_alone_and_stops_learning():
    model = built("gaussian")
    with model:
        step = CrossedEffectsGibbs(rng=1)
    point = model.initial_point()
    kept = {name: np.array(value) for name, value in point.items()}
    step.step(point)
    assert all(np.array_equal(point[name], kept[name]) for name in kept)
    width = step.known.tuning.sd_item.copy()
    step.stop_tuning()
    for _ in range(3):
        point, _ = step.step(point)
    assert np.array_equal(step.known.tuning.sd_item, width)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
@pytest.mark.parametrize("pools", [None, POOLS], ids=["one pool", "two pools"])
def test_what_was_compiled_for_a_fit_is_not_compiled_again(family, pools):
    name = "cross_replication" if pools else "crossed_effects"
    of_fit = process(
        name, study(family, pools), family=family, sampler="gibbs", priors=None, anonymous=False
    )
    with built(family, pools):
        step = CrossedEffectsGibbs()
    for one, other in (
        (step._priors, of_fit.numbers()),
        (step._data, of_fit.data()),
    ):
        assert numba.typeof(one) == numba.typeof(other)


def test_has_nothing_to_do_with_other_models():
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Normal("score", mu, 1.0, observed=[1.0])
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert CrossedEffectsGibbs not in chosen


def _twisted(change):
    """Write a model like crossed effects, but for one thing."""
    ann = study("gaussian")
    item, who = ann["item_code"].to_numpy(), ann["annotator_code"].to_numpy()
    n_items, n_people = ann.sizes["item"], ann.sizes["annotator"]
    z, w = np.linspace(-1, 1, n_items), np.linspace(-1, 1, n_people)
    with pm.Model() as model:
        gamma = pm.Normal("gamma")
        mu = pm.Normal("mu", gamma if change == "hyperprior" else 0, 2)
        sd_item, sd = pm.HalfNormal("sigma_item"), pm.HalfNormal("sigma")
        people_prior = pm.Gamma if change == "prior" else pm.HalfNormal
        more = {"alpha": 2, "beta": 1} if change == "prior" else {}
        sd_people = people_prior("sigma_annotator", **more)
        centre = {"centre": 1.0, "regression": gamma * z, "tiny": 1e-9 * z}.get(change, 0.0)
        scale = {
            "capped": pt.minimum(sd_item, 50.0), "shared scale": sd_people,
            "scaled": pt.exp(gamma) * sd_item,
        }.get(change, sd_item)  # fmt: skip
        transform = {"transform": pm.distributions.transforms.Interval(-100, 100)}.get(change)
        items = pm.Normal("item_effect", centre, scale, shape=n_items, default_transform=transform)
        middle = gamma * w if change == "annotator regression" else 0
        people = pm.Normal("annotator_effect", middle, sd_people, shape=n_people)
        seen = {"function": pt.exp(items), "squashed": pt.tanh(items / 1e6) * 1e6}
        place = item[:1] if change == "broadcast" else item
        each = people[::-1][who] if change == "permuted" else people[who]
        eta = mu + seen.get(change, items)[place] + (-each if change == "minus" else each)
        if change == "twice":
            eta += items[item]
        if change == "residual in the mean":
            eta += sd * z[item]
        if change == "interaction":
            eta += gamma * mu
        residual = sd * pt.exp(gamma * z[item]) if change == "spread" else sd
        if change == "residual of each":
            residual = sd * np.linspace(1.0, 1.1, len(item))
        value = ann["value"].to_numpy()
        if change == "likelihood":
            pm.StudentT("score", nu=4, mu=eta, sigma=residual, observed=value)
        else:
            pm.Normal("score", eta, residual, observed=value)
        if change == "other use":
            pm.Potential("pull", -(items.sum() ** 2))
        if change == "second likelihood":
            pm.Normal("again", items, 1.0, observed=z)
        if change == "child":
            pm.Normal("child", mu, 1.0)
    return model


TWISTS = {
    "prior": "sigma_annotator with a HalfNormal",
    "centre": "item_effect ~ Normal",
    "regression": "item_effect ~ Normal",
    "tiny": "item_effect ~ Normal",
    "annotator regression": "annotator_effect ~ Normal",
    "capped": "item_effect ~ Normal",
    "shared scale": "item_effect ~ Normal",
    "scaled": "item_effect ~ Normal",
    "transform": "item_effect with PyMC's own transform",
    "function": "item_effect, indexed by an array",
    "squashed": "item_effect, indexed by an array",
    "interaction": "score with the mean mu",
    "spread": "score with the residual's sigma",
    "broadcast": r"item_effect indexed by \d+ places in the mean; found \(1,\)",
    "twice": "score with the mean mu",
    "minus": "score with the mean mu",
    "permuted": "annotator_effect, indexed by an array, in the mean",
    "residual in the mean": "score with the mean mu",
    "residual of each": "score with the residual's sigma",
    "hyperprior": "priors with given parameters; found gamma",
    "likelihood": "a Normal, Bernoulli or CumulativeProbit likelihood",
    "other use": "nothing but the labels",
    "second likelihood": "nothing but the labels",
    "child": "nothing but the labels",
}


@pytest.mark.parametrize(("change", "words"), TWISTS.items(), ids=list(TWISTS))
def test_a_model_that_differs_is_refused_and_left_to_nuts(change, words):
    model = _twisted(change)
    with model, pytest.raises(dx.ArgumentError, match=words) as refused:
        CrossedEffectsGibbs()
    assert "without_gibbs" in str(refused.value)
    with model, pytest.warns(dx.DissensusWarning, match=words):
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert CrossedEffectsGibbs not in chosen


@pytest.mark.parametrize("change", ["none", "order", "data", "deterministic"])
def test_a_model_that_is_the_same_in_other_words_is_taken(change):
    ann = study("gaussian")
    item, who = ann["item_code"].to_numpy(), ann["annotator_code"].to_numpy()
    value = ann["value"].to_numpy()
    with pm.Model() as model:
        if change == "data":
            item, value = pm.Data("which", item), pm.Data("given", value)
        people_sd = pm.HalfNormal("sigma_annotator", 1.0)
        people = pm.Normal("annotator_effect", 0, people_sd, shape=ann.sizes["annotator"])
        mu, sd_item = pm.Normal("mu", 0, 2), pm.Exponential("sigma_item", 2.0)
        items = pm.Normal("item_effect", np.zeros(ann.sizes["item"]), sigma=sd_item)
        eta = (
            people[who] + (items[item] + mu)
            if change == "order"
            else mu + items[item] + people[who]
        )
        if change == "deterministic":
            eta = pm.Deterministic("eta", eta)
        pm.Normal("score", eta, pm.HalfStudentT("sigma", nu=4, sigma=2.0), observed=value)
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert list(chosen) == [CrossedEffectsGibbs]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PyMC's own steps sample this model")
@pytest.mark.parametrize("change", ["regression", "annotator regression"])
def test_a_regression_on_an_effect_is_left_to_nuts(change):
    """The step once took it: sigma_item came out 1.55 for .50, of NUTS on the same model."""
    model = _twisted(change)
    left, nuts = run(model, draws=300)["posterior"], by_nuts(model, draws=300)["posterior"]
    same(left, nuts, ["gamma", "sigma_item", "sigma_annotator"], least=50)


def test_refuses_to_move_a_part():
    model = built("gaussian")
    with model, pytest.raises(dx.ArgumentError, match="move together"):
        CrossedEffectsGibbs([model["mu"]])


COMPONENTS = ("sigma_item", "sigma_annotator", "sigma", "sigma_place")


def components(table, **options):
    """Draw the components of grades by the step, and by NUTS what stands in the mean beside it."""
    item, items = pd.factorize(table["item"])
    who, people = pd.factorize(table["annotator"])
    place, places = pd.factorize(table["dept"].astype(str) + ":" + table["service"].astype(str))
    with pm.Model() as model:
        mu = pm.Normal("mu", 3, 5)
        sds = {name: pm.HalfStudentT(name, nu=3, sigma=1) for name in COMPONENTS}
        of_item = pm.Normal("item_effect", 0, sds["sigma_item"], shape=len(items))
        of_who = pm.Normal("annotator_effect", 0, sds["sigma_annotator"], shape=len(people))
        of_place = sds["sigma_place"] * pm.Normal("place", shape=len(places))
        service = pm.Normal("service", 0, 1)
        extra = service * table["service"].to_numpy() + of_place[place]
        eta = mu + of_item[item] + of_who[who] + extra
        pm.Normal("score", eta, sds["sigma"], observed=table["label"].to_numpy(dtype=float))
    return run(model, mode="NUMBA", var_names=[*COMPONENTS, "service"], **options)["posterior"]


@pytest.mark.slow
def test_variance_components_of_lecture_evaluations(shared):
    """The four components that lme4's documentation fits to InstEval.

    Published (REML): student .1054, lecturer .2626, department:service .0120, residual 1.385. The
    department and the service are terms in the mean, moved by NUTS beside the step.
    """
    found = components(pd.read_csv(shared / "insteval" / "ratings.csv.gz"), tune=700)
    published = {
        "sigma_item": 0.2626, "sigma_annotator": 0.1054, "sigma": 1.385, "sigma_place": 0.0120,
    }  # fmt: skip
    for name, value in published.items():
        variance = found[name] ** 2
        assert abs(float(variance.mean()) - value) < float(variance.std())
    assert abs(float(found["service"].mean()) + 0.0535) < float(found["service"].std())


def grades():
    """Simulate grades of lecturers by students, of whom each is at home in one department."""
    rng = np.random.default_rng(5)
    item, who = (x.ravel() for x in np.meshgrid(np.arange(60), np.arange(50), indexing="ij"))
    keep = rng.random(len(item)) < 0.25
    item, who = item[keep], who[keep]
    dept = item % 12
    service = (dept != who % 12).astype(int)
    place = rng.normal(0, 0.5, (12, 2))[dept, service]
    label = (
        3 + rng.normal(0, 0.8, 60)[item] + rng.normal(0, 0.5, 50)[who] + place - 0.3 * service
        + rng.normal(0, 1, len(item))
    )  # fmt: skip
    return pd.DataFrame(
        {"item": item, "annotator": who, "dept": dept, "service": service, "label": label}
    )


@pytest.mark.long
def test_variance_components_of_simulated_grades():
    """The same in a bare clone, reduced: the four components, and the mean, that REML finds.

    statsmodels 0.14 on these grades: mixedlm("label ~ service", groups="one", reml=True,
    vc_formula={"item": "0+C(item)", "who": "0+C(annotator)", "place": "0+C(place)"}).
    """
    found = components(grades(), draws=300, tune=300)
    reml = {
        "sigma_item": 0.4745, "sigma_annotator": 0.2332, "sigma": 1.0129, "sigma_place": 0.2962,
    }  # fmt: skip
    for name, value in reml.items():
        variance = found[name] ** 2
        assert abs(float(variance.mean()) - value) < float(variance.std())
    assert abs(float(found["service"].mean()) + 0.5092) < float(found["service"].std())
