import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from dissensus.kernels.dirichlet import leading_probabilities

ALPHAS = st.lists(st.sampled_from([1e-6, 0.01, 0.1, 0.5, 1.0, 2.0, 7.0, 60.0, 1e4]),
                  min_size=2, max_size=6)  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (0.01, 0.02), (0.001, 3), (5, 7), (500, 520), (1e5, 1.001e5), (1e-4, 1e-3)]
)
def test_of_two_labels_it_is_a_tail_of_the_beta_distribution(a, b):
    found = leading_probabilities([[a, b]])[0]
    np.testing.assert_allclose(found, stats.beta.sf(0.5, [a, b], [b, a]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [[1, 1, 2], [0.3, 4, 4, 1.5], [12, 9, 0.1], [0.02, 0.03, 0.02]])
def test_equals_adaptive_quadrature_over_shares_of_the_largest(alpha):
    """P(k) = integral over u in (0, 1) of prod F_j(F_k^-1(u)), by scipy.integrate.quad."""
    found = leading_probabilities([alpha])[0]
    for k, own in enumerate(alpha):
        others = [a for j, a in enumerate(alpha) if j != k]

        def below(u, own=own, others=others):
            return np.prod(special.gammainc(others, special.gammaincinv(own, u)))

        expected = integrate.quad(below, 0, 1, epsabs=1e-11, epsrel=1e-11, limit=500)[0]
        assert found[k] == pytest.approx(expected, abs=1e-7)


@pytest.mark.long
def test_a_thousand_labels_nobody_named():
    alpha = np.r_[np.full(1000, 1e-3), 1.001]
    # All of them together are one label of count 1, but for that each is looked at alone:
    # simulated from log-gamma variates, which do not vanish.
    rng = np.random.default_rng(1)
    log = np.log(rng.standard_gamma(alpha + 1, (20_000, 1001)))
    leads = np.argmax(log + np.log(rng.random(log.shape)) / alpha, axis=1) == 1000
    found = leading_probabilities(alpha[None])[0]
    assert leads.mean() == pytest.approx(found[-1], abs=4 * np.sqrt(0.25 / 20_000))
    np.testing.assert_allclose(found[:-1], (1 - found[-1]) / 1000)


@given(alpha=ALPHAS, seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_sums_to_one_follows_its_labels_and_grows_with_their_counts(alpha, seed):
    found = leading_probabilities([alpha])[0]
    assert found.sum() == pytest.approx(1, abs=1e-12)
    order = np.random.default_rng(seed).permutation(len(alpha))
    np.testing.assert_allclose(leading_probabilities([np.take(alpha, order)])[0], found[order])
    assert (np.diff(found[np.argsort(alpha)]) >= -1e-12).all()


def test_rows_are_taken_alone_however_many_there_are():
    rng = np.random.default_rng(2)
    alpha = 0.5 + rng.integers(0, 4, (2500, 3))
    found = leading_probabilities(alpha)
    for row in (0, 999, 1000, 2499):
        np.testing.assert_allclose(found[row], leading_probabilities(alpha[[row]])[0], rtol=1e-10)
