"""Draws from conjugate posteriors in threads; each item has a separate random stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.kernels import dirichlet, normal
from dissensus.kernels.random import item_keys
from dissensus.kernels.types import Floats, Names
from dissensus.sampling.chains import by_lots

Size = tuple[int, int]
"""Numbers of chains and of draws."""


def dirichlet_draws(
    parameters: npt.NDArray[np.floating[Any]], items: Names, size: Size, seed: int
) -> tuple[Floats, Floats]:
    """Draw from Dirichlet distributions: theta (chain, draw, item, k), log density (chain, draw).

    The draws of an item depend on its name, its ``parameters`` (item, k), and the seed only.
    """
    keys = item_keys(items, size[0], seed=seed)
    theta = np.empty((*size, *parameters.shape))

    def draw_lot(chain: int, low: int, high: int) -> Floats:
        lot = (chain, slice(None), slice(low, high))
        return dirichlet.draw_dirichlet(
            parameters[low:high], keys[chain, low:high], size[1], theta[lot]
        ).log_density

    return theta, np.sum(by_lots(draw_lot, size[0], len(items)), axis=1)


def _part(value: Any, chain: int, draws: int, items: slice) -> Any:
    """Return a parameter of a prior for one chain and a slice of items; numbers are unchanged."""
    if np.ndim(value) == 0:
        return value
    return value[chain, :draws, items if value.shape[-1] > 1 else slice(None)]


def normal_draws(
    prior: normal.NormalGamma, data: normal.Moments, items: Names, size: Size,
    seed: int,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Draw means and variances (chain, draw, item), and their log density (chain, draw).

    The parameters of the prior are numbers or, if each draw has its own prior, arrays (chain, draw,
    1) or (chain, draw, item).
    """
    keys = item_keys(items, size[0], seed=seed)
    mean, variance = np.empty((2, *size, len(items)))

    def draw_lot(chain: int, low: int, high: int) -> Floats:
        lot = (chain, slice(None), slice(low, high))
        known = normal.Moments(*(values[low:high] for values in data))
        of_chain = [_part(value, chain, size[1], slice(low, high)) for value in prior]
        posterior = normal.update(normal.NormalGamma(*of_chain), known)
        shape = np.broadcast_shapes(*(value.shape for value in posterior))
        part = normal.NormalGamma(*(np.broadcast_to(value, shape) for value in posterior))
        normal.draw(part, keys[chain, low:high], mean[lot], variance[lot])
        return np.sum(normal.log_density(part, mean[lot], variance[lot]), axis=1)

    return mean, variance, np.sum(by_lots(draw_lot, size[0], len(items)), axis=1)
