"""The Gibbs steps of crossed effects, Rasch models and latent truths: chosen, exact, repeatable."""

from __future__ import annotations

import gc
import weakref
from typing import Any, NamedTuple

import crossed_reference
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.step_methods import STEP_METHODS
from pymc_runs import few_as_users_have_it, run
from rasch_cases import N_ITEMS, N_PEOPLE, study
from seeds import in_two_sizes
from truth_cases import ROWS, SYMMETRIC

import dissensus as dx
from dissensus.families.crossed.step import CrossedEffectsGibbs
from dissensus.families.latent_truth.step import LatentTruthGibbs
from dissensus.families.rasch.step import RaschGibbs
from dissensus.models import (
    cross_replication,
    crossed_effects,
    dawid_skene,
    rasch,
    symmetric_confusion,
)

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
POOLS = ("old", "new")
EVERYTHING = {"accuracy": "annotator", "errors": "unequal", "difficulty": True,
              "systems": "related"}  # fmt: skip


class Form(NamedTuple):
    """A model of a family, with what it is fitted to."""

    step: Any
    module: Any
    annotations: Any
    options: dict[str, Any]

    def build(self):
        return self.module.build(self.annotations, **self.options)

    def fit(self, **how):
        how = {"random_seed": 3, "progressbar": False, **how}
        return self.module.fit(self.annotations, **self.options, **how)


def effects(family, pools=None):
    more = {"pools": pools, "overlap": 0.6} if pools else {}
    ann = dx.simulate.replication_study(25, 6, 3, family=family, random_seed=2, **more).annotations
    module = cross_replication if pools else crossed_effects
    return Form(CrossedEffectsGibbs, module, ann, {"family": family})


def abilities(n_labels, n_known, **settings):
    ann, truth = study(n_labels)
    known = {item: int(label) for item, label in enumerate(truth[:n_known])}
    return Form(RaschGibbs, rasch, ann, {"truth": known or None, **settings})


def truths(module, **settings):
    data = dx.simulate.confusion_study(40, 3, 3, ipc=0.7, system_accuracy=[0.8, 0.7], random_seed=2)
    options = {"predictions": data.predictions, **settings}
    if "formula" in settings:
        names = data.annotations["annotator"].to_numpy()
        options["annotators"] = {"annotator": names, "age": [0.1, -1.0, 2.0]}
    return Form(LatentTruthGibbs, module, data.annotations, options)


WORDS_AND_AGE = {
    "formula": "~ words * age",
    "items": {"item": range(N_ITEMS), "words": np.arange(N_ITEMS) ** 2 % 13},
    "annotators": {"annotator": range(N_PEOPLE), "age": [1.0, 0.2, -0.7, 0.4]},
}  # fmt: skip
FORMS = {
    **{f"{family}, {len(pools or 'p')} pools": (effects, family, pools)
       for family in ("gaussian", "bernoulli", "ordinal") for pools in (None, POOLS)},
    "rasch": (abilities, 2, 0),
    "rasch, three labels, no guessing": (abilities, 3, 0, {"guessing": False}),
    "rasch, truth of all known": (abilities, 2, N_ITEMS),
    "rasch, truth of all known, three labels, guessing": (
        abilities, 3, N_ITEMS, {"guessing": True}
    ),
    "rasch, truth of some known, three labels, confidence": (
        abilities, 3, 5, {"confidence": True}
    ),
    "rasch, truth of some known, confidence, no guessing": (
        abilities, 2, 5, {"confidence": True, "guessing": False, "prior_count": 2.5}
    ),
    "rasch, truth of some known, covariates": (abilities, 2, 5, WORDS_AND_AGE),
    "rasch, truth of all known, covariates": (abilities, 2, N_ITEMS, WORDS_AND_AGE),
    "rasch, other priors": (abilities, 2, N_ITEMS, {"confidence": True, "priors": {
        "mean_ability": (0.5, 1.0), "ability_spread": ("exponential", 0.7),
        "difficulty_spread": ("half_t", 1.0, 4.0),
    }}),
    "symmetric confusion": (truths, symmetric_confusion),
    "everything": (truths, symmetric_confusion, EVERYTHING),
    "evidence of annotators": (
        truths, symmetric_confusion, {"evidence": "annotators", "errors": "unequal"}
    ),
    "confusion matrices": (truths, dawid_skene),
    "matrices, covariates": (truths, dawid_skene, {"formula": "~ age"}),
    "pooled, difficulty": (truths, dawid_skene, {"pooling": "complete", "difficulty": True}),
    "unpooled, related systems": (
        truths, dawid_skene, {"pooling": "none", "systems": "related"}
    ),
}  # fmt: skip
EACH = {
    CrossedEffectsGibbs: ("gaussian, 1 pools", "mu"),
    RaschGibbs: ("rasch, truth of some known, three labels, confidence", "ability"),
    LatentTruthGibbs: ("everything", "prevalence"),
}
"""A form for each step, and a variable of it."""
by_step = pytest.mark.parametrize("step", EACH)


