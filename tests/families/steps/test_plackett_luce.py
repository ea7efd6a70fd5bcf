"""The Gibbs step in PyMC: chosen by itself, exact beside NUTS, and honest about what it is not."""

from __future__ import annotations

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from gradients import disagreements
from pymc.step_methods import STEP_METHODS
from pymc_runs import by_nuts, few_as_users_have_it, run

import dissensus as dx
from dissensus.families.rankings import chain
from dissensus.families.rankings.distributions import LogGamma, PartialRanking
from dissensus.families.rankings.step import PlackettLuceGibbs
from dissensus.models import plackett_luce

SAID = {
    "p": {"ann": [["a"], ["b", "c"]], "bob": [["b"], ["a"]]},
    "q": {"ann": [["d"]], "bob": [["d"], ["a"]], "cat": [["a", "d"]]},
}


@pytest.fixture(scope="module")
def ann():
    return dx.from_rankings(SAID, labels="abcde")


def same(first, second, name):
    """Compare means and spreads of two runs, in Monte Carlo errors of both."""
    for moment in ("mean", "sd"):
        means, errors = [], []
        for tree in (first, second):
            draws = tree["posterior"][name]
            assert float(az.ess(draws).min()) > 400
            means.append(getattr(draws, {"mean": "mean", "sd": "std"}[moment])(("chain", "draw")))
            with np.errstate(invalid="ignore"):  # padding is 0 throughout
                errors.append(az.mcse(draws, method=moment).fillna(0.0))
        gap = np.abs(means[0] - means[1]).to_numpy()
        assert (gap <= 4 * np.hypot(*[e.to_numpy() for e in errors])).all()


def test_pymc_chooses_it_by_itself(ann):
    assert STEP_METHODS.count(PlackettLuceGibbs) == 1
    with plackett_luce.build(ann, concentration=None) as model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert list(chosen) == [PlackettLuceGibbs]


@pytest.mark.usefixtures("no_compiler")
def test_pymc_needs_no_compiler(ann):
    few_as_users_have_it(plackett_luce.build(ann, concentration=None))


HYPER = pytest.mark.parametrize(
    "hyper", [{}, {"tempering": "strength", "reliability": 1.5}], ids=str
)


@pytest.mark.slow
@HYPER
def test_agrees_with_nuts_on_the_same_model(ann, hyper):
    model = plackett_luce.build(ann, concentration=0.8, **hyper)
    gibbs, nuts = run(model, 2000), by_nuts(model, draws=2000)
    same(gibbs, nuts, "plausibility")
    same(gibbs, nuts, "log_strength")


@HYPER
def test_draws_go_with_the_gradient_that_nuts_follows(ann, hyper):
    """What the test above asks, reduced."""
    assert disagreements(plackett_luce.build(ann, concentration=0.8, **hyper)) == {}
    other = plackett_luce.build(ann, concentration=0.8, **(hyper | {"reliability": 4}))
    assert disagreements(plackett_luce.build(ann, concentration=0.8, **hyper), other) != {}


LEARNED = {"concentration": 0.8, "tempering": "strength", "reliability": "common"}


@pytest.mark.slow
def test_goes_with_nuts_for_what_is_learned(ann):
    """In CI, `models/test_plackett_luce` recovers reliabilities that were simulated."""
    model = plackett_luce.build(ann, **LEARNED)
    both, nuts = run(model, 2000, mode="NUMBA"), by_nuts(model, draws=2000)
    same(both, nuts, "reliability")
    same(both, nuts, "plausibility")


