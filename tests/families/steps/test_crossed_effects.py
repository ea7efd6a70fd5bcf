"""The Gibbs step for crossed effects beside NUTS, published figures, and what a fit compiles."""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc_runs import by_nuts, run, same_draws

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


@pytest.mark.slow
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
    same_draws(both, nuts, ["slope", "mu", "sigma_item", "sigma_annotator", "sigma"])
    assert 0.4 < float(both["slope"].mean()) < 1.2


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*transitions diverged")
@pytest.mark.parametrize("side", ["items", "annotators"])
def test_a_regression_on_effects_by_hand_finds_the_truth(side):
    """The step once ignored such a mean: a spread of 1.55 for .50, and of 2.8 for .62."""
    rng = np.random.default_rng(4)
    z, n = rng.normal(size=60), {"item": 60, "annotator": 60}
    item = np.repeat(np.arange(60), 10)
    who = np.concatenate([rng.permutation(60)[:10] for _ in range(60)])
    of = item if side == "items" else who
    own = {"item": 0.5 * rng.normal(size=60), "annotator": 0.5 * rng.normal(size=60)}
    score = own["item"][item] + own["annotator"][who] + 1.5 * z[of] + rng.normal(size=len(of))
    name = side.removesuffix("s")
    with pm.Model() as model:
        mu, gamma = pm.Normal("mu", 0, 2), pm.Normal("gamma", 0, 2)
        effect = {}
        for each in n:
            mean = gamma * z if each == name else 0.0
            sd = pm.HalfNormal(f"sigma_{each}", 1.5)
            effect[each] = pm.Normal(f"{each}_effect", mean, sd, shape=60)
        eta = mu + effect["item"][item] + effect["annotator"][who]
        pm.Normal("score", eta, pm.HalfNormal("sigma", 1.5), observed=score)
    with pytest.warns(dx.DissensusWarning, match=f"not CrossedEffectsGibbs.*{name}_effect"):
        run_result = run(model, draws=500, tune=500, mode="NUMBA")["posterior"]
    for variable, truth, most in (("gamma", 1.5, 0.11), (f"sigma_{name}", 0.5, 0.09)):
        draws = run_result[variable]
        assert abs(float(draws.mean()) - truth) < 3 * float(draws.std()), variable
        assert float(draws.std()) < most, variable


@pytest.mark.unit(3, long=2)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
@pytest.mark.parametrize("pools", [None, POOLS], ids=["one pool", "two pools"])
def test_what_was_compiled_for_a_fit_is_not_compiled_again(family, pools):
    name = "cross_replication" if pools else "crossed_effects"
    of_fit = process(
        name, study(family, pools), family=family, sampler="gibbs", priors=None, anonymous=False
    )
    with built(family, pools):
        step = CrossedEffectsGibbs()
    for of_step, of_process in (
        (step._priors, of_fit.numbers()),
        (step._data, of_fit.data()),
    ):
        assert numba.typeof(of_step) == numba.typeof(of_process)


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
    """The four components, and the mean, that REML finds.

    statsmodels 0.14 on these grades: mixedlm("label ~ service", groups="one", reml=True,
    vc_formula={"item": "0+C(item)", "who": "0+C(annotator)", "place": "0+C(place)"}).
    """
    result = components(grades(), draws=300, tune=300)
    reml = {
        "sigma_item": 0.4745, "sigma_annotator": 0.2332, "sigma": 1.0129, "sigma_place": 0.2962,
    }  # fmt: skip
    for name, value in reml.items():
        variance = result[name] ** 2
        assert abs(float(variance.mean()) - value) < float(variance.std())
    assert abs(float(result["service"].mean()) + 0.5092) < float(result["service"].std())
