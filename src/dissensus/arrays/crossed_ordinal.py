"""Ordered labels of crossed effects: the latent numbers they are cut from, and the cutpoints.

Given the latent numbers, effects and variances are those of Gaussian labels. Cutpoints given the
latent numbers could hardly move where there are many labels (Cowles 1996), so that they are drawn
without them, together with the means of the pools, and the latent numbers anew right after: by one
Metropolis step whose proposal is the normal approximation that one Newton step from the present
point gives. With many labels that is the density itself, whatever the point, and nearly always
taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_parameters import (
    EXPONENTIAL,
    Parameters,
    Priors,
    cutpoints,
    log_scale_prior,
)
from dissensus.arrays.crossed_sums import LabelSums
from dissensus.arrays.normal_interval import interval
from dissensus.arrays.normal_variates import normal, normal_between
from dissensus.arrays.small_matrices import backwards, factorised, forwards
from dissensus.arrays.stream import State, uniform

Floats = npt.NDArray[np.float64]

_LEAST_CURVATURE = 0.5
"""Of the logarithm of a gap: where nobody used the label between, only the prior knows it."""


class Slopes(NamedTuple):
    """Of the log density in the free numbers: the pools' means, and the logarithms of gaps."""

    gradient: Floats
    root: Floats
    """Cholesky factor of the (approximate, positive definite) precision."""


class BoundarySlopes(NamedTuple):
    """Of the log-likelihood in the cutpoints of each pool, as if each pool had its own."""

    first: Floats
    """(pool, cutpoint)"""
    second: Floats
    """(pool, cutpoint): minus the second derivatives."""
    mixed: Floats
    """(pool, cutpoint): with the next cutpoint."""


@njit(cache=True)
def draw_latent(state: State, data: Crossed, par: Parameters, out: LabelSums) -> None:
    """Draw the latent numbers, and sum them over cells and annotators on the way."""
    out.cell[:], out.annotator[:], out.square[:] = 0.0, 0.0, 0.0
    cut = cutpoints(par.gap)
    last = len(cut)
    for c in range(len(par.item)):
        p = data.cell_pool[c]
        base = par.mu[p] + par.item[c]
        for n in range(data.cell_start[c], data.cell_start[c + 1]):
            eta = base + par.annotator[data.annotator[n]]
            y = int(data.value[n])
            low = -math.inf if y == 0 else cut[y - 1] - eta
            high = math.inf if y == last else cut[y] - eta
            z = eta + normal_between(state, low, high)
            par.latent[n] = z
            out.cell[c] += z
            out.annotator[data.annotator[n]] += z
            out.square[p] += z * z


@njit(cache=True)
def log_likelihood(
    data: Crossed, par: Parameters, mu: Floats, cut: Floats, slopes: BoundarySlopes
) -> float:
    """Return the log-likelihood of means and cutpoints given all effects, with its slopes."""
    slopes.first[:], slopes.second[:], slopes.mixed[:] = 0.0, 0.0, 0.0
    total, last = 0.0, len(cut)
    for c in range(len(par.item)):
        p = data.cell_pool[c]
        base = mu[p] + par.item[c]
        for n in range(data.cell_start[c], data.cell_start[c + 1]):
            eta = base + par.annotator[data.annotator[n]]
            y = int(data.value[n])
            low = -math.inf if y == 0 else cut[y - 1] - eta
            high = math.inf if y == last else cut[y] - eta
            log_p, at_low, at_high = interval(low, high)
            total += log_p
            if y > 0:
                slopes.first[p, y - 1] -= at_low
                slopes.second[p, y - 1] += at_low * (at_low - low)
            if y < last:
                slopes.first[p, y] += at_high
                slopes.second[p, y] += at_high * (at_high + high)
            if 0 < y < last:
                slopes.mixed[p, y - 1] -= at_low * at_high
    return total


@njit(cache=True)
def _jacobian(mu: Floats, gap: Floats, p: int) -> Floats:
    """Return how a pool's cutpoints, less its mean, move with the free numbers (cutpoint, free)."""
    n_pools, n_cuts = len(mu), len(gap) + 1
    out = np.zeros((n_cuts, n_pools + len(gap)))
    for k in range(n_cuts):
        out[k, p] = -1.0
        for g in range(len(gap)):
            above = 1.0 if k > g else 0.0
            out[k, n_pools + g] = gap[g] * (above - (n_cuts - 1.0 - g) / n_cuts)
    return out


