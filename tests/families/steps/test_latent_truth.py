"""The Gibbs step for a latent truth in PyMC: chosen by itself, exact, honest of its limits."""

from __future__ import annotations

import crossed_reference
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.step_methods import STEP_METHODS
from pymc_runs import run
from seeds import in_two_sizes
from truth_cases import ROWS, SYMMETRIC

import dissensus as dx
from dissensus.families.latent_truth.distributions import LatentTruth
from dissensus.families.latent_truth.step import LatentTruthGibbs
from dissensus.models import dawid_skene, symmetric_confusion

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
CASES = SYMMETRIC | ROWS
EVERYTHING = {"accuracy": "annotator", "errors": "unequal", "difficulty": True,
              "systems": "related"}  # fmt: skip


def study(**options):
    options = {"ipc": 0.7, "system_accuracy": [0.8, 0.7], "random_seed": 2} | options
    return dx.simulate.confusion_study(40, 3, 3, **options)


def built(module=symmetric_confusion, **settings):
    data = study()
    return module.build(data.annotations, predictions=data.predictions, **settings)


@pytest.mark.unit(0, long=6)
@pytest.mark.parametrize("name", CASES)
def test_pymc_chooses_it_for_everything(name):
    assert STEP_METHODS.count(LatentTruthGibbs) == 1
    model = CASES[name].build()
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert list(chosen) == [LatentTruthGibbs]
    assert {v.name for v in chosen[LatentTruthGibbs]} == {v.name for v in model.value_vars}


@pytest.mark.unit(0, long=1)
@pytest.mark.filterwarnings("ignore:The chains have not run long enough")  # of fit's items
@pytest.mark.parametrize(
    ("module", "settings", "size"),
    [
        (symmetric_confusion, {}, (1500, 100)),
        *in_two_sizes(
            {
                "plain": (dawid_skene, {}),
                "pooled, difficulty": (dawid_skene, {"pooling": "complete", "difficulty": True}),
                "everything": (symmetric_confusion, EVERYTHING),
                "evidence of annotators": (
                    symmetric_confusion, {"evidence": "annotators", "errors": "unequal"},
                ),
                "unpooled, related systems": (
                    dawid_skene, {"pooling": "none", "systems": "related"},
                ),
            },
            (700, 20), (10_000, 100),
        ),
    ],
)  # fmt: skip
def test_agrees_with_the_sampler_of_fit(module, settings, size):
    """Which is compared with NUTS, and with sums over the prior, in tests/models."""
    data, (draws, enough) = study(), size
    options = {"predictions": data.predictions, **settings}
    found = run(module.build(data.annotations, **options), draws=draws)
    fit = module.fit(
        data.annotations, draws=draws, random_seed=3, progressbar=False, keep_items=False, **options
    )
    crossed_reference.compare_fits(_shared(found, fit), _shared(fit, found), enough=enough)


def _shared(one, other):
    """Leave what both have, a long tail as a logarithm: its squares say nothing."""
    names = sorted(set(one["posterior"].data_vars) & set(other["posterior"].data_vars))
    assert "prevalence" in names
    draws = one["posterior"].to_dataset()[names]
    if "error_concentration" in names:
        draws["error_concentration"] = np.log(draws["error_concentration"])
    return xr.DataTree.from_dict({"posterior": draws})


def test_reads_the_data_from_the_model():
    """What `pymc.observe` puts in is what is sampled: with labels exchanged, so is prevalence."""
    model = built()
    labels = model.rvs_to_values[model["labels"]].eval()
    other = pm.observe(model, {"labels": np.array([2, 1, 0])[labels]})
    one, two = (
        run(each)["posterior"]["prevalence"].mean(("chain", "draw")).to_numpy()
        for each in (model, other)
    )
    assert abs(one[0] - one[2]) > 0.05
    np.testing.assert_allclose(one, two[::-1], atol=0.02)


def test_the_seed_makes_it_repeatable_and_chains_differ():
    model = built()
    one, two, other = (
        run(model, 20, tune=5, seed=seed)["posterior"]["prevalence"].to_numpy()
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.isclose(one, other).any()
    assert not np.isclose(one[0], one[1]).any()


def test_leaves_its_point_alone():
    model = built(**EVERYTHING)
    with model:
        step = LatentTruthGibbs(rng=1)
    point = model.initial_point()
    kept = {name: np.array(value) for name, value in point.items()}
    moved, _ = step.step(point)
    assert all(np.array_equal(point[name], kept[name]) for name in kept)
    assert {name: np.shape(x) for name, x in moved.items()} == {
        name: np.shape(x) for name, x in kept.items()
    }
    assert not any(np.isclose(moved[name], kept[name]).any() for name in kept)


def test_has_nothing_to_do_with_other_models():
    with pm.Model() as model:
        share = pm.Dirichlet("prevalence", a=np.ones(3))
        pm.Multinomial("n", 10, share, observed=[3, 3, 4])
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert LatentTruthGibbs not in chosen
    with model, pytest.raises(dx.ArgumentError, match="one observed LatentTruth"):
        LatentTruthGibbs()


def _twisted(change):
    """Build a model like symmetric confusion of one accuracy, but for one thing."""
    data = study().annotations
    item, who = data["item_code"].to_numpy(), data["annotator_code"].to_numpy()
    label, n, respondents = data["label_code"].to_numpy(), 3, int(who.max()) + 1
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
        LatentTruth("labels", log_weight, tables, item, who, observed=label)
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
        ("other use", "nothing but the labels to hang on these variables; found pull"),
        ("other data", "nothing but the labels to hang on these variables; found test"),
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


def test_refuses_to_move_a_part():
    model = built()
    with model, pytest.raises(dx.ArgumentError, match=r"all of prevalence, .*move together"):
        LatentTruthGibbs([model["prevalence"]])
