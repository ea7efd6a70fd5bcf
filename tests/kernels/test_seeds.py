"""One seed for everything must not tie the sources of uncertainty together."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.kernels.random import generator
from dissensus.metrics._items import BOOTSTRAP, weights_for


def test_purposes_have_their_own_streams():
    one, two = (generator(7, purpose).random(1000) for purpose in ("fit", "item weights"))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.15


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(1)
    assert generator(rng, "fit") is rng


@pytest.mark.parametrize("bad", [-1, 1.5, "one"])
def test_a_bad_seed_is_named(bad):
    with pytest.raises(dx.ArgumentError, match=f"random_seed.*{bad}"):
        generator(bad, "fit")


def test_weights_are_independent_of_draws_under_the_same_seed():
    """With prior_count 1 and no labels, Gamma(1) variates *are* exponentials: the worst case."""
    ann = dx.from_matrix(np.array([[1, 2], [2, 1]]), kind="nominal", labels=[1, 2])
    fit = dx.models.dirichlet.fit(ann, draws=4000, chains=1, random_seed=1)
    theta = fit["posterior"]["plausibility"]
    weights = weights_for(theta, BOOTSTRAP, random_seed=1)
    share = (weights / weights.sum("item")).isel(item=0, chain=0)
    for label in theta["label"]:
        one = theta.isel(item=0, chain=0).sel(label=label, drop=True)
        assert abs(float(xr.corr(one, share, "draw"))) < 4 / np.sqrt(4000)
