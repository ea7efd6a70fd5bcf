"""The covariance of an item's effects in several pools, and the prior of its correlations."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Designs
from dissensus.arrays.crossed_parameters import Parameters
from dissensus.arrays.crossed_sums import residual_sd
from dissensus.arrays.small_matrices import factorised, inverted

Floats = npt.NDArray[np.float64]


@njit(cache=True)
def effect_covariance(designs: Designs, d: int, par: Parameters, out: Floats) -> None:
    """Write the covariance of an item's effects in the pools of its design."""
    for i in range(designs.n_pools[d]):
        p = designs.pool[d, i]
        for j in range(designs.n_pools[d]):
            q = designs.pool[d, j]
            out[i, j] = par.correlation[p, q] * par.sd_item[p] * par.sd_item[q]


@njit(cache=True)
def cell_covariance(designs: Designs, d: int, par: Parameters, out: Floats) -> None:
    """Write the covariance of the means of an item's cells."""
    effect_covariance(designs, d, par, out)
    for i in range(designs.n_pools[d]):
        sd = residual_sd(par, designs.pool[d, i])
        out[i, i] += sd * sd / designs.n_labels[d, i]


@njit(cache=True)
def log_lkj(correlation: Floats, shape: float, matrix: Floats) -> float:
    """Return the log density of a correlation matrix, minus infinity if it is none."""
    n = len(correlation)
    matrix[:] = correlation
    if not factorised(matrix, n):
        return -np.inf
    total = 0.0
    for p in range(n):
        total += 2.0 * (shape - 1.0) * math.log(matrix[p, p])
    return total


@njit(cache=True)
def effect_precisions(
    designs: Designs, par: Parameters, matrix: Floats, out: Floats, log_det: Floats
) -> bool:
    """Write the precision of an item's effects, by design; return whether there is one.

    Parameters
    ----------
    matrix : array (pool, pool)
        Room to compute in.
    out : array (design, place, place)
    log_det : array (design)
        Of the covariance.
    """
    for d in range(len(designs.n_items)):
        n = designs.n_pools[d]
        effect_covariance(designs, d, par, matrix)
        if not factorised(matrix, n):
            return False
        log_det[d] = inverted(matrix, n, out[d])
    return True
