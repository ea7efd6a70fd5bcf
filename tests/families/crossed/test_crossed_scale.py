"""Stretching all that is latent: its density, and what it leaves as it was."""

from __future__ import annotations

import numpy as np
import pytest
from families.crossed.crossed_designs import log_effects, log_means, log_scale, log_scales, study
from scipy import stats

from dissensus.families.crossed.kernels import ordinal as kernel
from dissensus.families.crossed.kernels.data import cutpoints
from dissensus.kernels.random import started


def stretched(one, factor):
    """Return the study with everything latent multiplied."""
    par = one.par
    names = ("mu", "sd_item", "sd_annotator", "gap", "item", "annotator", "latent")
    return one._replace(par=par._replace(**{name: factor * getattr(par, name) for name in names}))


def stretched_with(one):
    """Return what the density of a factor looks at."""
    par, priors = one.par, one.priors
    of = (priors.mu, priors.sd_item, priors.sd_annotator, priors.gap)
    return (par.mu, par.sd_item, par.sd_annotator, par.gap, *of)


def log_joint(one):
    """Return the log density of latent numbers and all parameters."""
    total = stats.norm.logpdf(one.par.latent, one.eta, 1.0).sum()
    total += log_effects(one) + log_means(one) + log_scales(one)
    return total + log_scale(one.par.gap, one.priors.gap)


@pytest.mark.parametrize("n_pools", [1, 2, 3])
def test_the_density_along_the_way(n_pools):
    """The joint density times the volume that is stretched: every number counts once."""
    one = study(n_pools, "ordinal", n_labels=5, seed=1)
    par = one.par
    n = len(par.latent) + len(par.item) + len(par.annotator) + len(par.gap) + 3 * n_pools
    data, n_labels = one.data, float(len(par.latent))
    layout = (data.cell_start, data.cell_pool, data.annotator)
    square = kernel._residual_square(*layout, par.latent, par.mu, par.item, par.annotator)
    assert square == pytest.approx(((par.latent - one.eta) ** 2).sum())
    found, want = [], []
    for x in (-1.0, -0.2, 0.0, 0.5):
        found.append(kernel._of_stretch(x, square, n_labels, *stretched_with(one)))
        want.append(log_joint(stretched(one, np.exp(x))) + n * x)
    np.testing.assert_allclose(np.diff(found), np.diff(want), rtol=1e-9)


def test_without_annotators_their_standard_deviation_does_not_count():
    one = study(1, "ordinal", seed=2)
    args = (3.0, 10.0, *stretched_with(one))
    with_them = kernel._of_stretch(0.3, *args) - kernel._of_stretch(0.0, *args)
    was, prior = one.par.sd_annotator[0], one.priors.sd_annotator[0]
    one.par.sd_annotator[:] = 0.0
    without = kernel._of_stretch(0.3, *args) - kernel._of_stretch(0.0, *args)
    counted = 0.3 + log_scale(was * np.exp(0.3), prior) - log_scale(was, prior)
    assert with_them - without == pytest.approx(counted)


def test_no_label_changes():
    one = study(2, "ordinal", n_labels=5, seed=3)
    before = np.searchsorted(cutpoints(one.par.gap), one.par.latent)
    was = {name: np.copy(getattr(one.par, name)) for name in one.par._fields}
    kernel.move_scale(started(np.uint64(1)), one.data, one.par, one.priors)
    factor = one.par.mu[0] / was["mu"][0]
    assert factor != 1.0
    for name in ("mu", "sd_item", "sd_annotator", "gap", "item", "annotator"):
        np.testing.assert_allclose(getattr(one.par, name), factor * was[name])
    for name in ("correlation", "sd", "latent"):
        assert (getattr(one.par, name) == was[name]).all()
    after = np.searchsorted(cutpoints(one.par.gap), factor * one.par.latent)
    assert (after == before).all()
