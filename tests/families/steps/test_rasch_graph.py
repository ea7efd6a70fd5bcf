"""Models of abilities and difficulties put together by hand: taken as they are, or refused."""

from __future__ import annotations

from types import SimpleNamespace

import crossed_reference
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from gradients import disagreements
from pymc.distributions.transforms import Interval
from pymc_runs import by_nuts, run
from rasch_cases import N_ITEMS, N_PEOPLE, only, study

import dissensus as dx
from dissensus.data.layout import by_place
from dissensus.families.rasch.distributions import LatentAnswers
from dissensus.families.rasch.step import RaschGibbs

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")


def _said(_):
    """Take the labels of a study of three labels, and what is known: the truth of one item."""
    ann, truth = study(3)
    level = np.unique(ann["confidence"].to_numpy(), return_inverse=True)[1]
    item = ann["item_code"].to_numpy()
    who, label, level = (
        by_place(item, N_ITEMS, codes)
        for codes in (ann["annotator_code"].to_numpy(), ann["label_code"].to_numpy(), level)
    )
    allowed = np.ones((N_ITEMS, 3), dtype=bool)
    allowed[0] = np.arange(3) == truth[0]
    return SimpleNamespace(who=who, label=label, level=level, allowed=allowed)


def _answers(v, n_levels=3):
    code = np.where(v.said.who < 0, -1, v.said.label * n_levels + v.said.level)
    return LatentAnswers("labels", v.log_truth, v.logit, v.log_level, v.said.who, observed=code)


def _of_covariates(v, data=None):
    """Return a regression of each label (item, place)."""
    data = v.data if data is None else data
    return (data.reshape((-1, 2)) @ v.coefficient).reshape(v.said.who.shape)


PARTS = {
    "said": _said,
    "data": lambda _: None,
    "coefficient": lambda _: None,
    "mean": lambda _: pm.Normal("mean_ability", 1.0, 1.5),
    "spread": lambda _: pm.HalfNormal("ability_spread", 1.0),
    "ability": lambda v: pm.Normal("ability", v.mean, v.spread, shape=N_PEOPLE),
    "item_spread": lambda _: pm.Exponential("difficulty_spread", 1.0),
    "difficulty": lambda v: pm.Normal("difficulty", 0.0, v.item_spread, shape=N_ITEMS),
    "share": lambda _: pm.Dirichlet("prevalence", a=[1.0, 2.0, 3.0]),
    "right": lambda _: pm.Dirichlet("confidence_if_right", a=np.ones(3)),
    "wrong": lambda _: pm.Dirichlet("confidence_if_wrong", a=np.ones(3)),
    "above": lambda v: (
        v.ability[np.maximum(v.said.who, 0).ravel()].reshape(v.said.who.shape)
        - v.difficulty[:, None]
    ),
    "logit": lambda v: pt.logaddexp(v.above, -np.log(2)),
    "log_truth": lambda v: pt.switch(v.said.allowed, pt.log(v.share), -np.inf),
    "log_level": lambda v: pt.log(pt.stack([v.wrong, v.right])),
    "labels": _answers,
    "more": lambda _: None,
}


def by_hand(**changes):
    """Build a Rasch model part by part, each a function of those before."""
    there = SimpleNamespace()
    with pm.Model() as model:
        for name, make in (PARTS | changes).items():
            setattr(there, name, make(there))
    return model


def _with_nobody(v):
    """Add an item whose truth is known and one whose truth is not, which nobody labelled."""
    rows = _said(v)
    rows.allowed = np.vstack([rows.allowed, np.ones((1, 3), bool), [[False, False, True]]])
    nobody = np.full((2, rows.who.shape[1]), -1)
    for name in ("who", "label", "level"):
        setattr(rows, name, np.vstack([getattr(rows, name), nobody]))
    return rows


FOUR_LEVELS = {
    "right": lambda _: pm.Dirichlet("confidence_if_right", a=np.full(4, 0.8)),
    "wrong": lambda _: pm.Dirichlet("confidence_if_wrong", a=np.full(4, 0.8)),
    "labels": lambda v: _answers(v, 4),
}
COVARIATES = np.random.default_rng(2).normal(size=(N_ITEMS, N_PEOPLE, 2))


def _coefficient(**more):
    """Return parts with the data and a regression of the logit; ``more`` replaces some."""
    return {
        "data": lambda _: pm.Data("covariates", COVARIATES),
        "coefficient": lambda _: pm.Normal("coefficient", [0.3, 0.0], [0.5, 2.0], shape=2),
        "above": lambda v: PARTS["above"](v) + _of_covariates(v),
        **more,
    }  # fmt: skip


BY_HAND = {
    "covariates, each coefficient with its prior": (_coefficient(), N_ITEMS, N_PEOPLE),
    "what nobody labelled": (
        {"said": _with_nobody, **FOUR_LEVELS}, N_ITEMS + 2, N_PEOPLE + 1
    ),
    "no guessing, above a bound": (
        {
            "mean": lambda _: pm.TruncatedNormal("mean_ability", 1.0, 1.5, lower=-np.log(2)),
            "logit": lambda v: v.above,
        },
        N_ITEMS, N_PEOPLE,
    ),
}  # fmt: skip