def form(name):
    make, *given = FORMS[name]
    settings = given.pop() if given and isinstance(given[-1], dict) else {}
    return make(*given, **settings)


def chosen_for(model):
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    return chosen


BUILT = {
    **{name: (form, name) for name in FORMS},
    **{name: (dict.__getitem__, cases, name) for cases in (SYMMETRIC, ROWS) for name in cases},
}


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", BUILT)
def test_pymc_chooses_it_for_everything(name):
    make, *given = BUILT[name]
    model = make(*given).build()
    ((step, moved),) = chosen_for(model).items()
    assert step in EACH
    assert STEP_METHODS.count(step) == 1
    assert {v.name for v in moved} == {v.name for v in model.value_vars}


@pytest.mark.slow
@by_step
def test_the_model_may_be_an_argument(step):
    built = form(EACH[step][0]).build()
    with pm.Model():  # of something else
        assert list(pm.sampling.mcmc.assign_step_methods(built)[1]) == [step]
    trace = few_as_users_have_it(built)
    assert EACH[step][1] in trace["posterior"]
    assert "tree_depth" not in trace.get("sample_stats", {})  # of NUTS


@pytest.mark.unit(0, long=1)
@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("name", [
    "gaussian, 1 pools", "gaussian, 2 pools", "ordinal, 1 pools", "rasch", "symmetric confusion",
    "unpooled, related systems",
])  # fmt: skip
def test_pymc_needs_no_compiler(name):
    """The first call on a machine would otherwise take several times as long as that of `fit`."""
    few_as_users_have_it(form(name).build())


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", ["gaussian, 1 pools", "rasch", "symmetric confusion"])
def test_a_model_is_read_once_and_then_let_go(name, monkeypatch):
    built = form(name).build()
    ((step, _),) = chosen_for(built).items()  # reads it
    monkeypatch.setattr(step, "read", None)
    with built:
        made = step()
    assert made.name
    kept = weakref.ref(built)
    del built, made
    gc.collect()
    assert kept() is None


def shared(first, second):
    """Leave what both have, a long tail as a logarithm: its squares say nothing."""
    names = sorted(set(first["posterior"].data_vars) & set(second["posterior"].data_vars))
    draws = first["posterior"].to_dataset()[names]
    if "error_concentration" in names:
        draws["error_concentration"] = np.log(draws["error_concentration"])
    return xr.DataTree.from_dict({"posterior": draws})


LIKE_FIT = {
    "gaussian, 2 pools": (1500, 150), "ordinal, 1 pools": (1500, 150),
    "bernoulli, 2 pools": (1500, 150),
    "rasch": (1000, 25), "rasch, truth of some known, three labels, confidence": (1000, 25),
    "rasch, other priors": (1000, 25), "symmetric confusion": (1500, 100),
}  # fmt: skip
"""Draws, and the smallest effective sample size; of the other forms 10,000 and 100."""


@pytest.mark.unit(0, long=1)
@pytest.mark.filterwarnings("ignore:The chains have not run long enough")  # of fit's items
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *LIKE_FIT.items(),
        *in_two_sizes({n: n for n in FORMS if n not in LIKE_FIT}, (700, 15), (10_000, 100)),
    ],
)
def test_agrees_with_the_sampler_of_fit(name, size):
    """Which is compared with NUTS, and with integration over the prior, in tests/models."""
    model, (draws, enough) = form(name), size
    result, fit = run(model.build(), draws=draws), model.fit(draws=draws)
    first, second = shared(result, fit), shared(fit, result)
    needed = {"item_effect"} if model.step is CrossedEffectsGibbs else {"prevalence"}
    assert needed <= set(first["posterior"].data_vars)
    # Hundreds of numbers are compared. Of 10,000 draws one is 4.4 errors apart, of 700 one 4.2;
    # with other seeds (ten and six runs of each sampler) they do not differ.
    crossed_reference.compare_fits(first, second, enough=enough, errors=4.5)


