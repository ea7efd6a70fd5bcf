"""EM for confusion matrices: against a plain EM, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.families.latent_truth.em import climb, labels_given
from dissensus.kernels.votes import votes


def labelled(seed, n_items, n_respondents, n_labels, n_rows):
    """Random rows, with every item labelled and some respondents repeating themselves."""
    rng = np.random.default_rng(seed)
    item = np.concatenate([np.arange(n_items), rng.integers(n_items, size=n_rows)])
    respondent = rng.integers(n_respondents, size=len(item))
    return item, respondent, rng.integers(n_labels, size=len(item))


def vote_shares(item, label, n_items, n_labels):
    out = np.zeros((n_items, n_labels))
    np.add.at(out, (item, label), 1.0)
    return out / out.sum(1, keepdims=True)


def climbed(rows, shape, first, smoothing=0.0, iterations=1, tolerance=-np.inf):
    """The kernel, from a guess by item; by default it goes on to the last iteration."""
    n_items, n_respondents, _ = shape
    result, pattern = votes(*rows, n_items)
    guess = np.empty((len(result.n_items), first.shape[1]))
    guess[pattern] = first
    out = climb(result, guess, n_respondents, smoothing, iterations, tolerance)
    return out, out.truth[pattern]


def plain_em(rows, shape, first, smoothing, iterations):
    """EM as in Dawid and Skene (1979), Eqs. 2.3 to 2.5, on a dense table of counts."""
    n_items, n_respondents, n_labels = shape
    n = np.zeros((n_items, n_respondents, n_labels))
    np.add.at(n, rows, 1.0)
    truth = first
    for _ in range(iterations):
        prevalence = truth.sum(0) + smoothing
        prevalence /= prevalence.sum()
        confusion = np.einsum("iz,ivy->vzy", truth, n) + smoothing
        total = confusion.sum(2, keepdims=True)
        flat = np.full_like(confusion, 1 / n_labels)
        confusion = np.divide(confusion, total, out=flat, where=total > 0)
        joint = prevalence * np.prod(
            confusion.transpose(0, 2, 1)[None] ** n[..., None], axis=(1, 2)
        )
        truth = joint / joint.sum(1, keepdims=True)
    return prevalence, confusion, truth, np.log(joint.sum(1)).sum()


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 7), st.integers(1, 4), st.integers(1, 4)),
    n_rows=st.integers(0, 20),
    smoothing=st.sampled_from([0.0, 0.5]),
    iterations=st.integers(1, 6),
)
def test_a_plain_em_finds_the_same(seed, shape, n_rows, smoothing, iterations):
    rows = labelled(seed, *shape, n_rows)
    first = vote_shares(rows[0], rows[2], shape[0], shape[2])
    ours, truth = climbed(rows, shape, first, smoothing, iterations)
    prevalence, confusion, want, value = plain_em(rows, shape, first, smoothing, iterations)
    assert (ours.iterations, ours.converged) == (iterations, False)
    np.testing.assert_allclose(ours.prevalence, prevalence, atol=1e-12)
    np.testing.assert_allclose(ours.confusion.transpose(0, 2, 1), confusion, atol=1e-12)
    np.testing.assert_allclose(truth, want, atol=1e-10)
    assert ours.log_likelihood == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_no_iteration_lowers_the_objective(smoothing):
    shape = (30, 4, 3)
    rows = labelled(1, *shape, 60)
    first = np.random.default_rng(1).dirichlet(np.ones(3), 30)
    steps = [climbed(rows, shape, first, smoothing, k)[0] for k in range(1, 60)]
    objective = np.array([estimate.objective for estimate in steps])
    assert (np.diff(objective) > -1e-10).all()
    assert objective[-1] > objective[0] + 1
    logs = [np.log(x.prevalence).sum() + np.log(x.confusion).sum() for x in steps] \
        if smoothing else np.zeros(59)  # fmt: skip
    value = np.array([estimate.log_likelihood for estimate in steps])
    np.testing.assert_allclose(objective, value + smoothing * np.array(logs))


@pytest.mark.long
def test_it_stops_where_an_iteration_adds_no_more_than_the_tolerance():
    shape = (30, 4, 3)
    rows = labelled(1, *shape, 60)
    first = np.random.default_rng(1).dirichlet(np.ones(3), 30)
    value = [climbed(rows, shape, first, 0.0, k)[0].log_likelihood for k in range(1, 200)]
    ours, _ = climbed(rows, shape, first, 0.0, 10_000, 1e-3)
    assert ours.converged
    small = np.diff(value) <= 1e-3
    assert ours.iterations == 2 + np.flatnonzero(small)[0]
    assert ours.log_likelihood == value[ours.iterations - 1]


def test_the_guess_is_not_written_over():
    rows, shape = labelled(2, 5, 2, 3, 4), (5, 2, 3)
    result, _ = votes(*rows, 5)
    guess = np.full((len(result.n_items), 3), 1 / 3)
    climb(result, guess, shape[1], 0.0, 5, 0.0)
    assert (guess == 1 / 3).all()


def test_what_cannot_be_true_stays_exactly_impossible():
    """Voices agree on every item, and of the third label nobody speaks."""
    item, respondent = np.repeat(np.arange(6), 2), np.tile([0, 1], 6)
    label = np.repeat([0, 1, 0, 1, 1, 1], 2)
    rows, shape = (item, respondent, label), (6, 2, 3)
    ours, truth = climbed(rows, shape, vote_shares(item, label, 6, 3), 0.0, 100, 1e-8)
    np.testing.assert_array_equal(truth, np.eye(3)[[0, 1, 0, 1, 1, 1]])
    np.testing.assert_allclose(ours.prevalence, [1 / 3, 2 / 3, 0], rtol=1e-15)
    assert ours.prevalence[2] == 0
    np.testing.assert_array_equal(ours.confusion[:, :2, :2], np.eye(2)[None].repeat(2, 0))
    assert ours.log_likelihood == pytest.approx(2 * np.log(1 / 3) + 4 * np.log(2 / 3))


def test_a_row_that_nothing_speaks_of_is_flat():
    """Voice 1 sees nothing but label 0; respondent 2 says nothing."""
    rows = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 0]), np.array([0, 1, 0, 1])
    first = vote_shares(rows[0], rows[2], 2, 2)
    ours, _ = climbed(rows, (2, 3, 2), first, 0.0, 50, 1e-8)
    np.testing.assert_array_equal(ours.confusion[1, :, 1], [0.5, 0.5])
    np.testing.assert_array_equal(ours.confusion[2], np.full((2, 2), 0.5))
    assert np.isfinite(ours.log_likelihood)
    given = labels_given(votes(*rows, 2)[0], ours.truth, 3)
    assert given[1].sum(axis=0).tolist() == [1, 0]
    assert given[2].sum() == 0


def test_very_many_labels_of_an_item_do_not_underflow():
    item = np.repeat([0, 1], 30_000)
    rng = np.random.default_rng(1)
    label = (rng.random(60_000) < np.where(item == 0, 0.45, 0.55)).astype(np.int64)
    respondent = np.arange(60_000) % 3
    first = np.array([[0.9, 0.1], [0.1, 0.9]])
    ours, truth = climbed((item, respondent, label), (2, 3, 2), first, 0.0, 500, 1e-8)
    assert ours.converged
    np.testing.assert_allclose(truth, np.eye(2), atol=1e-12)
    rate = np.bincount(item, label == 1) / 30_000
    share = ours.confusion[:, 1].mean(axis=0)
    np.testing.assert_allclose(share, rate, atol=1e-3)
