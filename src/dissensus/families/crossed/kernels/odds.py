"""The likelihood of two labels as a product of odds, and parabolas that approximate it.

The odds of the second label are the odds of the cell times the odds of the annotator. Let s labels
of a cell be the second label, and let o_n be the odds of the annotator of label n. The likelihood
of the cell's effect x is exp(s x) / prod_n (1 + exp(x) o_n). For an annotator's effect, o_n are the
odds of cells. Odds are stored, so that each label takes one multiplication and one addition.

A parabola gx - hx^2/2 approximates a log-likelihood: with the prior N(0, sd^2), it gives the mean
and variance of the effect's posterior. The exact derivatives of the posterior's mean and variance
with respect to log sd follow from its third and fourth moments. Their differences from the
derivatives of the parabola are stored too. All these numbers are computed by quadrature, at a
reference value of log sd that a chain learns in the warm-up. They need not be accurate: they only
determine the paths along which effects are moved (`transport`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.families.crossed.kernels.data import Crossed, Parameters
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Codes, Floats, Indices

LARGE = 1e100
"""Larger products are replaced by their logarithm, so that a further factor does not overflow."""
_STEEPEST = 150.0
"""Effects are clipped to this number of logits on both sides: products of odds stay finite."""


class Odds(NamedTuple):
    """Odds of all cells and annotators, and how many of their labels are the second label."""

    cell: Floats
    annotator: Floats  # Including the mean of the pool
    cell_sum: Floats
    annotator_sum: Floats
    trial: Floats  # (cell): proposed effects
    trial_annotator: Floats  # (annotator): proposed odds


@inner
def held(x: float) -> float:
    """Clip an effect so that its exponential is finite."""
    return min(max(x, -_STEEPEST), _STEEPEST)  # no branches: saves a tenth of the time of a sweep


@kernel
def exponentials(pool: Codes, mean: Floats, effect: Floats, out: Floats) -> None:
    """Write the exponentials of effects plus the mean of their pool."""
    for k in range(len(effect)):
        out[k] = math.exp(held(mean[pool[k]] + effect[k]))


def odds(data: Crossed, par: Parameters) -> Odds:
    """Return the odds at the current state of the chain."""
    n_cells, n_annotators = len(par.item), len(par.annotator)
    out = Odds(
        np.empty(n_cells), np.empty(n_annotators), np.bincount(data.cell, data.value, n_cells),
        np.bincount(data.annotator, data.value, n_annotators), np.empty(n_cells),
        np.empty(n_annotators),
    )  # fmt: skip
    exponentials(data.cell_pool, np.zeros(data.n_pools), par.item, out.cell)
    refresh_annotators(data, par, out)
    return out


def refresh_annotators(data: Crossed, par: Parameters, out: Odds) -> None:
    """Write the annotators' odds for the current means and effects."""
    exponentials(data.annotator_pool, par.mu, par.annotator, out.annotator)


@inner
def log_product(factor: float, others: Floats, n: int) -> float:
    """Return the sum of log(1 + factor * other) over the first n numbers in ``others``."""
    total, product = 0.0, 1.0
    for k in range(n):
        product *= 1.0 + factor * others[k]
        if product > LARGE:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@inner
def _log_products(factor: float, other: Floats, at: Indices, start: int, stop: int) -> float:
    """Return the sum of log(1 + factor * other[k]) over the indices k in ``at[start:stop]``."""
    total, product = 0.0, 1.0
    for n in range(start, stop):
        product *= 1.0 + factor * other[at[n]]
        if product > LARGE:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@inner
def log_of_cells(
    pool: int, cell_start: Codes, cell_pool: Codes, label_annotator: Indices, cell_sum: Floats,
    annotator: Floats, effect: Floats,
) -> float:  # fmt: skip
    """Return the log-likelihood of a pool's labels for given effects of its cells.

    The part that depends on annotators only is left out.
    """
    total = 0.0
    for c in range(len(effect)):
        if cell_pool[c] == pool:
            x = held(effect[c])
            total += cell_sum[c] * x
            total -= _log_products(
                math.exp(x), annotator, label_annotator, cell_start[c], cell_start[c + 1]
            )
    return total


@inner
def log_of_annotators(
    pool: int, cell_start: Codes, cell_pool: Codes, label_annotator: Indices, annotator_pool: Codes,
    annotator_sum: Floats, cell: Floats, mean: float, effect: Floats, trial: Floats,
) -> float:  # fmt: skip
    """Return the log-likelihood of a pool's labels for given effects of its annotators.

    The part that depends on cells only is left out.
    """
    total = 0.0
    for j in range(len(effect)):
        if annotator_pool[j] == pool:
            x = held(mean + effect[j])
            total += annotator_sum[j] * x
            trial[j] = math.exp(x)
    for c in range(len(cell)):
        if cell_pool[c] == pool:
            total -= _log_products(
                cell[c], trial, label_annotator, cell_start[c], cell_start[c + 1]
            )
    return total


