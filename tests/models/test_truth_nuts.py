"""The Gibbs sampler of a latent truth beside NUTS on the same model.

NUTS takes a minute for what takes Gibbs a second, so that these run with ``make calibrate``
only; in CI the gradient that NUTS follows is compared with the draws of Gibbs (`gradients`).
"""

from __future__ import annotations

import crossed_reference
import numpy as np
import pytest
import xarray as xr
from gradients import disagreements

import dissensus as dx

# PyMC runs on a slower BLAS, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
slow = pytest.mark.slow
SHORT = "The chains have not run long enough"
CASES = [
    ("symmetric_confusion", {}),
    ("symmetric_confusion", {"accuracy": "annotator", "errors": "graded", "difficulty": True}),
    ("symmetric_confusion", {"errors": "unequal", "systems": "related"}),
    ("symmetric_confusion", {"evidence": "annotators", "difficulty": True}),
    ("symmetric_confusion", {"evidence": "annotators", "errors": "unequal", "n_labels": 2}),
    ("dawid_skene", {"pooling": "complete"}),
    ("dawid_skene", {"pooling": "none"}),
    ("dawid_skene", {}),
    ("dawid_skene", {"difficulty": True}),
    ("dawid_skene", {"systems": "related"}),
]


# Where pooled labels would change names the density ends, which NUTS calls diverging; and where a
# spread may be 0 a few trajectories do. Of what is learned it finds the same all the same.
@slow
@pytest.mark.filterwarnings("ignore:.* transitions diverged")
@pytest.mark.filterwarnings(f"ignore:{SHORT}")
@pytest.mark.parametrize(
    ("model", "settings"),
    [pytest.param(*case, id=f"{case[0]} {case[1]}") for case in CASES],
)
def test_both_find_one_posterior(model, settings):
    """The truth of items follows from the other parameters, and is left out."""
    settings = dict(settings)
    # Matrices from many items: of few NUTS hardly finds its way among shares of nearly nothing.
    n_items, ipc = (150, 0.8) if model == "dawid_skene" else (40, 0.65)
    study = dx.simulate.confusion_study(
        n_items, 3, settings.pop("n_labels", 3), ipc=ipc, system_accuracy=[0.8, 0.7],
        asymmetry=1.5, random_seed=2,
    )  # fmt: skip
    fit = dx.models.get(model).module.fit
    run = {"predictions": study.predictions, "random_seed": 4, "progressbar": False,
           "keep_items": False, **settings}  # fmt: skip
    simple = len(settings) < 2 and not {"evidence", "systems"} & set(settings)
    gibbs = fit(study.annotations, draws=3000 if simple else 10_000, tune=500, **run)
    nuts = fit(
        study.annotations, draws=500 if simple else 1000, tune=500, chains=2, sampler="nuts", **run
    )  # fmt: skip
    assert "NUTS" in nuts.attrs["inference"]
    assert "Gibbs" in gibbs.attrs["inference"]
    for one in (gibbs, nuts):  # a long tail, whose squares say nothing
        draws = one["posterior"].to_dataset()
        if "error_concentration" in draws:
            log = np.log(draws["error_concentration"])
            one["posterior"] = xr.DataTree(draws.assign(error_concentration=log))
    crossed_reference.compare_fits(gibbs, nuts, enough=60, errors=4.5)


def built(model, settings):
    """Build a small model: of matrices with data enough that labels keep their names."""
    settings = dict(settings)
    n_items, ipc = (40, 0.85) if model == "dawid_skene" else (20, 0.7)
    study = dx.simulate.confusion_study(
        n_items, 3, settings.pop("n_labels", 3), ipc=ipc, system_accuracy=[0.8, 0.7],
        asymmetry=1.5, random_seed=2,
    )  # fmt: skip
    module = dx.models.get(model).module
    return module.build(study.annotations, predictions=study.predictions, **settings)


# Matrices that are pooled in part are tried with all that may be added to them at once.
REDUCED = [
    *(case for case in CASES[1:] if case[0] == "symmetric_confusion" or "pooling" in case[1]),
    ("dawid_skene", {"difficulty": True, "systems": "related"}),
]


@pytest.mark.unit(0, long=3)
@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "settings"), [pytest.param(*case, id=f"{case[0]} {case[1]}") for case in REDUCED]
)
def test_draws_go_with_the_gradient_that_nuts_follows(model, settings):
    """What `test_both_find_one_posterior` asks, reduced."""
    assert disagreements(built(model, settings)) == {}


@pytest.mark.long
def test_draws_under_another_prior_do_not():
    settings = {"evidence": "annotators", "errors": "unequal"}
    one, other = (
        built("symmetric_confusion", {**settings, "prior_count": count}) for count in (1.0, 3.0)
    )
    assert disagreements(other, one)


@slow
@pytest.mark.parametrize("kind", ["nominal", "ordinal"])
def test_two_labels_have_no_errors_to_choose_from(kind):
    """Then PyMC's form has no rows of errors."""
    study = dx.simulate.confusion_study(30, 3, 2, ipc=0.7, random_seed=1)
    ann = study.annotations.assign_attrs(kind=kind)
    fit = dx.models.symmetric_confusion.fit(
        ann, errors="unequal", sampler="nuts", draws=500, tune=500, chains=2, progressbar=False,
        random_seed=1,
    )  # fmt: skip
    assert 0.5 < fit["posterior"]["annotator_accuracy"].mean() < 0.95


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nominal", "ordinal"])
def test_two_labels_have_no_rows_of_errors(kind):
    """The same, reduced."""
    study = dx.simulate.confusion_study(30, 3, 2, ipc=0.7, random_seed=1)
    ann = study.annotations.assign_attrs(kind=kind)
    model = dx.models.symmetric_confusion.build(ann, errors="unequal")
    assert "error_rows" not in model.named_vars
    assert disagreements(model) == {}