def test_reads_the_data_from_the_model(ann):
    """What `pymc.observe` puts in is what is sampled: simulation-based calibration needs it."""
    model = plackett_luce.build(ann, concentration=None)
    turned = model.rvs_to_values[model["rankings"]].eval()
    turned = turned[:, [2, 1, 0, 3]]  # a and c change places in item p
    swapped = pm.observe(model, {"rankings": turned})
    first, second = (
        run(each, 2000)["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
        for each in (model, swapped)
    )
    assert abs(first[0, 0] - first[0, 2]) > 0.1
    np.testing.assert_allclose(first[0, [0, 2]], second[0, [2, 0]], atol=0.03)


def test_the_seed_makes_it_repeatable_and_chains_differ(ann):
    model = plackett_luce.build(ann, concentration=None)
    first, second, other = (
        run(model, 20, seed=seed)["posterior"]["log_strength"] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.isclose(first, other).any()
    assert not np.isclose(first[0], first[1]).any()


def test_the_point_it_is_given_stays_as_it_was(ann):
    with plackett_luce.build(ann, concentration=None) as model:
        step = PlackettLuceGibbs([model["log_strength"]])
    point = model.initial_point()
    kept = point["log_strength"].copy()
    step.step(point)
    np.testing.assert_array_equal(point["log_strength"], kept)


LEFT = {
    "p": {"ann": [["a"], ["b"]], "bob": [["b"], ["a"]], "cat": [["c"], ["d"]]},
    "q": {"ann": [["d"], ["a"], ["c"]], "bob": [["d"], ["c"]]},
}
"""With unlisted labels absent, the labels of p are in two parts that nobody compared."""
TIED = {"p": {"ann": [list("abcd"), ["e"]], "bob": [["a"], list("bc")], "cat": [["e"], ["b"]]}}
"""A sweep of strengths, which sums over orders, would leave the order of four behind."""
SAYS = dx.predictions({"system": ["s", "s", "t", "t"], "item": list("pqpq"), "label": list("adba")})
SHARED = {
    "ties": (SAID, {}),
    "ties, one for the unnamed": (SAID, {"unranked": "one"}),
    "predictions": (SAID, {"predictions": SAYS}),
    "named labels only, predictions": (SAID, {"unranked": "ignore", "predictions": SAYS}),
    "absent": (LEFT, {"unranked": "absent"}),
    "each unnamed label apart": (SAID, {"tempering": "strength"}),
    "ties of many, absent": (TIED, {"unranked": "absent"}),
}


def ranked(name):
    """Return the annotations and settings of a case."""
    rankings, options = SHARED[name]
    return dx.from_rankings(rankings, labels="abcde"), options


def shared(name):
    ann, options = ranked(name)
    return plackett_luce.build(ann, **options)


def moved_by_it(model):
    """Return the names of the variables that PyMC gives to the step."""
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    by_value = {value.name: rv.name for rv, value in model.rvs_to_values.items()}
    return {by_value[value.name] for value in chosen.get(PlackettLuceGibbs, [])}


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", SHARED)
def test_draws_of_a_shared_prior_go_with_the_gradient(name):
    """Hyperparameters, which it moves too, and strengths."""
    model = shared(name)
    assert moved_by_it(model) == {rv.name for rv in model.free_RVs} > {"concentration"}
    assert disagreements(model) == {}


def test_strengths_have_sweeps_of_their_own_where_counts_are_many(monkeypatch):
    def swept():
        out = set()
        for name in ("ties", "absent", "ties of many, absent"):
            with shared(name):
                out |= {name} if PlackettLuceGibbs().prior.also_swept else set()
        return out

    assert swept() == {"absent"}
    monkeypatch.setattr(chain, "_MANY", 0.0)  # the cases are too small for so many
    assert swept() == {"ties", "absent"}
    assert disagreements(shared("ties")) == {}


def test_the_gradient_of_another_shared_prior_does_not_go_with_them():
    other = pm.do(shared("ties"), {"cell_size": np.full(10, 1.0) + 3.0 * np.arange(10)})
    assert disagreements(shared("ties"), other) != {}


@pytest.mark.unit(2, long=2)
@pytest.mark.parametrize("name", SHARED)
def test_a_shared_prior_agrees_with_fit(name):
    """Calibrated, and with other kernels of the strengths; NUTS has few effective draws here."""
    ann, options = ranked(name)
    fit = plackett_luce.fit(ann, draws=3000, chains=2, random_seed=1, progressbar=False, **options)
    gibbs = run(shared(name), 3000)
    for name in ("plausibility", "label_weight", "concentration", "prediction_weight"):
        if name in gibbs["posterior"]:
            same(fit, gibbs, name)


def with_potential(model):
    with model:
        pm.Potential("pull", -(model["label_weight"] ** 2).sum())
    return model


def with_another_use(model):
    with model:
        pm.Normal("y", model["concentration"], 1.0, observed=2.0)
    return model


def with_a_ranking_of_weights(model):
    with model:
        PartialRanking("extra", log_strength=model["label_weight"], observed=[[0, 0, 0, 0, 1]])
    return model


def with_label(model, code):
    label = model["cell_label"].get_value().copy()
    label[-1] = code
    with model:
        pm.set_data({"cell_label": label})
    return model


def test_it_comes_to_an_end_from_far_away():
    with shared("ties") as model:
        step = PlackettLuceGibbs(rng=1)
    step.stop_tuning()
    point = model.initial_point() | {"concentration_log__": np.array(np.log(1e6))}
    for _ in range(15):
        point, _ = step.step(point)
    assert np.isfinite(point["log_strength"]).all()


def written_with(change):
    """Write the library's model of two items by hand, with a change of it."""
    item, label = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    with pm.Model(coords={"label": ["a", "b"], "cell": range(4), "feature": []}) as model:
        data = {"item": item, "label": label, "size": np.ones(4), "features": np.ones((4, 0))}
        for name, values in data.items():
            dims = ("cell", "feature") if name == "features" else "cell"
            pm.Data(f"cell_{name}", values, dims=dims)
        pm.Data("label_number", np.arange(2))
        parts = {
            "spread": 1.5, "weight": lambda w: w, "total": lambda t: t, "power": 1.0,
            "ranked": [[0, 1], [2, 3]], "said": [[1, 0], [1, 0]],
        } | change  # fmt: skip
        concentration = pm.LogNormal("concentration", 0.0, parts["spread"])
        own = pm.Normal("label_weight", dims="label")
        own = pt.concatenate([parts["weight"](own), [0.0]])[pt.maximum(model["cell_label"], -1)]
        weight = model["cell_size"] * pt.exp(own)
        total = pt.zeros(2)[model["cell_item"]].inc(weight)
        alpha = concentration * weight / parts["total"](total[model["cell_item"]])
        strength = LogGamma("log_strength", alpha=alpha, dims="cell")
        PartialRanking(
            "rankings", log_strength=strength[parts["ranked"]], observed=parts["said"],
            power=parts["power"],
        )  # fmt: skip
    return model


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: with_potential(shared("ties")), "found pull"),
        (lambda: with_another_use(shared("ties")), "found y"),
        (lambda: pm.do(shared("ties"), {"label_weight": np.zeros(5)}), "none called label_weight"),
        (lambda: with_a_ranking_of_weights(shared("ties")), "found extra"),
        (lambda: with_label(shared("ties"), 5), "one or more of 5 labels"),
        (lambda: written_with({"spread": 1.0}), r"found concentration ~ LogNormal\(0, 1\)"),
        (lambda: written_with({"weight": lambda w: 2.0 * w}), "log_strength"),
        (lambda: written_with({"weight": lambda w: w - w.mean()}), "log_strength"),
        (lambda: written_with({"total": lambda t: t + 1.0}), "log_strength"),
        (lambda: written_with({"power": 2.0}), "rankings that count once"),
    ],
)
def test_another_shared_prior_is_left_to_nuts(model, words):
    """The strengths are not: they are drawn given whatever their prior is."""
    model = model()
    warned = rf"the rest of this model, not PlackettLuce.*{words}"
    with pytest.warns(dx.DissensusWarning, match=warned):
        assert moved_by_it(model) == {"log_strength"}


