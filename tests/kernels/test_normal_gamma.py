"""The conjugate normal model against quadrature and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dissensus.kernels.normal import NormalGamma, draw, log_density, log_marginal, moments, update
from dissensus.kernels.random import row_keys

PRIOR = NormalGamma(*(np.array(x) for x in (1.0, 0.5, 3.0, 4.0)))
scores = st.lists(st.floats(-50, 50), min_size=1, max_size=6)


def of_one_item(values):
    return moments(np.array(values, dtype=float), np.zeros(len(values), dtype=np.int64), 1)


def student(values, prior=PRIOR):
    """The scores of one item are jointly multivariate t, mean and variance integrated out."""
    m, k, a, b = (float(x) for x in prior)
    n = len(values)
    shape = (b / a) * (np.eye(n) + np.ones((n, n)) / k)
    return stats.multivariate_t(np.full(n, m), shape, df=2 * a).logpdf(values)


@given(scores)
@settings(deadline=None, max_examples=30)
def test_marginal_likelihood_is_multivariate_t(values):
    assert log_marginal(PRIOR, of_one_item(values))[0] == pytest.approx(student(values))


@given(scores, scores)
@settings(deadline=None, max_examples=30)
def test_learning_twice_is_learning_once(first, second):
    stepwise = update(update(PRIOR, of_one_item(first)), of_one_item(second))
    at_once = update(PRIOR, of_one_item(first + second))
    for first_way, second_way in zip(stepwise, at_once, strict=True):
        np.testing.assert_allclose(first_way, second_way, rtol=1e-9, atol=1e-9)


def test_the_update_by_hand():
    """Gelman et al., Bayesian Data Analysis, section 3.3, in this parametrisation.

    k 0.5 + 2; m (0.5 * 1 + 2 * 4) / 2.5; a 3 + 1; b 4 + 2/2 + 0.5 * 2 * 3**2 / (2 * 2.5).
    """
    after = update(PRIOR, of_one_item([3.0, 5.0]))
    assert [float(x[0]) if x.ndim else float(x) for x in after] == pytest.approx(
        [3.4, 2.5, 4.0, 6.8]
    )


def test_moments_do_not_cancel():
    values = np.array([1.0, 2.0, 4.0, 7.0, 7.0])
    item = np.array([0, 0, 0, 2, 2])
    here, there = moments(values, item, 3), moments(values + 1e9, item, 3)
    assert there.squares == pytest.approx(here.squares, rel=1e-6)
    assert here.n.tolist() == [3, 0, 2]
    assert here.mean.tolist() == pytest.approx([7 / 3, 0, 7])


@given(st.floats(-1e9, 1e9), st.integers(2, 9))
@settings(deadline=None, max_examples=30)
def test_equal_scores_have_no_spread_at_all(value, n):
    result = of_one_item([value] * n)
    assert result.squares.tolist() == [0]
    assert result.mean.tolist() == [value]


def drawn(posterior, draws, seed=1):
    keys = row_keys(np.arange(posterior.m.size, dtype=np.uint64), seed=seed)
    mean, variance = np.empty((2, draws, posterior.m.size))
    draw(posterior, keys, mean, variance)
    return mean, variance


def test_an_item_hangs_on_its_own_key_only():
    many = NormalGamma(*(np.array(x) for x in ([0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [1.0, 1.0])))
    keys = row_keys(np.arange(2, dtype=np.uint64), seed=1)
    draws = np.empty((2, 5, 1))
    draw(NormalGamma(*(x[1:] for x in many)), keys[1:], *draws)
    np.testing.assert_array_equal(draws[..., 0], np.stack(drawn(many, 8))[:, :5, 1])


def test_draws_and_their_density():
    after = update(PRIOR, of_one_item([3.0, 5.0]))
    m, k, a, b = (float(np.ravel(x)[0]) for x in after)
    mean, variance = drawn(after, 8000)
    assert stats.kstest(variance.ravel(), stats.invgamma(a, scale=b).cdf).pvalue > 1e-3
    z = (mean - m) / np.sqrt(variance / k)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(z.ravel(), np.log(variance).ravel())[0, 1]) < 4 / np.sqrt(8000)
    want = stats.invgamma.logpdf(variance, a, scale=b)
    want = want + stats.norm.logpdf(mean, m, np.sqrt(variance / k))
    np.testing.assert_allclose(log_density(after, mean, variance), want)


@pytest.mark.parametrize("a", [1e-4, 1e-2, 0.2])
def test_heavy_tails_stay_finite(a):
    wide = NormalGamma(*(np.full(3, x) for x in (0.0, 1.0, a, 1.0)))
    mean, variance = drawn(wide, 2000)
    for values in (mean, variance, log_density(wide, mean, variance)):
        assert np.isfinite(values).all()
    assert (variance > 0).all()
