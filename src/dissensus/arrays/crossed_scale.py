"""Ordered labels have no scale of their own: moving that of all that is latent at once.

Stretching latent numbers, means, effects, their standard deviations and the cutpoints by one factor
changes no label, only how large the residuals are, whose standard deviation is 1. One number is
drawn, along that direction (Liu & Sabatti 2000), for the price of reading the labels once. What
moves slowly otherwise moves together.
"""

from __future__ import annotations

import math

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_parameters import Parameters, Priors, log_scale_prior
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Codes, Floats, Indices


@inner
def _residual_square(
    cell_start: Codes, cell_pool: Codes, who: Indices, latent: Floats, mu: Floats, item: Floats,
    annotator: Floats,
) -> float:  # fmt: skip
    total = 0.0
    for c in range(len(item)):
        base = mu[cell_pool[c]] + item[c]
        for n in range(cell_start[c], cell_start[c + 1]):
            away = latent[n] - base - annotator[who[n]]
            total += away * away
    return total


@inner
def _of_stretch(
    x: float, square: float, n_labels: float, mu: Floats, sd_item: Floats, sd_annotator: Floats,
    gaps: Floats, prior_mu: Floats, prior_item: Floats, prior_annotator: Floats, prior_gap: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of a factor.

    Effects are as probable as before, since their standard deviations are stretched with them:
    what counts is the volume of everything else.
    """
    factor = math.exp(x)
    total = n_labels * x - 0.5 * factor * factor * square
    for p in range(len(mu)):
        total += x - 0.5 * ((factor * mu[p] - prior_mu[p, 0]) / prior_mu[p, 1]) ** 2
        total += x + log_scale_prior(factor * sd_item[p], prior_item[p])
        if sd_annotator[p] > 0.0:
            total += x + log_scale_prior(factor * sd_annotator[p], prior_annotator[p])
    for gap in gaps:
        total += x + log_scale_prior(factor * gap, prior_gap)
    return total


_slice_stretch = slicer(_of_stretch)


@inner
def _stretch(numbers: Floats, factor: float) -> None:
    for k in range(len(numbers)):
        numbers[k] *= factor


@kernel
def _move_scale(
    state: State, cell_start: Codes, cell_pool: Codes, who: Indices, latent: Floats, mu: Floats,
    item: Floats, annotator: Floats, sd_item: Floats, sd_annotator: Floats, gap: Floats,
    prior_mu: Floats, prior_item: Floats, prior_annotator: Floats, prior_gap: Floats,
) -> None:  # fmt: skip
    square = _residual_square(cell_start, cell_pool, who, latent, mu, item, annotator)
    n_labels = float(len(latent))
    stretch = _slice_stretch(
        state, 0.0, 3.0 / math.sqrt(n_labels), square, n_labels, mu, sd_item, sd_annotator, gap,
        prior_mu, prior_item, prior_annotator, prior_gap,
    )  # fmt: skip
    for numbers in (mu, sd_item, sd_annotator, gap, item, annotator):
        _stretch(numbers, math.exp(stretch))


def move_scale(state: State, data: Crossed, par: Parameters, priors: Priors) -> None:
    """Stretch all that is latent; the latent numbers themselves are left to be drawn anew."""
    _move_scale(
        state, data.cell_start, data.cell_pool, data.annotator, par.latent, par.mu, par.item,
        par.annotator, par.sd_item, par.sd_annotator, par.gap, priors.mu, priors.sd_item,
        priors.sd_annotator, priors.gap,
    )  # fmt: skip
