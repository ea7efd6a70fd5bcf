"""Convergence is judged item by item, and said loudly where it fails."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from arviz_stats import ess, rhat

import dissensus as dx
from dissensus.convergence import ATTRIBUTES, diagnosed, divergences

ITEMS = ["calm", "stuck", "still"]


def chains(n_chains=4, n_draws=400, apart=0.5):
    rng = np.random.default_rng(8)
    draws = rng.normal(size=(n_chains, n_draws, 3, 2))
    draws[:, :, 1, 1] += apart * np.arange(n_chains)[:, None]  # chains that have not met
    draws[:, :, 2] = 0.5
    return xr.DataArray(draws, dims=("chain", "draw", "item", "candidate"), name="x",
                        coords={"item": ITEMS})  # fmt: skip


def test_good_chains_say_nothing_and_have_arviz_numbers():
    good = chains().isel(item=[0])
    found = diagnosed(good)
    assert tuple(found) == ATTRIBUTES
    assert found["n_items_poor"] == 0
    assert found["ess_bulk_min"] == pytest.approx(float(ess(good).min()))
    assert found["r_hat_max"] == pytest.approx(float(rhat(good).max()))


def test_poor_items_are_named_with_what_to_do():
    with pytest.warns(
        dx.ConvergenceWarning, match=r"1 of 3 items \('?stuck.*r-hat up to.*draws=\d+"
    ):
        found = diagnosed(chains())
    assert found["r_hat_max_item"] == found["ess_bulk_min_item"] == "stuck"
    assert found["n_items_poor"] == 1


def test_chains_in_different_places_are_not_sent_for_more_draws():
    with pytest.warns(dx.ConvergenceWarning, match="settled in different places.*chain by") as said:
        found = diagnosed(chains(apart=2.0))
    assert found["r_hat_max"] > 1.5
    assert "draws=" not in str(said[0].message)


def test_what_does_not_move_has_converged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = diagnosed(chains().isel(item=[2]))
    assert found["r_hat_max"] == 1
    assert found["ess_bulk_min"] == 1600


def test_one_chain_has_no_r_hat():
    found = diagnosed(chains(n_chains=1))
    assert "r_hat_max" not in found
    assert found["ess_bulk_min"] > 100


def test_a_few_draws_tell_nothing():
    assert diagnosed(chains(n_draws=50)) == {}


def test_one_number_is_judged_too():
    with pytest.warns(dx.ConvergenceWarning, match=r"enough for the x: as few as"):
        found = diagnosed(chains()[:, :, 1, 1], "annotator", "x_")
    assert found["x_n_items_poor"] == 1


def test_divergences_are_counted_and_said():
    diverging = xr.DataArray([[True, False], [True, True]], dims=("chain", "draw"))
    with pytest.warns(dx.DissensusWarning, match="3 of 4 transitions diverged"):
        assert divergences({"diverging": diverging}) == {"n_divergences": 3}
    assert divergences({}) == {}


def test_warnings_point_at_the_line_that_fitted():
    ann = dx.from_matrix([["a"], ["b"]], labels=["a", "b"])
    pred = dx.predictions({"item": [0, 1], "system": ["s", "s"], "label": ["a", "a"]})
    with pytest.warns(dx.ConvergenceWarning, match=r"enough for \d+ of \d+ parameters") as said:
        dx.models.symmetric_confusion.fit(
            ann, predictions=pred, draws=100, tune=0, chains=2, random_seed=1, progressbar=False
        )
    assert {one.filename for one in said} == {__file__}
