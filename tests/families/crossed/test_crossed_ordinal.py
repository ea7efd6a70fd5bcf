"""Ordered labels: latent numbers, cutpoints and their scale, against SciPy.

- Ordered labels: likelihoods, slopes, latent numbers, cutpoints.
- Stretching all that is latent: its density, and what it leaves as it was.
"""

from __future__ import annotations

import arviz as az
import numpy as np
import pytest
from families.crossed.crossed_designs import (
    log_effects,
    log_labels,
    log_means,
    log_scale,
    log_scales,
    study,
)
from scipy import stats

import dissensus as dx
from dissensus.families.crossed.kernels import ordinal as kernel
from dissensus.families.crossed.kernels.data import cutpoints, label_sums
from dissensus.kernels.random import started


def log_likelihood(case, mu, cut, boundary, pool=kernel.NO_POOL, by=(1.0, 1.0)):
    data, par = case.data, case.par
    layout = (data.value, data.cell_start, data.cell_pool, data.annotator)
    given = (*layout, par.item, par.annotator, None, mu, cut, pool, np.array(by))
    return kernel.log_likelihood(*given, *boundary)


def log_posterior(case, pool, x, boundary, slopes):
    given = kernel.given_effects(case.data, case.par, case.priors)
    free = np.zeros(len(case.par.gap), dtype=bool)
    return kernel._log_posterior(
        *given, pool, free, x, *boundary, slopes.gradient[0], slopes.root[0]
    )


def loose_of(case):
    return kernel.loose_gaps(case.data, len(case.par.gap))


def free(case, pool, since=None):
    """Return means, log gaps, and log factors of a pool since a former state."""
    now, then = case.par, since or case.par
    logs = [np.log(now.sd_item[pool] / then.sd_item[pool])]
    if now.sd_annotator.any():
        logs.append(np.log(now.sd_annotator[pool] / then.sd_annotator[pool]))
    return np.concatenate([now.mu, np.log(now.gap), logs])


def put(case, pool, numbers):
    """Return the study with other means, gaps and a pool's factors; annotators have effects."""
    data, par, n = case.data, case.par, len(case.par.mu)
    items, people = np.ones(n), np.ones(n)
    items[pool], people[pool] = np.exp(numbers[-2:])
    return case._replace(par=par._replace(
        mu=numbers[:n], gap=np.exp(numbers[n:-2]), sd_item=par.sd_item * items,
        item=par.item * items[data.cell_pool], sd_annotator=par.sd_annotator * people,
        annotator=par.annotator * people[data.annotator_pool],
    ))  # fmt: skip


def slope(f, x, k, step=1e-5):
    away = np.zeros(len(x))
    away[k] = step
    return (f(x + away) - f(x - away)) / (2 * step)


def log_density(case, pool, numbers):
    """Of means, log gaps and log factors, with the volume of what a factor multiplies."""
    case = put(case, pool, numbers)
    total = log_labels(case, "ordinal") + log_means(case) + log_effects(case) + log_scales(case)
    total += log_scale(case.par.gap, case.priors.gap) + np.log(case.par.gap).sum()
    volume = [1 + (of == pool).sum() for of in (case.data.cell_pool, case.data.annotator_pool)]
    return total + np.array(volume) @ numbers[-2:]


