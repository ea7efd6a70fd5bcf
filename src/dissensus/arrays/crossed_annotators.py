"""The other half of a sweep over crossed effects: annotators given the items.

The same as `dissensus.arrays.crossed_items`, and simpler: an annotator is in one pool, and has one
effect.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed, Designs
from dissensus.arrays.crossed_parameters import Parameters, Priors, Tuning, log_scale_prior
from dissensus.arrays.crossed_sums import LabelSums, log_within, residual_sd
from dissensus.arrays.normal_variates import normal
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


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


@njit(cache=True)
def annotator_room(data: Crossed) -> AnnotatorSums:
    """Make room."""
    n_pools, n = len(data.n_labels), len(data.annotator_designs.n_items)
    there = np.zeros(n_pools)
    for j in range(len(data.annotator_pool)):
        if data.annotator_designs.of_item[j] >= 0:
            there[data.annotator_pool[j]] += 1.0
    return AnnotatorSums(
        np.zeros(len(data.annotator_pool)), np.empty(n), np.empty(n), np.empty(n_pools), there,
        np.empty(n_pools), np.empty(n_pools),
    )  # fmt: skip


@njit(cache=True)
def _sum_annotators(data: Crossed, labels: LabelSums, item: Floats, out: AnnotatorSums) -> None:
    """Take items' effects off the labels, and sum what is left by design."""
    out.first[:], out.second[:], out.mean[:] = 0.0, 0.0, 0.0
    out.within[:] = labels.square
    for c in range(len(item)):
        start, stop = data.cell_start[c], data.cell_start[c + 1]
        taken = item[c] * ((stop - start) * item[c] - 2.0 * labels.cell[c])
        out.within[data.cell_pool[c]] += taken
        for n in range(start, stop):
            out.mean[data.annotator[n]] -= item[c]
    for j in range(len(out.mean)):
        d = data.annotator_designs.of_item[j]
        if d >= 0:
            total = out.mean[j] + labels.annotator[j]
            out.mean[j] = total / data.annotator_designs.n_labels[d, 0]
            out.within[data.annotator_pool[j]] -= total * out.mean[j]
            out.first[d] += out.mean[j]
            out.second[d] += out.mean[j] ** 2


@njit(cache=True)
def _log_marginal(data: Crossed, sums: AnnotatorSums, par: Parameters, priors: Priors) -> float:
    """Return the log density of the labels without annotators' effects and the pools' means.

    Leaves the posterior of the means behind: their precision, and it times their mean.
    """
    designs: Designs = data.annotator_designs
    total = log_within(data, par, sums.within, sums.n_annotators)
    for p in range(len(par.mu)):
        mean, sd = priors.mu[p]
        sums.precision[p] = 1.0 / (sd * sd)
        sums.linear[p] = mean / (sd * sd)
    for d in range(len(designs.n_items)):
        p = designs.pool[d, 0]
        var = par.sd_annotator[p] ** 2 + residual_sd(par, p) ** 2 / designs.n_labels[d, 0]
        total -= 0.5 * (designs.n_items[d] * math.log(var) + sums.second[d] / var)
        sums.precision[p] += designs.n_items[d] / var
        sums.linear[p] += sums.first[d] / var
    for p in range(len(par.mu)):
        total += 0.5 * (sums.linear[p] ** 2 / sums.precision[p] - math.log(sums.precision[p]))
    return total


@njit(cache=True)
def _of_sd_annotator(
    x: float, p: int, data: Crossed, sums: AnnotatorSums, par: Parameters, priors: Priors
) -> float:
    par.sd_annotator[p] = math.exp(x)
    prior = log_scale_prior(par.sd_annotator[p], priors.sd_annotator[p])
    return x + prior + _log_marginal(data, sums, par, priors)


@njit(cache=True)
def _of_sd(
    x: float, p: int, data: Crossed, sums: AnnotatorSums, par: Parameters, priors: Priors
) -> float:
    par.sd[p] = math.exp(x)
    prior = log_scale_prior(par.sd[p], priors.sd[p])
    return x + prior + _log_marginal(data, sums, par, priors)


_slice_sd_annotator = slicer(_of_sd_annotator)
_slice_sd = slicer(_of_sd)


@njit(cache=True)
def move_annotators(
    state: State, data: Crossed, labels: LabelSums, par: Parameters, priors: Priors,
    tuning: Tuning, sums: AnnotatorSums,
) -> None:  # fmt: skip
    """Draw variances of annotators, residual variances, means, and annotators' effects."""
    _sum_annotators(data, labels, par.item, sums)
    for p in range(len(tuning.sd_annotator)):
        was = math.log(par.sd_annotator[p])
        width = tuning.sd_annotator[p]
        x = _slice_sd_annotator(state, was, width, p, data, sums, par, priors)
        par.sd_annotator[p] = math.exp(x)
        tuning.sd_annotator[p] += tuning.rate * (4.0 * abs(x - was) - width)
    for p in range(len(tuning.sd)):
        was = math.log(par.sd[p])
        x = _slice_sd(state, was, tuning.sd[p], p, data, sums, par, priors)
        par.sd[p] = math.exp(x)
        tuning.sd[p] += tuning.rate * (4.0 * abs(x - was) - tuning.sd[p])
    _log_marginal(data, sums, par, priors)
    for p in range(len(par.mu)):
        par.mu[p] = sums.linear[p] / sums.precision[p] + normal(state) / math.sqrt(
            sums.precision[p]
        )
    for j in range(len(par.annotator)):
        p, d = data.annotator_pool[j], data.annotator_designs.of_item[j]
        var = par.sd_annotator[p] ** 2
        if d >= 0:
            noise = residual_sd(par, p) ** 2 / data.annotator_designs.n_labels[d, 0]
            share = var / (var + noise)
            par.annotator[j] = share * (sums.mean[j] - par.mu[p])
            var = share * noise
        else:
            par.annotator[j] = 0.0
        par.annotator[j] += math.sqrt(var) * normal(state)
