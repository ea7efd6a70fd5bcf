"""Convergence is judged item by item, and said loudly where it fails."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from arviz_stats import ess, rhat
from arviz_stats.base import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx
from dissensus.kernels.diagnostics import diagnostics
from dissensus.sampling.convergence import (
    ATTRIBUTES,
    diagnosed,
    diagnosed_parameters,
    divergences,
    warning,
)

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
    diagnosis = diagnosed(good)
    assert tuple(diagnosis) == ATTRIBUTES
    assert diagnosis["n_items_poor"] == 0
    assert diagnosis["ess_bulk_min"] == pytest.approx(float(ess(good).min()))
    assert diagnosis["r_hat_max"] == pytest.approx(float(rhat(good).max()))


def test_poor_items_are_named_with_what_to_do():
    with pytest.warns(
        dx.ConvergenceWarning, match=r"1 of 3 items \('?stuck.*r-hat up to.*draws=\d+"
    ):
        diagnosis = diagnosed(chains())
    assert diagnosis["r_hat_max_item"] == diagnosis["ess_bulk_min_item"] == "stuck"
    assert diagnosis["n_items_poor"] == 1


def test_chains_in_different_places_are_not_sent_for_more_draws():
    with pytest.warns(
        dx.ConvergenceWarning, match="settled in different places.*chain by"
    ) as caught:
        diagnosis = diagnosed(chains(apart=2.0))
    assert diagnosis["r_hat_max"] > 1.5
    assert "draws=" not in str(caught[0].message)


def test_what_does_not_move_has_converged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        diagnosis = diagnosed(chains().isel(item=[2]))
    assert diagnosis["r_hat_max"] == 1
    assert diagnosis["ess_bulk_min"] == 1600


def test_one_chain_has_no_r_hat():
    diagnosis = diagnosed(chains(n_chains=1))
    assert "r_hat_max" not in diagnosis
    assert diagnosis["ess_bulk_min"] > 100


def test_a_few_draws_tell_nothing():
    assert diagnosed(chains(n_draws=50)) == {}


def test_one_number_is_judged_too():
    with pytest.warns(dx.ConvergenceWarning, match=r"enough for the x: as few as"):
        diagnosis = diagnosed(chains()[:, :, 1, 1], "annotator", "x_")
    assert diagnosis["x_n_items_poor"] == 1


def test_divergences_are_counted_and_said():
    diverging = xr.DataArray([[True, False], [True, True]], dims=("chain", "draw"))
    with pytest.warns(dx.DissensusWarning, match="3 of 4 transitions diverged"):
        assert divergences({"diverging": diverging}) == {"n_divergences": 3}
    assert divergences({}) == {}


def test_warnings_point_at_the_line_that_fitted():
    ann = dx.from_matrix([["a"], ["b"]], labels=["a", "b"])
    pred = dx.predictions({"item": [0, 1], "system": ["s", "s"], "label": ["a", "a"]})
    with pytest.warns(dx.ConvergenceWarning, match=r"enough for \d+ of \d+ parameters") as caught:
        dx.models.symmetric_confusion.fit(
            ann, predictions=pred, draws=100, tune=0, chains=2, random_seed=1, progressbar=False
        )
    assert {record.filename for record in caught} == {__file__}


def of_one(values):
    return xr.DataArray(values, dims=("chain", "draw"), name="x")


def test_a_chain_that_stands_still_among_others_is_named_for_it():
    draws = np.random.default_rng(2).normal(size=(4, 400))
    draws[2] = 0.1  # in the middle of where the others go
    with pytest.warns(dx.ConvergenceWarning, match="a chain stands still.*another random_seed"):
        diagnosis = diagnosed(of_one(draws))
    assert diagnosis["n_items_stuck"] == diagnosis["n_items_poor"] == 1


def test_chains_that_stand_still_in_different_places_are_stuck():
    draws = np.repeat([[1.0], [1.0], [2.0]], 200, axis=1)
    with pytest.warns(dx.ConvergenceWarning, match="a chain stands still"):
        assert diagnosed(of_one(draws))["n_items_stuck"] == 1


def test_what_hardly_ever_moves_is_not_stuck():
    """As a share of items that is nearly always 1: chains without the rare other value are fine."""
    draws = np.ones((4, 400))
    draws[0, ::100] = 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.ConvergenceWarning)
        assert diagnosed(of_one(draws))["n_items_stuck"] == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_draws_that_are_no_numbers_are_a_fault_and_not_left_out(bad):
    draws = np.random.default_rng(3).normal(size=(2, 300, 2))
    draws[1, 250:, 1] = bad
    array = xr.DataArray(draws, dims=("chain", "draw", "k"), coords={"k": ["fine", "bad"]})
    with pytest.warns(dx.ConvergenceWarning, match=r"some draws are not finite") as caught:
        result = diagnosed_parameters({"x": array})
    assert result["n_items_undefined"] == 1
    assert result["ess_bulk_min"] == 0
    assert "'x[bad]'" in str(caught[0].message)


def test_what_is_defined_in_no_draw_is_no_part_of_the_model():
    draws = np.random.default_rng(3).normal(size=(2, 300, 2))
    draws[..., 1] = np.nan
    array = xr.DataArray(draws, dims=("chain", "draw", "k"), coords={"k": ["one", "none"]})
    assert diagnosed_parameters({"x": array})["n_items_poor"] == 0


def test_thin_tails_are_seen_where_the_middle_looks_fine():
    """Chains that agree on the middle, while one goes out into the upper tail for long at once."""
    rng = np.random.default_rng(4)
    draws = rng.normal(size=(4, 1000))
    for chain in range(4):
        start = 200 * chain + 50
        draws[chain, start : start + 90] += 4.0
    result = ess(of_one(draws), method="bulk"), ess(of_one(draws), method="tail")
    assert result[1] < 100
    with pytest.warns(dx.ConvergenceWarning, match="in the tails|effective draws"):
        diagnostics = diagnosed(of_one(draws))
    assert diagnostics["ess_tail_min"] == pytest.approx(float(result[1]))
    assert diagnostics["n_items_poor"] == 1


def test_a_doubt_is_said_in_a_few_words():
    assert warning({}) == ""
    assert warning({"n_items_poor": 1, "n_items_undefined": 1}) == "draws that are not numbers"
    stuck = {"n_items_poor": 1, "n_items_stuck": 1, "ess_bulk_min": 4.0}
    assert warning(stuck) == "a chain stands still: 4 effective draws"
    tails = {"n_items_poor": 1, "ess_bulk_min": 150.0, "ess_tail_min": 60.0, "r_hat_max": 1.01}
    assert warning(tails) == "chains too short: 150 effective draws, 60 in the tails, r-hat 1.01"


PROB = (0.055, 0.945)


def several(seed, n_chains, n_draws, kind):
    """Five numbers' chains: independent, sluggish, swinging, far apart, or of few values."""
    rng = np.random.default_rng(seed)
    phi = {"sluggish": 0.97, "swinging": -0.8}.get(kind, 0.0)
    out = np.empty((5, n_chains, n_draws))
    noise = rng.normal(size=out.shape)
    out[..., 0] = noise[..., 0]
    for k in range(1, n_draws):
        out[..., k] = phi * out[..., k - 1] + noise[..., k]
    if kind == "apart":
        out += rng.normal(size=(5, n_chains, 1))
    return np.round(out) if kind == "few values" else out


