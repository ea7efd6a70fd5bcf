"""A model that is as the library wrote it is read without a proof; any other is not."""

from __future__ import annotations

import inspect

import numpy as np
import pymc as pm
import pytest
from pymc.distributions.transforms import Interval

import dissensus as dx
from dissensus.families.crossed import step as crossed
from dissensus.families.latent_truth import step as latent_truth
from dissensus.families.rankings import step as rankings
from dissensus.families.rasch import step as rasch
from dissensus.sampling import proof
from dissensus.sampling.step import is_as_written

GRAPHS = {
    "crossed_effects": crossed, "cross_replication": crossed, "rasch": rasch,
    "symmetric_confusion": latent_truth, "dawid_skene": latent_truth,
}  # fmt: skip


def built(name):
    item, annotator = np.divmod(np.arange(24), 4)
    table = {"item": item, "annotator": annotator, "pool": np.where(annotator < 2, "p", "q"),
             "label": (item + annotator**2) % 2}  # fmt: skip
    ann = dx.annotations(table, pool="pool", kind="ordinal")
    family = {"family": "ordinal"} if GRAPHS[name] is crossed else {}
    return getattr(dx.models, name).build(ann, **family)


@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_is_proved(name, monkeypatch):
    model, graph = built(name), GRAPHS[name]
    assert is_as_written(model)
    taken = graph.read(model)
    monkeypatch.setattr(graph, "is_as_written", lambda _: False)
    proved = graph.read(model)
    assert taken.names == proved.names
    assert repr(taken.process) == repr(proved.process)
    monkeypatch.setattr(proof._Expressions, "numbers", None)
    with pytest.raises(TypeError):
        graph.read(model)


def test_nothing_of_rankings_is_proved(monkeypatch):
    ann = dx.simulate.study(n_items=8, kind="ranking", n_labels=4, random_seed=1).annotations
    model = dx.models.plackett_luce.build(ann)
    monkeypatch.setattr(rankings, "prove_free", None)
    assert rankings.read(model).hyperparameters
    with model:
        pm.Normal("another")
    with pytest.raises(TypeError):
        rankings.read(model)


def with_potential(model):
    with model:
        pm.Potential("more", -(model["mu"] ** 2))


def with_other_data(model):
    values = model["item_code"].get_value()
    model.set_data("item_code", values[::-1].copy())


def with_a_variable(model):
    with model:
        pm.Normal("another", model["mu"])


def with_another_transform(model):
    model.rvs_to_transforms[model["mu"]] = Interval(-5.0, 5.0)


def with_another_value(model):
    rv = model["mu"]
    model.rvs_to_values[rv] = model.rvs_to_values[rv].clone()


def with_another_input(model):
    owner = model["item_effect"].owner
    owner.inputs = [*owner.inputs[:-1], model["sigma_annotator"]]


def observed_anew(model):
    return pm.observe(pm.do(model, {"mu": 0.0}), {})


@pytest.mark.parametrize("change", [
    with_potential, with_other_data, with_a_variable, with_another_transform, with_another_value,
    with_another_input, observed_anew,
])  # fmt: skip
def test_a_changed_model_is_not_as_written(change):
    model = built("crossed_effects")
    model = change(model) or model
    assert not is_as_written(model)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_copy_of_the_librarys_code_is_proved(name):
    """Users copy it into a notebook, and change it there."""
    process = GRAPHS[name].read(built(name)).process
    module = getattr(dx.models, name)
    cell = {**vars(module), "__name__": "__main__"}
    exec(inspect.getsource(module._model), cell)
    copied = cell["_model"](process)
    assert copied.named_vars
    assert not is_as_written(copied)


def test_no_other_model_is():
    with pm.Model() as model:
        pm.Normal("mu")
    assert not is_as_written(model)