@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_slopes_in_the_cutpoints_of_each_pool(n_labels):
    """Moving a pool's mean and all of its cutpoints together changes nothing; slopes say so."""
    case = study(2, "ordinal", n_labels=n_labels, seed=2)
    boundary, _ = kernel.slopes_room(case.par)
    cut, mu = cutpoints(case.par.gap), case.par.mu

    def height(x, mu=mu):
        return log_likelihood(case, mu, x, kernel.slopes_room(case.par)[0])

    def by_pool(x):
        other, _ = kernel.slopes_room(case.par)
        log_likelihood(case, mu, x, other)
        return other.first

    log_likelihood(case, mu, cut, boundary)
    for k in range(len(cut)):
        assert boundary.first[:, k].sum() == pytest.approx(slope(height, cut, k), rel=1e-6)
        curve = slope(by_pool, cut, k)
        np.testing.assert_allclose(boundary.second[:, k], -curve[:, k], rtol=1e-5, atol=1e-8)
        if k + 1 < len(cut):
            np.testing.assert_allclose(boundary.mixed[:, k], -curve[:, k + 1], rtol=1e-5, atol=1e-8)
    for p in range(2):
        down = slope(lambda m: height(cut, m), mu, p)
        assert boundary.first[p].sum() == pytest.approx(-down, rel=1e-6)


def test_slopes_in_the_factors_of_effects():
    """The log-likelihood is curved in a factor as in a coefficient, by which effects are times."""
    case = study(2, "ordinal", n_labels=4, seed=4)
    cut, mu = cutpoints(case.par.gap), case.par.mu

    def slopes_of(pool, by, at=cut):
        boundary, _ = kernel.slopes_room(case.par)
        return log_likelihood(case, mu, at, boundary, pool, by), boundary

    ones = np.ones(2)
    for p, j in np.ndindex(2, 2):
        _, here = slopes_of(p, ones)
        assert here.factor[j] == pytest.approx(slope(lambda x, p=p: slopes_of(p, x)[0], ones, j))
        # Slopes are in logarithms: divided by the factor they are in the factor itself.
        curve = slope(lambda x, p=p: slopes_of(p, x)[1].factor / x, ones, j)
        assert here.factors[j] == pytest.approx(-curve[j])
        assert here.factors[2] == pytest.approx(-curve[1 - j])
        for k in range(len(cut)):
            both = slope(lambda x, p=p: slopes_of(p, ones, x)[1].factor, cut, k)
            assert here.crossed[k, j] == pytest.approx(-both[j], abs=1e-8)


@pytest.mark.parametrize("n_pools", [1, 2])
@pytest.mark.parametrize("prior", [(0.0, 1.1, 0.0), (1.0, 0.8, 4.0), (2.0, 0.9, 0.0)])
def test_the_log_density_and_its_gradient(n_pools, prior):
    case = study(n_pools, "ordinal", n_labels=5, seed=3)
    case.priors.gap[:] = prior
    boundary, slopes = kernel.slopes_room(case.par)
    pool, actual, want = n_pools - 1, [], []
    at = free(case, pool)

    def height(x):
        return log_posterior(case, pool, x, boundary, slopes)

    rng = np.random.default_rng(1)
    for _ in range(5):
        x = at + rng.normal(0, 0.3, len(at))
        actual.append(height(x))
        gradient = slopes.gradient[0].copy()
        for k in range(len(x)):
            assert gradient[k] == pytest.approx(slope(height, x, k), rel=1e-5, abs=1e-6)
        want.append(log_density(case, pool, x))
    np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-8)


