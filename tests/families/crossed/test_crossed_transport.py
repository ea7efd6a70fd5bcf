"""Paths of effects: the density along one is the joint density times the volume of the map.

Joint densities are SciPy's, and volumes come from the map itself, by differences. The parabolas
that paths hang on are anything: the chain must be exact whatever they are.
"""

from __future__ import annotations

import numpy as np
import pytest
from families.crossed.crossed_designs import log_effects, log_labels, log_means, log_scales, study

from dissensus.families.crossed.kernels import transport as kernel
from dissensus.families.crossed.kernels.odds import CURVATURE, LINEAR, LOG_SD, SHIFT, STRETCH, odds
from dissensus.families.crossed.kernels.sweep import learned

CASES = [(1, 1), (2, 2), (3, 3)]
every_case = pytest.mark.parametrize(("n_pools", "seed"), CASES)


def prepared(n_pools, seed):
    """Return a study, its odds, and paths with any parabolas."""
    case = study(n_pools, "bernoulli", seed=seed)
    room, rng = kernel.transport(case.data), np.random.default_rng(seed)
    for site in (room.item, room.annotator):
        n = site.shape[1]
        site[LINEAR], site[CURVATURE] = rng.normal(0, 2, n), rng.gamma(2.0, 1.0, n)
        site[SHIFT], site[STRETCH] = rng.normal(0, 0.4, n), rng.normal(0, 0.3, n)
        site[LOG_SD] = rng.normal(0, 0.5, n)
    return case, odds(case.data, case.par), room


def log_joint(case):
    return log_labels(case, "bernoulli") + log_effects(case) + log_means(case) + log_scales(case)


def log_volume(move, at):
    """Return the logarithm of the determinant of a map's slopes, by central differences."""
    step, slopes = 1e-5, []
    for k in range(len(at)):
        away = np.zeros(len(at))
        away[k] = step
        slopes.append((move(at + away) - move(at - away)) / (2 * step))
    sign, log_det = np.linalg.slogdet(np.array(slopes))
    assert sign > 0
    return log_det


class ItemPath:
    """Standard deviation or a correlation of one pool, and its cells along with it."""

    def __init__(self, n_pools, seed, pool, other=None):
        self.case, self.known, self.room = prepared(n_pools, seed)
        self.pool, self.other = pool, other
        par = self.case.par
        self.was = np.log(par.sd_item[pool]) if other is None else par.correlation[pool, other]
        self.item = par.item.copy()

    def put(self, x):
        par, p, q = self.case.par, self.pool, self.other
        if q is None:
            par.sd_item[p] = np.exp(x)
        else:
            par.correlation[p, q] = par.correlation[q, p] = x

    def density(self, x):
        """Return the kernel's density at a place along the path, and where the cells are there."""
        case, p, q = self.case, self.pool, self.pool if self.other is None else self.other
        self.put(self.was)
        case.par.item[:] = self.item
        given = kernel.along_items(case.data, case.par, case.priors, self.known, self.room)
        self.known.trial[:] = case.par.item
        kernel.effect_precisions(*given[2:7], self.room.precision, self.room.log_det)
        rests = (*given[12:17], self.room.precision, self.room.rest)
        kernel._find_rests(p, np.log(case.par.sd_item[p]), *rests)
        return kernel._log_along_items(x, p, q, *given), self.known.trial.copy()

    def moved(self, x, item):
        """Return where the path takes these cells."""
        keep, self.item = self.item, item
        out = self.density(x)[1]
        self.item = keep
        return out

    def full(self, x):
        """Return the joint density there, times the volume."""
        there = self.moved(x, self.item)
        volume = log_volume(lambda item: self.moved(x, item), self.item)
        self.put(x)
        total = log_joint(self.case._replace(par=self.case.par._replace(item=there)))
        return total + volume + (x if self.other is None else 0.0)


@every_case
def test_standard_deviations_of_items(n_pools, seed):
    for pool in range(n_pools):
        path = ItemPath(n_pools, seed, pool)
        points = path.was + np.array([-1.0, -0.3, 0.0, 0.7])
        actual = [path.density(x)[0] for x in points]
        want = [path.full(x) for x in points]
        np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("n_pools", "seed"), CASES[1:])
def test_correlations_of_items(n_pools, seed):
    for pool in range(n_pools):
        for other in set(range(n_pools)) - {pool}:
            path = ItemPath(n_pools, seed, pool, other)
            points = path.was + np.array([-0.08, -0.02, 0.0, 0.05])
            actual = [path.density(x)[0] for x in points]
            want = [path.full(x) for x in points]
            np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-6, atol=1e-6)


@every_case
def test_cells_of_other_pools_stay(n_pools, seed):
    path = ItemPath(n_pools, seed, 0)
    there = path.moved(path.was + 0.5, path.item)
    own = path.case.data.cell_pool == 0
    assert (there[~own] == path.item[~own]).all()
    assert (there[own] != path.item[own]).all()


@every_case
def test_there_and_back_is_where_it_was(n_pools, seed):
    path = ItemPath(n_pools, seed, n_pools - 1)
    there = path.moved(path.was + 0.8, path.item)
    path.was, was = path.was + 0.8, path.was
    np.testing.assert_allclose(path.moved(was, there), path.item, rtol=1e-10)


@every_case
def test_standard_deviations_of_annotators(n_pools, seed):
    case, known, room = prepared(n_pools, seed)
    par, was = case.par, case.par.annotator.copy()

    def follow(s, p, start):
        """Return the kernel's density at a place, and where the annotators are there."""
        here = np.log(par.sd_annotator[p])
        for j in np.flatnonzero(case.data.annotator_pool == p):
            middle, spread = kernel._path(here, j, room.annotator)
            room.rest[j] = (start[j] - middle) / spread
        par.annotator[:] = start
        given = kernel.along_annotators(case.data, par, case.priors, known, room)
        result = kernel._log_along_annotators(s, p, *given)
        there = par.annotator.copy()
        par.annotator[:] = was
        return result, there

    for p in range(n_pools):
        here = np.log(par.sd_annotator[p])
        actual, want = [], []
        for s in here + np.array([-1.0, 0.0, 0.3, 0.9]):
            density, there = follow(s, p, was)
            actual.append(density)
            volume = log_volume(lambda start, s=s, p=p: follow(s, p, start)[1], was)
            sd = par.sd_annotator.copy()
            sd[p] = np.exp(s)
            far = case._replace(par=par._replace(annotator=there, sd_annotator=sd))
            want.append(log_joint(far) + volume + s)
        np.testing.assert_allclose(np.diff(actual), np.diff(want), rtol=1e-6, atol=1e-6)


def test_nothing_is_learned_once_a_chain_draws():
    """Paths that moved with the chain would make it another chain."""
    from dissensus.families.crossed.kernels.sweep import advance, room_for
    from dissensus.kernels.random import started

    case = study(2, "bernoulli", seed=5)
    known, state = learned(case.data, "bernoulli", case.par), started(np.uint64(1))
    advance("bernoulli", state, case.data, case.par, case.priors, known, 90, learning=True)
    assert (known.paths.item[CURVATURE] > 0).any()
    parts = (*known.tuning[:-1], known.paths.item, known.paths.annotator)
    before = [part.copy() for part in parts]
    trace = room_for(case.data, case.par, 50)
    advance("bernoulli", state, case.data, case.par, case.priors, known, 50, learning=False,
            trace=trace)  # fmt: skip
    for old, new in zip(before, parts, strict=True):
        assert (old == new).all()
