"""The covariance of an item's effects in several pools, and the prior of its correlations."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.crossed_sums import residual_sd
from dissensus.kernels.compiled import inner
from dissensus.kernels.special import factorised, inverted
from dissensus.kernels.types import Codes, Floats


@inner
def effect_covariance(
    d: int, n_pools: Codes, pool: Codes, sd_item: Floats, correlation: Floats, out: Floats
) -> None:
    """Write the covariance of an item's effects in the pools of its design."""
    for i in range(n_pools[d]):
        p = pool[d, i]
        for j in range(n_pools[d]):
            q = pool[d, j]
            out[i, j] = correlation[p, q] * sd_item[p] * sd_item[q]


@inner
def cell_covariance(
    d: int, n_pools: Codes, pool: Codes, n_labels: Floats, sd_item: Floats, correlation: Floats,
    sd: Floats, out: Floats,
) -> None:  # fmt: skip
    """Write the covariance of the means of an item's cells."""
    effect_covariance(d, n_pools, pool, sd_item, correlation, out)
    for i in range(n_pools[d]):
        rest = residual_sd(sd, pool[d, i])
        out[i, i] += rest * rest / n_labels[d, i]


@inner
def log_lkj(correlation: Floats, shape: float, matrix: Floats) -> float:
    """Return the log density of a correlation matrix, minus infinity if it is none."""
    n = len(correlation)
    for p in range(n):
        for q in range(n):
            matrix[p, q] = correlation[p, q]
    if not factorised(matrix, n):
        return -np.inf
    total = 0.0
    for p in range(n):
        total += 2.0 * (shape - 1.0) * math.log(matrix[p, p])
    return total


@inner
def effect_precisions(
    n_pools: Codes, pool: Codes, sd_item: Floats, correlation: Floats | None, matrix: Floats,
    out: Floats, log_det: Floats,
) -> bool:  # fmt: skip
    """Write the precision of an item's effects, by design; return whether there is one.

    Parameters
    ----------
    correlation : array (pool, pool) or None
        None with one pool: matrices are then not even compiled.
    matrix : array (pool, pool)
        Room to compute in.
    out : array (design, place, place)
    log_det : array (design)
        Of the covariance.
    """
    for d in range(len(n_pools)):
        if correlation is None:
            root = math.sqrt(sd_item[0] * sd_item[0])
            if not root > 0.0:
                return False
            log_det[d], out[d, 0, 0] = 2.0 * math.log(root), 1.0 / root / root
        else:
            effect_covariance(d, n_pools, pool, sd_item, correlation, matrix)
            if not factorised(matrix, n_pools[d]):
                return False
            log_det[d] = inverted(matrix, n_pools[d], out[d])
    return True
