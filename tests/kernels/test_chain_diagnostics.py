"""Held against ArviZ, which does the same number by number."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.kernels.diagnostics import diagnostics

PROB = (0.055, 0.945)


def chains(seed, n_chains, n_draws, kind):
    """Five numbers' chains: independent, sluggish, swinging, far apart, or of few values."""
    rng = np.random.default_rng(seed)
    phi = {"sluggish": 0.97, "swinging": -0.8}.get(kind, 0.0)
    out = np.empty((5, n_chains, n_draws))
    noise = rng.normal(size=out.shape)
    out[..., 0] = noise[..., 0]
    for k in range(1, n_draws):
        out[..., k] = phi * out[..., k - 1] + noise[..., k]
    if kind == "apart":
        out += rng.normal(size=(5, n_chains, 1))
    return np.round(out) if kind == "few values" else out


@pytest.mark.long
@given(
    seed=st.integers(0, 2**31), n_chains=st.integers(1, 4), n_draws=st.integers(8, 301),
    kind=st.sampled_from(["independent", "sluggish", "swinging", "apart", "few values"]),
)  # fmt: skip
@settings(max_examples=50, deadline=None)
def test_equal_to_arviz(seed, n_chains, n_draws, kind):
    draws = chains(seed, n_chains, n_draws, kind)
    found = diagnostics(draws, PROB)
    bulk, tail = (array_stats.ess(draws, method=how, prob=prob)
                  for how, prob in (("bulk", None), ("tail", PROB)))  # fmt: skip
    np.testing.assert_allclose(found.bulk, bulk, rtol=1e-8)
    np.testing.assert_allclose(found.tail, tail, rtol=1e-8)
    if n_chains > 1:
        np.testing.assert_allclose(found.r_hat, array_stats.rhat(draws), rtol=1e-8)
    else:
        assert np.isnan(found.r_hat).all()


def test_a_quantile_that_nothing_passes_counts_all_draws():
    draws = np.zeros((1, 2, 100))
    draws[0, 0, 0] = -1.0
    with np.errstate(invalid="ignore", divide="ignore"):  # r-hat of what never moves
        found = diagnostics(draws, PROB)
    assert found.tail[0] == pytest.approx(array_stats.ess(draws, method="tail", prob=PROB)[0])
