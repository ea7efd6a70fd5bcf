r"""The prior that items' normal scores share, learned with means and variances summed out.

.. math::

    m = c + s\,x_1, \qquad k = e^{x_2}, \qquad a = 2 e^{x_3}, \qquad b = a v\, e^{x_4}, \qquad
    x \sim \mathrm{Normal}(0,\ (1, 1.5, 1, 1))

with c and s the middle and the spread of items' means, and v an item's typical variance: the prior
is in the units of the scores, and is hardly more informative.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.dims import CHAIN, DRAW, SAMPLE
from dissensus.errors import AnnotationError
from dissensus.kernels import normal
from dissensus.kernels.learned_prior import around_mode, elliptical
from dissensus.kernels.normal import Moments, NormalGamma
from dissensus.kernels.random import row_keys
from dissensus.kernels.types import Floats
from dissensus.sampling import fitting
from dissensus.sampling.chains import mapped
from dissensus.sampling.convergence import diagnosed_parameters
from dissensus.sampling.learned_prior import Size, chosen

SPREADS: Final = (1.0, 1.5, 1.0, 1.0)
TYPICAL_SHAPE: Final = 2.0
_WIDER: Final = 1.1
_STEPS: Final = 3
"""Steps per draw, so that successive draws are nearly independent."""
NAMES: Final = ("prior_mean", "prior_count", "prior_shape", "prior_variance")
"""m, k, a and b / a."""
INFERENCE: Final = (
    "the prior by elliptical slices, with means and variances summed out; these exactly, given "
    "the prior"
)
MOST_ITEMS: Final = 1000
"""Most items that the prior is learned from, chosen by their names. More would change no reported
digit, and every draw reads all of them."""


class Units(NamedTuple):
    """Units of the prior's parameters."""

    centre: float
    spread: float
    variance: float

    def prior(self, x: Floats) -> NormalGamma:
        """Return (m, k, a, b) for places x (..., 4)."""
        a = TYPICAL_SHAPE * np.exp(x[..., 2])
        b = a * self.variance * np.exp(x[..., 3])
        return NormalGamma(self.centre + self.spread * x[..., 0], np.exp(x[..., 1]), a, b)


def grid_step(value: Floats) -> float:
    """Return the smallest distance between two different scores: the fineness of the scale.

    Examples
    --------
    >>> grid_step(np.array([1.0, 4.0, 4.0, 3.5]))
    0.5
    """
    gaps = np.diff(np.unique(value))
    return float(gaps.min()) if len(gaps) else 0.0


def rounded(data: Moments, step: float) -> Moments:
    """Raise each item's variance to at least that of rounding, step**2 / 12.

    On a coarse scale many items have equal scores. A variance of 0 would make them infinitely
    likely, and would be learned for all items.
    """
    rounding = (data.n - 1).clip(0) * step**2 / 12
    return data._replace(squares=np.maximum(data.squares, rounding))


def units_of(data: Moments) -> Units:
    """Return the units of scores; raise if no item has two different scores."""
    spread = data.squares > 0
    if not spread.any():
        raise AnnotationError(
            "annotations",
            expected="items with two or more different scores, to learn a prior from",
            found="no spread within any item",
            hint="State one: prior=(m, k, a, b)",
        )
    variance = float(np.median(data.squares[spread] / (data.n[spread] - 1)))
    seen = data.n > 0
    centre = float(np.median(data.mean[seen]))
    # Medians: with means, one item with extreme scores would determine the scale.
    away = float(np.median(np.abs(data.mean[seen] - centre)))
    return Units(centre, away + np.sqrt(variance), variance)


def log_density(x: Floats, units: Units, data: Moments) -> float:
    """Return the log density of a place, the prior's own part included, up to a constant."""
    found = normal.log_marginal(units.prior(x), data).sum()
    return float(found - 0.5 * np.sum((x / np.array(SPREADS)) ** 2))


def draw_priors(units: Units, data: Moments, draws: int, tune: int, key: int) -> Floats:
    """Draw one chain of priors by elliptical slices around the mode.

    ``data`` is `rounded`, and ``key`` the seed. Returns (draw, 5): places x, then log density.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> means = rng.normal(5, 2, 400)
    >>> scores = rng.normal(means[:, None], 1, (400, 5))
    >>> squares = ((scores - scores.mean(1, keepdims=True)) ** 2).sum(1)
    >>> data = Moments(np.full(400, 5.0), scores.mean(1), squares)
    >>> units = units_of(data)
    >>> prior = units.prior(draw_priors(units, data, 200, 50, 7)[:, :4])
    >>> round(float(prior.m.mean())), round(float(prior.k.mean()), 1)  # k = 1 / 4
    (5, 0.3)
    """
    rng, spread = np.random.default_rng(int(key)), np.array(SPREADS)

    def loss(x: Floats) -> float:
        return -log_density(x, units, data)

    mode, root = around_mode(loss, np.zeros(4), spread)
    root *= _WIDER

    def height(at: Floats) -> float:
        return log_density(mode + root @ at, units, data) + 0.5 * float(at @ at)

    at, out = rng.normal(size=4) / _WIDER, np.empty((draws, 5))
    for step in range(-tune, _STEPS * draws):
        at, high = elliptical(rng, at, height)
        if step >= 0 and step % _STEPS == _STEPS - 1:
            out[step // _STEPS] = *(mode + root @ at), high - 0.5 * at @ at
    return out


class NormalPrior(NamedTuple):
    """Draws of the prior, from all items."""

    values: Floats
    """(chain, draw, 4): in the order of `NAMES`."""
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
