"""The covariance of an item's effects in several pools; effects in pools without labels."""

from __future__ import annotations

import math

import numpy as np

from dissensus.families.crossed.kernels.data import Crossed, residual_sd
from dissensus.kernels.compiled import inner
from dissensus.kernels.special import factorised, inverted
from dissensus.kernels.types import Codes, Floats


@inner
def effect_covariance(
    d: int, n_pools: Codes, pool: Codes, sd_item: Floats, correlation: Floats, out: Floats
) -> None:
    """Write the covariance of an item's effects in the pools of design d (place, place)."""
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
    """Write the covariance of an item's cell means, for design d (place, place)."""
    effect_covariance(d, n_pools, pool, sd_item, correlation, out)
    for i in range(n_pools[d]):
        rest = residual_sd(sd, pool[d, i])
        out[i, i] += rest * rest / n_labels[d, i]


@inner
def log_lkj(correlation: Floats, shape: float, matrix: Floats) -> float:
    """Return the LKJ log density of a matrix; minus infinity if it is not a correlation matrix."""
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
    """Write the precision of an item's effects for each design; return whether all exist.

    ``out`` is (design, place, place); ``log_det`` (design) gets the covariances' log determinants.
    With one pool, ``correlation`` is None, so that the code for matrices is not compiled.
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


def all_items(
    data: Crossed, cells: Floats, sd_item: Floats, correlation: Floats, rng: np.random.Generator
) -> Floats:
    """Return all effects (..., item, pool): the given effects of cells, and draws of the others.

    >>> from dissensus.families.crossed.kernels.data import crossed
    >>> zero = np.zeros(1, dtype=int)
    >>> data = crossed(np.ones(1), zero, zero, zero, n_items=1, annotator_pool=zero, n_pools=2)
    >>> equal = np.ones((2, 2))  # correlation 1
    >>> all_items(data, np.array([3.0]), np.array([1.0, 2.0]), equal, np.random.default_rng(1))
    array([[3., 6.]])
    """
    n_items, n_pools = len(data.item_start) - 1, data.n_pools
    before = cells.shape[:-1]
    out = np.full((*before, n_items, n_pools), np.nan)
    out[..., data.cell_item, data.cell_pool] = cells
    seen = np.zeros((n_items, n_pools), dtype=bool)
    seen[data.cell_item, data.cell_pool] = True
    if seen.all():
        return out
    covariance = correlation * sd_item[..., :, None] * sd_item[..., None, :]
    for pattern in np.unique(seen[~seen.all(axis=1)], axis=0):
        items = np.flatnonzero((seen == pattern).all(axis=1))
        seen_pools, unseen_pools = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        block = covariance[..., unseen_pools[:, None], unseen_pools]
        middle = np.zeros((*before, len(items), len(unseen_pools)))
        if len(seen_pools):
            across = covariance[..., unseen_pools[:, None], seen_pools]
            gain = np.linalg.solve(
                covariance[..., seen_pools[:, None], seen_pools], np.swapaxes(across, -1, -2)
            )
            middle = out[..., items[:, None], seen_pools] @ gain
            block = block - across @ gain
        noise = rng.standard_normal(middle.shape) @ np.swapaxes(_root(block), -1, -2)
        out[..., items[:, None], unseen_pools] = middle + noise
    return out


def _root(covariance: Floats) -> Floats:
    """Return a matrix square root; it is finite even if rounding makes an eigenvalue negative."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
