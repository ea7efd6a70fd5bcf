"""Alterations by PyMC's own tools: the steps sample what is left right, or leave it to NUTS."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest
import step_models
from pymc.distributions.transforms import Interval
from pymc.model.transform.conditioning import change_value_transforms, remove_value_transforms
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc_runs import run
from step_models import CONFUSED, OURS, effects

import dissensus as dx
from dissensus.families import steps
from dissensus.models import dawid_skene, plackett_luce, rasch, symmetric_confusion

pytestmark = [
    pytest.mark.filterwarnings("ignore:PyMC's own steps sample"),
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning"),
]
AGES = {"annotator": CONFUSED.annotations["annotator"].to_numpy(), "age": [0.1, -1.0, 2.0]}
RANKED = {"c": [[["a"], ["b"]], [["b"]]], "d": [[["c"], ["a", "b"]]]}


MODELS = step_models.MODELS | {
    "rasch of covariates": lambda: rasch.build(
        CONFUSED.annotations,
        formula="~ x",
        items={"item": CONFUSED.annotations["item"].values, "x": np.arange(15) % 4},
    ),
    "dawid_skene, covariates": lambda: dawid_skene.build(
        CONFUSED.annotations, formula="~ age", annotators=AGES
    ),
    "symmetric": lambda: symmetric_confusion.build(CONFUSED.annotations),
    "rankings": lambda: plackett_luce.build(dx.from_rankings(RANKED, labels="abc")),
}


def chosen_for(model):
    """Return the steps that PyMC chooses; ours are put to work."""
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
        for step in OURS & set(chosen):
            point, _ = step(chosen[step], rng=1).step(model.initial_point())
            assert all(np.isfinite(value).all() for value in point.values())
    return set(chosen) & OURS


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", MODELS)
def test_variables_that_are_set_or_observed(name):
    model = MODELS[name]()
    for rv in model.free_RVs:
        value = pm.draw(rv, random_seed=1)
        for altered in (pm.do(model, {rv.name: value}), pm.observe(model, {rv.name: value})):
            chosen_for(altered)


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", MODELS)
def test_other_transforms_and_potentials(name):
    model = MODELS[name]()
    wide = Interval(-50.0, 50.0)
    for rv in model.free_RVs:
        ours = rv.name not in {"concentration", "label_weight"}  # which NUTS moves
        if rv.name != "item_effect" or name != "pools":  # an Interval is not a transform of vectors
            other = wide if model.rvs_to_transforms[rv] is None else None
            chosen = chosen_for(change_value_transforms(model, {rv.name: other}))
            assert not (chosen and ours)
        pulled = model.copy()
        with pulled:
            pm.Potential("pull", -(pulled[rv.name] ** 2).sum())
        assert not (chosen_for(pulled) and ours)


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", MODELS)
def test_other_observations_and_copies(name):
    model = MODELS[name]()
    (labels,) = model.observed_RVs
    values = model.rvs_to_values[labels].eval()
    for same in (model.copy(), freeze_dims_and_data(model), remove_value_transforms(model)):
        assert chosen_for(same) or any(model.rvs_to_transforms.values())
    others = pm.observe(model, {labels.name: values[::-1].copy()})
    if "truth" in model:  # which is of the data
        with pytest.warns(dx.DissensusWarning, match="as truth uses them. Use pymc.set_data"):
            assert not chosen_for(others)
        with model:
            pm.set_data({"label_code": values[::-1].copy()})
        others = model
    assert chosen_for(others)
    if values.dtype.kind == "f":
        return
    for impossible in (-1, 99):
        values = values.copy()
        values.flat[0] = impossible
        assert not chosen_for(pm.observe(model, {labels.name: values}))


def test_data_that_change_are_read_again():
    """Even if a new array has the address of an old one."""
    scores = effects("gaussian")["value"].to_numpy()
    model = MODELS["numbers"]()
    with model:
        scale = pm.Data("scale", np.array([1.0, 1.0]))
        pm.Potential("weight", 0.0 * scale.sum())
    altered = pm.observe(model, {"score": scores})
    for width in (1.0, 2.0, 3.0):
        with altered:
            pm.set_data({"scale": np.array([width, width])})
        assert chosen_for(altered) == {steps.CrossedEffectsGibbs}


def test_a_model_altered_after_it_was_read_is_read_again():
    model = MODELS["numbers"]()
    assert chosen_for(model)
    with model:
        pm.Potential("pull", -(model["mu"] ** 2))
    assert not chosen_for(model)
    assert "mu" in run(model, draws=2, tune=2, chains=1)["posterior"]


@pytest.mark.parametrize("sampler", ["nutpie", "numpyro"])
def test_a_sampler_that_is_asked_for_gets_the_whole_model(monkeypatch, sampler):
    """These take no step beside them: PyMC raises if one is chosen."""
    requested = []
    monkeypatch.setattr(
        pm.sampling.mcmc, "_sample_external_nuts", lambda *, sampler, **_: requested.append(sampler)
    )
    with MODELS["symmetric"]():
        pm.sample(nuts_sampler=sampler, cores=1, progressbar=False)
    assert requested == [sampler]
