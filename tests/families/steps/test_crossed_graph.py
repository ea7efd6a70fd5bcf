"""Models of crossed effects written by hand: taken if the step is exact for them, or refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from gradients import disagreements
from pymc.distributions.transforms import Interval, LogTransform, log
from pymc_runs import run

import dissensus as dx
from dissensus.families.crossed.distributions import CumulativeProbit
from dissensus.families.crossed.step import CrossedEffectsGibbs

N_ITEMS, N_PEOPLE, N = 12, 5, 60
ITEM, WHO = np.repeat(np.arange(N_ITEMS), N_PEOPLE), np.tile(np.arange(N_PEOPLE), N_ITEMS)
HALF, X = (WHO > 2).astype(int), np.linspace(-1, 1, N)
Z, W = np.linspace(-1, 1, N_ITEMS), np.linspace(-1, 1, N_PEOPLE)
_RNG = np.random.default_rng(1)
SCORE = _RNG.normal(size=N_ITEMS)[ITEM] + _RNG.normal(size=N_PEOPLE)[WHO] / 2 + _RNG.normal(size=N)


class FlatLog(LogTransform):
    """Another density, by the same function."""

    def log_jac_det(self, value, *inputs):
        return pt.zeros_like(value)


PARTS = {
    "item": lambda _: ITEM,
    "who": lambda _: WHO,
    "value": lambda _: SCORE,
    "gamma": lambda _: None,
    "mu": lambda _: pm.Normal("mu", 0, 2),
    "sd_item": lambda _: pm.HalfNormal("sigma_item"),
    "sd_people": lambda _: pm.HalfNormal("sigma_annotator"),
    "sd": lambda _: pm.HalfNormal("sigma"),
    "items": lambda v: pm.Normal("item_effect", 0, v.sd_item, shape=N_ITEMS),
    "people": lambda v: pm.Normal("annotator_effect", 0, v.sd_people, shape=N_PEOPLE),
    "more": lambda _: 0,
    "eta": lambda v: v.mu + v.items[v.item] + v.people[v.who] + v.more,
    "raw": lambda _: None,
    "residual": lambda v: v.sd,
    "labels": lambda v: pm.Normal("score", v.eta, v.residual, observed=v.value),
    "beside": lambda _: None,
}
ORDERED = {
    "value": lambda _: np.digitize(SCORE, [-1, 0, 1]),
    "sd": lambda _: pm.Exponential("gap", 1, shape=2),
    "raw": lambda v: pt.concatenate([pt.zeros(1), pt.cumsum(v.sd)]),
    "residual": lambda v: v.raw - v.raw.mean(),
    "labels": lambda v: CumulativeProbit("label_code", v.eta, v.residual, observed=v.value),
}
BINARY = {
    "value": lambda _: (SCORE > 0).astype(int),
    "sd": lambda _: None,
    "labels": lambda v: pm.Bernoulli("label_code", logit_p=v.eta, observed=v.value),
}


def gamma(_):
    return pm.Normal("gamma")


def by_hand(**changes):
    """Build crossed effects part by part, each a function of those before."""
    parts = SimpleNamespace()
    with pm.Model() as model:
        for name, make in (PARTS | changes).items():
            setattr(parts, name, make(parts))
    return model


def items(centre=0.0, scale=None, **options):
    return lambda v: pm.Normal(
        "item_effect", centre(v) if callable(centre) else centre,
        v.sd_item if scale is None else scale(v), shape=N_ITEMS, **options,
    )  # fmt: skip


SAME = {
    "as it is": {},
    "other order": {"eta": lambda v: v.people[WHO] + (v.items[ITEM] + v.mu)},
    "data": {
        "item": lambda _: pm.Data("which", ITEM), "value": lambda _: pm.Data("given", SCORE),
        "mu": lambda _: pm.Normal("mu", pm.Data("centre", 0.5), pm.Data("width", 2.0)),
    },
    "expressions of data": {
        "item": lambda _: pm.Data("which", ITEM) * 1,
        "value": lambda _: pm.Data("given", SCORE) * 2.0,
    },
    "deterministic mean": {
        "eta": lambda v: pm.Deterministic("eta", v.mu + v.items[ITEM] + v.people[WHO])
    },
    "other scale priors": {
        "sd_item": lambda _: pm.Exponential("sigma_item", 2.0),
        "sd": lambda _: pm.HalfStudentT("sigma", nu=4, sigma=2.0),
    },
    "shape of its mean": {"items": lambda v: pm.Normal("item_effect", np.zeros(12), v.sd_item)},
    "items without labels": {
        "items": lambda v: pm.Normal("item_effect", 0, v.sd_item, shape=N_ITEMS + 3)
    },
    "transform spelled out": {
        "sd_item": lambda _: pm.HalfNormal("sigma_item", transform=log, default_transform=None)
    },
    "take": {"eta": lambda v: v.mu + pt.take(v.items, ITEM) + pt.take(v.people, WHO)},
    "single precision": {"value": lambda _: SCORE.astype("float32")},
    "given further term": {"more": lambda _: X},
    "potential of nothing": {"beside": lambda _: pm.Potential("constant", pt.as_tensor(1.0))},
    "ordered": ORDERED,
    "binary": BINARY,
}  # fmt: skip


def chosen_for(model):
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    return {step: sorted(v.name for v in values) for step, values in chosen.items()}


@pytest.mark.unit(3, long=5)
@pytest.mark.parametrize("change", SAME)
def test_a_model_that_is_the_same_in_other_words_is_taken(change):
    assert list(chosen_for(by_hand(**SAME[change]))) == [CrossedEffectsGibbs]


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("change", SAME)
def test_and_sampled_right(change):
    assert disagreements(by_hand(**SAME[change])) == {}


BESIDE = {
    "slope": {"more": lambda _: pm.Normal("more") * X},
    "minus a slope": {"more": lambda _: -pm.Normal("more") * X},
    "second intercept": {"more": lambda _: pm.Normal("more", shape=1)},
    "interaction": {"more": lambda _: pm.Normal("more", shape=(N_ITEMS, N_PEOPLE))[ITEM, WHO]},
    "switch": {"more": lambda _: pt.switch(X > 0, pm.Normal("more"), 0.0)},
    "random walk": {"more": lambda _: pm.GaussianRandomWalk("more", init_dist=pm.Normal.dist(),
                                                            shape=N)},
    "a slope called gap": {"more": lambda _: pm.HalfNormal("gap") * X},
    "a gap of something else": {
        "beside": lambda _: pm.Normal("other", 0, pm.HalfNormal("gap"), observed=[1.0, 2.0])
    },
    "a sigma of something else": BINARY | {
        "beside": lambda _: pm.Normal("other", 0, pm.HalfNormal("sigma"), observed=[1.0, 2.0])
    },
    "a scale of nobody": {
        "people": lambda _: None, "eta": lambda v: v.mu + v.items[ITEM],
    },
    "annotators of another name": {
        "sd_people": lambda _: 1.0, "people": lambda _: pm.Normal("more", shape=N_PEOPLE),
        "eta": lambda v: v.mu + v.items[ITEM] + v.people[WHO],
    },
}  # fmt: skip
"""What other steps move: a term in the mean, or a variable that has a name of the step's."""


