"""The other half of a sweep over crossed effects: annotators given the items.

The same as `crossed_items`, and simpler: an annotator is in one pool, and has one
effect.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning, log_scale_prior
from dissensus.arrays.crossed_sums import LabelSums, log_within, residual_sd
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Codes, Floats, Indices
from dissensus.kernels.variates import normal

SD_ANNOTATOR, SD = range(2)
"""Which standard deviation is moved."""


class AnnotatorSums(NamedTuple):
    """All that the variances need to know of the labels, once items' effects are taken off."""

    mean: Floats
    """(annotator)"""
    first: Floats
    """(design): of the means of a design's annotators."""
    second: Floats
    """(design): of their squares."""
    within: Floats
    """(pool): squares of labels about the mean of their annotator."""
    n_annotators: Floats
    """(pool): who gave a label."""
    precision: Floats
    """(pool): of the pool's mean."""
    linear: Floats
    """(pool)"""


def annotator_room(data: Crossed) -> AnnotatorSums:
    """Make room."""
    n_pools, n = data.n_pools, len(data.annotator_designs.n_items)
    there = data.annotator_pool[data.annotator_designs.of_item >= 0]
    return AnnotatorSums(
        np.zeros(len(data.annotator_pool)), np.empty(n), np.empty(n), np.empty(n_pools),
        np.bincount(there, minlength=n_pools).astype(np.float64), np.empty(n_pools),
        np.empty(n_pools),
    )  # fmt: skip


def sum_annotators(data: Crossed, labels: LabelSums, item: Floats, out: AnnotatorSums) -> None:
    """Take items' effects off the labels, and sum what is left by design."""
    designs = data.annotator_designs
    _sum_annotators(
        data.annotator, data.cell_start, data.cell_pool, data.annotator_pool, designs.of_item,
        designs.n_labels, labels.cell, labels.annotator, labels.square, item, out.mean, out.first,
        out.second, out.within,
    )  # fmt: skip


@kernel
def _sum_annotators(
    who: Indices, cell_start: Codes, cell_pool: Codes, annotator_pool: Codes, of_annotator: Codes,
    n_labels: Floats, cell_sum: Floats, annotator_sum: Floats, square: Floats, item: Floats,
    mean: Floats, first: Floats, second: Floats, within: Floats,
) -> None:  # fmt: skip
    for d in range(len(first)):
        first[d] = second[d] = 0.0
    for j in range(len(mean)):
        mean[j] = 0.0
    for p in range(len(within)):
        within[p] = square[p]
    for c in range(len(item)):
        start, stop = cell_start[c], cell_start[c + 1]
        within[cell_pool[c]] += item[c] * ((stop - start) * item[c] - 2.0 * cell_sum[c])
        for n in range(start, stop):
            mean[who[n]] -= item[c]
    for j in range(len(mean)):
        d = of_annotator[j]
        if d >= 0:
            total = mean[j] + annotator_sum[j]
            mean[j] = total / n_labels[d, 0]
            within[annotator_pool[j]] -= total * mean[j]
            first[d] += mean[j]
            second[d] += mean[j] ** 2


