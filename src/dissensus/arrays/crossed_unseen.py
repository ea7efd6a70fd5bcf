"""Effects of items in pools that did not see them: what is to be expected given those that did."""

from __future__ import annotations

import numpy as np

from dissensus.arrays.crossed_data import Crossed
from dissensus.kernels.types import Floats


def all_items(
    data: Crossed, cells: Floats, sd_item: Floats, correlation: Floats, rng: np.random.Generator
) -> Floats:
    """Lay out cells by item and pool, and draw what is missing.

    Parameters
    ----------
    data : Crossed
    cells : array (..., cell)
        Effects where there are labels.
    sd_item : array (..., pool)
    correlation : array (..., pool, pool)
    rng : numpy.random.Generator

    Returns
    -------
    array (..., item, pool)

    Examples
    --------
    >>> from dissensus.arrays.crossed_data import crossed
    >>> one = np.zeros(1, dtype=int)
    >>> data = crossed(np.ones(1), one, one, one, n_items=1, annotator_pool=one, n_pools=2)
    >>> equal = np.ones((2, 2))  # what one pool sees, the other sees
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
        there, away = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        block = covariance[..., away[:, None], away]
        middle = np.zeros((*before, len(items), len(away)))
        if len(there):
            across = covariance[..., away[:, None], there]
            gain = np.linalg.solve(
                covariance[..., there[:, None], there], np.swapaxes(across, -1, -2)
            )
            middle = out[..., items[:, None], there] @ gain
            block = block - across @ gain
        noise = rng.standard_normal(middle.shape) @ np.swapaxes(_root(block), -1, -2)
        out[..., items[:, None], away] = middle + noise
    return out


def _root(covariance: Floats) -> Floats:
    """Return a square root that rounding cannot break: a correlation may be all but 1."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
