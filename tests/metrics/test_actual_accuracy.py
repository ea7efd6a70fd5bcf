"""What a score is worth, against tables of right and wrong, and whether it supports a claim."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

TRUTH = xr.DataArray(
    [[0.9, 0.95], [0.97, 1.0]], dims=("chain", "draw"), coords={"chain": [0, 1]},
    name="truth_accuracy",
)  # fmt: skip
SCORES = xr.DataArray([0.95, 0.9], {"system": ["s", "t"]}, name="accuracy")


def test_is_what_the_source_says():
    # Cabitza et al. (2020), section 2: 98 % on a ground truth of 85 % are 83 %.
    assert dx.actual_accuracy(0.98, 0.85) == pytest.approx(0.833)
    assert type(dx.actual_accuracy(0.98, 0.85)) is float


@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_independent_errors_are_added_up_over_all_labels(n_labels):
    a, g = 0.7, 0.6
    right = 0.0
    for truth, system in itertools.product(range(n_labels), repeat=2):  # label 0 is right
        chance = g if truth == 0 else (1 - g) / (n_labels - 1)
        chance *= a if system == truth else (1 - a) / (n_labels - 1)
        right += chance * (system == 0)
    assert dx.actual_accuracy(a, g, "independent", n_labels) == pytest.approx(right)
    assert dx.actual_accuracy(a, g, "product", n_labels) == pytest.approx(a * g)


def test_draws_keep_their_names():
    accuracy = dx.actual_accuracy(SCORES, TRUTH)
    assert accuracy.dims == ("chain", "draw", "system")
    assert accuracy.name == "actual_accuracy"
    assert accuracy.attrs == {"better": "higher"}
    np.testing.assert_allclose(accuracy.sel(system="t"), 0.9 * TRUTH)
    np.testing.assert_allclose(dx.actual_accuracy([0.9, 0.8], 0.5), [0.45, 0.4])


def test_support_is_the_share_of_draws_that_reach_the_claim():
    result = dx.probability_of_support(TRUTH, SCORES, required=0.9)
    assert result.dims == ("system",)
    assert result.name == "probability_of_support"
    # .95 g >= .9 from g = .947 on; .9 g only with a perfect truth, which 1e-12 cannot take away.
    np.testing.assert_array_equal(result, [0.75, 0.25])
    assert dx.probability_of_support(TRUTH, 0.9, required=0.81) == 1.0  # .9 x .9 by rounding less
    independent = dx.probability_of_support(TRUTH, SCORES, required=0.86, errors="independent")
    np.testing.assert_array_equal(independent, [1.0, 0.75])


def test_support_may_come_from_draws_of_the_score():
    scores = xr.DataArray([[0.9, 0.99]], dims=("chain", "draw"))
    assert dx.probability_of_support(0.95, scores, required=0.9).item() == 0.5


def test_undefined_draws_make_an_undefined_probability():
    draws = TRUTH.where(TRUTH < 1)
    with pytest.warns(dx.DissensusWarning, match="Up to 1 of 4 draws are undefined .NaN."):
        result = dx.probability_of_support(draws, 0.95, 0.9)
    assert np.isnan(result)