@inner
def _log_marginal(
    n_labels: Floats, n_annotators: Floats, n_alike: Floats, pool: Codes, n_each: Floats,
    first: Floats, second: Floats, within: Floats, sd_annotator: Floats, sd: Floats,
    prior_mu: Floats, precision: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the labels without annotators' effects and the pools' means.

    Leaves the posterior of the means behind: their precision, and it times their mean.
    """
    total = log_within(n_labels, n_annotators, sd, within)
    for p in range(len(linear)):
        mean, spread = prior_mu[p, 0], prior_mu[p, 1]
        precision[p] = 1.0 / (spread * spread)
        linear[p] = mean / (spread * spread)
    for d in range(len(first)):
        p = pool[d, 0]
        var = sd_annotator[p] ** 2 + residual_sd(sd, p) ** 2 / n_each[d, 0]
        total -= 0.5 * (n_alike[d] * math.log(var) + second[d] / var)
        precision[p] += n_alike[d] / var
        linear[p] += first[d] / var
    for p in range(len(linear)):
        total += 0.5 * (linear[p] ** 2 / precision[p] - math.log(precision[p]))
    return total


@inner
def _log_density(
    x: float, moved: int, p: int, prior: Floats, prior_sd: Floats, n_labels: Floats,
    n_annotators: Floats, n_alike: Floats, pool: Codes, n_each: Floats, first: Floats,
    second: Floats, within: Floats, sd_annotator: Floats, sd: Floats, prior_mu: Floats,
    precision: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of one of the standard deviations."""
    if moved == SD_ANNOTATOR:
        sd_annotator[p] = math.exp(x)
        height = log_scale_prior(sd_annotator[p], prior[p])
    else:
        sd[p] = math.exp(x)
        height = log_scale_prior(sd[p], prior_sd[p])
    return x + height + _log_marginal(
        n_labels, n_annotators, n_alike, pool, n_each, first, second, within, sd_annotator, sd,
        prior_mu, precision, linear,
    )  # fmt: skip


_slice = slicer(_log_density)


@kernel
def _move_scales(
    state: State, rate: float, width: Floats, width_sd: Floats, prior: Floats, prior_sd: Floats,
    n_labels: Floats, n_annotators: Floats, n_alike: Floats, pool: Codes, n_each: Floats,
    first: Floats, second: Floats, within: Floats, sd_annotator: Floats, sd: Floats,
    prior_mu: Floats, precision: Floats, linear: Floats,
) -> None:  # fmt: skip
    n = len(width)
    for k in range(n + len(width_sd)):
        moved, p = (SD_ANNOTATOR, k) if k < n else (SD, k - n)
        was = math.log(sd_annotator[p] if k < n else sd[p])
        wide = width[p] if k < n else width_sd[p]
        x = _slice(
            state, was, wide, moved, p, prior, prior_sd, n_labels, n_annotators, n_alike, pool,
            n_each, first, second, within, sd_annotator, sd, prior_mu, precision, linear,
        )  # fmt: skip
        wide += rate * (4.0 * abs(x - was) - wide)
        if k < n:
            width[p] = wide
        else:
            width_sd[p] = wide


@kernel
def _draw_annotators(
    state: State, annotator_pool: Codes, of_annotator: Codes, n_each: Floats, mean: Floats,
    precision: Floats, linear: Floats, sd_annotator: Floats, sd: Floats, mu: Floats,
    annotator: Floats,
) -> None:  # fmt: skip
    for p in range(len(mu)):
        mu[p] = linear[p] / precision[p] + normal(state) / math.sqrt(precision[p])
    for j in range(len(annotator)):
        p, d = annotator_pool[j], of_annotator[j]
        var = sd_annotator[p] ** 2
        if d >= 0:
            noise = residual_sd(sd, p) ** 2 / n_each[d, 0]
            share = var / (var + noise)
            annotator[j] = share * (mean[j] - mu[p])
            var = share * noise
        else:
            annotator[j] = 0.0
        annotator[j] += math.sqrt(var) * normal(state)


def marginal(
    data: Crossed, sums: AnnotatorSums, par: Parameters, priors: Priors
) -> tuple[Any, ...]:
    """Return what `_log_marginal` looks at."""
    designs = data.annotator_designs
    return (
        data.n_labels, sums.n_annotators, designs.n_items, designs.pool, designs.n_labels,
        sums.first, sums.second, sums.within, par.sd_annotator, par.sd, priors.mu, sums.precision,
        sums.linear,
    )  # fmt: skip


def move_annotators(
    state: State, data: Crossed, labels: LabelSums, par: Parameters, priors: Priors,
    tuning: Tuning, sums: AnnotatorSums,
) -> None:  # fmt: skip
    """Draw variances of annotators, residual variances, means, and annotators' effects."""
    sum_annotators(data, labels, par.item, sums)
    _move_scales(
        state, tuning.rate, tuning.sd_annotator, tuning.sd, priors.sd_annotator, priors.sd,
        *marginal(data, sums, par, priors),
    )  # fmt: skip
    draw_annotators(state, data, par, sums)


def draw_annotators(state: State, data: Crossed, par: Parameters, sums: AnnotatorSums) -> None:
    """Draw means and effects, from what the last density that was asked for has left behind."""
    designs = data.annotator_designs
    _draw_annotators(
        state, data.annotator_pool, designs.of_item, designs.n_labels, sums.mean, sums.precision,
        sums.linear, par.sd_annotator, par.sd, par.mu, par.annotator,
    )  # fmt: skip
