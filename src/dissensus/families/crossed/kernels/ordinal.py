"""Ordered labels of crossed effects: latent numbers, cutpoints, and their common scale.

Given the latent numbers, effects and variances are drawn as for Gaussian labels. Given many latent
numbers, cutpoints hardly move (Cowles 1996). So cutpoints and the pools' means are drawn with the
latent numbers integrated out, by one Metropolis step; the latent numbers are drawn right after. The
proposal is the normal approximation of one Newton step. With many labels it is nearly always
accepted.

In half of the sweeps, this step also rescales one pool. One factor multiplies the pool's item
effects and their standard deviation, a second factor its annotator effects and theirs. The reason:
if most labels are the same, latent numbers inform about effects more than labels do, and given the
latent numbers, standard deviations hardly move. A step with the factors of all pools would seldom
be accepted. The other sweeps leave the factors out: with few labels, a normal approximation in them
fits badly.

Gaps that labels hardly inform are *loose*: those of unused labels, and of the first and last used
label. A normal approximation does not fit their density. Each gap is drawn by a slice, in which the
cutpoints on one side of the gap keep their distance to the means.

If latent numbers, means, coefficients, effects, their standard deviations and cutpoints are
multiplied by one factor, all labels stay the same. Only the residuals change; they have standard
deviation 1. Drawing the factor (Liu & Sabatti 2000) takes one pass over the labels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dissensus.families.crossed.kernels.data import (
    EXPONENTIAL,
    Crossed,
    LabelSums,
    Parameters,
    Priors,
    cutpoints,
    log_scale_prior,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import backwards, factorised, forwards, interval
from dissensus.kernels.types import Codes, Flags, Floats, Indices
from dissensus.kernels.variates import normal, normal_between

_LEAST_CURVATURE = 0.5
"""Smallest curvature in the logarithm of a gap or factor; it bounds the width of proposals."""
_HELD = 1e12
"""Curvature in a loose gap; it is so large that proposals hardly move the gap."""
NO_POOL = -1
"""Code in place of a pool if no factors are moved."""


class Slopes(NamedTuple):
    """First and second derivatives of the log density in the free numbers.

    The free numbers are the pools' means, and the logarithms of gaps and of two factors: of the
    effects of one pool's items, and of the effects of its annotators if there are any.
    """

    gradient: Floats  # (current or proposed point, free)
    root: Floats  # (current or proposed point, free, free): factor of the approximate precision


class BoundarySlopes(NamedTuple):
    """Derivatives of the log-likelihood in each pool's cutpoints, and in log factors."""

    first: Floats  # (pool, cutpoint)
    second: Floats  # (pool, cutpoint): minus the second derivatives
    mixed: Floats  # (pool, cutpoint): minus the mixed derivatives, with the next cutpoint
    factor: Floats  # (2): first derivatives in the factors' logarithms: items, annotators
    factors: Floats  # (3): minus the second derivatives in log factors: both, and mixed
    crossed: Floats  # (cutpoint, 2): minus the mixed derivatives in a cutpoint and a factor


def draw_latent(
    state: State, data: Crossed, par: Parameters, out: LabelSums, offset: Floats | None = None
) -> None:
    """Draw the latent numbers, and sum them over cells and annotators in the same pass.

    ``offset`` (label) is the covariates' part of the mean.
    """
    _draw_latent(
        state, data.value, data.cell_start, data.cell_pool, data.annotator, par.mu, par.gap,
        par.item, par.annotator, offset, par.latent, out.cell, out.annotator, out.square,
    )  # fmt: skip


@kernel
def _draw_latent(
    state: State, value: Floats, cell_start: Codes, cell_pool: Codes, label_annotator: Indices,
    mu: Floats, gap: Floats, item: Floats, annotator: Floats, offset: Floats | None, latent: Floats,
    cell_sum: Floats, annotator_sum: Floats, square: Floats,
) -> None:  # fmt: skip
    for p in range(len(square)):
        square[p] = 0.0
    for j in range(len(annotator_sum)):
        annotator_sum[j] = 0.0
    cut = cutpoints(gap)
    last = len(cut)
    for c in range(len(item)):
        p = cell_pool[c]
        base = mu[p] + item[c]
        cell_sum[c] = 0.0
        for n in range(cell_start[c], cell_start[c + 1]):
            eta = base + annotator[label_annotator[n]]
            if offset is not None:
                eta += offset[n]
            y = int(value[n])
            low = -math.inf if y == 0 else cut[y - 1] - eta
            high = math.inf if y == last else cut[y] - eta
            z = eta + normal_between(state, low, high)
            latent[n] = z
            cell_sum[c] += z
            annotator_sum[label_annotator[n]] += z
            square[p] += z * z