def _of_form(form):
    changes, n_items, n_people = BY_HAND[form]
    return by_hand(
        ability=lambda v: pm.Normal("ability", v.mean, v.spread, shape=n_people),
        difficulty=lambda v: pm.Normal("difficulty", 0.0, v.item_spread, shape=n_items),
        **changes,
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", BY_HAND)
def test_agrees_with_nuts_on_models_put_together_by_hand(form):
    """NUTS moves effects in units of their spreads: else it would not come near small spreads."""
    changes, n_items, n_people = BY_HAND[form]
    model = _of_form(form)
    other = by_hand(
        ability=lambda v: pm.Deterministic(
            "ability", v.mean + v.spread * pm.Normal("one", shape=n_people)
        ),
        difficulty=lambda v: pm.Deterministic(
            "difficulty", v.item_spread * pm.Normal("two", shape=n_items)
        ),
        **changes,
    )
    run_result = run(model, draws=8000)
    nuts = by_nuts(other, draws=3000, tune=800, target_accept=0.9)
    crossed_reference.compare_fits(
        run_result, only(nuts, run_result["posterior"].data_vars), enough=150
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", BY_HAND)
def test_draws_go_with_the_gradient_that_nuts_follows(form):
    """What the test above asks, reduced."""
    assert disagreements(_of_form(form)) == {}


@pytest.mark.slow
def test_what_stands_beside_it_is_left_to_other_steps():
    """And takes nothing away: a mean of its own data is learned, and abilities are as before."""

    def more(v):
        other = pm.Normal("other", 0.0, 10.0)
        pm.Normal("score", other, 1.0, observed=[2.0, 3.0, 4.0])
        pm.Deterministic("best", v.ability.max())
        pm.Potential("push", 0.0 * other)

    model = by_hand(more=more)
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert {step: len(moved) for step, moved in chosen.items()} == {RaschGibbs: 8, pm.NUTS: 1}
    # NUTS is not compiled: 200 draws by it take 3 s, and those of the step nearly nothing.
    both = run(model, draws=200, tune=80, chains=1)["posterior"]
    alone = run(by_hand(), draws=600)["posterior"]
    assert float(both["other"].mean()) == pytest.approx(3.0, abs=0.15)
    np.testing.assert_array_equal(both["best"], both["ability"].max("ability_dim_0"))
    for name in ("ability", "prevalence"):
        averages = [tree[name].mean(("chain", "draw")) for tree in (both, alone)]
        np.testing.assert_allclose(*averages, atol=0.25)


def _another_person(v):
    rows = _said(v)
    rows.who[-1, -1] = 4
    return rows


def _empty_in_front(v):
    rows = _said(v)
    rows.who[3, 0] = -1
    return rows


def _two_may_be_true(v):
    rows = _said(v)
    rows.allowed[1] = [True, True, False]
    return rows


NOT_EXACT = {
    "labels with logit as the library writes": _coefficient(
        above=lambda v: PARTS["above"](v) + 2.0 * _of_covariates(v)
    ),
    "labels with logit as the library writes it; found another": _coefficient(
        above=lambda v: PARTS["above"](v) + _of_covariates(v, COVARIATES[::-1])
    ),
    "labels with logit as the": {  # on the log odds, guesses and all
        **_coefficient(above=PARTS["above"]),
        "logit": lambda v: PARTS["logit"](v) + _of_covariates(v),
    },
    "ability ~ ": _coefficient(
        above=PARTS["above"],
        ability=lambda v: pm.Normal(
            "ability", v.mean + v.data[0] @ v.coefficient, v.spread, shape=N_PEOPLE
        ),
    ),
    "coefficient with a Normal prior": _coefficient(
        coefficient=lambda _: pm.Laplace("coefficient", 0.0, 1.0, shape=2)
    ),
    "priors with given parameters; found ExpandDims": _coefficient(
        coefficient=lambda _: pm.Normal("coefficient", 0.0, pm.HalfNormal("slope_sd"), shape=2)
    ),
    r"covariates of shape \(12, 4, 2\); found \(48, 2\)": _coefficient(
        data=lambda _: pm.Data("covariates", COVARIATES.reshape((-1, 2))),
    ),
    "only the labels to depend on these variables; found test": {
        "more": lambda v: pm.Normal("test", v.ability[0], 1.0, observed=0.3)
    },
    "only the labels to depend on these variables; found pull": {
        "more": lambda v: pm.Potential("pull", -(v.share**2).sum())
    },
    "one observed LatentAnswers; found others": {
        "labels": lambda v: pm.Bernoulli("labels", logit_p=v.logit, observed=v.said.label > 0)
    },
    "labels with logit as the library writes it": {
        "logit": lambda v: v.above + pm.Normal("slope") * np.linspace(0, 1, N_PEOPLE)
    },
    "labels with logit as the library": {"logit": lambda v: 1.5 * v.above},
    "labels with logit as": {
        "above": lambda v: PARTS["above"](v) + v.difficulty[:, None] - v.difficulty[::-1, None]
    },
    "labels with logit": {
        "logit": lambda v: pt.logaddexp(v.above, -1.0)  # others guess one label in two
    },
    "labels with log_truth as": {
        "log_truth": lambda v: pt.switch(v.said.allowed, pt.log(v.share[::-1]), -np.inf)
    },
    "labels with log_truth": {  # a known one says nothing of it
        "log_truth": lambda v: pt.concatenate([
            np.array([[0.0, -np.inf, -np.inf]]), pt.tile(pt.log(v.share), (N_ITEMS - 1, 1))
        ])
    },
    "items of which one label may be true, or all": {"said": _two_may_be_true},
    "labels with log_level as": {
        "log_level": lambda v: pt.log(pt.stack([v.right, v.wrong]))
    },
    "one prior count for all levels": {
        "right": lambda _: pm.Dirichlet("confidence_if_right", a=[1.0, 1.0, 2.0])
    },
    "both of confidence_if_right and confidence_if_wrong": {
        "right": lambda _: pt.as_tensor([0.2, 0.3, 0.5])
    },
    "prevalence with a Dirichlet prior": {
        "share": lambda _: pm.LogitNormal("prevalence", shape=3)
    },
    "mean_ability with a Normal prior, or a TruncatedNormal one": {
        "mean": lambda _: pm.Laplace("mean_ability", 1.0, 1.5)
    },
    "mean_ability without an upper bound; found 3": {
        "mean": lambda _: pm.TruncatedNormal("mean_ability", 1.0, 1.5, lower=0.0, upper=3.0)
    },
    "priors with given parameters; found hyper": {
        "mean": lambda _: pm.Normal("mean_ability", pm.Normal("hyper"), 1.5)
    },
    "priors with given parameters; found ability_spread": {
        "item_spread": lambda v: pm.HalfNormal("difficulty_spread", v.spread)
    },
    "ability_spread with a HalfNormal, HalfStudentT or Exponential prior": {
        "spread": lambda _: pm.Gamma("ability_spread", 2.0, 1.0)
    },
    "ability_spread with PyMC's own transform": {
        "spread": lambda _: pm.HalfNormal("ability_spread", 1.0, transform=Interval(0.0, 3.0))
    },
    r"ability ~ Normal\(mean_ability, ability_spread\); found ability ~ StudentT": {
        "ability": lambda v: pm.StudentT("ability", nu=4, mu=v.mean, sigma=v.spread, shape=4)
    },
    "ability with PyMC's own transform": {
        "ability": lambda v: pm.Normal(
            "ability", v.mean, v.spread, shape=4, transform=pm.distributions.transforms.log
        )
    },
    r"ability ~ Normal\(mean_ability, ability_spread\); found ability ~ Normal": {
        "ability": lambda v: pm.Normal("ability", v.mean, v.spread**2, shape=4)
    },
    r"difficulty ~ Normal\(0, difficulty_spread\)": {
        "difficulty": lambda v: pm.Normal("difficulty", 0.5, v.item_spread, shape=N_ITEMS)
    },
    r"difficulty of shape \(12,\); found shape \(13,\)": {
        "difficulty": lambda v: pm.Normal("difficulty", 0.0, v.item_spread, shape=N_ITEMS + 1),
        "above": lambda v: v.ability[v.said.who] - v.difficulty[1:, None],
    },
    r"mean_ability of shape \(\); found shape \(1,\)": {
        "mean": lambda _: pm.Normal("mean_ability", 1.0, 1.5, shape=1)
    },
    "labels in codes from 0 to 8; found 0 to 9": {
        "labels": lambda v: LatentAnswers(
            "labels", v.log_truth, v.logit, v.log_level, v.said.who,
            observed=np.arange(N_ITEMS * N_PEOPLE).reshape((N_ITEMS, N_PEOPLE)) % 10,
        )
    },
    "respondents in codes from 0 to 3; found 0 to 4": {"said": _another_person},
    "labels with logit and respondent as the library": {"said": _empty_in_front},
}  # fmt: skip


@pytest.mark.unit(3, long=14)
@pytest.mark.parametrize("words", NOT_EXACT)
def test_refuses_where_it_would_not_be_exact(words):
    model = by_hand(**NOT_EXACT[words])
    with model, pytest.raises(dx.ArgumentError, match=words) as refused:
        RaschGibbs()
    assert "without_gibbs" in str(refused.value)


def test_pymc_says_why_its_own_steps_sample_a_model():
    model = by_hand(more=lambda v: pm.Potential("pull", -v.ability.sum()))
    with model, pytest.warns(dx.DissensusWarning, match="only the labels"):
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert RaschGibbs not in chosen
