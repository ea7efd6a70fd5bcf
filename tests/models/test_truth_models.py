"""Both models of a latent truth against integration over the prior, and sums over states."""

from __future__ import annotations

import crossed_reference
import numpy as np
import pytest
import truth_pymc
import truth_reference
from seeds import in_two_sizes
from truth_cases import ONE_OF_THREE, ROWS, SYMMETRIC, THREE, symmetric

import dissensus as dx

CASES = {f"{c.model}: {name}": c for cases in (SYMMETRIC, ROWS) for name, c in cases.items()}
LONG = {
    "dawid_skene: complete, related systems",
    "dawid_skene: hierarchical, difficulty, related systems",
    "dawid_skene: hierarchical, difficulty, three labels",
    "dawid_skene: none, three labels",
    "dawid_skene: evidence of annotators",
    "symmetric_confusion: no systems, repeated labels",
    "symmetric_confusion: difficulty, related systems",
    "symmetric_confusion: unequal",
    "symmetric_confusion: unequal, of two labels",
    "symmetric_confusion: evidence of annotators, related systems",
}
SIZES = {
    "ordinary": {"draws": 4000},
    "full": {"draws": 8000},
    "reduced": {"draws": 2000, "dawid_skene": {"log2": 15, "outer": 1000},
                "symmetric_confusion": {"log2": 14, "outer": 500},
                "compared": {"enough": 100, "points": 200}},
}  # fmt: skip
"""Draws of a chain, how the prior is integrated over, and how the two are compared."""


@pytest.mark.unit(0, long=2)
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *((name, "ordinary") for name in CASES if name not in LONG),
        *in_two_sizes({name: name for name in CASES if name in LONG}, "reduced", "full"),
    ],
)
def test_posterior_is_what_integration_over_the_prior_gives(name, size):
    case, size = CASES[name], SIZES[size]
    reference = truth_reference.integrate(case, **size.get(case.model, {}))
    fit = case.fit(draws=size["draws"], tune=300)
    assert set(fit["posterior"].data_vars) == set(reference.points) | set(reference.inner)
    if case.model == "dawid_skene":  # floating point numbers represent 1e-290 poorly
        for values in (fit["posterior"], reference.points):
            for parameter in ("truth", "confusion", "population_confusion", "system_confusion"):
                if parameter in values:
                    values[parameter] = values[parameter].clip(min=1e-4)
    enough = {"enough": 200 if case.model == "dawid_skene" else 400}
    crossed_reference.compare(fit, reference, **size.get("compared", enough))


@pytest.mark.unit(0, long=8)
@pytest.mark.parametrize("name", CASES)
def test_pymc_form_has_the_likelihood_of_sums_over_states(name):
    truth_pymc.likelihood_agrees(CASES[name])


@pytest.mark.unit(0, long=6)
@pytest.mark.parametrize("name", CASES)
def test_pymc_form_has_the_priors_of_the_card(name):
    truth_pymc.prior_agrees(CASES[name])


CUT = symmetric(THREE, ONE_OF_THREE, 3, evidence="annotators", errors="unequal",
                accuracy="annotator")  # fmt: skip
"""The PyMC model has no systems here, and no rows of their errors."""


@pytest.mark.unit(6, long=4)
@pytest.mark.parametrize("case", [*CASES.values(), CUT], ids=[*CASES, "unequal, cut"])
def test_coordinates_are_as_long_as_the_dims(case):
    """Else `pymc.sample` fails where it names its draws, after all the work."""
    model = case.build()
    shapes = model.eval_rv_shapes()  # by the dims
    for value, start in model.initial_point().items():
        assert shapes[value] == start.shape, value
    for variable, dims in model.named_vars_to_dims.items():
        if variable in shapes:
            assert shapes[variable] == tuple(len(model.coords[dim]) for dim in dims), variable


# Each respondent's own errors are not kept: the rest does not follow without them.
NOT_KEPT = ("symmetric_confusion: unequal", "symmetric_confusion: unequal around graded, one each")
KEPT = [name for name in CASES if name not in NOT_KEPT]


@pytest.mark.unit(7, long=4)
@pytest.mark.parametrize("name", KEPT)
def test_what_is_said_of_items_follows_from_the_other_parameters(name):
    case = CASES[name]
    fit = case.fit(draws=20, tune=50, chains=2, log_likelihood=True)
    points = truth_reference.points_of(case, fit["posterior"])
    want = truth_reference.log_likelihood(case, points)
    each = fit["log_likelihood"]["labels"].to_numpy().reshape(want.shape)
    np.testing.assert_allclose(each, want, rtol=1e-5)
    kept, _ = truth_reference.kept(case, points)
    if case.model == "symmetric_confusion":  # accuracies are what the points were made of
        kept = {
            parameter: kept[parameter] for parameter in {"truth", "item_difficulty"} & set(kept)
        }
    for parameter, values in kept.items():
        draws = fit["posterior"][parameter].to_numpy().reshape(values.shape)
        np.testing.assert_allclose(draws, values, rtol=1e-4, atol=1e-7, err_msg=parameter)
    mean = fit["posterior"]["truth"].mean(("chain", "draw"))
    np.testing.assert_allclose(fit["constant_data"]["truth_mean"], mean)
    whole = truth_reference.log_likelihood(case, points, systems=not case.cut).sum(axis=1)
    actual = fit["sample_stats"]["log_likelihood"].to_numpy().ravel()
    np.testing.assert_allclose(actual, whole, rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "study", "near"),
    [
        ("symmetric_confusion", {
            "n_items": 4000, "n_annotators": 3, "n_labels": 4, "ipc": 0.7,
            "system_accuracy": [0.9, 0.5], "prevalence": [0.4, 0.3, 0.2, 0.1],
        }, {"annotator_accuracy": 0.015, "system_accuracy": 0.025, "system_correct": 0.02,
            "prevalence": 0.025}),
        ("dawid_skene", {
            "n_items": 3000, "n_annotators": 5, "n_labels": 3, "ipc": [0.6, 0.7, 0.8, 0.7, 0.9],
            "asymmetry": 3.0, "system_accuracy": [0.85], "prevalence": [0.5, 0.3, 0.2],
        }, {"confusion": 0.05, "annotator_accuracy": 0.03, "system_accuracy": 0.03,
            "prevalence": 0.03}),
    ],
)  # fmt: skip
def test_many_items_give_back_what_they_were_drawn_from(name, study, near):
    study = dx.simulate.confusion_study(**study, random_seed=1)
    fit = getattr(dx.models, name).fit(
        study.annotations, predictions=study.predictions, random_seed=1, progressbar=False,
        keep_items=False,
    )  # fmt: skip
    assert "truth" not in fit["posterior"]
    mean, truth = fit["posterior"].mean(("chain", "draw")), dict(study.truth.data_vars)
    if name == "symmetric_confusion":
        truth["annotator_accuracy"] = truth["annotator_accuracy"].mean()
    else:
        truth["confusion"] = truth["confusion"].isel(group=0)  # items are equally difficult
    for parameter, tolerance in near.items():
        np.testing.assert_allclose(
            mean[parameter], truth[parameter], atol=tolerance, err_msg=parameter
        )