@inner
def log_likelihood(
    value: Floats, cell_start: Codes, cell_pool: Codes, label_annotator: Indices, item: Floats,
    annotator: Floats, offset: Floats | None, mu: Floats, cut: Floats, pool: int,
    multiplier: Floats, first: Floats, second: Floats, mixed: Floats, factor: Floats,
    factors: Floats, crossed: Floats,
) -> float:  # fmt: skip
    """Return the log-likelihood of means and cutpoints given the effects; write its derivatives.

    Effects of items and annotators in ``pool`` (or `NO_POOL`) are multiplied by ``multiplier`` (2).
    """
    for k in range(first.shape[1]):
        for p in range(first.shape[0]):
            first[p, k] = second[p, k] = mixed[p, k] = 0.0
        crossed[k, 0] = crossed[k, 1] = 0.0
    factor[0] = factor[1] = 0.0
    factors[0] = factors[1] = factors[2] = 0.0
    total, last = 0.0, len(cut)
    for c in range(len(item)):
        p = cell_pool[c]
        moved = p == pool
        of_item = multiplier[0] * item[c] if moved else item[c]
        for n in range(cell_start[c], cell_start[c + 1]):
            j = label_annotator[n]
            of_annotator = multiplier[1] * annotator[j] if moved else annotator[j]
            eta = mu[p] + of_item + of_annotator
            if offset is not None:
                eta += offset[n]
            y = int(value[n])
            low = -math.inf if y == 0 else cut[y - 1] - eta
            high = math.inf if y == last else cut[y] - eta
            log_p, at_low, at_high = interval(low, high)
            total += log_p
            both = -at_low * at_high
            below = at_low * (at_low - low) if y > 0 else 0.0
            above = at_high * (at_high + high) if y < last else 0.0
            if y > 0:
                first[p, y - 1] -= at_low
                second[p, y - 1] += below
            if y < last:
                first[p, y] += at_high
                second[p, y] += above
            if 0 < y < last:
                mixed[p, y - 1] += both
            if not moved:
                continue
            if y > 0:
                crossed[y - 1, 0] -= (below + both) * of_item
                crossed[y - 1, 1] -= (below + both) * of_annotator
            if y < last:
                crossed[y, 0] -= (above + both) * of_item
                crossed[y, 1] -= (above + both) * of_annotator
            factor[0] += (at_low - at_high) * of_item
            factor[1] += (at_low - at_high) * of_annotator
            curvature = 2.0 * both + below + above
            factors[0] += curvature * of_item * of_item
            factors[1] += curvature * of_annotator * of_annotator
            factors[2] += curvature * of_item * of_annotator
    return total


@inner
def _jacobian(gap: Floats, n_pools: int, p: int) -> Floats:
    """Return derivatives of a pool's cutpoints, less its mean, by free numbers (cutpoint, free)."""
    n_cuts = len(gap) + 1
    out = np.zeros((n_cuts, n_pools + len(gap)))
    for k in range(n_cuts):
        out[k, p] = -1.0
        for g in range(len(gap)):
            above = 1.0 if k > g else 0.0
            out[k, n_pools + g] = gap[g] * (above - (n_cuts - 1.0 - g) / n_cuts)
    return out


@inner
def _add_likelihood(
    gap: Floats, pool: int, first: Floats, second: Floats, mixed: Floats, factor: Floats,
    factors: Floats, crossed: Floats, gradient: Floats, root: Floats,
) -> None:  # fmt: skip
    """Write derivatives in the free numbers, from those in the pools' cutpoints and log factors."""
    n_free, n_pools, n_first = len(gradient), len(first), len(first) + len(gap)
    for a in range(n_free):
        gradient[a] = 0.0
        for b in range(n_free):
            root[a, b] = 0.0
    for p in range(n_pools):
        move = _jacobian(gap, n_pools, p)
        for j in range(n_free - n_first if p == pool else 0):
            a = n_first + j
            gradient[a] = factor[j]
            root[a, a] = factors[j]
            if j > 0:
                root[a, a - 1] = factors[2]
            for k in range(len(gap) + 1):
                for b in range(n_first):
                    root[a, b] += crossed[k, j] * move[k, b]
        for a in range(n_first):
            for k in range(len(gap) + 1):
                gradient[a] += first[p, k] * move[k, a]
                for b in range(a + 1):
                    root[a, b] += second[p, k] * move[k, a] * move[k, b]
                    if k < len(gap):
                        both = move[k, a] * move[k + 1, b] + move[k + 1, a] * move[k, b]
                        root[a, b] += mixed[p, k] * both


