r"""The prior that items of `normal_scores` share, learned with means and variances summed out.

.. math::

    m = c + s\,x_1, \qquad k = e^{x_2}, \qquad a = 2 e^{x_3}, \qquad b = a v\, e^{x_4}, \qquad
    x \sim \mathrm{Normal}(0,\ (1, 1.5, 1, 1))

with c the median of items' means, v the median of their variances, and s the median distance of
their means from c, plus :math:`\sqrt v`. In these units, the prior of x is weakly informative. With
predictions, :math:`t \sum_j w_j z_{ij}` is added to the prior mean of item i, with z the
standardised numbers of the systems j, :math:`w \sim \mathrm{Normal}(0, 1 / \sqrt J)` for J systems,
and t the larger of s and the standard deviation of items' means.

If items belong to several strata, each stratum has a mean and weights of its own around :math:`x_1`
and w. The standard deviations between strata are learned, in the same units: :math:`\sigma` for
means and :math:`\sigma' / \sqrt J` for weights (`dissensus.kernels.ellipses`).
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.predictions import Numbers
from dissensus.dims import CHAIN, DRAW, SAMPLE, STRATUM, SYSTEM
from dissensus.errors import AnnotationError, DesignWarning, warn_caller
from dissensus.kernels import normal
from dissensus.kernels.ellipses import (
    SD_SPREAD,
    Strata,
    around_likelihood,
    around_mode,
    draw_strata,
    elliptical,
)
from dissensus.kernels.normal import Moments, NormalGamma
from dissensus.kernels.random import row_keys
from dissensus.kernels.types import Floats, Keys
from dissensus.sampling import fitting
from dissensus.sampling.chains import mapped
from dissensus.sampling.convergence import diagnosed_parameters
from dissensus.sampling.learned_prior import Size, chosen
from dissensus.wording import counted

SPREADS: Final = (1.0, 1.5, 1.0, 1.0)
"""Prior standard deviations of x."""
TYPICAL_SHAPE: Final = 2.0
_WIDER: Final = 1.1
_STEPS: Final = 3
"""Steps per draw, so that successive draws are nearly independent."""
NAMES: Final = ("prior_mean", "prior_count", "prior_shape", "prior_variance")
"""m, k, a and b / a."""
WEIGHT: Final = "prediction_weight"
"""Change of an item's prior mean per unit of a system's number."""
INFERENCE: Final = (
    "the prior by elliptical slice sampling, with means and variances integrated out; then means "
    "and variances by exact draws, given the prior"
)
MOST_ITEMS: Final = 1000
"""Maximum number of items from which the prior is learned; they are chosen by hashes of their
names. More items would change no reported digit, and would make every draw slower."""


class Units(NamedTuple):
    """Units of the prior's parameters."""

    centre: float
    spread: float
    variance: float
    reach: float
    """The unit of the weights of predictions: the larger of `spread` and the standard deviation of
    items' means. A system whose numbers equal the items' means has this standard deviation as its
    weight. If scores are skewed, it is much larger than `spread`."""

    def prior(self, x: Floats) -> NormalGamma:
        """Return (m, k, a, b) for x (..., 4), of an item without predictions."""
        a = TYPICAL_SHAPE * np.exp(x[..., 2])
        b = a * self.variance * np.exp(x[..., 3])
        return NormalGamma(self.centre + self.spread * x[..., 0], np.exp(x[..., 1]), a, b)

    def of_items(self, x: Floats, standard: Floats) -> NormalGamma:
        """Return (m, k, a, b); with predictions, m is (item). ``standard`` (item, system) is z."""
        prior = self.prior(x)
        return (
            prior._replace(m=prior.m + self.reach * (standard @ x[4:])) if standard.size else prior
        )