def test_the_shared_prior_written_by_hand_is_the_library_s():
    model = written_with({})
    assert moved_by_it(model) == {"concentration", "label_weight", "log_strength"}
    assert disagreements(model) == {}


def test_a_ranking_of_two_items_labels_is_left_to_nuts():
    with pytest.warns(dx.DissensusWarning, match="labels of one item"):
        assert (
            moved_by_it(written_with({"ranked": [[0, 2], [1, 3]], "said": [[1, 2]] * 2})) == set()
        )


def test_items_may_be_numbered_in_any_order():
    other = shared("ties")
    with other:
        pm.set_data({"cell_item": 1 - other["cell_item"].get_value()})
    assert moved_by_it(other) == {"concentration", "label_weight", "log_strength"}
    assert disagreements(other) == {}


def test_its_state_is_all_that_changes():
    """Ties have an order, and ellipses a centre, that go with the random stream."""
    with shared("ties") as model:
        step = PlackettLuceGibbs(rng=1)
    point, kept = model.initial_point(), step.sampling_state

    def walked():
        step.sampling_state, now = kept, point
        for _ in range(20):
            now, _ = step.step(now)
        return now

    first, order, centre = walked(), step.prior.order.copy(), step.prior.mode.copy()
    assert (order != kept.prior.order).any()
    assert (centre != kept.prior.mode).any()
    second = walked()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_rankings_may_be_of_several_variables_and_items_in_any_order():
    """Items are what meets in a ranking; two variables here, one of them a single vector."""
    with pm.Model() as model:
        u = LogGamma("u", alpha=np.full(5, 1.0))
        PartialRanking("one", log_strength=u[[[4, 0], [1, 3]]], observed=[[1, 0], [1, 0]])
        PartialRanking("two", log_strength=u[[3, 1]], observed=[1, 0])
    draws = run(model, 4000)["posterior"]["u"]
    share = np.exp(draws[..., 4]) / np.exp(draws[..., [0, 4]]).sum("u_dim_0")
    even = np.exp(draws[..., 1]) / np.exp(draws[..., [1, 3]]).sum("u_dim_0")
    assert float(share.mean()) == pytest.approx(2 / 3, abs=0.02)  # Beta(2, 1)
    assert float(even.mean()) == pytest.approx(1 / 2, abs=0.02)  # Beta(2, 2)
    assert float(np.exp(draws[..., 2]).mean()) == pytest.approx(1, abs=0.1)  # the prior


