"""Models like those of a latent truth: refused by the Gibbs step, and left to NUTS."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import dissensus as dx
from dissensus.families.latent_truth.distributions import LatentTruth
from dissensus.families.latent_truth.step import LatentTruthGibbs

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")


def _twisted(change):
    """Build a model like symmetric confusion of one accuracy, but for one thing."""
    data = dx.simulate.confusion_study(40, 3, 3, ipc=0.7, random_seed=2).annotations
    n_items, n, respondents = data.sizes["item"], 3, data.sizes["annotator"]
    who = np.tile(np.arange(respondents), (n_items, 1))
    label = data["label_code"].to_numpy().reshape(who.shape)
    with pm.Model() as model:
        share = pm.Dirichlet("prevalence", a=np.ones(n))
        name = "skill" if change == "name" else "annotator_accuracy"
        if change == "distribution":
            right = pm.Beta(name, 2, 2)
        else:
            right = pm.Uniform(name, 0.0 if change == "prior" else 1 / n, 1.0)
        taken = right**2 if change == "function" else right
        table = pt.switch(np.eye(n, dtype=bool), taken, (1 - taken) / (n - 1))
        tables = pt.log(pt.broadcast_to(table[None], (respondents, n, n)))
        log_weight = pt.log(share)
        if change == "states":
            log_weight = pt.concatenate([log_weight, log_weight]) - np.log(2)
            tables = pt.concatenate([tables, tables], axis=-1)
        if change == "weights":
            log_weight = log_weight[::-1]
        LatentTruth("labels", log_weight, tables, who, observed=label)
        if change == "other use":
            pm.Potential("pull", -(share**2).sum())
        if change == "other data":
            pm.Bernoulli("test", right, observed=[1, 1])
    return model


def test_the_same_in_other_formulas_is_left_to_nuts():
    """No graph proves that log(a) is minus the softplus of minus the logit of a."""
    model = _twisted("nothing")
    with model, pytest.warns(dx.DissensusWarning, match="labels with log_response"):
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert LatentTruthGibbs not in chosen


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("name", "free variables prevalence, annotator_accuracy; found none called annotator_acc"),
        ("distribution", r"annotator_accuracy ~ Uniform\(.*found annotator_accuracy ~ Beta"),
        ("prior", r"annotator_accuracy ~ Uniform\(0.333, 1\); found .* Uniform\(0, 1\)"),
        ("function", "labels with log_response"),
        ("weights", "labels with log_weight"),
        ("states", "3 states of an item; found 6"),
        ("other use", "only the labels to depend on these variables; found pull"),
        ("other data", "only the labels to depend on these variables; found test"),
    ],
)
def test_a_model_that_differs_is_refused_and_left_to_nuts(change, words):
    model = _twisted(change)
    with model, pytest.raises(dx.ArgumentError, match=words) as refused:
        LatentTruthGibbs()
    assert "without_gibbs" in str(refused.value)
    with model, pytest.warns(dx.DissensusWarning, match=words):
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert LatentTruthGibbs not in chosen


def test_a_step_made_before_the_data_were_changed_says_so():
    """It read them when it was made; a new one reads them again."""
    ann = dx.simulate.confusion_study(6, 3, 3, random_seed=1).annotations
    with dx.models.symmetric_confusion.build(ann) as model:
        step, point = LatentTruthGibbs(rng=1), model.initial_point()
        step.step(point)
        pm.set_data({"label_code": np.zeros((6, 3), dtype=int)})
        with pytest.raises(dx.ArgumentError, match=r"other label_code\. Make a new step after"):
            step.step(point)
        LatentTruthGibbs(rng=1).step(point)


def test_a_prevalence_that_is_set_is_left_to_nuts_aloud():
    ann = dx.simulate.confusion_study(6, 3, 3, random_seed=1).annotations
    model = pm.do(dx.models.symmetric_confusion.build(ann), {"prevalence": [0.5, 0.3, 0.2]})
    with model, pytest.warns(dx.DissensusWarning, match="a free variable prevalence"):
        assert LatentTruthGibbs not in pm.sampling.mcmc.assign_step_methods(model)[1]