@pytest.mark.long
@given(
    seed=st.integers(0, 2**31), n_chains=st.integers(1, 4), n_draws=st.integers(8, 301),
    kind=st.sampled_from(["independent", "sluggish", "swinging", "apart", "few values"]),
)  # fmt: skip
@settings(max_examples=50, deadline=None)
def test_equal_to_arviz(seed, n_chains, n_draws, kind):
    draws = several(seed, n_chains, n_draws, kind)
    result = diagnostics(draws, PROB)
    bulk, tail = (array_stats.ess(draws, method=how, prob=prob)
                  for how, prob in (("bulk", None), ("tail", PROB)))  # fmt: skip
    np.testing.assert_allclose(result.bulk, bulk, rtol=1e-8)
    np.testing.assert_allclose(result.tail, tail, rtol=1e-8)
    if n_chains > 1:
        np.testing.assert_allclose(result.r_hat, array_stats.rhat(draws), rtol=1e-8)
    else:
        assert np.isnan(result.r_hat).all()


def test_a_quantile_that_nothing_passes_counts_all_draws():
    draws = np.zeros((1, 2, 100))
    draws[0, 0, 0] = -1.0
    with np.errstate(invalid="ignore", divide="ignore"):  # r-hat of what never moves
        result = diagnostics(draws, PROB)
    assert result.tail[0] == pytest.approx(array_stats.ess(draws, method="tail", prob=PROB)[0])