@pytest.mark.long
def test_cutpoints_and_spreads_follow_their_density():
    """Three free numbers, by quadrature on a grid of a density that is tested above."""
    case = study(1, "ordinal", n_labels=3, seed=5, n_items=5)
    case.par.sd_annotator[:] = 0.0  # what annotators add stays as it is
    boundary, slopes = kernel.slopes_room(case.par)
    since = case.par._replace(sd_item=case.par.sd_item.copy(), item=case.par.item.copy())
    state, draws, moved = started(np.uint64(2)), [], np.zeros(2)
    for sweep in range(12_100):
        for often in (0, 1):
            args = (case.data, case.par, case.priors, sweep < 50, loose_of(case), boundary, slopes)
            moved[often] += kernel.move_cutpoints(state, *args, probability=float(often))
        if sweep >= 100 and sweep % 4 == 0:
            draws.append(free(case, 0, since))
    assert (moved > 0.4 * 12_100).all()
    ratio = (par.item / par.sd_item for par in (case.par, since))
    np.testing.assert_allclose(*ratio)
    draws, case = np.array(draws), case._replace(par=since)
    n, middle, spread = 61, draws.mean(axis=0), draws.std(axis=0)
    grid = [m + 7 * s * np.linspace(-1, 1, n) for m, s in zip(middle, spread, strict=True)]
    height = np.empty((n, n, n))
    for place in np.ndindex(n, n, n):
        x = np.array([axis[k] for axis, k in zip(grid, place, strict=True)])
        height[place] = log_posterior(case, 0, x, boundary, slopes)
    weight = np.exp(height - height.max())
    for k, axis in enumerate(grid):
        marginal = weight.sum(axis=tuple({0, 1, 2} - {k}))
        cdf = np.cumsum(marginal) - marginal / 2
        places = np.interp(draws[:, k], axis, cdf / marginal.sum())
        assert stats.kstest(places, "uniform").pvalue > 1e-3


UNUSED = {
    "none": (lambda y: y, []),
    "above": (lambda y: np.minimum(y, 2), [1, 2]),
    "below": (lambda y: np.maximum(y, 2), [0, 1]),
    "between": (lambda y: np.where(y == 2, 1, y), [1]),
    "all but one": (lambda y: np.full_like(y, 2), [0, 1, 2]),
}
"""Changes of five labels, and the gaps that these leave loose."""


@pytest.mark.parametrize("change", UNUSED)
@pytest.mark.parametrize("n_pools", [1, 2])
def test_a_loose_gap_moves_along_its_density(n_pools, change):
    """By SciPy, at the means and the gap that the move leaves behind, on both of its sides."""
    case = study(n_pools, "ordinal", n_labels=5, seed=4)
    case.data.value[:], loose = UNUSED[change][0](case.data.value), UNUSED[change][1]
    assert np.flatnonzero(loose_of(case)).tolist() == loose
    layout = (case.data.value, case.data.cell_start, case.data.cell_pool, case.data.annotator)
    given = (*layout, case.par.item, case.par.annotator, None, case.priors.mu, case.priors.gap)
    before, cuts = free(case, 0), cutpoints(case.par.gap)
    for g in loose:
        for upper in (True, False):
            case.par.mu[:], case.par.gap[:] = (
                before[:n_pools],
                np.exp(before[n_pools : n_pools + 3]),
            )
            was, actual, want = np.append(case.par.mu, case.par.gap[g]), [], []
            for x in (-2.0, 0.1, 1.0):
                moved = (case.par.mu, case.par.gap, was)
                actual.append(kernel._log_gap_density(x, g, upper, True, *given, *moved))
                want.append(log_density(case, 0, free(case, 0)))
                stay = slice(0, g + 1) if upper else slice(g + 1, None)
                for p in range(n_pools):
                    now = cutpoints(case.par.gap)[stay] - case.par.mu[p]
                    np.testing.assert_allclose(now, cuts[stay] - before[p], atol=1e-12)
            np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-8)


