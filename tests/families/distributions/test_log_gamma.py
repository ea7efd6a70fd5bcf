"""The logarithm of a Gamma variate, against SciPy's distribution of the same name."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest
from scipy import stats

from dissensus.families.rankings.distributions import LogGamma

SHAPES = [1 / 2000, 1 / 50, 0.5, 1.0, 7.0]


@pytest.mark.parametrize("alpha", SHAPES)
def test_density_is_scipys(alpha):
    at = np.array([-2000.0, -30.0, -1.0, 0.0, 2.0])
    log_density = pm.logp(LogGamma.dist(alpha=alpha), at).eval()
    np.testing.assert_allclose(log_density, stats.loggamma(alpha).logpdf(at), rtol=1e-12)


@pytest.mark.parametrize("alpha", SHAPES)
def test_draws_have_that_density(alpha):
    u = pm.draw(LogGamma.dist(alpha=alpha), 4000, random_seed=3)
    assert np.isfinite(u).all()
    assert stats.kstest(u, stats.loggamma(alpha).cdf).pvalue > 0.001


def test_one_draw_for_each_shape():
    alpha = np.array([[0.1], [5.0]])
    x = LogGamma.dist(alpha=alpha, shape=(3, 2, 4))
    u = pm.draw(x, 500, random_seed=1)
    assert u.shape == (500, 3, 2, 4)
    assert u[..., 0, :].mean() < -5 < 1 < u[..., 1, :].mean()


def test_starts_at_the_mode():
    with pm.Model() as model:
        LogGamma("u", alpha=[0.5, 2.0])
        LogGamma("v", alpha=3.0, shape=2)
    start = model.initial_point()
    np.testing.assert_allclose(start["u"], np.log([0.5, 2.0]))
    np.testing.assert_allclose(start["v"], np.log([3.0, 3.0]))
    np.testing.assert_allclose(model.compile_dlogp()(start), 0, atol=1e-12)


def test_a_shape_of_0_is_refused():
    with pytest.raises(pm.logprob.utils.ParameterValueError, match="alpha > 0"):
        pm.logp(LogGamma.dist(alpha=0.0), 1.0).eval()