NO_NUMBERS: Final[Floats] = np.zeros((1, 0))
"""Standardised numbers (item, system) of no systems, for a prior without predictions."""


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

    On a coarse scale, all scores of many items are equal. A variance of 0 would make these scores
    infinitely likely, so that the prior would have variance 0 for all items.
    """
    rounding = (data.n - 1).clip(0) * step**2 / 12
    return data._replace(squares=np.maximum(data.squares, rounding))


def units_of(data: Moments) -> Units:
    """Return the units of scores; raise if no item has two different scores."""
    spread = data.squares > 0
    if not spread.any():
        several = int((data.n > 1).sum())
        raise AnnotationError(
            "annotations",
            expected="an item to which two annotators gave different scores: the prior is learned "
            "from how much they differ",
            found=f"{counted(several, 'item')} with two scores or more, all of them equal"
            if several
            else "no item with two scores",
            hint="State a prior, prior=(m, k, a, b), or ask more annotators",
        )
    variance = float(np.median(data.squares[spread] / (data.n[spread] - 1)))
    seen = data.n > 0
    centre = float(np.median(data.mean[seen]))
    # Medians: with means, one item with extreme scores would determine the scale.
    away = float(np.median(np.abs(data.mean[seen] - centre)))
    middle = away + np.sqrt(variance)
    return Units(centre, middle, variance, max(middle, float(np.std(data.mean[seen]))))


def weight_spread(n_systems: int) -> float:
    """Return the prior standard deviation of each weight w.

    It decreases with the number of systems, so that the prior of an item's mean is not wider with
    many systems. Otherwise, the uncertainty of the weights would count as errors of every system.
    """
    return 1.0 / math.sqrt(n_systems)


def _spreads(standard: Floats) -> Floats:
    n = standard.shape[1]
    return np.array([*SPREADS, *[weight_spread(max(n, 1))] * n])


def log_density(x: Floats, units: Units, data: Moments, standard: Floats = NO_NUMBERS) -> float:
    """Return the log density of x, including the density of its own prior, up to a constant."""
    log_likelihood = normal.sum_log_marginal(units.of_items(x, standard), data)
    return log_likelihood - 0.5 * float(np.sum((x / _spreads(standard)) ** 2))


def draw_priors(
    units: Units, data: Moments, draws: int, tune: int, key: int, standard: Floats = NO_NUMBERS
) -> Floats:
    """Draw one chain of priors by elliptical slices around the mode.

    ``data`` is the result of `rounded`, and ``key`` is the seed. Returns (draw, 5 + system): x, the
    weights of predictions, and the log density.

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
    rng, spread = np.random.default_rng(int(key)), _spreads(standard)

    def loss(x: Floats) -> float:
        return -log_density(x, units, data, standard)

    mode, root = around_mode(loss, np.zeros(len(spread)), spread)
    root *= _WIDER

    def height(at: Floats) -> float:
        return log_density(mode + root @ at, units, data, standard) + 0.5 * float(at @ at)

    at, out = rng.normal(size=len(spread)) / _WIDER, np.empty((draws, len(spread) + 1))
    for step in range(-tune, _STEPS * draws):
        at, high = elliptical(rng, at, height)
        if step >= 0 and step % _STEPS == _STEPS - 1:
            out[step // _STEPS] = *(mode + root @ at), high - 0.5 * at @ at
    return out


def draw_priors_of_strata(
    units: Units, data: Moments, draws: int, tune: int, keys: Keys, numbers: Numbers
) -> Floats:
    """Draw chains of priors with a mean and weights for each stratum.

    Returns (chain, draw, number). The numbers are x_2 to x_4 and x_1; weights times the square root
    of the number of systems; the logarithms of the standard deviations between strata; the mean and
    weights of each stratum; and the log density.
    """
    n, stratum = len(numbers.systems), numbers.stratum
    assert stratum is not None
    standard = numbers.centred / numbers.scale * weight_spread(max(n, 1)) * units.reach
    where = Strata(
        np.zeros(4 + n), np.array([*SPREADS[1:], SPREADS[0], *[1.0] * n]),
        np.array([0, *[1] * n]), len(numbers.strata),
    )  # fmt: skip

    def log_likelihood(x: Floats) -> Floats:
        own = x[3:].reshape(where.n_strata, 1 + n)[stratum]
        prior = units.prior(np.append(0.0, x[:3]))
        m = units.centre + units.spread * own[:, 0] + (standard * own[:, 1:]).sum(axis=1)
        each = normal.log_marginal(prior._replace(m=m), data)
        return np.bincount(stratum, each, minlength=where.n_strata)

    around = around_likelihood(log_likelihood, where)
    return np.stack(
        mapped(
            lambda chain: draw_strata(log_likelihood, where, around, draws, tune, int(keys[chain])),
            range(len(keys)), "", False,
        )
    )  # fmt: skip


class NormalPrior(NamedTuple):
    """Draws of the prior's parameters, given the items that it is learned from."""

    values: Floats
    """(chain, draw, 4 + system): in the order of `NAMES`, then the weights of predictions."""
    log_density: Floats
    """(chain, draw)"""
    systems: tuple[Any, ...] = ()
    """Names of the systems."""
    stored: bool = True
    """Whether a fit also stores these draws; fits of chunks do not."""
    of_strata: dict[str, xr.DataArray] | None = None
    """Standard deviations between strata, and the mean and weights of each; None without strata."""

    def each(self, numbers: Numbers) -> NormalGamma:
        """Return m, k, a and b (chain, draw, 1); m is (chain, draw, item) if items differ in it."""
        m, k, a, variance = np.moveaxis(self.values[..., None, :4], -1, 0)
        if self.of_strata is not None:
            m = self.of_strata[f"stratum_{NAMES[0]}"].to_numpy()[..., numbers.stratum]
            if numbers.systems:
                weight = self.of_strata[f"stratum_{WEIGHT}"].to_numpy()
                for j in range(len(numbers.systems)):  # avoids an array (chain, draw, item, system)
                    m = m + weight[..., numbers.stratum, j] * numbers.centred[:, j]
        elif numbers.systems:
            m = m + self.values[..., 4:] @ numbers.centred.T
        return NormalGamma(m, k, a, a * variance)

    def groups(self) -> dict[str, dict[str, xr.DataArray]]:
        """Return the draws and their log density as groups of a fit."""
        each = zip(NAMES, np.moveaxis(self.values[..., :4], -1, 0), strict=True)
        prior = {name: xr.DataArray(values, dims=SAMPLE) for name, values in each}
        if self.systems:
            names = {SYSTEM: list(self.systems)}
            prior[WEIGHT] = xr.DataArray(self.values[..., 4:], dims=(*SAMPLE, SYSTEM), coords=names)
        prior |= self.of_strata or {}
        density = xr.DataArray(self.log_density, dims=(CHAIN, DRAW))
        return {"posterior": prior, "sample_stats": {"lp": density}}

    def diagnosed(self) -> dict[str, Any]:
        """Return convergence diagnostics of the prior; warn if they are poor."""
        return diagnosed_parameters(self.groups()["posterior"])


def teaching(data: Moments, step: float, which: npt.NDArray[np.bool_]) -> Moments:
    """Return the moments of the items in the mask ``which``: the prior is learned from them."""
    return rounded(Moments(*(values[which] for values in data)), step)


FEW: Final = 20
"""Minimum number of items per system for good estimates of the weights of three or more systems
(`benchmarks/real_scores.py`: with 12 items per system and five systems, squared errors of the best
system are 1.7 times too large; with 30 and two systems, intervals have nominal coverage)."""


def warn_of_many(n_items: int, numbers: Numbers) -> None:
    """Warn if the items are too few to learn the weights of the systems."""
    n = len(numbers.systems)
    if n > 2 and n_items < FEW * n:
        warn_caller(
            f"The weights of {n} systems cannot be learned well from {n_items:,} items: the errors "
            "of the systems are overestimated, most of all those of good systems. Give predictions "
            f"of fewer systems at a time: at most {max(n_items // FEW, 2)}.",
            DesignWarning,
        )


def teachers(items: npt.NDArray[Any], data: Moments) -> npt.NDArray[np.bool_]:
    """Return (item) whether the prior is learned from an item; all such items have scores."""
    out = data.n > 0
    out[out] = chosen(items[out], MOST_ITEMS)
    return out


def learned(
    data: Moments, numbers: Numbers, units: Units, size: Size, tune: int, rng: np.random.Generator
) -> NormalPrior:
    """Draw the prior, each chain in its own thread, from the ``data`` and ``numbers`` of items."""
    standard = numbers.centred / numbers.scale if numbers.systems else NO_NUMBERS
    keys = row_keys(np.arange(size[0], dtype=np.uint64), seed=fitting.stream_seed(rng))
    if numbers.strata:
        return _of_strata(
            draw_priors_of_strata(units, data, size[1], tune, keys, numbers), units, numbers
        )
    draws = np.stack(
        mapped(
            lambda chain: draw_priors(units, data, size[1], tune, keys[chain], standard),
            range(size[0]), "", False,
        )
    )  # fmt: skip
    m, k, a, b = units.prior(draws[..., :4])
    values = np.stack([m, k, a, b / a], axis=-1)
    weights = units.reach * draws[..., 4:-1] / numbers.scale
    return NormalPrior(
        np.concatenate([values, weights], axis=-1), draws[..., -1], tuple(numbers.systems)
    )


def _of_strata(draws: Floats, units: Units, numbers: Numbers) -> NormalPrior:
    """Return draws of `draw_priors_of_strata` in the units of the scores."""
    n, g = len(numbers.systems), len(numbers.strata)
    weight = units.reach * weight_spread(max(n, 1)) / numbers.scale
    m, k, a, b = units.prior(draws[..., [3, 0, 1, 2]])
    first = 4 + n + (2 if n else 1)
    own = draws[..., first:-1].reshape(*draws.shape[:2], g, 1 + n)
    names, dims = {STRATUM: list(numbers.strata)}, (*SAMPLE, STRATUM)
    strata_draws = {
        f"{NAMES[0]}_sd": xr.DataArray(units.spread * np.exp(draws[..., 4 + n]), dims=SAMPLE),
        f"stratum_{NAMES[0]}": xr.DataArray(
            units.centre + units.spread * own[..., 0], dims=dims, coords=names
        ),
    }
    if n:
        strata_draws[f"{WEIGHT}_sd"] = xr.DataArray(np.exp(draws[..., 5 + n]), dims=SAMPLE)
        strata_draws[f"stratum_{WEIGHT}"] = xr.DataArray(
            weight * own[..., 1:], dims=(*dims, SYSTEM), coords=names | {SYSTEM: numbers.systems}
        )
    values = np.concatenate(
        [np.stack([m, k, a, b / a], axis=-1), weight * draws[..., 4 : 4 + n]], axis=-1
    )
    return NormalPrior(values, draws[..., -1], tuple(numbers.systems), of_strata=strata_draws)


def in_graph(units: Units, numbers: Numbers) -> Any:
    """Add the prior to a PyMC model; return m, k, a and b. m is (item) if items differ in it."""
    import pymc as pm

    def own(name: str, mean: Any, unit: Any, sd: Any, *dims: str) -> Any:
        """Return the parameters of each item's stratum."""
        values = pm.Normal(f"stratum_{name}", mean, unit * sd, dims=(STRATUM, *dims))
        return values[numbers.stratum]

    typical = (1.0, TYPICAL_SHAPE, units.variance)
    m = pm.Normal(NAMES[0], units.centre, units.spread * SPREADS[0])
    k, a, variance = (
        pm.LogNormal(name, math.log(middle), spread)
        for name, middle, spread in zip(NAMES[1:], typical, SPREADS[1:], strict=True)
    )
    if numbers.strata:
        sd = pm.LogNormal(f"{NAMES[0]}_sd", math.log(units.spread), SD_SPREAD)
        m = own(NAMES[0], m, 1.0, sd)
    if numbers.systems:
        spread = units.reach * weight_spread(len(numbers.systems)) / numbers.scale
        weight = pm.Normal(WEIGHT, 0.0, spread, dims=SYSTEM)
        if numbers.strata:
            sd = pm.LogNormal(f"{WEIGHT}_sd", 0.0, SD_SPREAD)
            m = m + (numbers.centred * own(WEIGHT, weight, spread, sd, SYSTEM)).sum(axis=1)
        else:
            m = m + pm.math.dot(numbers.centred, weight)
    return m, k, a, a * variance


def log_marginal(prior: Any, data: Moments) -> Any:
    """Return a graph of the log density of scores, with means and variances summed out.

    A constant is left out.
    """
    import pytensor.tensor as pt

    m, k, a, b = prior
    far = k * data.n * (data.mean - m) ** 2 / (2 * (k + data.n))
    after = a + data.n / 2
    each = pt.gammaln(after) - after * pt.log(b + data.squares / 2 + far)
    each += a * pt.log(b) - pt.gammaln(a) + 0.5 * pt.log(k / (k + data.n))
    return each.sum()
