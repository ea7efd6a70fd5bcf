"""Exact Gibbs sampling of crossed effects; a sweep takes a few passes over the labels.

- Numbers: the sweep first integrates out the effects of items (`items`), and then the effects of
  annotators (this module).
- Ordered labels: the same for their latent numbers. Cutpoints, and a common factor of all
  parameters, are drawn too (`ordinal`).
- Two labels: slices along learned paths, without latent numbers (`logistic`).

`docs/derivations/crossed-effects-gibbs.md` has the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.families.crossed.kernels.data import (
    Crossed,
    LabelSums,
    Parameters,
    Priors,
    Tuning,
    crossed,
    item_room,
    label_sums,
    log_scale_prior,
    log_within,
    residual_sd,
)
from dissensus.families.crossed.kernels.items import move_items
from dissensus.families.crossed.kernels.logistic import move_all
from dissensus.families.crossed.kernels.logistic_regression import Offset
from dissensus.families.crossed.kernels.odds import odds
from dissensus.families.crossed.kernels.ordinal import (
    draw_latent,
    loose_gaps,
    move_cutpoints,
    move_loose_gaps,
    move_scale,
    slopes_room,
)
from dissensus.families.crossed.kernels.regression import (
    move_given_items,
    offsets,
    sum_covariates,
)
from dissensus.families.crossed.kernels.transport import Transport, effect_room, transport
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.random import started as started
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Codes, Floats, Indices
from dissensus.kernels.variates import normal

SD_ANNOTATOR, SD = range(2)
"""Codes of the standard deviation that a slice moves."""


class AnnotatorSums(NamedTuple):
    """Sums of labels less items' effects, on which the density of variances depends."""

    mean: Floats  # (annotator)
    first: Floats  # (design): of the means of a design's annotators
    second: Floats  # (design): of their squares
    within: Floats  # (pool): squares of labels about the mean of their annotator
    n_annotators: Floats  # (pool): annotators with labels
    precision: Floats  # (pool): of the pool's mean
    linear: Floats  # (pool)


def annotator_room(data: Crossed) -> AnnotatorSums:
    """Allocate the sums."""
    n_pools, n = data.n_pools, len(data.annotator_designs.n_items)
    pool_of_labelled = data.annotator_pool[data.annotator_designs.of_item >= 0]
    return AnnotatorSums(
        np.zeros(len(data.annotator_pool)), np.empty(n), np.empty(n), np.empty(n_pools),
        np.bincount(pool_of_labelled, minlength=n_pools).astype(np.float64), np.empty(n_pools),
        np.empty(n_pools),
    )  # fmt: skip


def sum_annotators(data: Crossed, labels: LabelSums, item: Floats, out: AnnotatorSums) -> None:
    """Subtract items' effects from the labels, and sum the rest by design."""
    designs = data.annotator_designs
    _sum_annotators(
        data.annotator, data.cell_start, data.cell_pool, data.annotator_pool, designs.of_item,
        designs.n_labels, labels.cell, labels.annotator, labels.square, item, out.mean, out.first,
        out.second, out.within,
    )  # fmt: skip


@kernel
def _sum_annotators(
    label_annotator: Indices, cell_start: Codes, cell_pool: Codes, annotator_pool: Codes,
    of_annotator: Codes, n_labels: Floats, cell_sum: Floats, annotator_sum: Floats, square: Floats,
    item: Floats, mean: Floats, first: Floats, second: Floats, within: Floats,
) -> None:  # fmt: skip
    for d in range(len(first)):
        first[d] = second[d] = 0.0
    for j in range(len(mean)):
        mean[j] = 0.0
    for p in range(len(within)):
        within[p] = square[p]
    for c in range(len(item)):
        start, stop = cell_start[c], cell_start[c + 1]
        within[cell_pool[c]] += item[c] * ((stop - start) * item[c] - 2.0 * cell_sum[c])
        for n in range(start, stop):
            mean[label_annotator[n]] -= item[c]
    for j in range(len(mean)):
        d = of_annotator[j]
        if d >= 0:
            total = mean[j] + annotator_sum[j]
            mean[j] = total / n_labels[d, 0]
            within[annotator_pool[j]] -= total * mean[j]
            first[d] += mean[j]
            second[d] += mean[j] ** 2


