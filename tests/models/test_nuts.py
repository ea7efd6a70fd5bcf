"""Gibbs samplers of crossed effects and of a latent truth beside NUTS on the same models.

NUTS takes minutes for what takes Gibbs a second, so that it runs with ``make calibrate`` only; in
CI the gradient that NUTS follows is compared with the draws of Gibbs (`gradients`). Data say enough
of every effect for NUTS to get there: it moves effects and their spread together, and diverges
where the spread may be 0.
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


def crossed(size, family, n_pools=1, **options):
    """Return a model of crossed effects, annotations with random gaps, and options."""
    pools = {"pools": list("abc")[:n_pools], "correlation": 0.3} if n_pools > 1 else {}
    cutpoint = [0.0] if options.pop("n_labels", 0) == 2 else None
    ann = dx.simulate.replication_study(
        *size, None, family=family, sigma_item=1.5, sigma_annotator=1.2, cutpoint=cutpoint,
        random_seed=2, **pools,
    ).annotations  # fmt: skip
    keep = np.random.default_rng(3).random(ann.sizes["annotation"]) < (0.9 if pools else 0.8)
    model = "cross_replication" if pools else "crossed_effects"
    prior = {"correlation_prior": 4.0} if pools else {}
    return model, ann.isel(annotation=np.flatnonzero(keep)), {"family": family, **prior, **options}


def truth(size, model, n_labels=3, **options):
    """Return the model, annotations, and options of a latent truth."""
    n_items, ipc = size
    study = dx.simulate.confusion_study(
        n_items, 3, n_labels, ipc=ipc, system_accuracy=[0.8, 0.7], asymmetry=1.5, random_seed=2
    )
    return model, study.annotations, {"predictions": study.predictions, **options}


def symmetric(size, **options):
    return truth(size, "symmetric_confusion", **options)


def matrices(size, **options):
    return truth(size, "dawid_skene", **options)


def covariates(size, **options):
    """Return the same with a covariate of annotators."""
    model, ann, options = matrices(size, **options)
    table = {"annotator": ann["annotator"].to_numpy(), "age": [-0.5, 1.0, 0.2]}
    return model, ann, {**options, "formula": "~ age", "annotators": table}


OF_CROSSED = {"draws": 3000}, {"draws": 1000, "tune": 800}, {"enough": 120}
OF_POOLS = {"draws": 3000}, {"draws": 4000, "tune": 2000}, {"enough": 120}
# Of 4,000 draws of NUTS, means over pools vary more between seeds than their effective draws say.
OF_THREE_POOLS = {"draws": 3000}, {"draws": 10_000, "tune": 3000}, {"enough": 120}
SIMPLE = {"draws": 6000}, {"draws": 500}, {"enough": 60, "errors": 4.5}
OF_TRUTH = {"draws": 20_000}, {"draws": 1000}, {"enough": 60, "errors": 4.5}
"""Draws of the Gibbs sampler and of NUTS, and how they are compared."""
LARGE, SMALL = (40, 0.65), (20, 0.7)
# Matrices from many items: of few NUTS hardly finds its way among shares of nearly nothing.
MANY, SOME = (150, 0.8), (40, 0.85)
EACH_OWN = {"accuracy": "annotator", "errors": "graded", "difficulty": True}
CASES = {
    "gaussian": (crossed, (20, 12), (12, 6), OF_CROSSED, {"family": "gaussian"}),
    "gaussian, anonymous": (
        crossed, (20, 12), (12, 6), OF_CROSSED, {"family": "gaussian", "anonymous": True}
    ),
    "bernoulli": (crossed, (40, 12), (12, 6), OF_CROSSED, {"family": "bernoulli"}),
    "ordinal": (crossed, (40, 12), (12, 6), OF_CROSSED, {"family": "ordinal"}),
    "gaussian, two pools": (
        crossed, (20, 10), (12, 5), OF_CROSSED, {"family": "gaussian", "n_pools": 2}
    ),
    "gaussian, three pools, residual per pool": (
        crossed, (20, 10), (12, 5), OF_THREE_POOLS,
        {"family": "gaussian", "n_pools": 3, "residual": "pool"},
    ),
    "bernoulli, two pools": (
        crossed, (30, 10), (12, 5), OF_CROSSED, {"family": "bernoulli", "n_pools": 2}
    ),
    "ordinal, two pools": (
        crossed, (30, 10), (12, 5), OF_POOLS, {"family": "ordinal", "n_pools": 2}
    ),
    "two ordered labels, two pools": (
        crossed, (30, 10), (12, 5), OF_CROSSED, {"family": "ordinal", "n_pools": 2, "n_labels": 2}
    ),
    "symmetric": (symmetric, LARGE, SMALL, SIMPLE, {}),
    "symmetric, own accuracies, graded, difficulty": (
        symmetric, LARGE, SMALL, OF_TRUTH, EACH_OWN
    ),
    "symmetric, unequal, related": (
        symmetric, LARGE, SMALL, OF_TRUTH, {"errors": "unequal", "systems": "related"}
    ),
    "symmetric, evidence of annotators, difficulty": (
        symmetric, LARGE, SMALL, OF_TRUTH, {"evidence": "annotators", "difficulty": True}
    ),
    "symmetric, evidence of annotators, unequal, two labels": (
        symmetric, LARGE, SMALL, OF_TRUTH,
        {"evidence": "annotators", "errors": "unequal", "n_labels": 2},
    ),
    "complete": (matrices, MANY, SOME, SIMPLE, {"pooling": "complete"}),
    "none": (matrices, MANY, SOME, SIMPLE, {"pooling": "none"}),
    "hierarchical": (matrices, MANY, SOME, SIMPLE, {}),
    "hierarchical, difficulty": (matrices, MANY, SOME, SIMPLE, {"difficulty": True}),
    "hierarchical, covariates": (covariates, MANY, SOME, OF_TRUTH, {}),
    "hierarchical, covariates, difficulty": (
        covariates, MANY, SOME, OF_TRUTH, {"difficulty": True}
    ),
    "hierarchical, related": (matrices, MANY, SOME, OF_TRUTH, {"systems": "related"}),
    "hierarchical, difficulty, related": (
        matrices, MANY, SOME, OF_TRUTH, {"difficulty": True, "systems": "related"}
    ),
}  # fmt: skip
"""A study, its size for NUTS and for gradients, how long to sample, and settings."""
ALL_AT_ONCE = "hierarchical, difficulty, related"
SPECIAL = {"gaussian", "gaussian, two pools", "symmetric", "hierarchical",
           "hierarchical, difficulty", "hierarchical, related"}  # fmt: skip
"""Cases that others have as a part; NUTS takes these, and gradients the others."""


# Where pooled labels would change names the density ends, which NUTS calls diverging; and where a
# spread may be 0 a few trajectories do. Of what is learned it finds the same all the same.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* transitions diverged")
@pytest.mark.filterwarnings("ignore:The chains have not run long enough")
@pytest.mark.parametrize("name", [name for name in CASES if name != ALL_AT_ONCE])
def test_both_find_one_posterior(name):
    make, size, _, (of_gibbs, of_nuts, compared), options = CASES[name]
    model, ann, options = make(size, **options)
    if make is not crossed:  # the truth of items follows from the other parameters
        options["keep_items"] = False
    run = {"tune": 500, "chains": 2, "random_seed": 4, "progressbar": False, **options}
    fit = dx.models.get(model).module.fit
    gibbs, nuts = fit(ann, **run | of_gibbs), fit(ann, **run | of_nuts, sampler="nuts")
    assert "NUTS" in nuts.attrs["inference"]
    assert "Gibbs" in gibbs.attrs["inference"]
    for tree in (gibbs, nuts):  # a long tail, whose squares say nothing
        draws = tree["posterior"].to_dataset()
        if "error_concentration" in draws:
            log = np.log(draws["error_concentration"])
            tree["posterior"] = xr.DataTree(draws.assign(error_concentration=log))
    crossed_reference.compare_fits(gibbs, nuts, **compared)


def built(name, **changes):
    """Build the small model."""
    make, _, size, _, options = CASES[name]
    model, ann, options = make(size, **options | changes)
    return dx.models.get(model).module.build(ann, **options)


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("name", [name for name in CASES if name not in SPECIAL])
def test_draws_go_with_the_gradient_that_nuts_follows(name):
    assert disagreements(built(name)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "prior", "other_prior"),
    [
        ("gaussian, two pools", {"correlation_prior": 4.0}, {"correlation_prior": 1.0}),
        ("symmetric, evidence of annotators, difficulty",
         {"difficulty": False, "errors": "unequal", "prior_count": 1.0},
         {"difficulty": False, "errors": "unequal", "prior_count": 3.0}),
    ],
)  # fmt: skip
def test_draws_under_another_prior_do_not(name, prior, other_prior):
    assert disagreements(built(name, **other_prior), built(name, **prior))


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("kind", ["nominal", "ordinal"])
def test_two_labels_have_no_rows_of_errors(kind):
    """There are no errors to choose from."""
    study = dx.simulate.confusion_study(30, 3, 2, ipc=0.7, random_seed=1)
    ann = study.annotations.assign_attrs(kind=kind)
    model = dx.models.symmetric_confusion.build(ann, errors="unequal")
    assert "error_rows" not in model.named_vars
    assert disagreements(model) == {}
