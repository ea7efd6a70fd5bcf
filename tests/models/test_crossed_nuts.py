"""The Gibbs sampler of crossed effects beside NUTS on the same model.

NUTS needs minutes for what takes Gibbs a second, so that most of these run with ``make calibrate``
only; in CI the gradient that NUTS follows is compared with the draws of Gibbs (`gradients`). Data
say enough of every effect for NUTS to get there: it moves effects and their spread together, and
diverges where the spread may be 0.
"""

from __future__ import annotations

import crossed_reference
import numpy as np
import pytest
from gradients import disagreements

import dissensus as dx

# PyMC runs on a slower BLAS, and says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning"),
    # One or two, by the last bits of a processor's arithmetic: more would show in what is compared.
    pytest.mark.filterwarnings("ignore:[1-3] of .* transitions diverged"),
]
slow = pytest.mark.slow


def both(model, ann, **options):
    fit = dx.models.get(model).module.fit
    run = {"random_seed": 4, "progressbar": False, "chains": 2, **options}
    gibbs = fit(ann, draws=3000, tune=500, **run)
    nuts = fit(ann, draws=1000, tune=800, sampler="nuts", **run)
    assert "NUTS" in nuts.attrs["inference"]
    assert "Gibbs" in gibbs.attrs["inference"]
    crossed_reference.compare_fits(gibbs, nuts, enough=120)


def unbalanced(ann, share=0.8):
    """Leave rows out at random, so that items and annotators have unequal numbers of labels."""
    keep = np.random.default_rng(3).random(ann.sizes["annotation"]) < share
    return ann.isel(annotation=np.flatnonzero(keep))


ONE_POOL = [
    pytest.param("gaussian", {}, id="gaussian"),
    pytest.param("gaussian", {"anonymous": True}, marks=slow, id="gaussian, anonymous"),
    pytest.param("bernoulli", {}, marks=slow, id="bernoulli"),
    pytest.param("ordinal", {}, marks=slow, id="ordinal"),
]


@pytest.mark.long
@pytest.mark.parametrize(("family", "options"), ONE_POOL)
def test_one_pool(family, options):
    n_items = 20 if family == "gaussian" else 40
    study = dx.simulate.replication_study(
        n_items, 12, None, family=family, sigma_item=1.5, sigma_annotator=1.2, random_seed=2
    )
    both("crossed_effects", unbalanced(study.annotations), family=family, **options)


POOLS = [
    pytest.param("gaussian", 2, {}, id="gaussian"),
    pytest.param("gaussian", 3, {"residual": "pool"}, id="three pools, residual per pool"),
    pytest.param("bernoulli", 2, {}, id="bernoulli"),
    pytest.param("ordinal", 2, {}, id="ordinal"),
    pytest.param("ordinal", 2, {"n_labels": 2}, id="two ordered labels"),
]


def several_pools(n_items, n_annotators, family, n_pools, options):
    """Return annotations of pools that share items, and the options of a fit."""
    cutpoint = [0.0] if "n_labels" in options else None
    study = dx.simulate.replication_study(
        n_items, n_annotators, None, family=family, pools=list("abc")[:n_pools],
        correlation=0.3, sigma_item=1.5, sigma_annotator=1.2, cutpoint=cutpoint, random_seed=2,
    )  # fmt: skip
    options = {name: value for name, value in options.items() if name != "n_labels"}
    return unbalanced(study.annotations, 0.9), {"correlation_prior": 4.0, **options}


@slow
@pytest.mark.parametrize(("family", "n_pools", "options"), POOLS)
def test_several_pools(family, n_pools, options):
    n_items = 20 if family == "gaussian" else 30
    ann, options = several_pools(n_items, 10, family, n_pools, options)
    both("cross_replication", ann, family=family, **options)


# -- Reduced -----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "options"), [pytest.param(*each.values, id=each.id) for each in ONE_POOL[1:]]
)
def test_draws_go_with_the_gradient_that_nuts_follows(family, options):
    study = dx.simulate.replication_study(
        12, 6, None, family=family, sigma_item=1.5, sigma_annotator=1.2, random_seed=2
    )
    ann = unbalanced(study.annotations)
    assert disagreements(dx.models.crossed_effects.build(ann, family=family, **options)) == {}


def small(family, n_pools, options, **more):
    """Build a small model of several pools."""
    ann, options = several_pools(12, 5, family, n_pools, options)
    return dx.models.cross_replication.build(ann, family=family, **{**options, **more})


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize(("family", "n_pools", "options"), POOLS[1:])  # three are two and more
def test_so_do_those_of_several_pools(family, n_pools, options):
    assert disagreements(small(family, n_pools, options)) == {}


@pytest.mark.long
def test_draws_under_another_prior_do_not():
    one, other = (small("gaussian", 2, {}, correlation_prior=eta) for eta in (4.0, 1.0))
    assert disagreements(other, one)