def strange(change):
    with pm.Model() as model:
        u = LogGamma("u", alpha=[1.0, 1.0, 1.0])
        change(u)
    return model


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda u: PartialRanking("r", log_strength=2 * u, observed=[1, 0, 0]), "a function of"),
        (lambda u: PartialRanking("r", log_strength=pt.minimum(u, 30.0), observed=[1, 0, 0]),
         "a function of"),
        (lambda u: PartialRanking("r", log_strength=u[pt.argsort(u)], observed=[1, 0, 0]),
         "a function of"),
        (lambda u: PartialRanking("r", log_strength=pt.concatenate([u, pm.Normal("v", shape=1)]),
                                  observed=[1, 0, 0, 0]), "a function of them and v"),
        (lambda u: (PartialRanking("r", log_strength=u, observed=[1, 0, 0]),
                    pm.Potential("more", u.sum())), "found more"),
        (lambda u: (PartialRanking("r", log_strength=u, observed=[1, 0, 0]),
                    pm.Potential("own", pm.modelcontext(None).rvs_to_values[u].sum())),
         "found own"),
        (lambda u: PartialRanking("r", log_strength=u, observed=[1, 0, 0],
                                  sharpness=pt.exp(pm.modelcontext(None).rvs_to_values[u][0])),
         "do not depend on u"),
        (lambda u: PartialRanking("r", observed=[1, 0, 0, 0], log_strength=pt.concatenate(
            [u, pt.round(2 * pm.modelcontext(None).rvs_to_values[u][:1]) / 2])), "own values"),
        (lambda u: PartialRanking("r", log_strength=pt.concatenate([u, [0.0]])[[[1, 3], [0, 1]]],
                                  observed=[[1, 0], [1, 0]]), "other numbers among them"),
        (lambda u: PartialRanking("r", log_strength=pt.concatenate([u, [1.0]])[[[2, 3], [0, 2]]],
                                  observed=[[1, 0], [1, 0]]), "other numbers among them"),
        (lambda u: pm.Normal("y", u, observed=[1.0, 2.0, 3.0]), "found none"),
        (lambda u: None, "found none"),
        (lambda u: PartialRanking("r", log_strength=u, observed=[[1, 0, 0], [1, 2, 0]],
                                  power=[1.0, 2.0]), "one power"),
        (lambda u: (PartialRanking("r", log_strength=u, observed=[1, 0, 0]),
                    PartialRanking("s", log_strength=u[:2], observed=[1, 0])), "over some"),
        (lambda u: PartialRanking("r", log_strength=u, places=[1, 0, 0]), "found r"),
        (lambda u: PartialRanking("r", log_strength=u[[0, 1, 1]], observed=[1, 0, 0]), "twice"),
        (lambda u: (PartialRanking("r", log_strength=u, observed=[1, 0, 0]),
                    PartialRanking("s", log_strength=pt.concatenate([u, [-np.inf]])[[3, 3]],
                                   observed=[0, 0])), "a ranking without any"),
        (lambda u: PartialRanking("r", log_strength=u, observed=[1, 0, 0], sharpness=pt.exp(u[0])),
         "do not depend on u"),
        (lambda u: PartialRanking("r", log_strength=u, observed=[1, 0, 0],
                                  power=pm.HalfNormal("g")), "a power without a prior"),
    ],
)  # fmt: skip
def test_where_it_would_not_be_exact_it_says_so(change, words):
    model = strange(change)
    with pytest.raises(dx.ArgumentError, match=f"model: expected.*{words}.*without_gibbs"), model:
        PlackettLuceGibbs([model["u"]], model=model).step(model.initial_point())