@pytest.mark.slow
@by_step
def test_the_seed_makes_it_repeatable_and_chains_differ(step):
    name, variable = EACH[step]
    model = form(name).build()
    first, second, other = (
        run(model, 20, tune=5, seed=seed)["posterior"][variable].to_numpy() for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.isclose(first, other).any()
    assert not np.isclose(first[0], first[1]).any()


@pytest.mark.parametrize("name", ["bernoulli, 1 pools", "rasch"])
def test_chains_leave_nothing_behind(name):
    """Slices and paths are learned by each chain for itself, whatever was sampled before."""
    model = form(name)
    built = model.build()
    with built:
        step = model.step()
    start = step.sampling_state
    settings = {"draws": 20, "tune": 60, "chains": 2, "step": step}
    first = run(built, **settings)["posterior"].to_dataset()
    step.sampling_state = start
    assert first.equals(run(built, **settings)["posterior"].to_dataset())


@by_step
def test_leaves_its_point_alone_and_stops_learning(step):
    model = form(EACH[step][0]).build()
    with model:
        made = step(rng=1)
    point = model.initial_point()
    before = {name: np.array(value) for name, value in point.items()}
    moved, _ = made.step(point)
    for name, value in before.items():
        np.testing.assert_array_equal(point[name], value)
        assert np.shape(moved[name]) == value.shape
        assert not np.isclose(moved[name], value).any()
    if step is LatentTruthGibbs:  # which learns nothing
        return
    made.stop_tuning()
    learned = [made.known.tuning.sd_item, *([made.width] if step is RaschGibbs else [])]
    widths = [width.copy() for width in learned]
    for _ in range(3):
        moved, _ = made.step(moved)
    for width, was in zip(learned, widths, strict=True):
        np.testing.assert_array_equal(width, was)


@pytest.mark.parametrize("name", [
    "rasch, truth of some known, three labels, confidence", "rasch, other priors", "everything",
    "confusion matrices", "matrices, covariates", "unpooled, related systems",
])  # fmt: skip
def test_where_it_left_off_is_known_by_its_values_only(name, monkeypatch):
    """What a move keeps in natural units is what PyTensor makes of the values, and no others'."""
    model = form(name).build()
    with model:
        made = (RaschGibbs if name.startswith("rasch") else LatentTruthGibbs)(rng=1)
    step = type(made)
    point, _ = made.step(model.initial_point())
    values, kept = made._end
    copied = {name: np.array(value) for name, value in point.items()}
    assert made.recall(copied) is kept  # in a worker PyMC gives copies
    assert made.recall(copied) is None  # and it may be written over
    other = dict(copied)
    moved = next(iter(values))
    other[moved] = other[moved] + 1e-9
    made._end = values, kept
    assert made.recall(other) is None
    state, draws = made.sampling_state, []
    for forgets in (False, True):
        made.sampling_state = state
        made._end = values, {name: np.array(value) for name, value in kept.items()}
        if forgets:
            monkeypatch.setattr(step, "recall", lambda *_: None)
        now = dict(copied)
        for _ in range(2):
            now, _ = made.step(now)
        draws.append(now)
    for name, value in draws[0].items():
        np.testing.assert_allclose(value, draws[1][name], rtol=1e-6, atol=1e-8)


def test_has_nothing_to_do_with_other_models():
    with pm.Model() as model:
        ability = pm.Normal("ability")
        pm.Normal("score", ability, 1.0, observed=[1.0])
        share = pm.Dirichlet("prevalence", a=np.ones(3))
        pm.Multinomial("n", 10, share, observed=[3, 3, 4])
    assert not set(EACH) & set(chosen_for(model))
    for step, words in ((RaschGibbs, "one observed LatentAnswers"),
                        (LatentTruthGibbs, "one observed LatentTruth")):  # fmt: skip
        with model, pytest.raises(dx.ArgumentError, match=words):
            step()


@pytest.mark.unit(0, long=1)
@by_step
def test_refuses_to_move_a_part(step):
    name, variable = EACH[step]
    model = form(name).build()
    with (
        model,
        pytest.raises(dx.ArgumentError, match=r"all of .*, .*updated together.*without_gibbs"),
    ):
        step([model[variable]])


def test_reads_the_data_from_the_model():
    """What `pymc.observe` puts in is what is sampled."""
    model = form("gaussian, 1 pools").build()
    values = model.rvs_to_values[model["score"]].eval()
    scores = model, pm.observe(model, {"score": 3 * values + 5})
    before, after = (run(each, draws=200)["posterior"]["sigma"].mean() for each in scores)
    assert float(after / before) == pytest.approx(3, rel=0.1)

    model = form("rasch, truth of all known").build()  # who is always wrong is not able
    labels = model["label_code"].get_value()
    abilities = []
    for code in (labels, 1 - labels):
        with model:
            pm.set_data({"label_code": code})
        abilities.append(float(run(model, draws=100)["posterior"]["mean_ability"].mean()))
    assert abilities[0] > 0.5
    assert abilities[1] < -0.3

    model = form("symmetric confusion").build()  # with labels exchanged, so is prevalence
    shares = []
    for names in ([0, 1, 2], [2, 1, 0]):  # by data, of which the truth is, too
        code = model["label_code"].get_value()
        with model:
            pm.set_data({"label_code": np.where(code < 0, code, np.array(names)[code])})
        drawn = run(model, draws=100, tune=50)["posterior"]["prevalence"]
        shares.append(drawn.mean(("chain", "draw")))
    first, second = (share.to_numpy() for share in shares)
    assert abs(first[0] - first[2]) > 0.05
    np.testing.assert_allclose(first, second[::-1], atol=0.02)