@inner
def _log_posterior(
    value: Floats, cell_start: Codes, cell_pool: Codes, label_annotator: Indices, item: Floats,
    annotator: Floats, offset: Floats | None, sd_item: Floats, sd_annotator: Floats,
    prior_mu: Floats, prior_gap: Floats, prior_item: Floats, prior_annotator: Floats,
    pool: int, loose: Flags, free: Floats, first: Floats, second: Floats, mixed: Floats,
    factor: Floats, factors: Floats, crossed: Floats, gradient: Floats, root: Floats,
) -> float:  # fmt: skip
    """Return the log density of the free numbers, and write its derivatives.

    Effects keep their ratio to their standard deviations. Proposals hardly move loose gaps.
    """
    n_pools, n_free, n_gaps = len(prior_mu), len(free), first.shape[1] - 1
    n_first = n_pools + n_gaps
    mu, gap, multiplier = free[:n_pools], np.empty(n_gaps), np.ones(2)
    for g in range(n_gaps):
        gap[g] = math.exp(free[n_pools + g])
    for a in range(n_first, n_free):
        multiplier[a - n_first] = math.exp(free[a])
    total = log_likelihood(
        value, cell_start, cell_pool, label_annotator, item, annotator, offset, mu, cutpoints(gap),
        pool, multiplier, first, second, mixed, factor, factors, crossed,
    )  # fmt: skip
    _add_likelihood(gap, pool, first, second, mixed, factor, factors, crossed, gradient, root)
    for p in range(n_pools):
        mean, sd = prior_mu[p, 0], prior_mu[p, 1]
        total -= 0.5 * ((mu[p] - mean) / sd) ** 2
        gradient[p] -= (mu[p] - mean) / (sd * sd)
        root[p, p] += 1.0 / (sd * sd)
    for a in range(n_pools, n_free):
        if a < n_first:
            x, prior = gap[a - n_pools], prior_gap
        elif a == n_first:
            x, prior = multiplier[0] * sd_item[pool], prior_item[pool]
        else:
            x, prior = multiplier[1] * sd_annotator[pool], prior_annotator[pool]
        total += log_scale_prior(x, prior) + free[a]
        slope = _prior_slope(x, prior)
        gradient[a] += 1.0 + slope
        curvature = -slope if prior[0] == EXPONENTIAL else -2.0 * slope
        root[a, a] = max(root[a, a] + curvature, _LEAST_CURVATURE)
    for g in range(n_gaps):
        if loose[g]:
            _hold(gradient, root, n_pools + g)
    return total if factorised(root, n_free) else -np.inf


@inner
def _hold(gradient: Floats, root: Floats, a: int) -> None:
    """Change the derivatives in a free number so that proposals hardly move this number."""
    gradient[a] = 0.0
    for b in range(len(gradient)):
        root[max(a, b), min(a, b)] = 0.0
    root[a, a] = _HELD


@inner
def _prior_slope(x: float, prior: Floats) -> float:
    """Return the derivative of the log prior density of x by log x: a central difference."""
    step = 1e-5
    up, down = x * math.exp(step), x * math.exp(-step)
    return (log_scale_prior(up, prior) - log_scale_prior(down, prior)) / (2.0 * step)


@inner
def _proposed(point: Floats, gradient: Floats, root: Floats) -> Floats:
    """Return the mode of the normal approximation at a point."""
    out = gradient.copy()
    forwards(root, len(point), out)
    backwards(root, len(point), out)
    for k in range(len(point)):
        out[k] += point[k]
    return out


@inner
def _log_proposal(point: Floats, centre: Floats, root: Floats) -> float:
    """Return the log density of a normal proposal; ``root`` is a factor of its precision."""
    total, n = 0.0, len(point)
    for i in range(n):
        whitened = 0.0
        for k in range(i, n):
            whitened += root[k, i] * (point[k] - centre[k])
        total += math.log(root[i, i]) - 0.5 * whitened * whitened
    return total


