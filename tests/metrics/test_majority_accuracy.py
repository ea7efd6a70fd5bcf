"""Majorities, and the accuracy of a ground truth, with names and dims; sums: tests/kernels."""

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
    assert dx.majority_accuracy(100_001, 0.51) > 0.999
    table = dx.majority_accuracy([[3], [5]], 0.85)
    assert table.shape == (2, 1)


@pytest.mark.parametrize("n_annotators", [None, 3])
@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_a_sequence_has_one_accuracy_of_each_annotator(n_annotators, kind):
    accuracy = dx.majority_accuracy(n_annotators, kind([0.9, 0.8, 0.7]))
    # All three, or two of them: .9 x .8 x .7 + .9 x .8 x .3 + .9 x .2 x .7 + .1 x .8 x .7
    assert type(accuracy) is float
    assert accuracy == pytest.approx(0.902)
    rows = dx.majority_accuracy(n_annotators, kind([[0.9, 0.8, 0.7], [0.6, 0.6, 0.6]]))
    np.testing.assert_allclose(rows, [0.902, 0.648])


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_dim_of_annotators_is_summed_over_and_draws_are_kept(n_labels):
    accuracy = dx.majority_accuracy(None, DRAWS.transpose("annotator", ...), n_labels)
    assert accuracy.dims == ("chain", "draw")
    assert accuracy.name == "majority_accuracy"
    assert accuracy.attrs == {"better": "higher"}
    for place in np.ndindex(2, 3):
        expected = dx.majority_accuracy(4, DRAWS.to_numpy()[place].tolist(), n_labels)
        assert accuracy.to_numpy()[place] == pytest.approx(expected)
    xr.testing.assert_identical(accuracy, dx.majority_accuracy(4, DRAWS, n_labels))
    xr.testing.assert_equal(accuracy["draw"], DRAWS["draw"])


def test_accuracies_by_item_are_a_majority_by_item():
    accuracy = xr.DataArray(
        RNG.uniform(0.5, 1, size=(2, 5, 3, 6)), dims=("chain", "draw", "annotator", "item")
    )
    assert dx.majority_accuracy(None, accuracy).dims == ("chain", "draw", "item")


def test_a_table_without_annotators_is_of_annotators_who_are_alike():
    accuracy = dx.majority_accuracy(3, ALIKE)
    np.testing.assert_allclose(accuracy, ALIKE**3 + 3 * ALIKE**2 * (1 - ALIKE))
    several = dx.majority_accuracy([1, 3], ALIKE)
    assert several.dims == ("chain", "draw", "annotator")
    np.testing.assert_array_equal(several["annotator"], [1, 3])
    np.testing.assert_allclose(several.sel(annotator=3), accuracy)
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


def test_how_many_annotators_a_truth_takes():
    assert type(dx.annotators_for_truth(0.85)) is float
    # Cabitza et al. (2020), Figure 1, of which the text gives "like seven for binary tasks".
    # By SciPy's binom.sf(k // 2, k, p); with .7, 15 of them come to .94999.
    np.testing.assert_array_equal(
        dx.annotators_for_truth([0.96, 0.9, 0.85, 0.8, 0.7, 0.5]), [1, 3, 5, 7, 17, np.inf]
    )
    result = dx.annotators_for_truth(ALIKE, target=0.9)
    assert result.dims == ("chain", "draw")
    assert result.name == "annotators_for_truth"
    assert result.attrs == {"better": "lower"}
    assert float(dx.majority_accuracy(result, ALIKE).min()) >= 0.9 * (1 - 1e-12)
    fewer = dx.majority_accuracy((result - 2).clip(min=1), ALIKE)
    assert float(fewer.where(result > 1).max()) < 0.9


RHO = xr.DataArray(
    [[0.5, 0.6], [0.7, 0.9]], dims=("chain", "draw"), coords={"draw": [3, 4]},
    name="weighted_reliability",
)  # fmt: skip


def test_it_is_the_majority_of_annotators_with_the_root_of_rho():
    accuracy = dx.truth_accuracy(RHO, 3)
    assert accuracy.dims == ("chain", "draw")
    assert accuracy.name == "truth_accuracy"
    assert accuracy.attrs == {"better": "higher"}
    xr.testing.assert_allclose(
        accuracy, dx.majority_accuracy(3, np.sqrt(RHO)).rename(accuracy.name)
    )
    xr.testing.assert_allclose(dx.truth_accuracy(RHO, 1), np.sqrt(RHO).rename(accuracy.name))
    several = dx.truth_accuracy(RHO, [1, 3], n_labels=4)
    assert several.dims == ("chain", "draw", "annotator")
    assert type(dx.truth_accuracy(0.7, 5)) is float
    assert dx.truth_accuracy([0.6, 0.7, 0.8], 3).shape == (3,)  # not a panel of three


def test_reads_what_the_source_reads_off_its_figure_9():
    # Cabitza et al. (2020), section 5: systems of .95, .90 and .85 lose "approximately 6%" at
    # rho = .67 (Krippendorff's .667), and a truth at least 95 % accurate goes with rho ~ .7.
    # Neither the number of annotators nor the link is printed; five whose pairs agree so often fit.
    scored = np.array([0.95, 0.90, 0.85])

    def lost(**link):
        return 100 * (scored - dx.actual_accuracy(scored, dx.truth_accuracy(0.667, **link)))

    five = {"n_annotators": 5, "measure": "concordance"}
    np.testing.assert_allclose(lost(**five), [6.3, 6.0, 5.7], atol=0.05)
    assert dx.truth_accuracy(0.7, **five) == pytest.approx(0.954, abs=5e-4)
    assert dx.actual_accuracy(0.95, dx.truth_accuracy(0.7, **five)) >= 0.9
    # With rho as the source defines it: between three confident annotators and five.
    np.testing.assert_allclose(lost(n_annotators=3), [8.4, 8.0, 7.5], atol=0.05)
    np.testing.assert_allclose(lost(n_annotators=5), [4.4, 4.1, 3.9], atol=0.05)
    less_sure = {"n_annotators": 3, "confidence": 0.93}
    np.testing.assert_allclose(lost(**less_sure), [6.0, 5.6, 5.3], atol=0.05)
    assert dx.truth_accuracy(0.7, **less_sure) == pytest.approx(0.952, abs=5e-4)


@pytest.mark.parametrize("measure", ["weighted_reliability", "concordance"])
@pytest.mark.parametrize("n_labels", [2, 5])
def test_rises_with_the_reliability_and_with_doubt(measure, n_labels):
    reliability = np.linspace(0, 1, 101)
    sure = dx.truth_accuracy(reliability, 5, n_labels, measure=measure)
    assert sure[-1] == pytest.approx(1.0)
    known = sure[np.isfinite(sure)]
    assert np.diff(known).min() >= 0
    # If annotators are in doubt, the same reliability takes more accurate ones.
    doubtful = dx.truth_accuracy(reliability, 5, n_labels, confidence=0.8, measure=measure)
    both = np.isfinite(sure) & np.isfinite(doubtful)
    assert (doubtful[both] >= sure[both]).all()
    genuine = 0.8 / (0.8 + 0.2 / n_labels)
    assert np.isnan(doubtful[reliability > genuine**2 + 1e-9]).all()


def test_reliabilities_that_no_annotators_have_are_undefined():
    draws = xr.DataArray([[0.3, 0.5, np.nan]], dims=("chain", "draw"))
    accuracy = dx.truth_accuracy(draws, 3, measure="concordance")
    np.testing.assert_allclose(accuracy, [[np.nan, 0.5, np.nan]], atol=1e-7)
