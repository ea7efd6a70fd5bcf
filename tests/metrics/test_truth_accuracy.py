"""From reliability to the accuracy of a ground truth: names, dims, and the source's reading."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

RHO = xr.DataArray(
    [[0.5, 0.6], [0.7, 0.9]], dims=("chain", "draw"), coords={"draw": [3, 4]},
    name="weighted_reliability",
)  # fmt: skip


def test_is_the_majority_of_annotators_with_the_root_of_rho():
    found = dx.truth_accuracy(RHO, 3)
    assert found.dims == ("chain", "draw")
    assert found.name == "truth_accuracy"
    assert found.attrs == {"better": "higher"}
    xr.testing.assert_allclose(found, dx.majority_accuracy(3, np.sqrt(RHO)).rename(found.name))
    xr.testing.assert_allclose(dx.truth_accuracy(RHO, 1), np.sqrt(RHO).rename(found.name))
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
    found = dx.truth_accuracy(draws, 3, measure="concordance")
    np.testing.assert_allclose(found, [[np.nan, 0.5, np.nan]], atol=1e-7)


@pytest.mark.parametrize("bad", [1.1, -0.1, "0.7", None, np.inf])
def test_reliabilities_outside_their_bounds_are_refused(bad):
    with pytest.raises(dx.ArgumentError, match=r"^reliability: expected draws of weighted_reli"):
        dx.truth_accuracy(bad, 3)
    with pytest.raises(dx.ArgumentError, match=r"^confidence: expected a number above 0, to 1"):
        dx.truth_accuracy(RHO, 3, confidence=[] if bad is None else bad)


def test_settings_are_checked():
    with pytest.raises(dx.ArgumentError, match=r"^confidence: "):
        dx.truth_accuracy(RHO, 3, confidence=0)
    with pytest.raises(dx.ArgumentError, match=r"^measure: expected 'weighted_reliability' or"):
        dx.truth_accuracy(RHO, 3, measure="kappa")
    with pytest.raises(dx.ArgumentError, match=r"^n_annotators: "):
        dx.truth_accuracy(RHO, 0)
    with pytest.raises(dx.ArgumentError, match=r"^n_annotators: .*found None"):
        dx.truth_accuracy(RHO, None)
    with pytest.raises(dx.ArgumentError, match=r"^n_labels: "):
        dx.truth_accuracy(RHO, 3, 1)