def test_loose_gaps_are_held_where_the_others_move():
    case = study(2, "ordinal", n_labels=5, seed=4)
    case.data.value[:] = np.minimum(case.data.value, 2)
    boundary, slopes = kernel.slopes_room(case.par)
    state, before, moved = started(np.uint64(2)), case.par.gap.copy(), 0
    for _ in range(50):
        args = (case.data, case.par, case.priors, True, loose_of(case), boundary, slopes)
        moved += kernel.move_cutpoints(state, *args)
    assert moved > 10
    assert abs(case.par.gap[0] - before[0]) > 0.01
    np.testing.assert_allclose(case.par.gap[1:], before[1:], rtol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("cuts", [[-1.0, 0.2, 1.4], [-1.0, -0.6, -0.2]])
@pytest.mark.parametrize("turned", [False, True])
def test_labels_that_nobody_gives_do_not_slow_the_chains(cuts, turned):
    """Grades 1 to 4 of 7: without slices, cutpoints had some hundred effective draws of 4,000.

    Also if most labels are those of the last grade that was given, or the first.
    """
    rng = np.random.default_rng(1)
    eta = rng.normal(0, 1, (60, 1)) + rng.normal(0, 0.7, 5) + rng.normal(size=(60, 5))
    grades = 1 + np.digitize(eta, cuts)
    grades = 8 - grades if turned else grades
    ann = dx.from_matrix(grades.tolist(), kind="ordinal", labels=list(range(1, 8)))
    fit = dx.models.crossed_effects.fit(
        ann, family="ordinal", random_seed=1, progressbar=False
    )  # fmt: skip
    assert float(az.ess(fit, var_names=["cutpoint", "mu"])["cutpoint"].min()) > 1000


def test_spreads_move_one_pool_at_a_time():
    """All ten at once would move in one step of ten; effects stay the same multiples of sds."""
    case = study(10, "ordinal", n_labels=4, seed=8, n_items=40)
    boundary, slopes = kernel.slopes_room(case.par)
    state, times, since = started(np.uint64(9)), np.zeros(10), case.par.sd_item.copy()
    ratios = case.par.item / case.par.sd_item[case.data.cell_pool]
    for sweep in range(2_000):
        args = (case.data, case.par, case.priors, sweep < 100, loose_of(case), boundary, slopes)
        moved = kernel.move_cutpoints(state, *args, probability=1.0)
        places = np.flatnonzero(case.par.sd_item != since)
        assert len(places) == int(moved)
        times[places] += 1
        since[:] = case.par.sd_item
    assert times.sum() > 0.3 * 2_000
    assert times.min() > 40
    now = case.par.item / case.par.sd_item[case.data.cell_pool]
    np.testing.assert_allclose(now, ratios, rtol=1e-6)


def test_a_chain_that_starts_nowhere_arrives():
    """Cutpoints that make every label all but impossible: no error, and a way back."""
    case = study(2, "ordinal", n_labels=5, seed=6)
    boundary, slopes = kernel.slopes_room(case.par)
    case.par.gap[:], case.par.mu[:] = 1e-30, [60.0, -60.0]
    state = started(np.uint64(3))
    for _ in range(400):
        args = (case.data, case.par, case.priors, True, loose_of(case), boundary, slopes)
        kernel.move_cutpoints(state, *args)
    assert np.isfinite(np.concatenate([free(case, pool) for pool in range(2)])).all()


def test_latent_numbers_lie_between_their_cutpoints():
    case = study(2, "ordinal", n_labels=4, seed=7)
    sums, state = label_sums(case.data, case.par.latent), started(np.uint64(4))
    cut = np.concatenate([[-np.inf], cutpoints(case.par.gap), [np.inf]])
    y, eta, places = case.data.value.astype(int), case.eta, []
    cdf = stats.norm.cdf
    low, high = cdf(cut[y] - eta), cdf(cut[y + 1] - eta)
    for _ in range(300):
        kernel.draw_latent(state, case.data, case.par, sums)
        assert (cut[y] <= case.par.latent).all()
        assert (case.par.latent <= cut[y + 1]).all()
        places.append((cdf(case.par.latent - eta) - low) / (high - low))
    assert stats.kstest(np.ravel(places), "uniform").pvalue > 1e-3
    for actual, want in zip(sums, label_sums(case.data, case.par.latent), strict=True):
        np.testing.assert_allclose(actual, want, rtol=1e-10, atol=1e-10)


def stretched(case, factor):
    """Return the study with everything latent multiplied."""
    par = case.par
    names = ("mu", "sd_item", "sd_annotator", "gap", "item", "annotator", "latent")
    return case._replace(par=par._replace(**{name: factor * getattr(par, name) for name in names}))


def stretched_with(case):
    """Return what the density of a factor looks at."""
    par, priors = case.par, case.priors
    of = (priors.mu, priors.sd_item, priors.sd_annotator, priors.gap, priors.coefficient)
    return (par.mu, par.sd_item, par.sd_annotator, par.gap, par.coefficient, *of)


def log_joint(case):
    """Return the log density of latent numbers and all parameters."""
    total = stats.norm.logpdf(case.par.latent, case.eta, 1.0).sum()
    total += log_effects(case) + log_means(case) + log_scales(case)
    return total + log_scale(case.par.gap, case.priors.gap)


@pytest.mark.parametrize("n_pools", [1, 2, 3])
def test_the_density_along_the_way(n_pools):
    """The joint density times the volume that is stretched: every number counts once."""
    case = study(n_pools, "ordinal", n_labels=5, seed=1)
    par = case.par
    n = len(par.latent) + len(par.item) + len(par.annotator) + len(par.gap) + 3 * n_pools
    data, n_labels = case.data, float(len(par.latent))
    layout = (data.cell_start, data.cell_pool, data.annotator)
    square = kernel._residual_square(*layout, par.latent, par.mu, par.item, par.annotator, None)
    assert square == pytest.approx(((par.latent - case.eta) ** 2).sum())
    actual, want = [], []
    for x in (-1.0, -0.2, 0.0, 0.5):
        actual.append(kernel._log_stretch_density(x, square, n_labels, *stretched_with(case)))
        want.append(log_joint(stretched(case, np.exp(x))) + n * x)
    np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-9)