@inner
def _log_marginal(
    n_labels: Floats, n_annotators: Floats, n_alike: Floats, pool: Codes, n_each: Floats,
    first: Floats, second: Floats, within: Floats, sd_annotator: Floats, sd: Floats,
    prior_mu: Floats, precision: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the labels; annotators' effects and means are integrated out.

    Writes the posterior of the means: their precision, and the precision times the mean.
    """
    total = log_within(n_labels, n_annotators, sd, within)
    for p in range(len(linear)):
        mean, spread = prior_mu[p, 0], prior_mu[p, 1]
        precision[p] = 1.0 / (spread * spread)
        linear[p] = mean / (spread * spread)
    for d in range(len(first)):
        p = pool[d, 0]
        var = sd_annotator[p] ** 2 + residual_sd(sd, p) ** 2 / n_each[d, 0]
        total -= 0.5 * (n_alike[d] * math.log(var) + second[d] / var)
        precision[p] += n_alike[d] / var
        linear[p] += first[d] / var
    for p in range(len(linear)):
        total += 0.5 * (linear[p] ** 2 / precision[p] - math.log(precision[p]))
    return total


@inner
def _log_density(
    x: float, moved: int, p: int, prior: Floats, prior_sd: Floats, n_labels: Floats,
    n_annotators: Floats, n_alike: Floats, pool: Codes, n_each: Floats, first: Floats,
    second: Floats, within: Floats, sd_annotator: Floats, sd: Floats, prior_mu: Floats,
    precision: Floats, linear: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of one of the standard deviations."""
    if moved == SD_ANNOTATOR:
        sd_annotator[p] = math.exp(x)
        height = log_scale_prior(sd_annotator[p], prior[p])
    else:
        sd[p] = math.exp(x)
        height = log_scale_prior(sd[p], prior_sd[p])
    return x + height + _log_marginal(
        n_labels, n_annotators, n_alike, pool, n_each, first, second, within, sd_annotator, sd,
        prior_mu, precision, linear,
    )  # fmt: skip


_slice = slicer(_log_density)


@kernel
def _move_scales(
    state: State, rate: float, width: Floats, width_sd: Floats, prior: Floats, prior_sd: Floats,
    n_labels: Floats, n_annotators: Floats, n_alike: Floats, pool: Codes, n_each: Floats,
    first: Floats, second: Floats, within: Floats, sd_annotator: Floats, sd: Floats,
    prior_mu: Floats, precision: Floats, linear: Floats,
) -> None:  # fmt: skip
    n = len(width)
    for k in range(n + len(width_sd)):
        moved, p = (SD_ANNOTATOR, k) if k < n else (SD, k - n)
        was = math.log(sd_annotator[p] if k < n else sd[p])
        wide = width[p] if k < n else width_sd[p]
        x = _slice(
            state, was, wide, moved, p, prior, prior_sd, n_labels, n_annotators, n_alike, pool,
            n_each, first, second, within, sd_annotator, sd, prior_mu, precision, linear,
        )  # fmt: skip
        wide += rate * (4.0 * abs(x - was) - wide)
        if k < n:
            width[p] = wide
        else:
            width_sd[p] = wide


@kernel
def _draw_annotators(
    state: State, annotator_pool: Codes, of_annotator: Codes, n_each: Floats, mean: Floats,
    precision: Floats, linear: Floats, sd_annotator: Floats, sd: Floats, mu: Floats,
    annotator: Floats,
) -> None:  # fmt: skip
    for p in range(len(mu)):
        mu[p] = linear[p] / precision[p] + normal(state) / math.sqrt(precision[p])
    for j in range(len(annotator)):
        p, d = annotator_pool[j], of_annotator[j]
        var = sd_annotator[p] ** 2
        if d >= 0:
            noise = residual_sd(sd, p) ** 2 / n_each[d, 0]
            share = var / (var + noise)
            annotator[j] = share * (mean[j] - mu[p])
            var = share * noise
        else:
            annotator[j] = 0.0
        annotator[j] += math.sqrt(var) * normal(state)


def marginal(
    data: Crossed, sums: AnnotatorSums, par: Parameters, priors: Priors
) -> tuple[Any, ...]:
    """Return the arguments of `_log_marginal`."""
    designs = data.annotator_designs
    return (
        data.n_labels, sums.n_annotators, designs.n_items, designs.pool, designs.n_labels,
        sums.first, sums.second, sums.within, par.sd_annotator, par.sd, priors.mu, sums.precision,
        sums.linear,
    )  # fmt: skip


def move_annotators(
    state: State, data: Crossed, labels: LabelSums, par: Parameters, priors: Priors,
    tuning: Tuning, sums: AnnotatorSums,
) -> None:  # fmt: skip
    """Draw coefficients, variances of annotators, means, and annotators' effects."""
    sum_annotators(data, labels, par.item, sums)
    if data.regression is not None:
        move_given_items(state, data, labels, par, priors, sums.mean, sums.within)
        designs, n = data.annotator_designs.of_item, len(sums.first)
        labelled = designs >= 0
        sums.first[:] = np.bincount(designs[labelled], sums.mean[labelled], n)
        sums.second[:] = np.bincount(designs[labelled], sums.mean[labelled] ** 2, n)
    _move_scales(
        state, tuning.rate, tuning.sd_annotator, tuning.sd, priors.sd_annotator, priors.sd,
        *marginal(data, sums, par, priors),
    )  # fmt: skip
    draw_annotators(state, data, par, sums)


def draw_annotators(state: State, data: Crossed, par: Parameters, sums: AnnotatorSums) -> None:
    """Draw means, whose posterior the last density evaluation wrote to ``sums``, and effects."""
    designs = data.annotator_designs
    _draw_annotators(
        state, data.annotator_pool, designs.of_item, designs.n_labels, sums.mean, sums.precision,
        sums.linear, par.sd_annotator, par.sd, par.mu, par.annotator,
    )  # fmt: skip


GAUSSIAN, BERNOULLI, ORDINAL = "gaussian", "bernoulli", "ordinal"
_RATE: Final = 0.05
"""Learning rate: the weight of a sweep falls to about a third after 20 further sweeps."""


class Trace(NamedTuple):
    """Draws, with the draw as first axis; effects that are not kept have size 0."""

    mu: Floats
    sd_item: Floats
    sd_annotator: Floats
    sd: Floats
    correlation: Floats
    gap: Floats
    coefficient: Floats
    item: Floats
    annotator: Floats


@dataclass
class Learned:
    """The adapted state of a chain: the widths of its slices, and its paths."""

    tuning: Tuning
    paths: Transport
    centre: Floats  # (pool and term): running mean of pools' means and coefficients


def _keep(par: Parameters, trace: Trace, draw: int) -> None:
    """Store the current state of the chain."""
    for name in Trace._fields:
        into = getattr(trace, name)
        if into.size:
            into[draw] = getattr(par, name)


def _halves(
    state: State, data: Crossed, par: Parameters, priors: Priors, tuning: Tuning
) -> tuple[LabelSums, Callable[[], None]]:
    """Return sums over labels, and a function that draws all parameters but cutpoints."""
    sums, room = item_room(data)
    of_annotators = annotator_room(data)
    labels = label_sums(data, par.latent)
    if data.regression is not None:
        sum_covariates(data.regression, par.latent, labels.covariate)

    def move() -> None:
        move_items(state, data, labels, par, priors, tuning, sums, room)
        if len(tuning.sd_annotator):
            move_annotators(state, data, labels, par, priors, tuning, of_annotators)

    return labels, move


def _gaussian(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Learned
) -> Callable[[], None]:
    return _halves(state, data, par, priors, known.tuning)[1]


def _ordinal(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Learned
) -> Callable[[], None]:
    labels, move = _halves(state, data, par, priors, known.tuning)
    warming = known.tuning.rate > 0.0
    loose, (boundary, slopes) = loose_gaps(data, len(par.gap)), slopes_room(par)
    regression, room = data.regression, np.empty(len(par.latent))

    def offset() -> Floats | None:
        return None if regression is None else offsets(regression, par.coefficient, room)

    def sweep() -> None:
        now = offset()
        move_cutpoints(state, data, par, priors, warming, loose, boundary, slopes, now)
        if loose.any():
            move_loose_gaps(state, data, par, priors, loose, now)
        draw_latent(state, data, par, labels, now)
        if regression is not None:
            sum_covariates(regression, par.latent, labels.covariate)
        move()
        move_scale(state, data, par, priors, offset())

    return sweep


def _bernoulli(
    state: State, data: Crossed, par: Parameters, priors: Priors, known: Learned
) -> Callable[[], None]:
    likelihood, room = odds(data, par), effect_room(data)
    regression = data.regression
    offset = None if regression is None else Offset(data, regression, par, known.centre)

    def sweep() -> None:
        move_all(state, data, par, priors, known.tuning, likelihood, room, known.paths, offset)

    return sweep


_SWEEPS: Final = {GAUSSIAN: _gaussian, ORDINAL: _ordinal, BERNOULLI: _bernoulli}


def learned(data: Crossed, family: str, par: Parameters) -> Learned:
    """Return the adapted state of a chain before its first sweep."""
    n_pools, has_annotators = data.n_pools, bool((par.sd_annotator > 0).any())
    tuning = Tuning(
        sd_item=np.full(n_pools, 0.2),
        sd_annotator=np.full(n_pools if has_annotators else 0, 0.4),
        sd=np.full(len(par.sd) if family == GAUSSIAN else 0, 0.1),
        correlation=np.full((n_pools, n_pools), 0.3),
        log_sd_item=np.log(par.sd_item),
        log_sd_annotator=np.log(np.where(par.sd_annotator > 0, par.sd_annotator, 1.0)),
        sweep=np.array([0.0, 20.0]),
        rate=_RATE,
    )
    small = data if family == BERNOULLI else empty_study(n_pools)
    return Learned(tuning, transport(small), np.zeros(n_pools + len(par.coefficient)))


def empty_study(n_pools: int) -> Crossed:
    """Lay out a study without labels."""
    none = np.zeros(0, dtype=np.int64)
    return crossed(np.zeros(0), none, none, none, n_items=0, annotator_pool=none, n_pools=n_pools)


def advance(
    family: str, state: State, data: Crossed, par: Parameters, priors: Priors, known: Learned,
    n: int, *, learning: bool, trace: Trace | None = None, first: int = 0,
) -> None:  # fmt: skip
    """Do n sweeps, which overwrite ``par``, and write the draws into the trace from ``first`` on.

    ``learning`` is true in the warm-up. For "gaussian", ``par.latent`` holds the labels.
    """
    tuning = known.tuning._replace(rate=_RATE if learning else 0.0)
    sweep = _SWEEPS[family](state, data, par, priors, Learned(tuning, known.paths, known.centre))
    for place in range(first, first + n):
        sweep()
        if trace is not None:
            _keep(par, trace, place)


def start(
    data: Crossed, family: str, *, n_gaps: int, anonymous: bool = False, n_sd: int = 1
) -> Parameters:
    """Return starting values: effects of 0, standard deviations of 1."""
    n_pools = data.n_pools
    numbers = family == GAUSSIAN
    return Parameters(
        mu=np.zeros(n_pools),
        sd_item=np.ones(n_pools),
        sd_annotator=np.zeros(n_pools) if anonymous else np.ones(n_pools),
        sd=np.ones(n_sd),
        correlation=np.eye(n_pools),
        gap=np.ones(n_gaps),
        item=np.zeros(len(data.cell_pool)),
        annotator=np.zeros(len(data.annotator_pool)),
        latent=data.value.copy() if numbers else np.zeros(len(data.value)),
        coefficient=np.zeros(data.n_terms),
    )


def room_for(data: Crossed, par: Parameters, draws: int, *, effects: bool = False) -> Trace:
    """Allocate a trace for ``draws`` draws."""
    n = (len(par.item), len(par.annotator)) if effects else (0, 0)
    return Trace(
        np.empty((draws, data.n_pools)), np.empty((draws, data.n_pools)),
        np.empty((draws, data.n_pools)), np.empty((draws, len(par.sd))),
        np.empty((draws, data.n_pools, data.n_pools)), np.empty((draws, len(par.gap))),
        np.empty((draws, len(par.coefficient))), np.empty((draws, n[0])), np.empty((draws, n[1])),
    )  # fmt: skip
