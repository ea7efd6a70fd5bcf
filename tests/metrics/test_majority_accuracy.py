"""Majorities with names and dims; the sums are tested in tests/kernels."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

RNG = np.random.default_rng(1)
DRAWS = xr.DataArray(
    RNG.uniform(0.5, 1, size=(2, 3, 4)),
    dims=("chain", "draw", "annotator"),
    coords={"chain": [0, 1], "draw": [0, 1, 2], "annotator": ["a", "b", "c", "d"]},
    name="annotator_accuracy",
)
ALIKE = DRAWS.mean("annotator").rename("annotator_accuracy")


def test_numbers_in_numbers_out():
    assert type(dx.majority_accuracy(3, 0.85)) is float
    # Cabitza et al. (2020), Figure 2; binomial tails of .85.
    np.testing.assert_allclose(
        dx.majority_accuracy([3, 5, 7, 9], 0.85), [0.939, 0.973, 0.988, 0.994], atol=5e-4
    )
    assert dx.majority_accuracy(3.0, 0.85) == dx.majority_accuracy(3, 0.85)
    assert dx.majority_accuracy(1, 0.4, n_labels=5) == pytest.approx(0.4)
    table = dx.majority_accuracy([[3], [5]], 0.85)
    assert table.shape == (2, 1)


@pytest.mark.parametrize("n_annotators", [None, 3])
@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_a_sequence_has_one_accuracy_of_each_annotator(n_annotators, kind):
    found = dx.majority_accuracy(n_annotators, kind([0.9, 0.8, 0.7]))
    # All three, or two of them: .9 x .8 x .7 + .9 x .8 x .3 + .9 x .2 x .7 + .1 x .8 x .7
    assert type(found) is float
    assert found == pytest.approx(0.902)
    rows = dx.majority_accuracy(n_annotators, kind([[0.9, 0.8, 0.7], [0.6, 0.6, 0.6]]))
    np.testing.assert_allclose(rows, [0.902, 0.648])


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_dim_of_annotators_is_summed_over_and_draws_are_kept(n_labels):
    found = dx.majority_accuracy(None, DRAWS.transpose("annotator", ...), n_labels)
    assert found.dims == ("chain", "draw")
    assert found.name == "majority_accuracy"
    assert found.attrs == {"better": "higher"}
    for place in np.ndindex(2, 3):
        expected = dx.majority_accuracy(4, DRAWS.to_numpy()[place].tolist(), n_labels)
        assert found.to_numpy()[place] == pytest.approx(expected)
    xr.testing.assert_identical(found, dx.majority_accuracy(4, DRAWS, n_labels))
    xr.testing.assert_equal(found["draw"], DRAWS["draw"])


def test_accuracies_by_item_are_a_majority_by_item():
    accuracy = xr.DataArray(
        RNG.uniform(0.5, 1, size=(2, 5, 3, 6)), dims=("chain", "draw", "annotator", "item")
    )
    assert dx.majority_accuracy(None, accuracy).dims == ("chain", "draw", "item")


def test_a_table_without_annotators_is_of_annotators_who_are_alike():
    found = dx.majority_accuracy(3, ALIKE)
    np.testing.assert_allclose(found, ALIKE**3 + 3 * ALIKE**2 * (1 - ALIKE))
    several = dx.majority_accuracy([1, 3], ALIKE)
    assert several.dims == ("chain", "draw", "annotator")
    np.testing.assert_array_equal(several["annotator"], [1, 3])
    np.testing.assert_allclose(several.sel(annotator=3), found)
    np.testing.assert_allclose(several.sel(annotator=1), ALIKE)
    budget = xr.DataArray([3, 5], dims="budget")
    assert dx.majority_accuracy(budget, ALIKE).dims == ("chain", "draw", "budget")
    assert dx.majority_accuracy(budget, 0.85, 4).dims == ("budget",)


def test_undefined_draws_stay_undefined():
    draws = xr.DataArray([[np.nan, 1.0]], dims=("chain", "draw"))
    for n_labels in (2, 3):
        np.testing.assert_array_equal(dx.majority_accuracy(3, draws, n_labels), [[np.nan, 1]])
    np.testing.assert_array_equal(dx.annotators_for_truth(draws), [[np.nan, 1]])
    assert np.isnan(dx.majority_accuracy(None, [0.9, np.nan, 0.8]))


def test_the_dimension_of_annotators_is_never_guessed():
    for bad in ([0.9, 0.8], np.full(3, 0.9), DRAWS):
        with pytest.raises(dx.ArgumentError, match=r"^accuracy: .*as n_annotators is 5; found"):
            dx.majority_accuracy(5, bad)
    with pytest.raises(dx.ArgumentError, match=r"^accuracy: expected one number for each.*\[3, 5"):
        dx.majority_accuracy([3, 5], [0.9, 0.8])
    with pytest.raises(dx.ArgumentError, match=r"^accuracy: .*found 0 of them"):
        dx.majority_accuracy(None, [])
    for alone in (0.9, ALIKE):
        with pytest.raises(dx.ArgumentError, match=r"^n_annotators: .*found None"):
            dx.majority_accuracy(None, alone)


@pytest.mark.parametrize("bad", [0, -3, 2.5, np.nan, np.inf, "3", True, [3, 0]])
def test_numbers_of_annotators_are_whole(bad):
    with pytest.raises(dx.ArgumentError, match=r"^n_annotators: expected whole numbers, 1 or more"):
        dx.majority_accuracy(bad, 0.85)
    with pytest.raises(dx.ArgumentError, match=r"^n_annotators: expected whole numbers, 1 or more"):
        dx.majority_accuracy(bad, DRAWS)


def test_numbers_of_annotators_fit_the_accuracies():
    with pytest.raises(dx.ArgumentError, match=r"^n_annotators: expected one dim"):
        dx.majority_accuracy([[1, 2], [3, 4]], ALIKE)
    clash = xr.DataArray([3, 5], dims="chain", coords={"chain": [7, 8]})
    with pytest.raises(dx.ArgumentError, match=r"^n_annotators: .*other names along a dim"):
        dx.majority_accuracy(clash, ALIKE)


def test_panels_too_large_to_count_out_are_refused():
    assert dx.majority_accuracy(100_001, 0.51) > 0.999
    for n_annotators, accuracy in ((1000, 0.6), ([3, 1000], 0.6), (None, np.full(1000, 0.6))):
        with pytest.raises(dx.ArgumentError, match=r"^n_annotators: expected at most 999.*1000"):
            dx.majority_accuracy(n_annotators, accuracy, 3)


@pytest.mark.parametrize("bad", [1.1, -0.1, np.inf, "0.9", None, True, [0.9, 2.0]])
def test_accuracies_outside_their_bounds_are_refused(bad):
    for call in (dx.annotators_for_truth, lambda p: dx.majority_accuracy(2, p)):
        with pytest.raises(dx.ArgumentError, match=r"^accuracy: expected accuracies of annotators"):
            call(bad)


@pytest.mark.parametrize("bad", [1, 0, 2.5, "2", None, [2, 3]])
def test_there_are_two_labels_or_more(bad):
    for call in (dx.annotators_for_truth, lambda p, **n: dx.majority_accuracy(3, p, **n)):
        with pytest.raises(dx.ArgumentError, match=r"^n_labels: expected a whole number, 2 or"):
            call(0.9, n_labels=bad)


@pytest.mark.parametrize("bad", [0, 1, -0.5, 1.5, np.nan, "0.8", None, [0.8, 0.9]])
def test_targets_lie_between_0_and_1(bad):
    with pytest.raises(dx.ArgumentError, match=r"^target: expected a number between 0 and 1"):
        dx.annotators_for_truth(ALIKE, bad)


def test_how_many_annotators_a_truth_takes():
    assert type(dx.annotators_for_truth(0.85)) is float
    # Cabitza et al. (2020), Figure 1, of which the text gives "like seven for binary tasks".
    # By SciPy's binom.sf(k // 2, k, p); with .7, 15 of them come to .94999.
    np.testing.assert_array_equal(
        dx.annotators_for_truth([0.96, 0.9, 0.85, 0.8, 0.7, 0.5]), [1, 3, 5, 7, 17, np.inf]
    )
    found = dx.annotators_for_truth(ALIKE, target=0.9)
    assert found.dims == ("chain", "draw")
    assert found.name == "annotators_for_truth"
    assert found.attrs == {"better": "lower"}
    assert float(dx.majority_accuracy(found, ALIKE).min()) >= 0.9 * (1 - 1e-12)
    fewer = dx.majority_accuracy((found - 2).clip(min=1), ALIKE)
    assert float(fewer.where(found > 1).max()) < 0.9