def test_the_density_along_the_way_counts_coefficients_too():
    case = study(1, "ordinal", seed=2)
    coefficient, prior = np.array([0.4, -1.2]), np.array([[0.1, 0.5], [0.0, 2.0]])
    more = case._replace(
        par=case.par._replace(coefficient=coefficient),
        priors=case.priors._replace(coefficient=prior),
    )  # fmt: skip
    result = [
        kernel._log_stretch_density(0.3, 3.0, 10.0, *stretched_with(each))
        - kernel._log_stretch_density(0.0, 3.0, 10.0, *stretched_with(each))
        for each in (more, case)
    ]
    density = stats.norm(prior[:, 0], prior[:, 1]).logpdf
    counted = (0.3 + density(np.exp(0.3) * coefficient) - density(coefficient)).sum()
    assert result[0] - result[1] == pytest.approx(counted)


def test_without_annotators_their_standard_deviation_does_not_count():
    case = study(1, "ordinal", seed=2)
    args = (3.0, 10.0, *stretched_with(case))
    with_them = kernel._log_stretch_density(0.3, *args) - kernel._log_stretch_density(0.0, *args)
    was, prior = case.par.sd_annotator[0], case.priors.sd_annotator[0]
    case.par.sd_annotator[:] = 0.0
    without = kernel._log_stretch_density(0.3, *args) - kernel._log_stretch_density(0.0, *args)
    counted = 0.3 + log_scale(was * np.exp(0.3), prior) - log_scale(was, prior)
    assert with_them - without == pytest.approx(counted)


def test_no_label_changes():
    case = study(2, "ordinal", n_labels=5, seed=3)
    before = np.searchsorted(cutpoints(case.par.gap), case.par.latent)
    was = {name: np.copy(getattr(case.par, name)) for name in case.par._fields}
    kernel.move_scale(started(np.uint64(1)), case.data, case.par, case.priors)
    factor = case.par.mu[0] / was["mu"][0]
    assert factor != 1.0
    for name in ("mu", "sd_item", "sd_annotator", "gap", "item", "annotator"):
        np.testing.assert_allclose(getattr(case.par, name), factor * was[name])
    for name in ("correlation", "sd", "latent"):
        assert (getattr(case.par, name) == was[name]).all()
    after = np.searchsorted(cutpoints(case.par.gap), factor * case.par.latent)
    assert (after == before).all()