def test_only_log_gamma_strengths_are_its_business():
    with pm.Model() as model:
        x = pm.Normal("x", shape=3)
        PartialRanking("r", log_strength=x, observed=[1, 0, 0])
    with pytest.raises(dx.ArgumentError, match="LogGamma prior"):
        PlackettLuceGibbs([x], model=model)
    assert PlackettLuceGibbs.competence(x) == pm.step_methods.compound.Competence.INCOMPATIBLE


def test_closed_rankings_compare_only_what_they_list():
    with pm.Model() as model:
        u = LogGamma("u", alpha=np.ones(3))
        padded = pt.concatenate([u, [-np.inf]])
        PartialRanking("all", log_strength=u, observed=[1, 0, 0])
        PartialRanking("two", log_strength=padded[[[3, 1, 2]]], observed=[[0, 1, 2]])
    assert disagreements(model) == {}
    strength = np.exp(run(model, 3000)["posterior"]["u"])
    first = strength[..., 0] / strength.sum("u_dim_0")
    second = strength[..., 1] / strength[..., [1, 2]].sum("u_dim_0")
    assert float(first.mean()) == pytest.approx(1 / 2, abs=0.02)  # Beta(2, 2)
    assert float(second.mean()) == pytest.approx(2 / 3, abs=0.02)  # Beta(2, 1)


def test_two_variables_of_strengths():
    with pm.Model() as model:
        for name in "uv":
            each = LogGamma(name, alpha=np.ones(2))
            PartialRanking(f"rank_{name}", log_strength=each, observed=[1, 0])
    draws = run(model, 500)["posterior"]
    for name in "uv":
        share = np.exp(draws[name][..., 0] - np.log(np.exp(draws[name]).sum(f"{name}_dim_0")))
        assert float(share.mean()) == pytest.approx(2 / 3, abs=0.06)


def test_other_uses_of_log_gamma_are_left_to_nuts():
    with pm.Model() as model:
        u = LogGamma("u", alpha=[2.0, 2.0])
        pm.Poisson("n", pm.math.exp(u), observed=[3, 4])
    draws = run(model, 300)["posterior"]["u"]
    assert float(np.exp(draws).mean()) == pytest.approx((5 + 6) / 2 / 2, abs=0.5)
