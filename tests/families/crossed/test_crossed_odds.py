"""Likelihoods as products of odds, and parabolas in place of them.

- Likelihoods as products of odds, against sums over labels.
- Parabolas in place of logistic likelihoods, against SciPy's quadrature.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from families.crossed.crossed_designs import log_labels, study
from scipy import integrate

from dissensus.families.crossed.kernels import odds as kernel
from dissensus.families.crossed.kernels.odds import parabola


def known_of(case):
    return kernel.odds(case.data, case.par)


def of_cells(case, known, pool, effect):
    data = case.data
    layout = (data.cell_start, data.cell_pool, data.annotator)
    return kernel.log_of_cells(pool, *layout, known.cell_sum, known.annotator, effect)


def of_annotators(case, known, pool, effect):
    data = case.data
    layout = (data.cell_start, data.cell_pool, data.annotator, data.annotator_pool)
    sums = (known.annotator_sum, known.cell, case.par.mu[pool])
    return kernel.log_of_annotators(pool, *layout, *sums, effect, known.trial_annotator)


def totals(case, known):
    """Return the log-likelihood by cells and by annotators, with what each leaves out."""
    par, data = case.par, case.data
    by_cells = by_annotators = 0.0
    for p in range(len(par.mu)):
        by_cells += of_cells(case, known, p, par.item)
        by_annotators += of_annotators(case, known, p, par.annotator)
    held_cells = np.clip(par.item, -150, 150)
    held_people = np.clip(par.mu[data.annotator_pool] + par.annotator, -150, 150)
    by_cells += (known.annotator_sum * held_people).sum()
    by_annotators += (known.cell_sum * held_cells).sum()
    return by_cells, by_annotators


@pytest.mark.parametrize("n_pools", [1, 2, 3])
def test_both_sides_add_up_to_the_likelihood(n_pools):
    case = study(n_pools, "bernoulli", seed=1)
    want = log_labels(case, "bernoulli")
    assert totals(case, known_of(case)) == pytest.approx((want, want), rel=1e-11)


@pytest.mark.parametrize("size", [100.0, 149.0, 400.0, 1e6])
def test_effects_as_large_as_can_be_overflow_nowhere(size):
    """Beyond 150 logits an effect counts as 150, on either side."""
    case = study(2, "bernoulli", seed=3)
    rng = np.random.default_rng(1)
    case.par.item[:] = size * rng.choice([-1, 1], len(case.par.item))
    case.par.annotator[:] = size * rng.choice([-1, 1], len(case.par.annotator))
    case.par.mu[:] = 0.0
    item, annotator = (x.clip(-150, 150) for x in (case.par.item, case.par.annotator))
    held = case._replace(par=case.par._replace(item=item, annotator=annotator))
    want = log_labels(held, "bernoulli")
    assert np.isfinite(want)
    assert totals(case, known_of(case)) == pytest.approx((want, want), rel=1e-11)


@pytest.mark.parametrize("n", [0, 1, 7, 300, 100_000])
@pytest.mark.parametrize("log_factor", [-150.0, -3.0, 0.0, 150.0])
def test_products_are_sums_of_logarithms(n, log_factor):
    """Even if many factors, or two of them, would overflow."""
    rng = np.random.default_rng(n)
    log_others = rng.normal(0, 80, n).clip(-150, 150)
    result = kernel.log_product(np.exp(log_factor), np.exp(log_others), n)
    assert result == pytest.approx(np.logaddexp(0.0, log_factor + log_others).sum(), rel=1e-10)


CASES = [
    # (mean of the pool, sd, labels, how many of them are the second one)
    (0.0, 1.0, 1, 1), (0.0, 1.0, 1, 0), (0.4, 2.0, 5, 3), (-1.0, 0.5, 20, 2), (0.0, 2.5, 4, 4),
    (0.0, 6.0, 8, 0), (1.0, 1.5, 200, 120), (0.0, 0.05, 10, 5), (0.0, 1.0, 0, 0),
]  # fmt: skip


def odds(n):
    return np.exp(np.random.default_rng(n).normal(0, 1, n))


def moments(mean, sd, total, others):
    """Return the mean and the variance of an effect given its labels."""

    def log_density(x):
        eta = mean + x
        return total * eta - np.log1p(np.exp(eta) * others).sum() - x * x / (2 * sd * sd)

    grid = np.linspace(-9 * sd, 9 * sd, 4001)
    values = np.array([log_density(x) for x in grid])
    middle, top = grid[values.argmax()], values.max()
    reach = grid[values > top - 60]

    def raw(power):
        return integrate.quad(
            lambda x: (x - middle) ** power * math.exp(log_density(x) - top), reach[0], reach[-1],
            epsrel=1e-10, limit=400, points=[middle],
        )[0]  # fmt: skip

    mass, first_moment, second_moment = raw(0), raw(1), raw(2)
    return middle + first_moment / mass, second_moment / mass - (first_moment / mass) ** 2


def parabola_of(mean, sd, n, total):
    others = np.append(odds(n), np.nan)
    parts = parabola(mean, math.log(sd), float(total), others, n)
    return dict(zip(("linear", "curvature", "shift", "stretch"), parts, strict=True))


@pytest.mark.parametrize(("mean", "sd", "n", "total"), CASES)
def test_a_parabola_has_the_posteriors_moments(mean, sd, n, total):
    site = parabola_of(mean, sd, n, total)
    want_mean, want_variance = moments(mean, sd, total, odds(n))
    precision = site["curvature"] + 1 / sd**2
    spread = math.sqrt(want_variance)
    assert site["linear"] / precision == pytest.approx(want_mean, abs=2e-3 * spread)
    assert 1 / precision == pytest.approx(want_variance, rel=5e-3)
    assert site["curvature"] >= 0.0


@pytest.mark.parametrize(("mean", "sd", "n", "total"), CASES)
def test_the_path_goes_where_the_posterior_goes(mean, sd, n, total):
    """The parabola's slopes in log sd with the corrections, against the posterior's, by steps.

    To a few hundredths: where an effect is far from normal no more is asked of two dozen nodes.
    """
    site = parabola_of(mean, sd, n, total)

    def by_site(s):
        inverse = 1 / (math.exp(-2 * s) + site["curvature"])
        away = s - math.log(sd)
        middle = site["linear"] * inverse + site["shift"] * away
        return middle, 0.5 * math.log(inverse) + site["stretch"] * away

    s, step = math.log(sd), 0.02
    (m_up, v_up), (m_down, v_down) = (moments(mean, math.exp(s + d), total, odds(n))
                                      for d in (step, -step))  # fmt: skip
    (a_up, b_up), (a_down, b_down) = by_site(s + step), by_site(s - step)
    spread = math.sqrt(v_up)
    assert a_up - a_down == pytest.approx(m_up - m_down, abs=0.05 * 2 * step * spread)
    assert b_up - b_down == pytest.approx(0.5 * math.log(v_up / v_down), abs=0.05 * 2 * step)


@pytest.mark.parametrize("mean", [-400.0, -20.0, 20.0, 400.0])
@pytest.mark.parametrize("sd", [1e-3, 1.0, 50.0])
def test_extremes_are_finite(mean, sd):
    for total in (0, 3, 6):
        assert np.isfinite(list(parabola_of(mean, sd, 6, total).values())).all()
