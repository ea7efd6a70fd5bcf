"""Reliability of means of labels: names and dims; the formula is tested in tests/kernels."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, fit_of

import dissensus as dx

DRAWS = xr.DataArray(
    [[[0.2, 0.5], [0.4, 0.0]]],
    dims=("chain", "draw", "pool"),
    coords={"chain": [0], "draw": [0, 1], "pool": ["a", "b"]},
    name="icc",
)


def formula(icc, k):
    return k * icc / ((k - 1) * icc + 1)


def test_numbers_in_numbers_out():
    found = dx.spearman_brown(0.25, 3)
    assert type(found) is float
    assert found == 0.5
    assert dx.spearman_brown(0.4, 2.5) == pytest.approx(formula(0.4, 2.5))
    assert type(dx.annotators_needed(0.25, 0.6)) is float
    np.testing.assert_allclose(dx.spearman_brown(0.25, [1, 3]), [0.25, 0.5])
    np.testing.assert_allclose(dx.spearman_brown([0.25, 0.5], 3), [0.5, 0.75])
    table = dx.spearman_brown(np.array([[0.25], [0.5]]), [1, 3])
    np.testing.assert_allclose(table, [[0.25, 0.5], [0.5, 0.75]])
    np.testing.assert_array_equal(dx.annotators_needed([0.5, 0.25, 0.0], 0.8), [4, 12, np.inf])


def test_draws_keep_their_names():
    found = dx.spearman_brown(DRAWS, 3)
    assert found.dims == DRAWS.dims
    assert found.name == "spearman_brown"
    assert found.attrs == {"better": "higher"}
    np.testing.assert_allclose(found, formula(DRAWS, 3))
    needed = dx.annotators_needed(DRAWS, target=0.5)
    assert needed.name == "annotators_needed"
    assert needed.attrs == {"better": "lower"}
    np.testing.assert_array_equal(needed, [[[4, 1], [2, np.inf]]])
    xr.testing.assert_equal(needed["pool"], DRAWS["pool"])


def test_the_scale_is_not_forgotten():
    draws = dx.icc(fit_of("bernoulli", mu=0.0, sigma_item=1.0, sigma_annotator=0.5), "observed")
    assert dx.spearman_brown(draws, 3).attrs == {"better": "higher", "scale": "observed"}
    assert dx.annotators_needed(draws, 0.9).attrs == {"better": "lower", "scale": "observed"}


@pytest.mark.parametrize("k", [(1, 2, 5), [1, 2, 5], np.array([1, 2, 5]), range(1, 6, 2)])
def test_several_numbers_add_a_dim(k):
    found = dx.spearman_brown(DRAWS, k)
    assert found.dims == ("chain", "draw", "pool", "annotator")
    np.testing.assert_array_equal(found["annotator"], list(k))
    for count in k:
        np.testing.assert_allclose(found.sel(annotator=count), formula(DRAWS, count))


def test_named_numbers_are_matched_by_name():
    k = xr.DataArray([2, 5], dims="pool", coords={"pool": ["a", "b"]})
    found = dx.spearman_brown(DRAWS, k)
    assert found.dims == DRAWS.dims
    np.testing.assert_allclose(found.sel(pool="b"), formula(DRAWS.sel(pool="b"), 5))
    budget = xr.DataArray([2.0, 5.0], dims="budget")
    assert dx.spearman_brown(DRAWS, budget).dims == ("chain", "draw", "pool", "budget")
    assert dx.spearman_brown(0.2, budget).dims == ("budget",)


def test_there_and_back_on_draws():
    draws = dx.icc(cross_replication("ordinal", draws=200), "observed")
    count = dx.annotators_needed(draws, target=0.9)
    assert float(dx.spearman_brown(draws, count).min()) >= 0.9 * (1 - 1e-12)
    fewer = dx.spearman_brown(draws, (count - 1).clip(min=1))
    assert float(fewer.where(count > 1).max()) < 0.9


def test_undefined_draws_stay_undefined():
    draws = xr.DataArray([[np.nan, -0.5, 0.5]], dims=("chain", "draw"))
    np.testing.assert_array_equal(dx.spearman_brown(draws, 3), [[np.nan, np.nan, 0.75]])
    np.testing.assert_array_equal(dx.annotators_needed(draws, 0.5), [[np.nan, np.inf, 1]])


@pytest.mark.parametrize("bad", [1.1, -1.5, np.inf, "0.5", None, True, [0.5, 2.0], [[0.1], [1, 2]]])
def test_reliabilities_outside_their_bounds_are_refused(bad):
    for call in (lambda: dx.spearman_brown(bad, 2), lambda: dx.annotators_needed(bad, 0.5)):
        with pytest.raises(dx.ArgumentError, match=r"^icc: expected reliabilities of one label"):
            call()


def test_a_fit_is_no_reliability():
    with pytest.raises(dx.ArgumentError, match=r"^icc: .*found DataTree"):
        dx.spearman_brown(cross_replication("gaussian"), 3)
    with pytest.raises(dx.ArgumentError, match=r"^icc: .*found Dataset"):
        dx.spearman_brown(DRAWS.to_dataset(), 3)


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "3", [1, 0], None])
def test_numbers_of_annotators_are_positive(bad):
    with pytest.raises(dx.ArgumentError, match=r"^k: expected positive finite numbers"):
        dx.spearman_brown(DRAWS, bad)


def test_numbers_of_annotators_have_one_dim_or_names():
    with pytest.raises(dx.ArgumentError, match=r"^k: expected one dim"):
        dx.spearman_brown(DRAWS, [[1, 2], [3, 4]])
    with pytest.raises(dx.ArgumentError, match=r"^k: expected numbers that broadcast with icc"):
        dx.spearman_brown([0.1, 0.2, 0.3], [1, 2])
    k = xr.DataArray([2, 5], dims="pool", coords={"pool": ["a", "z"]})
    with pytest.raises(dx.ArgumentError, match=r"^k: .*other names along a dim"):
        dx.spearman_brown(DRAWS, k)


@pytest.mark.parametrize("bad", [0, 1, -0.5, 1.5, np.nan, "0.8", None, [0.8, 0.9]])
def test_targets_lie_between_0_and_1(bad):
    with pytest.raises(dx.ArgumentError, match=r"^target: expected a number between 0 and 1"):
        dx.annotators_needed(DRAWS, bad)