def slopes_room(par: Parameters) -> tuple[BoundarySlopes, Slopes]:
    """Allocate the two sets of derivatives."""
    n_pools, n_gaps, n_factors = len(par.mu), len(par.gap), 1 + int(par.sd_annotator.any())
    shape, n = (n_pools, n_gaps + 1), n_pools + n_gaps + n_factors
    boundary = BoundarySlopes(
        np.empty(shape), np.empty(shape), np.empty(shape), np.empty(2), np.empty(3),
        np.empty((n_gaps + 1, 2)),
    )  # fmt: skip
    return boundary, Slopes(np.empty((2, n)), np.empty((2, n, n)))


@kernel
def _move_cutpoints(
    state: State, warming: bool, probability: float, mu: Floats, gap: Floats, value: Floats,
    cell_start: Codes, cell_pool: Codes, label_annotator: Indices, item: Floats, annotator: Floats,
    offset: Floats | None, sd_item: Floats, sd_annotator: Floats, prior_mu: Floats,
    prior_gap: Floats, prior_item: Floats, prior_annotator: Floats, annotator_pool: Codes,
    loose: Flags, first: Floats, second: Floats, mixed: Floats, factor: Floats, factors: Floats,
    crossed: Floats, gradient: Floats, root: Floats,
) -> bool:  # fmt: skip
    n_pools, n_gaps = len(mu), len(gap)
    pool, n_free = NO_POOL, n_pools + n_gaps
    if uniform(state) < probability:
        pool, n_free = int(uniform(state) * n_pools), gradient.shape[1]
    free, height, centre = np.zeros((2, n_free)), np.empty(2), np.empty(n_free)
    for k in range(n_pools):
        free[0, k] = mu[k]
    for k in range(n_gaps):
        free[0, n_pools + k] = math.log(gap[k])
    for end in range(2):  # a loop: two calls would be compiled twice
        height[end] = _log_posterior(
            value, cell_start, cell_pool, label_annotator, item, annotator, offset, sd_item,
            sd_annotator, prior_mu, prior_gap, prior_item, prior_annotator, pool, loose, free[end],
            first, second, mixed, factor, factors, crossed, gradient[end][:n_free], root[end],
        )  # fmt: skip
        if end == 0:
            centre = _proposed(free[0], gradient[0][:n_free], root[0])
            for k in range(n_free):
                free[1, k] = normal(state)
            backwards(root[0], n_free, free[1])
            for k in range(n_free):
                free[1, k] += centre[k]
    if not height[1] > -np.inf:
        return False
    back = _proposed(free[1], gradient[1][:n_free], root[1])
    log_ratio = height[1] - height[0] - _log_proposal(free[1], centre, root[0])
    log_ratio += _log_proposal(free[0], back, root[1])
    upwards = warming and height[1] > height[0]
    if not upwards and not math.log(uniform(state)) < log_ratio:
        return False
    for k in range(n_pools):
        mu[k] = free[1, k]
    for k in range(n_gaps):
        gap[k] = math.exp(free[1, n_pools + k])
    if pool == NO_POOL:
        return True
    multiplier = np.ones(2)
    for k in range(n_pools + n_gaps, n_free):
        multiplier[k - n_pools - n_gaps] = math.exp(free[1, k])
    sd_item[pool] *= multiplier[0]
    sd_annotator[pool] *= multiplier[1]
    for c in range(len(item)):
        if cell_pool[c] == pool:
            item[c] *= multiplier[0]
    for j in range(len(annotator)):
        if annotator_pool[j] == pool:
            annotator[j] *= multiplier[1]
    return True


def given_effects(
    data: Crossed, par: Parameters, priors: Priors, offset: Floats | None = None
) -> tuple[Any, ...]:
    """Return the arguments of the density of the free numbers."""
    return (
        data.value, data.cell_start, data.cell_pool, data.annotator, par.item, par.annotator,
        offset, par.sd_item, par.sd_annotator, priors.mu, priors.gap, priors.sd_item,
        priors.sd_annotator,
    )  # fmt: skip


def loose_gaps(data: Crossed, n_gaps: int) -> Flags:
    """Return which gaps are loose (gap): of unused labels, and of the first and last used label.

    Gap g is the width of label g + 1. No used label lies beyond the first and last used label: only
    the prior limits the widths of these two.
    """
    used = np.bincount(data.value.astype(np.int64), minlength=n_gaps + 2) > 0
    out = ~used[1:-1]
    for label in np.flatnonzero(used)[[0, -1]] if used.any() else ():
        if 0 < label <= n_gaps:  # the first and last of all labels have no gap
            out[label - 1] = True
    return out