@pytest.mark.unit(3, long=3)
@pytest.mark.parametrize("change", BESIDE)
def test_what_stands_beside_it_is_left_to_other_steps(change):
    model = by_hand(**BESIDE[change])
    chosen = chosen_for(model)
    (others,) = [names for step, names in chosen.items() if step is not CrossedEffectsGibbs]
    known = {"mu", "sigma_item_log__", "item_effect"}
    assert known <= set(chosen[CrossedEffectsGibbs])
    assert len(others) == 1
    with model:
        point, _ = CrossedEffectsGibbs().step(model.initial_point())
    assert all(np.isfinite(value).all() for value in point.values())


DIFFERENT = {
    # Priors of scales and of the mean.
    "sigma_annotator with a HalfNormal": {
        "sd_people": lambda _: pm.Gamma("sigma_annotator", 2, 1)
    },
    "sigma_item with a HalfNormal, HalfStudentT or Exponential prior; found uniform": {
        "sd_item": lambda _: pm.Uniform("sigma_item", 0, 5)
    },
    "a HalfNormal, HalfStudentT or Exponential prior; found halfcauchy": {
        "sd_item": lambda _: pm.HalfCauchy("sigma_item", 1)
    },
    "sigma with a HalfNormal": {"sd": lambda _: pm.Normal("sigma", 1, 0.1)},
    "mu with a Normal prior": {"mu": lambda _: pm.Flat("mu")},
    "priors with given parameters; found gamma": {
        "gamma": gamma, "mu": lambda v: pm.Normal("mu", v.gamma, 2)
    },
    "priors with given parameters; found tau": {
        "sd_item": lambda _: pm.HalfNormal("sigma_item", pm.HalfNormal("tau"))
    },
    "priors with given parameters; found": {
        "sd_item": lambda v: pm.HalfNormal("sigma_item", pt.exp(v.mu))
    },
    "a free variable sigma_annotator; found none": {"sd_people": lambda v: v.sd_item},
    "a free variable sigma_annotator; found": {"sd_people": lambda _: 1.0},
    "a free variable sigma_annotator": {"sd_people": lambda _: pm.Data("sigma_annotator", 1.0)},
    "a free variable sigma; found none": {"sd": lambda v: v.sd_item},
    "a free variable sigma; found": {"sd": lambda _: 1.0},
    # Priors of effects.
    "item_effect ~ Normal": {"items": items(1.0)},
    "item_effect ~ Normal.*; found item_effect ~ Normal.*gamma": {
        "gamma": gamma, "items": items(lambda v: v.gamma * Z)
    },
    "item_effect ~ Normal.*; found item_effect": {"items": items(1e-9 * Z)},
    "item_effect ~ Normal.*; found item_effect ~ Normal.*mu": {"items": items(lambda v: v.mu)},
    "item_effect ~ Normal.*; found item_effect ~ N": {
        "items": items(scale=lambda v: pt.minimum(v.sd_item, 50.0))
    },
    "item_effect ~ Normal.*; found item_effect ~ No": {
        "gamma": gamma, "items": items(scale=lambda v: pt.exp(v.gamma) * v.sd_item)
    },
    "item_effect ~ Normal.*; found item_effect ~ Nor": {
        "items": items(scale=lambda v: v.sd_people)
    },
    "item_effect ~ Normal.*; found item_effect ~ StudentT": {
        "items": lambda v: pm.StudentT("item_effect", nu=4, sigma=v.sd_item, shape=N_ITEMS)
    },
    "places of item_effect in the mean in codes from 0 to 10": {  # one is free less
        "items": lambda v: pm.ZeroSumNormal("item_effect", v.sd_item, shape=N_ITEMS)
    },
    "annotator_effect ~ Normal": {
        "gamma": gamma,
        "people": lambda v: pm.Normal(
            "annotator_effect", v.gamma * W, v.sd_people, shape=N_PEOPLE
        ),
    },
    "item_effect with PyMC's own transform": {
        "items": items(default_transform=Interval(-100, 100))
    },
    "sigma_item with PyMC's own": {
        "sd_item": lambda _: pm.HalfNormal("sigma_item", default_transform=FlatLog())
    },
    "sigma_item with PyMC's own transform": {
        "sd_item": lambda _: pm.HalfNormal("sigma_item", default_transform=None)
    },
    # Names.
    "free variables item_effect, mu, sigma_item; found none called mu": {"mu": lambda _: 0.0},
    "found none called item_effect": {
        "items": lambda v: v.sd_item * pm.Normal("raw", shape=N_ITEMS)
    },
    # Shapes.
    "item_effect with 1 dimensions; found 2": {
        "items": lambda v: pm.Normal("item_effect", 0, v.sd_item, shape=(N_ITEMS, 2)),
        "eta": lambda v: v.mu + v.items[ITEM, HALF] + v.people[WHO],
    },
    "annotator_effect with 1 dimension; found 2": {
        "people": lambda v: pm.Normal("annotator_effect", 0, v.sd_people, shape=(N_PEOPLE, 2)),
        "eta": lambda v: v.mu + v.items[ITEM] + v.people[WHO, HALF],
    },
    r"sigma of shape \(\); found shape \(2,\)": {
        "sd": lambda _: pm.HalfNormal("sigma", shape=2), "residual": lambda v: v.sd[HALF]
    },
    r"mu of shape \(\); found shape \(2,\)": {
        "mu": lambda _: pm.Normal("mu", 0, 2, shape=2),
        "eta": lambda v: v.mu[HALF] + v.items[ITEM] + v.people[WHO],
    },
    r"mu of shape \(\); found shape \(1,\)": {"mu": lambda _: pm.Normal("mu", 0, 2, shape=1)},
    "a vector of finite observations; found shape": {
        "item": lambda _: ITEM.reshape(12, 5), "who": lambda _: WHO.reshape(12, 5),
        "value": lambda _: SCORE.reshape(12, 5),
    },
    r"a vector of finite observations; found shape \(\)": {
        "item": lambda _: 0, "who": lambda _: 0, "value": lambda _: 1.0
    },
    # What the labels see.
    "score with the mean mu": {"gamma": gamma, "more": lambda v: v.gamma * v.mu},
    "score with the mean mu ": {"more": lambda v: v.items[ITEM]},
    "score with the mean mu [+]": {"eta": lambda v: v.mu + v.items[ITEM] - v.people[WHO]},
    "score with the mean mu [+] ": {"more": lambda v: v.sd * Z[ITEM]},
    "score with the mean mu [+] i": {"more": lambda v: v.sd_item * pm.Normal("slope") * X},
    "score with the mean mu [+] it": {
        "eta": lambda v: v.mu + pm.HalfNormal("a", shape=5)[WHO] * v.items[ITEM] + v.people[WHO]
    },
    "score with the mean mu [+] ite": {
        "eta": lambda v: v.mu + v.items[ITEM] - v.items.mean() + v.people[WHO]
    },
    "score with the mean mu [+] item": {
        "eta": lambda v: pt.clip(v.mu + v.items[ITEM] + v.people[WHO], -50, 50)
    },
    "score with the mean mu [+] item_": {
        "item": lambda _: pm.Categorical("class", p=np.ones(N_ITEMS) / N_ITEMS, shape=N)
    },
    "score with the residual's sigma": {
        "gamma": gamma, "residual": lambda v: v.sd * pt.exp(v.gamma * X)
    },
    "score with the residual's sigma ": {"residual": lambda v: v.sd * np.linspace(1, 1.1, N)},
    "item_effect, indexed by an array": {
        "eta": lambda v: v.mu + pt.exp(v.items)[ITEM] + v.people[WHO]
    },
    "item_effect, indexed by an array, in": {
        "eta": lambda v: v.mu + (pt.tanh(v.items / 1e6) * 1e6)[ITEM] + v.people[WHO]
    },
    "item_effect, indexed by an array, in the mean": {
        "eta": lambda v: v.mu + pt.set_subtensor(v.items[0], 0.0)[ITEM] + v.people[WHO]
    },
    "annotator_effect, indexed by an array, in the mean": {
        "eta": lambda v: v.mu + v.items[ITEM] + v.people[::-1][WHO]
    },
    r"item_effect indexed by \d+ places in the mean; found \(1,\)": {
        "item": lambda _: ITEM[:1]
    },
    "places of item_effect in the mean in codes from 0 to 11; found -12": {
        "item": lambda _: ITEM - N_ITEMS
    },
    "places of annotator_effect in the mean in codes from 0 to 4; found -1": {
        "who": lambda _: np.where(WHO == 4, -1, WHO)
    },
    # Labels.
    "a Normal, Bernoulli or CumulativeProbit likelihood": {
        "labels": lambda v: pm.StudentT("score", nu=4, mu=v.eta, sigma=v.sd, observed=SCORE)
    },
    "a Normal, Bernoulli or CumulativeProbit likelihood; found Censored": {
        "labels": lambda v: pm.Censored(
            "score", pm.Normal.dist(v.eta, v.sd), -1, 1, observed=SCORE.clip(-1, 1)
        )
    },
    "a Normal, Bernoulli or CumulativeProbit likelihood; found Minibatch": {
        "labels": lambda v: pm.Normal("score", v.eta, v.sd, observed=SCORE, total_size=600)
    },
    "score with given observations; found observations drawn at random": {
        "value": lambda _: pm.Minibatch(SCORE, batch_size=N)
    },
    "a vector of finite observations; found infinite": {
        "value": lambda _: np.where(X < 0, np.inf, SCORE)
    },
    "labels in codes from 0 to 1; found -1 to 1": BINARY | {
        "value": lambda _: np.sign(SCORE).astype(int)
    },
    "labels in codes from 0 to 1; found 0 to 99": BINARY | {
        "value": lambda _: np.where(SCORE > 0, 99, 0)
    },
    "labels in codes from 0 to 3; found 0 to 4": ORDERED | {
        "value": lambda _: np.digitize(SCORE, [-1, -0.5, 0, 1])
    },
    "label_code with the mean": BINARY | {"more": lambda _: pm.Normal("slope") * X},
    r"pm.Bernoulli\(logit_p=...\)": BINARY | {
        "labels": lambda v: pm.Bernoulli("label_code", pm.math.invprobit(v.eta), observed=v.value)
    },
    "label_code with the cutpoints": ORDERED | {"residual": lambda v: v.raw},
    "and one of score, label_code observed; found others": {
        "beside": lambda _: pm.Bernoulli("label_code", 0.5, observed=[0, 1])
    },
    # Other uses of what the step moves.
    "only the labels to depend on these variables; found pull": {
        "beside": lambda v: pm.Potential("pull", -(v.items.sum() ** 2))
    },
    "only the labels to depend on these variables; found own": {
        "beside": lambda v: pm.Potential(
            "own", -(pm.modelcontext(None).rvs_to_values[v.sd_item] ** 2)
        )
    },
    "only the labels to depend on these variables; found icc": {
        "beside": lambda v: pm.Potential(
            "icc", -pm.Deterministic("share", v.sd_item / (v.sd_item + v.sd))
        )
    },
    "only the labels to depend on these variables; found again": {
        "beside": lambda v: pm.Normal("again", v.items, 1.0, observed=Z)
    },
    "only the labels to depend on these variables; found child": {
        "beside": lambda v: pm.Normal("child", v.mu, 1.0)
    },
    "only the labels to depend on these variables; found slope": {
        "more": lambda v: pm.Normal("slope", 0, v.sd_people, shape=2)[HALF]
    },
    "only the labels to depend on these variables; found weight": {
        "beside": lambda v: pm.Potential("weight", -v.labels.sum())
    },
}  # fmt: skip
"""Words of the refusal, and the change."""


