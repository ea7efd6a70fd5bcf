"""Simulated studies summed up: shares, errors, and how many items it takes, known ones too."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.studies.planning.accuracy import closeness, enough
from dissensus.studies.planning.unknown_truth import StudyResult, known_items


def study(error, *, covered=True, kappa=0.3, half=0.1, poor=False):
    """One study whose estimates are off by so much, the same for both scopes."""
    errors = np.repeat(np.atleast_1d(error), 2 // np.size(error))
    return StudyResult(np.repeat(errors[:, None], 2, axis=1), np.array([half / 2, half]),
                 np.array([covered, covered]), kappa, poor)  # fmt: skip


def test_shares_and_errors_are_those_counted_by_hand():
    cell = [study([0.1, 0.2]), study([-0.05, np.nan], covered=False, poor=True), study([0.3, 0.0])]
    result = closeness([[cell]], [3], [50], 0.1, 0.9).sel(scope="new items", annotator=3, item=50)
    assert result["within_share"].to_numpy().tolist() == pytest.approx([2 / 3, 1 / 3])
    # The standard deviation of Beta(3, 2): sqrt(3 * 2 / (5^2 * 6)).
    assert result["within_share_error"][0].item() == pytest.approx(0.2)
    np.testing.assert_allclose(
        result["rmse"], [np.sqrt((0.01 + 0.0025 + 0.09) / 3), np.sqrt(0.04 / 2)]
    )
    np.testing.assert_allclose(result["bias"], [0.35 / 3, 0.1])
    np.testing.assert_allclose(
        result["bias_error"], [np.std([0.1, -0.05, 0.3], ddof=1) / np.sqrt(3), 0.1]
    )
    assert result["undefined_share"].to_numpy().tolist() == pytest.approx([0, 1 / 3])
    assert result["coverage"].item() == pytest.approx(2 / 3)
    assert result["poor_share"].item() == pytest.approx(1 / 3)
    assert result["half_width"].item() == pytest.approx(0.1)
    assert result["half_width_error"].item() == pytest.approx(0.0)


@pytest.mark.long
def test_the_error_of_a_root_mean_square_is_that_of_repeated_plans():
    rng = np.random.default_rng(1)
    plans = [
        closeness([[[study(e) for e in rng.normal(0.02, 0.05, 30)]]], [3], [9], 0.1, 0.9).isel(
            estimator=0, scope=0, annotator=0, item=0
        )
        for _ in range(80)
    ]
    rmse, error = ([plan[name].item() for plan in plans] for name in ("rmse", "rmse_error"))
    np.testing.assert_allclose(np.mean(error), np.std(rmse), rtol=0.25)


def test_what_nobody_estimated_has_no_error():
    cell = [study([0.1, np.nan])] * 2
    result = closeness([[cell]], [3], [50], 0.1, 0.9).sel(estimator="lehner")
    assert (result["within_share"] == 0).all()
    assert np.isnan(result[["rmse", "bias", "bias_error", "items_enough"]].to_array()).all()


@pytest.mark.parametrize(
    ("shares", "assurance", "expected"),
    [
        ([0.9, 0.95, 1.0], 0.9, 100),  # the fewest tried
        ([0.5, 0.9, 1.0], 0.9, 400),  # one of those tried
        ([0.8, 0.8, 1.0], 0.9, 625),  # halfway between roots 20 and 30
        ([0.9, 0.7, 1.0], 0.9, 625),  # what falls is averaged first: .8, .8, 1
        ([0.1, 0.2, 0.89], 0.9, np.nan),
        ([np.float64(0.0)] * 3, 0.5, np.nan),
    ],
)
def test_items_enough_are_interpolated_in_their_root(shares, assurance, expected):
    np.testing.assert_equal(enough([100, 400, 900], shares, assurance), expected)


def test_every_number_of_annotators_has_its_own():
    near, far = [study(0.01)] * 4, [study(0.5)] * 4
    result = closeness([[far, far], [far, near]], [2, 5], [25, 100], 0.1, 0.9)
    new = result["items_enough"].sel(scope="new items", estimator="symmetric_confusion")
    # From 0 to 1 between the roots 5 and 10: .9 at 9.5.
    np.testing.assert_equal(new.to_numpy(), [np.nan, np.ceil(9.5**2)])


@pytest.mark.parametrize(("accuracy", "within"), [(0.9, 0.1), (0.7, 0.1), (0.8, 0.05)])
def test_so_many_are_near_enough_and_fewer_are_not_always(accuracy, within):
    rng = np.random.default_rng(1)
    n = known_items(accuracy, within, 0.9)

    def near(size):
        off = np.abs(rng.binomial(size, accuracy, 40_000) / size - accuracy)
        return (off <= within + 1e-9).mean()

    assert all(near(size) > 0.893 for size in range(n, n + 40, 3))
    assert near(n - 1) < 0.907


def test_what_is_certain_takes_one():
    assert known_items(1.0, 0.1, 0.9) == 1