def move_cutpoints(
    state: State, data: Crossed, par: Parameters, priors: Priors, warming: bool, loose: Flags,
    boundary: BoundarySlopes, slopes: Slopes, offset: Floats | None = None,
    probability: float = 0.5,
) -> bool:  # fmt: skip
    """Draw means and all gaps that are not loose; return whether they moved.

    With the given ``probability``, factors of a random pool's effects are drawn in the same step.
    In the warm-up, every step to a higher density is accepted: a chain may start where the normal
    approximation is bad at both ends of a step.
    """
    moved: bool = _move_cutpoints(
        state, warming, probability, par.mu, par.gap, *given_effects(data, par, priors, offset),
        data.annotator_pool, loose, *boundary, *slopes,
    )  # fmt: skip
    return moved


@inner
def _log_gap_density(
    x: float, g: int, upper: bool, has_labels: bool, value: Floats, cell_start: Codes,
    cell_pool: Codes, label_annotator: Indices, item: Floats, annotator: Floats,
    offset: Floats | None, prior_mu: Floats, prior_gap: Floats, mu: Floats, gap: Floats,
    was: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of a gap; write the gap and the means.

    The cutpoints below the gap (if not ``upper``: above it) keep their distance to the means. The
    labels on this side keep their probability, and are left out; ``has_labels``: whether there are
    other labels. ``was`` holds the means, and then the gap, before the move.
    """
    n_pools, n_cuts = len(mu), len(gap) + 1
    gap[g] = math.exp(x)
    shift = gap[g] - was[n_pools]
    total = log_scale_prior(gap[g], prior_gap) + x
    for p in range(n_pools):
        mu[p] = was[p] - shift * (n_cuts - 1.0 - g) / n_cuts + (0.0 if upper else shift)
        total -= 0.5 * ((mu[p] - prior_mu[p, 0]) / prior_mu[p, 1]) ** 2
    cut = cutpoints(gap)
    for c in range(len(item) if has_labels else 0):
        base = mu[cell_pool[c]] + item[c]
        for n in range(cell_start[c], cell_start[c + 1]):
            y = int(value[n])
            if y <= g if upper else y > g + 1:
                continue
            eta = base + annotator[label_annotator[n]]
            if offset is not None:
                eta += offset[n]
            low = -math.inf if y == 0 else cut[y - 1] - eta
            high = math.inf if y == n_cuts else cut[y] - eta
            total += interval(low, high)[0]
    return total


_slice_gap = slicer(_log_gap_density)
_WIDTH = 2.0
"""Width of the first slice, in the logarithm of a gap."""


@kernel
def _move_loose_gaps(
    state: State, loose: Flags, value: Floats, cell_start: Codes, cell_pool: Codes,
    label_annotator: Indices, item: Floats, annotator: Floats, offset: Floats | None,
    prior_mu: Floats, prior_gap: Floats, mu: Floats, gap: Floats,
) -> None:  # fmt: skip
    was = np.empty(len(mu) + 1)
    for g in range(len(gap)):
        if not loose[g]:
            continue
        was[:-1], was[-1] = mu, gap[g]
        below = own = above = 0
        for y in value:
            below += y <= g
            own += y == g + 1
            above += y > g + 1
        upper = above <= below  # cutpoints on the side with fewer labels move
        has_labels = own + (above if upper else below) > 0
        _slice_gap(
            state, math.log(gap[g]), _WIDTH, g, upper, has_labels, value, cell_start, cell_pool,
            label_annotator, item, annotator, offset, prior_mu, prior_gap, mu, gap, was,
        )  # fmt: skip


def move_loose_gaps(
    state: State, data: Crossed, par: Parameters, priors: Priors, loose: Flags,
    offset: Floats | None = None,
) -> None:  # fmt: skip
    """Draw each loose gap."""
    _move_loose_gaps(
        state, loose, data.value, data.cell_start, data.cell_pool, data.annotator, par.item,
        par.annotator, offset, priors.mu, priors.gap, par.mu, par.gap,
    )  # fmt: skip


@inner
def _residual_square(
    cell_start: Codes, cell_pool: Codes, label_annotator: Indices, latent: Floats, mu: Floats,
    item: Floats, annotator: Floats, offset: Floats | None,
) -> float:  # fmt: skip
    total = 0.0
    for c in range(len(item)):
        base = mu[cell_pool[c]] + item[c]
        for n in range(cell_start[c], cell_start[c + 1]):
            away = latent[n] - base - annotator[label_annotator[n]]
            if offset is not None:
                away -= offset[n]
            total += away * away
    return total


@inner
def _log_stretch_density(
    x: float, square: float, n_labels: float, mu: Floats, sd_item: Floats, sd_annotator: Floats,
    gaps: Floats, coefficient: Floats, prior_mu: Floats, prior_item: Floats,
    prior_annotator: Floats, prior_gap: Floats, prior_coefficient: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of the common factor of all parameters.

    The standard deviations of effects are multiplied too, so that the change of the effects'
    density cancels the effects' part of the Jacobian.
    """
    factor = math.exp(x)
    total = n_labels * x - 0.5 * factor * factor * square
    for p in range(len(mu)):
        total += x - 0.5 * ((factor * mu[p] - prior_mu[p, 0]) / prior_mu[p, 1]) ** 2
        total += x + log_scale_prior(factor * sd_item[p], prior_item[p])
        if sd_annotator[p] > 0.0:
            total += x + log_scale_prior(factor * sd_annotator[p], prior_annotator[p])
    for gap in gaps:
        total += x + log_scale_prior(factor * gap, prior_gap)
    for k in range(len(coefficient)):
        mean, sd = prior_coefficient[k, 0], prior_coefficient[k, 1]
        total += x - 0.5 * ((factor * coefficient[k] - mean) / sd) ** 2
    return total


_slice_stretch = slicer(_log_stretch_density)


@inner
def _stretch(numbers: Floats, factor: float) -> None:
    for k in range(len(numbers)):
        numbers[k] *= factor


@kernel
def _move_scale(
    state: State, cell_start: Codes, cell_pool: Codes, label_annotator: Indices, latent: Floats,
    mu: Floats, item: Floats, annotator: Floats, offset: Floats | None, sd_item: Floats,
    sd_annotator: Floats, gap: Floats, coefficient: Floats, prior_mu: Floats, prior_item: Floats,
    prior_annotator: Floats, prior_gap: Floats, prior_coefficient: Floats,
) -> None:  # fmt: skip
    square = _residual_square(
        cell_start, cell_pool, label_annotator, latent, mu, item, annotator, offset
    )
    n_labels = float(len(latent))
    stretch = _slice_stretch(
        state, 0.0, 3.0 / math.sqrt(n_labels), square, n_labels, mu, sd_item, sd_annotator, gap,
        coefficient, prior_mu, prior_item, prior_annotator, prior_gap, prior_coefficient,
    )  # fmt: skip
    for numbers in (mu, sd_item, sd_annotator, gap, coefficient, item, annotator):
        _stretch(numbers, math.exp(stretch))


def move_scale(
    state: State, data: Crossed, par: Parameters, priors: Priors, offset: Floats | None = None
) -> None:
    """Multiply all parameters by a random factor; the latent numbers are redrawn later."""
    _move_scale(
        state, data.cell_start, data.cell_pool, data.annotator, par.latent, par.mu, par.item,
        par.annotator, offset, par.sd_item, par.sd_annotator, par.gap, par.coefficient, priors.mu,
        priors.sd_item, priors.sd_annotator, priors.gap, priors.coefficient,
    )  # fmt: skip


@kernel
def ordinal_log_likelihood(eta: Floats, code: Codes, cutpoint: Floats) -> Floats:
    """Return log P(label) (draw, label), for codes from 0 and cutpoints (draw, boundary).

    >>> cut = np.array([[-1.0, 0.0]])
    >>> chances = ordinal_log_likelihood(np.zeros((1, 2)), np.array([0, 1]), cut)
    >>> np.exp(chances).round(4)
    array([[0.1587, 0.3413]])
    """
    out = np.empty(eta.shape)
    last = cutpoint.shape[1]
    for s in range(eta.shape[0]):
        for n in range(eta.shape[1]):
            low = -math.inf if code[n] == 0 else cutpoint[s, code[n] - 1] - eta[s, n]
            high = math.inf if code[n] == last else cutpoint[s, code[n]] - eta[s, n]
            out[s, n] = interval(low, high)[0]
    return out