@pytest.mark.filterwarnings("ignore:total_size not provided:UserWarning")
@pytest.mark.unit(0, long=14)
@pytest.mark.parametrize("words", DIFFERENT)
def test_a_model_that_differs_is_refused_and_left_to_nuts(words):
    model = by_hand(**DIFFERENT[words])
    with model, pytest.raises(dx.ArgumentError, match=words) as refused:
        CrossedEffectsGibbs()
    assert "without_gibbs" in str(refused.value)
    with pytest.warns(dx.DissensusWarning, match=words):
        assert CrossedEffectsGibbs not in chosen_for(model)


def test_shared_variables_that_change_are_read_again():
    """They need not be `pm.Data`."""
    width, n = pytensor.shared(np.array(1.0)), 400
    model = by_hand(sd_item=lambda _: pm.HalfNormal("sigma_item", width))
    spread = []
    for now in (1.0, 1e-3):
        width.set_value(np.array(now))
        posterior = run(model, draws=n, tune=n)["posterior"]
        spread.append(float(posterior["sigma_item"].mean()))
    assert spread[0] > 0.1
    assert spread[1] < 0.01
    with model:
        step = CrossedEffectsGibbs()
    width.set_value(np.array(2.0))
    with pytest.raises(dx.ArgumentError, match="the data with which this step was made"):
        step.step(model.initial_point())


UNKNOWN = {
    "missing labels": {"value": lambda _: np.where(X < 0, np.nan, SCORE)},
    "a prefix": {},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("change", UNKNOWN)
def test_a_model_without_its_names_is_none_of_its(change):
    with pm.Model(name="sub" if change == "a prefix" else "") as model:
        parts = SimpleNamespace()
        for name, make in (PARTS | UNKNOWN[change]).items():
            setattr(parts, name, make(parts))
    assert CrossedEffectsGibbs not in chosen_for(model)