@njit(cache=True)
def _log_posterior(
    data: Crossed, par: Parameters, priors: Priors, free: Floats, boundary: BoundarySlopes,
    slopes: Slopes,
) -> float:  # fmt: skip
    """Return the log density of the free numbers given all effects, with its slopes."""
    n_pools, n_free = len(par.mu), len(free)
    mu, gap = free[:n_pools], np.exp(free[n_pools:])
    total = log_likelihood(data, par, mu, cutpoints(gap), boundary)
    slopes.gradient[:], slopes.root[:] = 0.0, 0.0
    for p in range(n_pools):
        move = _jacobian(mu, gap, p)
        for a in range(n_free):
            for k in range(len(gap) + 1):
                slopes.gradient[a] += boundary.first[p, k] * move[k, a]
                for b in range(a + 1):
                    slopes.root[a, b] += boundary.second[p, k] * move[k, a] * move[k, b]
                    if k < len(gap):
                        both = move[k, a] * move[k + 1, b] + move[k + 1, a] * move[k, b]
                        slopes.root[a, b] += boundary.mixed[p, k] * both
        mean, sd = priors.mu[p]
        total -= 0.5 * ((mu[p] - mean) / sd) ** 2
        slopes.gradient[p] -= (mu[p] - mean) / (sd * sd)
        slopes.root[p, p] += 1.0 / (sd * sd)
    for g in range(len(gap)):
        a = n_pools + g
        total += log_scale_prior(gap[g], priors.gap) + free[a]
        slope = _prior_slope(gap[g], priors.gap)
        slopes.gradient[a] += 1.0 + slope
        curvature = -slope if priors.gap[0] == EXPONENTIAL else -2.0 * slope
        slopes.root[a, a] = max(slopes.root[a, a] + curvature, _LEAST_CURVATURE)
    return total if factorised(slopes.root, n_free) else -np.inf


@njit(cache=True)
def _prior_slope(x: float, prior: Floats) -> float:
    """Return the derivative of the log prior density of x by log x, by differences."""
    step = 1e-5
    up, down = x * math.exp(step), x * math.exp(-step)
    return (log_scale_prior(up, prior) - log_scale_prior(down, prior)) / (2.0 * step)


@njit(cache=True)
def _proposed(here: Floats, slopes: Slopes) -> Floats:
    """Return the mode of the normal approximation at a point."""
    move = slopes.gradient.copy()
    forwards(slopes.root, len(here), move)
    backwards(slopes.root, len(here), move)
    return here + move


@njit(cache=True)
def _log_proposal(there: Floats, centre: Floats, root: Floats) -> float:
    """Return the log density of a normal proposal whose precision has this factor."""
    total, n = 0.0, len(there)
    for i in range(n):
        whitened = 0.0
        for k in range(i, n):
            whitened += root[k, i] * (there[k] - centre[k])
        total += math.log(root[i, i]) - 0.5 * whitened * whitened
    return total


@njit(cache=True)
def slopes_room(n_pools: int, n_gaps: int) -> tuple[BoundarySlopes, Slopes, Slopes]:
    """Make room."""
    shape, n = (n_pools, n_gaps + 1), n_pools + n_gaps
    boundary = BoundarySlopes(np.empty(shape), np.empty(shape), np.empty(shape))
    here = Slopes(np.empty(n), np.empty((n, n)))
    return boundary, here, Slopes(np.empty(n), np.empty((n, n)))


@njit(cache=True)
def move_cutpoints(
    state: State, data: Crossed, par: Parameters, priors: Priors, warming: bool,
    boundary: BoundarySlopes, here: Slopes, there: Slopes,
) -> bool:  # fmt: skip
    """Draw cutpoints and means; return whether they moved.

    A chain that warms up takes every step that leads upwards: it may start where the normal
    approximation holds neither here nor there.
    """
    n_pools = len(par.mu)
    now = np.concatenate((par.mu, np.log(par.gap)))
    height = _log_posterior(data, par, priors, now, boundary, here)
    centre = _proposed(now, here)
    move = np.empty(len(now))
    for a in range(len(now)):
        move[a] = normal(state)
    backwards(here.root, len(now), move)
    new = centre + move
    height_there = _log_posterior(data, par, priors, new, boundary, there)
    if not height_there > -np.inf:
        return False
    log_ratio = height_there - height - _log_proposal(new, centre, here.root)
    log_ratio += _log_proposal(now, _proposed(new, there), there.root)
    upwards = warming and height_there > height
    if not upwards and not math.log(uniform(state)) < log_ratio:
        return False
    par.mu[:] = new[:n_pools]
    par.gap[:] = np.exp(new[n_pools:])
    return True
