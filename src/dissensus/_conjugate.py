"""Draws from conjugate posteriors: each item from a stream of its own, lots of them in threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus._sweeps import by_lots
from dissensus.arrays import dirichlet, normal_gamma
from dissensus.arrays.keys import item_keys

Floats = npt.NDArray[np.float64]
Names = npt.NDArray[Any]
Size = tuple[int, int]
"""Chains and draws."""


def dirichlet_draws(
    parameters: npt.NDArray[np.floating[Any]], items: Names, size: Size, seed: int
) -> tuple[Floats, Floats]:
    """Draw from Dirichlet distributions.

    Parameters
    ----------
    parameters : array (item, k)
        As `dissensus.arrays.dirichlet.draw_dirichlet` takes them.
    items : array (item)
        Their names: an item's draws hang on its name and the seed, not on the items beside it.
    size : (chains, draws)
    seed : int

    Returns
    -------
    theta : array (chain, draw, item, k)
    log_density : array (chain, draw)
    """
    keys = item_keys(items, size[0], seed=seed)
    theta = np.empty((*size, *parameters.shape))

    def draw_lot(chain: int, low: int, high: int) -> Floats:
        here = (chain, slice(None), slice(low, high))
        return dirichlet.draw_dirichlet(
            parameters[low:high], keys[chain, low:high], size[1], theta[here]
        ).log_density

    return theta, np.sum(by_lots(draw_lot, size[0], len(items)), axis=1)


def normal_draws(
    posterior: normal_gamma.NormalGamma, items: Names, size: Size, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Draw means and variances of normal distributions.

    Parameters
    ----------
    posterior : NormalGamma
        Of each item.
    items, size, seed
        As `dirichlet_draws` takes them.

    Returns
    -------
    mean, variance : array (chain, draw, item)
    log_density : array (chain, draw)
    """
    keys = item_keys(items, size[0], seed=seed)
    mean, variance = np.empty((2, *size, len(items)))

    def draw_lot(chain: int, low: int, high: int) -> Floats:
        here = (chain, slice(None), slice(low, high))
        part = normal_gamma.NormalGamma(*(values[low:high] for values in posterior))
        normal_gamma.draw(part, keys[chain, low:high], mean[here], variance[here])
        return np.sum(normal_gamma.log_density(part, mean[here], variance[here]), axis=1)

    return mean, variance, np.sum(by_lots(draw_lot, size[0], len(items)), axis=1)
