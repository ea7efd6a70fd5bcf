"""Confusion matrices in five steps: against the source's tables, and a slow way to do the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.studies.simulate._confusion import (
    error_shares,
    expected_accuracy,
    matrices,
    responses,
    with_accuracy,
)

EVEN = np.full(5, 0.2)


def matrix(accuracy, asymmetry=1.0, error_range=0.0, prevalence=EVEN, seed=1):
    rng = np.random.default_rng(seed)
    return matrices(np.array(accuracy), asymmetry, error_range, prevalence, rng)


def test_steps_one_to_three_without_asymmetry():
    """Lehner (2015), Table 5: (IPC, PDA, AD, PER) = (.6, 0, 1, 0)."""
    want = np.full((5, 5), 0.1) + 0.5 * np.eye(5)
    np.testing.assert_allclose(matrix(0.6), want, atol=1e-15)


def test_steps_one_to_three_with_asymmetry():
    """Lehner (2015), Table 6, to the printed digit: (IPC, PDA, AD, PER) = (.6, -.2, 2, 0)."""
    want = [
        [0.400, 0.320, 0.160, 0.080, 0.040],
        [0.218, 0.400, 0.218, 0.109, 0.055],
        [0.100, 0.200, 0.400, 0.200, 0.100],
        [0.055, 0.109, 0.218, 0.400, 0.218],
        [0.040, 0.080, 0.160, 0.320, 0.400],
    ]
    np.testing.assert_array_equal(matrix(0.6 - 0.2, 2.0).round(3), want)


def test_table_7_is_nothing_out_of_the_way():
    """Lehner (2015), Table 7, drawn with (.6, -.2, 2, 1): its diagonal lies and spreads as ours.

    On the average over many draws the matrix is about Table 6.
    """
    drawn = matrix(np.full(4000, 0.4), 2.0, 1.0)
    np.testing.assert_allclose(drawn.mean(axis=0), matrix(0.4, 2.0), atol=0.02)
    printed = [0.349, 0.439, 0.377, 0.512, 0.415]
    low, high = np.quantile(np.diagonal(drawn, axis1=1, axis2=2), [0.001, 0.999])
    assert low < min(printed)
    assert high > max(printed)
    np.testing.assert_allclose(
        np.std(printed), np.diagonal(drawn, axis1=1, axis2=2).std(), rtol=0.4
    )


def slowly(accuracy, asymmetry, error_range, prevalence, rng):
    """The five steps in loops; the factor of step 5 by halving intervals."""
    n = len(prevalence)
    out = np.zeros((n, n))
    move = rng.uniform(-1, 1, (n, n))
    for z in range(n):
        far = [0.0 if y == z else asymmetry ** -abs(y - z) for y in range(n)]
        for y in range(n):
            ic = (1 - accuracy) * far[y] / sum(far)
            out[z, y] = accuracy if y == z else ic - error_range * move[z, y] * ic
        out[z] /= out[z].sum()
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        reached = prevalence @ np.minimum(np.diag(out) * middle, 1)
        low, high = (middle, high) if reached < accuracy else (low, middle)
    right = np.minimum(np.diag(out) * high, 1)
    for z in range(n):
        out[z, z] = 0
        out[z] *= (1 - right[z]) / out[z].sum()
        out[z, z] = right[z]
    return out


@settings(deadline=None, max_examples=30)
@given(
    n_labels=st.integers(2, 6),
    accuracy=st.floats(0.01, 0.99),
    asymmetry=st.floats(0.3, 5.0),
    error_range=st.floats(0.0, 1.0),
    seed=st.integers(0, 10**6),
)
def test_loops_give_the_same(n_labels, accuracy, asymmetry, error_range, seed):
    prevalence = np.random.default_rng(seed).dirichlet(np.full(n_labels, 0.5))
    fast = matrix(accuracy, asymmetry, error_range, prevalence, seed)
    slow = slowly(accuracy, asymmetry, error_range, prevalence, np.random.default_rng(seed))
    np.testing.assert_allclose(fast, slow, atol=1e-9)
    assert prevalence @ np.diag(fast) == pytest.approx(accuracy, abs=1e-9)


def test_a_diagonal_stays_below_one_and_the_others_make_up_for_it():
    prevalence = np.array([0.6, 0.3, 0.1])
    right = with_accuracy(np.array([0.99, 0.9, 0.4]), np.array(0.97), prevalence)
    np.testing.assert_allclose(right, [1, 1, 0.7])  # .6 + .3 + .1 x .7
    drawn = matrix(np.full(500, 0.97), 2.0, 1.0, prevalence)
    assert drawn.max() <= 1
    assert (drawn >= 0).all()
    np.testing.assert_allclose(np.diagonal(drawn, axis1=1, axis2=2) @ prevalence, 0.97)


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("error_range", [0.0, 1.0])
def test_accuracies_of_nothing_and_of_one(n_labels, error_range):
    prevalence = np.full(n_labels, 1 / n_labels)
    never, always = matrix([0.0, 1.0], 2.0, error_range, prevalence)
    np.testing.assert_array_equal(always, np.eye(n_labels))
    np.testing.assert_array_equal(np.diag(never), 0)
    np.testing.assert_allclose(never.sum(axis=1), 1)


def test_a_label_that_is_never_true_has_a_row_too():
    drawn = matrix(0.6, 1.0, 1.0, np.array([1.0, 0.0]))
    assert drawn[0, 0] == pytest.approx(0.6)
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    assert 0 <= drawn[1, 1] <= 1


@pytest.mark.parametrize("asymmetry", [1e-300, 1e300])
def test_extreme_asymmetry_takes_all_errors_to_one_end(asymmetry):
    share = error_shares(4, asymmetry)
    want = [0, 0, 0, 1] if asymmetry < 1 else [0, 1, 0, 0]
    np.testing.assert_allclose(share[0], want, atol=1e-200)
    np.testing.assert_allclose(share.sum(axis=1), 1)


def test_expected_accuracy_is_over_labels_and_groups():
    confusion = np.array([[[[0.9, 0.1], [0.5, 0.5]], [[0.3, 0.7], [0.1, 0.9]]]])
    accuracy = expected_accuracy(confusion, np.array([0.8, 0.2]))
    assert accuracy == pytest.approx([((0.72 + 0.1) + (0.24 + 0.18)) / 2])


def test_responses_come_as_often_as_they_should():
    rng = np.random.default_rng(1)
    row = np.array([0.0, 0.5, 0.2, 0.3, 0.0])
    drawn = responses(np.broadcast_to(row, (100_000, 5)), rng)
    share = np.bincount(drawn, minlength=5) / 100_000
    np.testing.assert_allclose(share, row, atol=4 * np.sqrt(0.25 / 100_000))
    assert share[[0, 4]].tolist() == [0, 0]
