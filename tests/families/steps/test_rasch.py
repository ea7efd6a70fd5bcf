"""The Gibbs step for abilities and difficulties: chosen by itself, exact, honest of its limits."""

from __future__ import annotations

import crossed_reference
import numpy as np
import pymc as pm
import pytest
from pymc.step_methods import STEP_METHODS
from pymc_runs import run
from rasch_cases import N_ITEMS, only, study
from seeds import in_two_sizes

import dissensus as dx
from dissensus.families.rasch.step import RaschGibbs
from dissensus.models import rasch

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")


def known(truth, how_many):
    return {item: int(label) for item, label in enumerate(truth[:how_many])}


FORMS = {  # labels, items whose truth is known, other settings
    "truth unknown": (2, 0, {}),
    "truth unknown, three labels, no guessing": (3, 0, {"guessing": False}),
    "truth of all known": (2, N_ITEMS, {}),
    "truth of all known, three labels, guessing": (3, N_ITEMS, {"guessing": True}),
    "truth of some known, three labels, confidence": (3, 5, {"confidence": True}),
    "truth of some known, confidence, no guessing": (
        2, 5, {"confidence": True, "guessing": False, "prior_count": 2.5}
    ),
    "other priors": (2, N_ITEMS, {"confidence": True, "priors": {
        "mean_ability": (0.5, 1.0), "ability_spread": ("exponential", 0.7),
        "difficulty_spread": ("half_t", 1.0, 4.0),
    }}),
}  # fmt: skip
OFTEN = ("truth unknown", "truth of some known, three labels, confidence", "other priors")


def options(form):
    n_labels, n_known, settings = FORMS[form]
    ann, truth = study(n_labels)
    return ann, {"truth": known(truth, n_known) or None, **settings}


def built(form="truth unknown"):
    ann, settings = options(form)
    return rasch.build(ann, **settings)


@pytest.mark.unit(0, long=4)
@pytest.mark.parametrize("form", FORMS)
def test_pymc_chooses_it_for_everything(form):
    model = built(form)
    assert STEP_METHODS.count(RaschGibbs) == 1
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert list(chosen) == [RaschGibbs]
    assert {v.name for v in chosen[RaschGibbs]} == {v.name for v in model.value_vars}


@pytest.mark.unit(0, long=1)
@pytest.mark.filterwarnings("ignore:The chains have not run long enough")  # of fit's items
@pytest.mark.parametrize(
    ("form", "draws"),
    [
        *in_two_sizes({form: form for form in OFTEN}, 2000, 6000),
        *in_two_sizes({form: form for form in FORMS if form not in OFTEN}, 800, 6000),
    ],
)
def test_agrees_with_the_sampler_of_fit(form, draws):
    """Which is compared with integration over the prior, and with NUTS, in tests/models."""
    ann, settings = options(form)
    found = run(rasch.build(ann, **settings), draws=draws)
    fit = rasch.fit(ann, draws=draws, random_seed=3, progressbar=False, **settings)
    names = set(found["posterior"].data_vars)
    assert set(fit["posterior"].data_vars) - names == {"accuracy", "truth"}
    crossed_reference.compare_fits(found, only(fit, names), enough=draws / 40)


def test_reads_the_data_from_the_model():
    """What `pymc.observe` puts in is what is sampled: who is always wrong is not able."""
    model = built("truth of all known")
    labels = model.rvs_to_values[model["labels"]].eval()
    one, two = (
        run(each, draws=500)["posterior"]["mean_ability"].mean()
        for each in (model, pm.observe(model, {"labels": 1 - labels}))
    )
    assert float(one) > 0.5
    assert float(two) < -0.3


def test_the_seed_makes_it_repeatable_and_chains_differ():
    model = built()
    one, two, other = (
        run(model, 20, tune=5, seed=seed)["posterior"]["ability"].to_numpy() for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.isclose(one, other).any()
    assert not np.isclose(one[0], one[1]).any()


def test_chains_leave_nothing_behind():
    """Slices and paths are learned by each chain for itself, whatever was sampled before."""
    model = built()
    with model:
        step = RaschGibbs()
    start = step.sampling_state
    settings = {"draws": 20, "tune": 60, "chains": 2, "step": step}
    one = run(model, **settings)["posterior"]
    assert not np.array_equal(step.width, start.width)
    step.sampling_state = start
    assert one.to_dataset().equals(run(model, **settings)["posterior"].to_dataset())


def test_leaves_its_point_alone_and_stops_learning():
    model = built("truth of some known, three labels, confidence")
    with model:
        step = RaschGibbs(rng=1)
    point = model.initial_point()
    kept = {name: np.array(value) for name, value in point.items()}
    moved, _ = step.step(point)
    assert all(np.array_equal(point[name], kept[name]) for name in kept)
    assert {name: np.shape(x) for name, x in moved.items()} == {
        name: np.shape(x) for name, x in kept.items()
    }
    assert not any(np.isclose(moved[name], kept[name]).any() for name in kept)
    step.stop_tuning()
    learned = step.known.tuning.sd_item.copy(), step.width.copy()
    for _ in range(3):
        moved, _ = step.step(moved)
    assert np.array_equal(step.known.tuning.sd_item, learned[0])
    assert np.array_equal(step.width, learned[1])


def test_has_nothing_to_do_with_other_models():
    with pm.Model() as model:
        ability = pm.Normal("ability")
        pm.Normal("score", ability, 1.0, observed=[1.0])
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
    assert RaschGibbs not in chosen
    with model, pytest.raises(dx.ArgumentError, match="one observed LatentAnswers"):
        RaschGibbs()


def test_refuses_to_move_a_part():
    model = built()
    with model, pytest.raises(dx.ArgumentError, match=r"all of mean_ability, .*move together"):
        RaschGibbs([model["ability"]])
