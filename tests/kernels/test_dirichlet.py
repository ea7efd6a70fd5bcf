"""Dirichlet draws, and their leading place.

- Dirichlet draws, from easy parameters to degenerate ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, special, stats

import dissensus as dx
from dissensus.kernels.dirichlet import draw_dirichlet, leading_probabilities
from dissensus.kernels.random import row_keys


def keys(n, seed=0):
    """Return a key for each row."""
    return row_keys(np.arange(n, dtype=np.uint64), seed=seed)


parameters = arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5)),
    elements=st.one_of(
        st.just(0.0), st.floats(1e-12, 1e-2), st.floats(0.05, 20.0), st.floats(1e3, 1e6)
    ),
).filter(lambda alpha: (alpha > 0).any(axis=-1).all())  # fmt: skip


@given(parameters, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_draws_are_on_the_simplex_and_densities_finite(alpha, seed):
    theta, density = draw_dirichlet(alpha, keys(len(alpha), seed), 6)
    assert theta.shape == (6, *alpha.shape)
    assert density.shape == (6,)
    np.testing.assert_allclose(theta.sum(-1), 1)
    assert (theta >= 0).all()
    assert (theta[..., alpha == 0] == 0).all()
    assert np.isfinite(density).all()


@given(parameters.filter(lambda alpha: alpha[alpha > 0].min() > 0.04))
@settings(deadline=None, max_examples=30)
def test_log_density_is_scipys_on_the_support(alpha):
    theta, density = draw_dirichlet(alpha, keys(len(alpha)), 3)
    want = np.zeros(3)
    for i, row in enumerate(alpha):
        if (row > 0).sum() > 1:  # on a point the density is 1
            on = theta[:, i, row > 0]
            on = on / on.sum(1, keepdims=True)
            want += [stats.dirichlet(row[row > 0]).logpdf(point) for point in on]
    np.testing.assert_allclose(density, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("a", [1e-3, 0.05, 0.0999, 0.1, 0.5, 3.0])
def test_components_are_beta_across_the_threshold_of_the_logarithms(a):
    alpha = np.array([a, 2 * a, 1.5])
    theta = draw_dirichlet(alpha[None], keys(1, seed=7), 4000).theta[:, 0]
    for k in (0, 1):  # the third rounds to 1 where a is small
        beta = stats.beta(alpha[k], alpha.sum() - alpha[k])
        # Values that underflow are there with the probability that beta gives them.
        tiny = np.finfo(float).tiny
        positive, gone = theta[:, k] > tiny, beta.cdf(tiny)
        assert abs((~positive).mean() - gone) <= 4 * np.sqrt(gone * (1 - gone) / 4000) + 1e-9
        conditional = (beta.cdf(theta[positive, k]) - gone) / (1 - gone)
        assert stats.kstest(conditional, "uniform").pvalue > 1e-3


def test_all_tiny_sits_in_a_corner_chosen_by_the_parameters():
    alpha = np.array([1e-8, 3e-8])
    theta = draw_dirichlet(alpha[None], keys(1, seed=3), 4000).theta[:, 0]
    assert (theta.max(-1) > 0.999).mean() > 0.999
    assert theta[:, 1].mean() == pytest.approx(0.75, abs=4 * np.sqrt(0.1875 / 4000))


@given(parameters, st.data())
@settings(deadline=None, max_examples=40)
def test_a_row_hangs_on_its_own_key_and_parameters_only(alpha, data):
    """Neither on the rows beside it, nor on their order, nor on how many draws are asked for."""
    whole = draw_dirichlet(alpha, keys(len(alpha)), 5).theta
    chosen = data.draw(st.permutations(range(len(alpha))))[: data.draw(st.integers(1, len(alpha)))]
    part = draw_dirichlet(alpha[chosen], keys(len(alpha))[chosen], 3).theta
    np.testing.assert_array_equal(part, whole[:3, chosen])


def test_a_place_to_write_to_is_taken():
    out = np.full((3, 7, 2), np.nan)
    alpha = np.ones((2, 2))
    result = draw_dirichlet(alpha, keys(2), 3, out[:, 2:4])
    np.testing.assert_array_equal(out[:, 2:4], draw_dirichlet(alpha, keys(2), 3).theta)
    assert result.theta.base is out
    assert np.isnan(out[:, 4:]).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_every_row_lands_in_its_place(sparse):
    """Many rows, each with its own mean."""
    rng = np.random.default_rng(1)
    alpha = rng.uniform(50, 500, (6000, 4))
    if sparse:
        alpha[rng.random(alpha.shape) < 0.4] = 0
        alpha[:, 1] = 100
    theta = draw_dirichlet(alpha, keys(6000), 200).theta
    mean = alpha / alpha.sum(1, keepdims=True)
    sd = np.sqrt(mean * (1 - mean) / (alpha.sum(1, keepdims=True) + 1))
    assert (np.abs(theta.mean(0) - mean) <= 6 * sd / np.sqrt(200)).all()


def test_rows_are_independent():
    theta = draw_dirichlet(np.ones((3, 2)), keys(3), 5000).theta[:, :, 0]
    assert abs(np.corrcoef(theta.T)[np.triu_indices(3, 1)]).max() < 4 / np.sqrt(5000)


@pytest.mark.parametrize("bad", [[[0.0, 0.0]], [[1.0, -1.0]], [[np.nan, 1.0]], [[np.inf, 1.0]]])
def test_improper_parameters_are_refused(bad):
    with pytest.raises(dx.ArgumentError, match="alpha: expected finite parameters"):
        draw_dirichlet(np.array(bad), keys(1), 1)


ALPHAS = st.lists(st.sampled_from([1e-6, 0.01, 0.1, 0.5, 1.0, 2.0, 7.0, 60.0, 1e4]),
                  min_size=2, max_size=6)  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (0.01, 0.02), (0.001, 3), (5, 7), (500, 520), (1e5, 1.001e5), (1e-4, 1e-3)]
)
def test_of_two_labels_it_is_a_tail_of_the_beta_distribution(a, b):
    probabilities = leading_probabilities([[a, b]])[0]
    np.testing.assert_allclose(
        probabilities, stats.beta.sf(0.5, [a, b], [b, a]), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("alpha", [[1, 1, 2], [0.3, 4, 4, 1.5], [12, 9, 0.1], [0.02, 0.03, 0.02]])
def test_equals_adaptive_quadrature_over_shares_of_the_largest(alpha):
    """P(k) = integral over u in (0, 1) of prod F_j(F_k^-1(u)), by scipy.integrate.quad."""
    probabilities = leading_probabilities([alpha])[0]
    for k, own in enumerate(alpha):
        others = [a for j, a in enumerate(alpha) if j != k]

        def below(u, own=own, others=others):
            return np.prod(special.gammainc(others, special.gammaincinv(own, u)))

        expected = integrate.quad(below, 0, 1, epsabs=1e-11, epsrel=1e-11, limit=500)[0]
        assert probabilities[k] == pytest.approx(expected, abs=1e-7)


@pytest.mark.long
def test_a_thousand_labels_nobody_named():
    alpha = np.r_[np.full(1000, 1e-3), 1.001]
    # All of them together are one label of count 1, but for that each is looked at alone:
    # simulated from log-gamma variates, which do not vanish.
    rng = np.random.default_rng(1)
    log = np.log(rng.standard_gamma(alpha + 1, (4000, 1001)))
    leads = np.argmax(log + np.log(rng.random(log.shape)) / alpha, axis=1) == 1000
    probabilities = leading_probabilities(alpha[None])[0]
    assert leads.mean() == pytest.approx(probabilities[-1], abs=4 * np.sqrt(0.25 / 4000))
    np.testing.assert_allclose(probabilities[:-1], (1 - probabilities[-1]) / 1000)


@given(alpha=ALPHAS, seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_sums_to_one_follows_its_labels_and_grows_with_their_counts(alpha, seed):
    probabilities = leading_probabilities([alpha])[0]
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    order = np.random.default_rng(seed).permutation(len(alpha))
    np.testing.assert_allclose(
        leading_probabilities([np.take(alpha, order)])[0], probabilities[order]
    )
    assert (np.diff(probabilities[np.argsort(alpha)]) >= -1e-12).all()


def test_rows_are_taken_alone_however_many_there_are():
    rng = np.random.default_rng(2)
    alpha = 0.5 + rng.integers(0, 4, (2500, 3))
    probabilities = leading_probabilities(alpha)
    for row in (0, 999, 1000, 2499):
        np.testing.assert_allclose(
            probabilities[row], leading_probabilities(alpha[[row]])[0], rtol=1e-10
        )
