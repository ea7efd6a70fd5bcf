"""The prior of normal scores, learned from all items."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.dims import CHAIN, DRAW, SAMPLE
from dissensus.families.conjugate.kernels import SPREADS, TYPICAL_SHAPE, Units, draw_priors, rounded
from dissensus.kernels.normal import Moments, NormalGamma
from dissensus.kernels.random import row_keys
from dissensus.kernels.types import Floats
from dissensus.sampling import fitting
from dissensus.sampling.chains import mapped
from dissensus.sampling.convergence import diagnosed_parameters
from dissensus.sampling.learned_prior import Size, chosen

NAMES: Final = ("prior_mean", "prior_count", "prior_shape", "prior_variance")
"""m, k, a and b / a."""
INFERENCE: Final = (
    "the prior by elliptical slices, with means and variances summed out; these exactly, given "
    "the prior"
)


MOST_ITEMS: Final = 1000
"""Most items that the prior is learned from, chosen by their names. More would change no reported
digit, and every draw reads all of them."""


class NormalPrior(NamedTuple):
    """Draws of the prior, from all items."""

    values: Floats
    """(chain, draw, 4): as `NAMES` says."""
    log_density: Floats
    """(chain, draw)"""
    told: bool = True
    """Whether a fit contains these draws; false for a fit of a chunk of items."""

    def each(self) -> NormalGamma:
        """Return the parameters (chain, draw, 1)."""
        m, k, a, variance = np.moveaxis(self.values[..., None, :], -1, 0)
        return NormalGamma(m, k, a, a * variance)

    def groups(self) -> dict[str, dict[str, xr.DataArray]]:
        """Return the groups of a fit."""
        each = zip(NAMES, np.moveaxis(self.values, -1, 0), strict=True)
        prior = {name: xr.DataArray(values, dims=SAMPLE) for name, values in each}
        density = xr.DataArray(self.log_density, dims=(CHAIN, DRAW))
        return {"posterior": prior, "sample_stats": {"lp": density}}

    def diagnosed(self) -> dict[str, Any]:
        """Judge the chains, and warn if they are poor."""
        return diagnosed_parameters(self.groups()["posterior"])


def teaching(data: Moments, step: float, items: npt.NDArray[Any]) -> Moments:
    """Return the moments that the prior is learned from."""
    which = chosen(items, MOST_ITEMS)
    return rounded(Moments(*(values[which] for values in data)), step)


def learned(
    data: Moments, units: Units, size: Size, tune: int, rng: np.random.Generator
) -> NormalPrior:
    """Draw the prior, each chain in a thread."""
    keys = row_keys(np.arange(size[0], dtype=np.uint64), seed=fitting.stream_seed(rng))
    found = np.stack(
        mapped(
            lambda chain: draw_priors(units, data, size[1], tune, keys[chain]),
            range(size[0]), "", False,
        )
    )  # fmt: skip
    m, k, a, b = units.prior(found[..., :4])
    return NormalPrior(np.stack([m, k, a, b / a], axis=-1), found[..., 4])


def in_graph(units: Units) -> Any:
    """Write the prior's parameters as part of a PyMC model."""
    import pymc as pm

    typical = (1.0, TYPICAL_SHAPE, units.variance)
    m = pm.Normal(NAMES[0], units.centre, units.spread * SPREADS[0])
    k, a, variance = (
        pm.LogNormal(name, math.log(middle), spread)
        for name, middle, spread in zip(NAMES[1:], typical, SPREADS[1:], strict=True)
    )
    return m, k, a, a * variance


def log_marginal(prior: Any, data: Moments) -> Any:
    """Write the log density of scores with means and variances summed out, up to a constant."""
    import pytensor.tensor as pt

    m, k, a, b = prior
    far = k * data.n * (data.mean - m) ** 2 / (2 * (k + data.n))
    after = a + data.n / 2
    each = pt.gammaln(after) - after * pt.log(b + data.squares / 2 + far)
    each += a * pt.log(b) - pt.gammaln(a) + 0.5 * pt.log(k / (k + data.n))
    return each.sum()
