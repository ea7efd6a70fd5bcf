"""What a sweep over crossed effects moves, and the priors it moves them under."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner
from dissensus.kernels.types import Floats

HALF_NORMAL, HALF_T, EXPONENTIAL = 0.0, 1.0, 2.0
"""Priors of standard deviations, by number: compiled code knows no names."""


class Parameters(NamedTuple):
    """Where a chain stands. A sweep writes to all of it, in place."""

    mu: Floats
    """(pool)"""
    sd_item: Floats
    """(pool)"""
    sd_annotator: Floats
    """(pool); 0 where annotators are nobody in particular."""
    sd: Floats
    """(1) or (pool): of the residual."""
    correlation: Floats
    """(pool, pool): of an item's effects in the pools."""
    gap: Floats
    """(label - 2): between neighbouring cutpoints of ordered labels."""
    item: Floats
    """(cell)"""
    annotator: Floats
    """(annotator)"""
    latent: Floats
    """(label): what ordered labels are cut from; of numbers, themselves."""


def correlations(par: Parameters) -> Floats | None:
    """Return an item's correlations, None with one pool."""
    return par.correlation if len(par.mu) > 1 else None


class Priors(NamedTuple):
    """Of standard deviations and gaps a row of (number of the form, scale, degrees of freedom)."""

    mu: Floats
    """(pool, 2): mean and standard deviation."""
    least: Floats
    """(pool): no mean is below; only labels of two kinds look at it."""
    sd_item: Floats
    """(pool, 3)"""
    sd_annotator: Floats
    """(pool, 3)"""
    sd: Floats
    """(1 or pool, 3)"""
    gap: Floats
    """(3)"""
    lkj: float
    """1: uniform over correlation matrices."""


class Tuning(NamedTuple):
    """What a chain learns while it warms up: how wide slices should be, and where numbers are."""

    sd_item: Floats
    """(pool): width of the slice of its logarithm."""
    sd_annotator: Floats
    """(pool); empty where annotators are nobody in particular."""
    sd: Floats
    """(1 or pool); empty where it is given."""
    correlation: Floats
    """(pool, pool)"""
    log_sd_item: Floats
    """(pool): about where it is."""
    log_sd_annotator: Floats
    """(pool)"""
    sweep: Floats
    """(2): sweeps so far, and before paths of effects are found anew (`crossed_transport`)."""
    rate: float
    """How fast it is learned; 0 to keep it."""


@inner
def log_scale_prior(x: float, prior: Floats) -> float:
    """Return the log density of a positive number, up to a constant."""
    form, z = prior[0], x / prior[1]
    if form == HALF_NORMAL:
        return -0.5 * z * z
    if form == HALF_T:
        return -0.5 * (prior[2] + 1.0) * math.log1p(z * z / prior[2])
    return -z


@inner
def cutpoints(gap: Floats) -> Floats:
    """Return cutpoints with these gaps and mean 0."""
    out = np.empty(len(gap) + 1)
    out[0] = 0.0
    total = 0.0
    for k in range(len(gap)):
        out[k + 1] = out[k] + gap[k]
        total += out[k + 1]
    mean = total / len(out)
    for k in range(len(out)):
        out[k] -= mean
    return out