_NEWTON = 5
_NODES = 24
_REACH = 5.0
"""Range of the quadrature on each side of the mean, in standard deviations."""
_PASSES = 2
"""Number of quadratures; the second takes the range of its nodes from the first one's moments."""


LINEAR, CURVATURE, SHIFT, STRETCH, LOG_SD = range(5)
"""Rows of a site (5, effect): g and h of the parabola; derivatives of the posterior's mean and log
standard deviation by log sd, minus those of the parabola; the reference value of log sd."""


def sites(n: int) -> Floats:
    """Return flat parabolas, with which effects keep their ratio to their standard deviation."""
    return np.zeros((5, n))


@inner
def _log_density(x: float, mean: float, sd: float, total: float, others: Floats, n: int) -> float:
    eta = held(mean + x)
    out, factor = total * eta - 0.5 * (x / sd) ** 2, math.exp(eta)
    for k in range(n):
        out -= math.log1p(factor * others[k])
    return out


@inner
def _mode(mean: float, sd: float, total: float, others: Floats, n: int) -> tuple[float, float]:
    """Return the approximate mode, and the standard deviation from the curvature there."""
    x, precision = 0.0, 1.0 / (sd * sd)
    curvature = precision
    for _ in range(_NEWTON):
        slope, curvature = total - x * precision, precision
        factor = math.exp(held(mean + x))
        for k in range(n):
            p = factor * others[k] / (1.0 + factor * others[k])
            slope -= p
            curvature += p * (1.0 - p)
        x += min(max(slope / curvature, -3.0), 3.0)
    return x, 1.0 / math.sqrt(curvature)


@inner
def _moments(
    mean: float, sd: float, total: float, others: Floats, n: int
) -> tuple[float, float, float, float]:
    """Return an effect's posterior mean and variance, and the derivatives of both by log sd."""
    middle, spread = _mode(mean, sd, total, others, n)
    height = _log_density(middle, mean, sd, total, others, n)
    sums = np.empty(5)
    for _ in range(_PASSES):
        for power in range(5):
            sums[power] = 0.0
        for k in range(_NODES):
            x = middle + spread * _REACH * (2.0 * k / (_NODES - 1.0) - 1.0)
            weight = math.exp(_log_density(x, mean, sd, total, others, n) - height)
            for power in range(5):
                sums[power] += weight
                weight *= x
        for power in range(4, -1, -1):
            sums[power] /= sums[0]
        middle, spread = sums[1], math.sqrt(max(sums[2] - sums[1] ** 2, 1e-12))
    variance, precision = spread * spread, 1.0 / (sd * sd)
    of_mean = (sums[3] - sums[1] * sums[2]) * precision
    of_variance = (sums[4] - sums[2] ** 2) * precision - 2.0 * sums[1] * of_mean
    return middle, variance, of_mean, of_variance


@inner
def parabola(
    mean: float, log_sd: float, total: float, others: Floats, n: int
) -> tuple[float, float, float, float]:
    """Return the first four rows of one effect's site, given the other side's odds."""
    sd = math.exp(log_sd)
    m, v, of_mean, of_variance = _moments(mean, sd, total, others, n)
    h = max(1.0 / v - 1.0 / (sd * sd), 0.0)
    g = m * (h + 1.0 / (sd * sd))
    share = v / (sd * sd)  # parabola, s = log sd: dm/ds = 2 m share, d log v / ds = 2 share
    return g, h, of_mean - 2.0 * m * share, 0.5 * of_variance / v - share


@kernel
def find_parabolas(
    start: Codes, at: Indices, other: Floats, pool: Codes, mean: Floats, log_sd: Floats,
    total: Floats, others: Floats, site: Floats,
) -> None:  # fmt: skip
    """Write the parabolas of one side's effects, given typical values of the other side's effects.

    ``at`` (label): codes of the other side's effects; ``start`` (effect + 1): where each effect's
    labels begin in ``at``. ``total`` (effect): number of second labels. ``others`` (label) is work
    space; ``site`` (5, effect) is written.
    """
    for k in range(len(pool)):
        n, p = start[k + 1] - start[k], pool[k]
        for label in range(n):
            others[label] = math.exp(held(other[at[start[k] + label]]))
        site[LOG_SD, k] = log_sd[p]
        site[LINEAR, k], site[CURVATURE, k], site[SHIFT, k], site[STRETCH, k] = parabola(
            mean[p], log_sd[p], total[k], others, n
        )
